//! Anatomy under a face: that of the built-in head, or one that is fitted.

use glam::DVec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::tets::TetMesh;
use zygoma_head::anatomy::{self, Anatomy, FillDetail};
use zygoma_head::fit::{self, Fat, FitError, FitInput, FittedHead};
use zygoma_rig::{Rig, RigMesh};

use super::{Muscles, Tie, TissueVolume};
use crate::model::{BodySection, BoneSource, Bones, FaceModel, JawMotion, Section, Teeth};

impl TissueVolume {
    /// The fill of an anatomy, in the anatomy's own frame.
    pub fn of_anatomy(anatomy: &Anatomy) -> Self {
        let tie = |tie: &anatomy::Tie| match tie {
            anatomy::Tie::Flesh => Tie::Free,
            anatomy::Tie::Skin => Tie::Skin,
            // The neck ends in a cut that is fixed in the head's frame.
            anatomy::Tie::Cranium | anatomy::Tie::Neck => Tie::Cranium,
            anatomy::Tie::Mandible => Tie::Jaw,
        };
        Self {
            ties: anatomy.fill_ties.iter().map(tie).collect(),
            mesh: anatomy.fill.clone(),
            materials: Vec::new(),
        }
    }

    /// The anatomical fill that a face has; `None` if none was added, or if it is damaged.
    pub fn of_face(face: &FaceModel) -> Option<Self> {
        face.section()?.ok()
    }
}

impl FaceModel {
    /// Adds the tetrahedra of a head's anatomy: those of the built-in head, if this is its skin, or else fitted ones with their bones. A face that has
    /// them already keeps them.
    pub fn add_anatomy(&mut self, rig: &Rig) -> Result<(), FitError> {
        if TissueVolume::of_face(self).is_some() {
            return Ok(());
        }
        if let Some(head) = self.built_in_head() {
            let anatomy = Anatomy::filled(&head, FillDetail::Coarse);
            self.add_section(&TissueVolume::of_anatomy(&anatomy));
            self.add_section(&Muscles::of_anatomy(&anatomy));
            return Ok(());
        }
        let fitted = fit_head(rig, &AnatomyOptions::default())?;
        self.add_fitted_anatomy(rig.skin(), &fitted);
        Ok(())
    }

    /// Takes tetrahedra and bones of another model of the same face; false if that has none.
    pub fn take_anatomy(&mut self, other: &Self) -> bool {
        if TissueVolume::of_face(other).is_none() {
            return false;
        }
        for name in [TissueVolume::NAME, Muscles::NAME] {
            if let Some(section) = other.sections.get(name) {
                self.sections.insert(name.to_owned(), section.clone());
            }
        }
        (self.inside.bones, self.inside.bone_source) = (other.inside.bones.clone(), other.inside.bone_source);
        true
    }

    /// Adds the tetrahedra and the bones of a head that was fitted to a rig's skin.
    pub fn add_fitted_anatomy(&mut self, skin: &RigMesh, fitted: &FittedHead) {
        self.add_section(&TissueVolume::of_anatomy(&fitted.anatomy));
        self.add_section(&Muscles::of_anatomy(&fitted.anatomy));
        if self.inside.bones.is_none() {
            self.inside.bones = Some(self.fitted_bones(skin, fitted));
            self.inside.bone_source = BoneSource::Fitted;
        }
    }

    /// The bones of a fitted head. The jaw moves as the lower teeth do, if a shape moves them, or else about its condyles as far as the chin's skin
    /// shows.
    fn fitted_bones(&self, skin: &RigMesh, fitted: &FittedHead) -> Bones {
        let surface = |bone: &anatomy::Surface| TriMesh {
            positions: bone.positions.clone(),
            triangles: bone.triangles.clone(),
        };
        let teeth = self.inside.teeth.as_ref().and_then(Teeth::jaw_motion);
        Bones {
            cranium: surface(&fitted.anatomy.cranium.surface),
            mandible: surface(&fitted.anatomy.mandible.surface),
            jaw: teeth.unwrap_or_else(|| self.hinge_motion(skin, fitted)),
        }
    }

    fn hinge_motion(&self, skin: &RigMesh, fitted: &FittedHead) -> JawMotion {
        let rest: Vec<DVec3> = skin.positions.iter().map(|p| p.as_dvec3()).collect();
        let chin = fitted.chin(&rest);
        let at_chin: Vec<DVec3> = chin.iter().map(|v| rest[*v as usize]).collect();
        let points = &fitted.anatomy.mandible.surface.positions;
        let jaw_shapes = self.inside.jaw_shapes.iter().filter(|shape| !self.is_mouth_close(**shape));
        let motion = |shape: &usize| {
            let offsets = self.displacements(*shape);
            let moved: Vec<DVec3> = chin.iter().map(|v| offsets[*v as usize].as_dvec3()).collect();
            let posed: Vec<DVec3> = at_chin.iter().zip(&moved).map(|(p, way)| *p + *way).collect();
            let hinge = fitted.hinge_motion(&at_chin, &posed);
            // A jaw that slides instead of turning goes where its chin goes.
            let left: DVec3 =
                at_chin.iter().zip(&posed).map(|(p, to)| *to - hinge.transform_point3(*p)).sum();
            let slide = match self.is_jaw_open(*shape) {
                true => DVec3::ZERO,
                false => left / at_chin.len().max(1) as f64,
            };
            (*shape, points.iter().map(|p| hinge.transform_point3(*p) + slide - *p).collect())
        };
        JawMotion::new(points, jaw_shapes.map(motion))
    }
}

/// Options of a fit.
#[derive(Clone, Debug)]
pub struct AnatomyOptions {
    /// Where standard landmarks lie, by their number from 0 to 67; may be empty.
    pub landmarks: Vec<(usize, DVec3)>,
    /// How fat the head is.
    pub fat: Fat,
    /// Detail of the tetrahedra.
    pub fill: FillDetail,
}

/// An estimate without landmarks, with few enough tetrahedra for live bodies.
impl Default for AnatomyOptions {
    fn default() -> Self {
        Self { landmarks: Vec::new(), fat: Fat::Auto, fill: FillDetail::Coarse }
    }
}

/// Fits the built-in head to a rig's skin, with bones that stay under it in the rig's shapes. The other meshes occlude the surfaces behind them.
pub fn fit_head(rig: &Rig, options: &AnatomyOptions) -> Result<FittedHead, FitError> {
    let positions = |mesh: &RigMesh| -> Vec<DVec3> { mesh.positions.iter().map(|p| p.as_dvec3()).collect() };
    let others = rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin);
    let others: Vec<(Vec<DVec3>, Vec<[u32; 3]>)> =
        others.map(|(_, mesh)| (positions(mesh), mesh.faces.triangles())).collect();
    let others: Vec<(&[DVec3], &[[u32; 3]])> = others.iter().map(|(p, t)| (&p[..], &t[..])).collect();
    let (skin, triangles) = (positions(rig.skin()), rig.skin().faces.triangles());
    let AnatomyOptions { landmarks, fat, fill } = options;
    let fitted = fit::fit(&FitInput {
        others: &others,
        landmarks,
        fat: *fat,
        fill: *fill,
        ..FitInput::new(&skin, &triangles)
    })?;
    Ok(fitted.covered_in_shapes(rig, *fill))
}

impl BodySection for TissueVolume {
    const NAME: &'static str = "anatomy";

    fn write(&self) -> Section {
        let mut section = Section::new(&());
        section.add_vectors64("positions", &self.mesh.positions);
        section.add("tets", 4, self.mesh.tets.as_flattened());
        section.add("ties", 1, &self.ties.iter().map(code).collect::<Vec<u8>>());
        section
    }

    fn read(section: &Section, _: &FaceModel) -> Result<Self, String> {
        let positions = section.vectors64("positions")?;
        let ties: Vec<u8> = section.exactly("ties", positions.len())?;
        let tets = section.indices::<4>("tets", positions.len())?;
        let volume = Self {
            ties: ties.iter().map(|code| tie_of(*code)).collect::<Option<_>>().ok_or("a tie is unknown")?,
            mesh: TetMesh { positions, tets },
            materials: Vec::new(),
        };
        let is_sound = volume.mesh.volumes().iter().all(|volume| volume.is_finite() && *volume > 0.0);
        if is_sound { Ok(volume) } else { Err("a tetrahedron is inverted or flat".into()) }
    }
}

/// The ties that an anatomy has, by number.
const TIES: [Tie; 4] = [Tie::Free, Tie::Skin, Tie::Cranium, Tie::Jaw];

fn code(tie: &Tie) -> u8 {
    TIES.iter().position(|other| other == tie).unwrap_or(0) as u8
}

fn tie_of(code: u8) -> Option<Tie> {
    TIES.get(usize::from(code)).copied()
}
