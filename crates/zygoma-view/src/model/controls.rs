//! The sliders: one per shape name, whatever number of meshes has it.

use zygoma_rig::{Rig, arkit};

use crate::protocol::Control;

/// Which shapes each slider drives.
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    pub(crate) entries: Vec<Control>,
    /// For each control the meshes and shapes that it drives.
    pub(crate) drives: Vec<Vec<(usize, usize)>>,
}

/// The parts of a face in the order of the panel, by the beginning of ARKit's names.
const GROUPS: [(&str, &str); 7] = [
    ("brow", "Brows"),
    ("eye", "Eyes"),
    ("cheek", "Cheeks"),
    ("nose", "Nose"),
    ("mouth", "Mouth"),
    ("jaw", "Jaw"),
    ("tongue", "Tongue"),
];

/// The group of a shape, by what its name stands for.
pub(crate) fn group(name: &str) -> &'static str {
    let known = arkit::recognise(name).map_or_else(|| arkit::key(name), |found| found.shape.to_owned());
    GROUPS.iter().find(|(start, _)| known.starts_with(start)).map_or("Other", |(_, group)| group)
}

impl Controls {
    /// Controls of a rig: the skin's shapes first.
    pub(crate) fn new(rig: &Rig) -> Self {
        let mut controls = Self { entries: Vec::new(), drives: Vec::new() };
        let others = (0..rig.meshes.len()).filter(|mesh| *mesh != rig.skin);
        for mesh in std::iter::once(rig.skin).chain(others) {
            for (shape, entry) in rig.meshes[mesh].shapes.iter().enumerate() {
                let name = &entry.name;
                let known = controls.entries.iter().position(|control| control.name == *name);
                let control = known.unwrap_or_else(|| {
                    let group = group(name).to_owned();
                    controls.entries.push(Control { name: name.clone(), group });
                    controls.drives.push(Vec::new());
                    controls.entries.len() - 1
                });
                controls.drives[control].push((mesh, shape));
            }
        }
        controls
    }
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn shapes_are_grouped_by_what_they_mean() {
        assert_eq!(group("A14_Eye_Blink_Left"), "Eyes");
        assert_eq!(group("mouthSmile_L"), "Mouth");
        assert_eq!(group("Fcl_ALL_Joy"), "Other");
    }
}
