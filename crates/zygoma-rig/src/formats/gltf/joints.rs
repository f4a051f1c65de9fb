//! Finds head, jaw and eye joints by their usual names.

use glam::DAffine3;

use super::scene::Tree;
use super::schema::Schema;
use super::vrm::Vrm;
use crate::{Joint, JointRole};

/// Words that name the maker of a skeleton, not the joint.
const PREFIXES: [&str; 20] = [
    "mixamorig",
    "cc",
    "base",
    "j",
    "bip",
    "adj",
    "def",
    "org",
    "mch",
    "c",
    "m",
    "x",
    "sk",
    "rig",
    "jnt",
    "joint",
    "bone",
    "bn",
    "b",
    "valvebiped",
];

const LEFT: [&str; 2] = ["l", "left"];
const RIGHT: [&str; 2] = ["r", "right"];

/// Finds the joints of a face. A VRM file says which they are; elsewhere the names do.
pub(super) fn find(
    schema: &Schema,
    tree: &Tree,
    vrm: Option<&Vrm>,
    to_rig: DAffine3,
    notes: &mut Vec<String>,
) -> Vec<Joint> {
    let mut is_joint = vec![false; schema.nodes.len()];
    for joint in schema.skins.iter().flat_map(|skin| &skin.joints) {
        if let Some(slot) = is_joint.get_mut(*joint) {
            *slot = true;
        }
    }
    let roles = [JointRole::Head, JointRole::Jaw, JointRole::LeftEye, JointRole::RightEye];
    let by_name = |role: JointRole| {
        let candidates = tree.order.iter().filter_map(|node| {
            let entry = &schema.nodes[*node];
            // A node with a skinned mesh is placed by other joints.
            let rank = if entry.skin.is_some() { None } else { rank(role, entry.name.as_deref()?) };
            rank.map(|rank| ((!is_joint[*node], entry.mesh.is_some(), rank), *node))
        });
        // The first of the best: the one nearest to the root.
        candidates.min_by_key(|(key, _)| *key).map(|(_, node)| node)
    };
    let joint = |role: JointRole| {
        let declared = vrm.and_then(|vrm| vrm.joint(role)).filter(|node| *node < schema.nodes.len());
        let node = declared.or_else(|| by_name(role))?;
        let name = schema.nodes[node].name.clone().unwrap_or_else(|| format!("node {node}"));
        let position = to_rig.transform_point3(tree.globals[node].translation);
        Some(Joint { role, name, node, position, carries: Vec::new() })
    };
    let mut joints: Vec<Joint> = roles.into_iter().filter_map(joint).collect();
    sort_eyes(&mut joints, notes);
    joints
}

/// Swaps eyes whose names are the wrong way round, as when named from the viewer's side. The character's left is +X.
fn sort_eyes(joints: &mut [Joint], notes: &mut Vec<String>) {
    let place = |role| joints.iter().position(|joint| joint.role == role);
    let (Some(left), Some(right)) = (place(JointRole::LeftEye), place(JointRole::RightEye)) else { return };
    if joints[left].position.x < joints[right].position.x {
        notes.push(format!(
            "joint \"{}\" is on the character's right and \"{}\" on its left, so they count as such",
            joints[left].name, joints[right].name
        ));
        joints[left].role = JointRole::RightEye;
        joints[right].role = JointRole::LeftEye;
        joints.swap(left, right);
    }
}

/// How well a name fits a role: smaller is better, `None` is no match.
fn rank(role: JointRole, name: &str) -> Option<usize> {
    // Rigify's head bone is the last of its spine.
    if role == JointRole::Head && name == "DEF-spine.006" {
        return Some(9);
    }
    let words = words(name);
    let (side, rest): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| LEFT.contains(word) || RIGHT.contains(word));
    let is = |wanted: &[&[&str]]| wanted.iter().position(|wanted| *wanted == rest);
    let eyes: &[&[&str]] = &[&["eye"], &["eyeball"], &["face", "eye"], &["eye", "ball"], &["grp", "eye"]];
    let sided = |words: [&str; 2]| side.len() == 1 && words.contains(&side[0]);
    match role {
        JointRole::Head if side.is_empty() => is(&[&["head"]]),
        JointRole::Jaw if side.is_empty() => is(&[
            &["jaw"],
            &["jaw", "root"],
            &["face", "jaw"],
            &["lower", "jaw"],
            &["jaw", "lower"],
            &["mandible"],
        ]),
        JointRole::LeftEye if sided(LEFT) => is(eyes),
        JointRole::RightEye if sided(RIGHT) => is(eyes),
        _ => None,
    }
}

/// The words of a name in lower case: "CC_Base_L_Eye" is "l", "eye" and "mixamorig:Head" is "head".
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut previous = ' ';
    for c in name.chars() {
        let starts = c.is_uppercase() && previous.is_lowercase();
        if starts || !c.is_alphabetic() {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    // "lEye" and "rEye" are split above; "leye" and "reye" are not.
    let words = words.into_iter().flat_map(|word| match word.as_str() {
        "leye" => vec!["l".to_owned(), "eye".to_owned()],
        "reye" => vec!["r".to_owned(), "eye".to_owned()],
        _ => vec![word],
    });
    let mut words: Vec<String> = words.collect();
    while words.len() > 1 && PREFIXES.contains(&words[0].as_str()) {
        words.remove(0);
    }
    while words.len() > 1
        && words.last().is_some_and(|last| ["x", "m", "jnt", "joint", "bone"].contains(&&**last))
    {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_spellings_are_recognised() {
        let fits = |role, names: &[&str]| {
            for name in names {
                assert!(rank(role, name).is_some(), "{name} should be {role:?}");
            }
        };
        fits(
            JointRole::Head,
            &[
                "head",
                "Head",
                "J_Bip_C_Head",
                "mixamorig:Head",
                "CC_Base_Head",
                "Bip01 Head",
                "DEF-head",
                "head.x",
                "Head_M",
            ],
        );
        fits(
            JointRole::Jaw,
            &["jaw", "Jaw", "JawRoot", "CC_Base_JawRoot", "jaw_root", "lowerJaw", "DEF-jaw"],
        );
        fits(
            JointRole::LeftEye,
            &[
                "eyeLeft",
                "LeftEye",
                "eye.L",
                "Eye_L",
                "J_Adj_L_FaceEye",
                "CC_Base_L_Eye",
                "lEye",
                "leye",
                "DEF-eye.L",
                "mixamorig:LeftEye",
            ],
        );
        fits(
            JointRole::RightEye,
            &["eyeRight", "RightEye", "eye.R", "Eye_R", "J_Adj_R_FaceEye", "CC_Base_R_Eye", "rEye"],
        );
    }

    #[test]
    fn other_joints_are_not() {
        let roles = [JointRole::Head, JointRole::Jaw, JointRole::LeftEye, JointRole::RightEye];
        for name in [
            "HeadTop_End",
            "head_end",
            "neck",
            "J_Sec_Hair1",
            "eyelid.L",
            "LeftEyebrow",
            "eye",
            "headset",
            "jawline",
            "Forehead",
            "eye.L.R",
        ] {
            assert!(roles.iter().all(|role| rank(*role, name).is_none()), "{name} is no face joint");
        }
    }
}
