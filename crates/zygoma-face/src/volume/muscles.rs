//! Which tetrahedra of an anatomical fill are muscle.

use glam::DVec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::SignedSurface;
use zygoma_head::anatomy::Anatomy;

use crate::model::{BodySection, FaceModel, Section};

/// A flag for each tetrahedron of a face's anatomical fill: muscle, or else fat and skin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Muscles(pub(crate) Vec<bool>);

impl Muscles {
    /// Tetrahedra whose middle lies inside the wrap around all muscles. None are, if the wrap is open.
    pub(crate) fn of_anatomy(anatomy: &Anatomy) -> Self {
        let wrap = TriMesh {
            positions: anatomy.muscle_wrap.positions.clone(),
            triangles: anatomy.muscle_wrap.triangles.clone(),
        };
        let fill = &anatomy.fill;
        let Ok(wrap) = SignedSurface::new(wrap) else { return Self(vec![false; fill.tets.len()]) };
        let is_inside = |tet: usize| {
            let middle = fill.corners(tet).iter().sum::<DVec3>() / 4.0;
            wrap.closest(middle, f64::INFINITY).is_some_and(|found| found.signed_distance < 0.0)
        };
        Self((0..fill.tets.len()).map(is_inside).collect())
    }
}

impl BodySection for Muscles {
    const NAME: &'static str = "muscles";

    fn write(&self) -> Section {
        let mut section = Section::new(&());
        section.add_flags("tets", &self.0);
        section
    }

    fn read(section: &Section, _: &FaceModel) -> Result<Self, String> {
        let flags: Vec<u8> = section.numbers("tets")?;
        Ok(Self(flags.iter().map(|flag| *flag != 0).collect()))
    }
}
