//! A fitted head as a rig of its own: the built-in head's shapes, eyes and teeth, carried over. A scan becomes a rig.

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::deformation::{Transfer, deformation_gradients};
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::rbf::RbfWarp;
use zygoma_geometry::similarity::{Similarity, fit_similarity};
use zygoma_rig::{JointRole, Rig};

use super::bones::Skin;
use super::inside::tissue_warp;
use super::{FitError, FittedHead, bounds};
use crate::anatomy::{Anatomy, jaw_meshes};
use crate::base::Part;
use crate::dials::DialSettings;
use crate::template::Template;
use crate::{Hair, Head, HeadMesh, HeadOptions, JawWeights, Level};

impl FittedHead {
    /// A rig in the built-in head's frame, in metres: this head's skin with the 52 shapes, eyes, teeth, tongue and both bones.
    pub fn rig(&self) -> Result<Rig, FitError> {
        // A scan has its own hair, in its skin.
        let options = HeadOptions {
            dials: DialSettings::of(&self.dials),
            level: Level::High,
            hair: Some(Hair::Bald),
            ..HeadOptions::default()
        };
        let mut head = Head::new(&options);
        let back = self.to_mesh.inverse();
        let home = |points: &[DVec3]| points.iter().map(|p| back.apply(*p)).collect::<Vec<DVec3>>();
        let skin = home(&self.skin);
        let anatomy = self.anatomy.clone().moved(&back);
        let bones = [&anatomy.cranium, &anatomy.mandible].map(|bone| bone.surface.positions.clone());
        let space = {
            let template = Template::of(Level::High);
            let under = Skin { template, warp: &head.warp, by_dials: &head.skin.positions, skin: &skin };
            tissue_warp(&under, &bones)?
        };
        let source = head.skin.clone();
        head.skin = with_shapes(&source, skin)?;
        let follow = Follow::new(&source, &head.skin);
        head.parts = head.parts.par_iter().map(|part| carried_part(part, &space, &follow)).collect();
        let [left, right] = self.condyles().map(|p| back.apply(p));
        let joint = 0.5 * (left + right);
        let shift = joint - head.jaw_joint();
        let motion = |weights: &JawWeights| {
            let motion = Anatomy::mandible_motion(&head, weights);
            DAffine3::from_translation(shift) * motion * DAffine3::from_translation(-shift)
        };
        let mut rig = head.rig();
        rig.meshes.extend(jaw_meshes(&anatomy, motion));
        place_joints(&mut rig, &head, joint);
        Ok(rig)
    }
}

/// A skin with the shapes of another that has the same triangles, by deformation transfer (Thesis ch. 3 eq. 17).
fn with_shapes(source: &HeadMesh, skin: Vec<DVec3>) -> Result<HeadMesh, FitError> {
    let moves = |v: usize| source.shapes.iter().any(|(_, offsets)| offsets[v] != DVec3::ZERO);
    let still: Vec<u32> = (0..skin.len()).into_par_iter().filter(|v| !moves(*v)).map(|v| v as u32).collect();
    let mut transfer = Transfer::new(&skin, &source.triangles, &still).map_err(|_| FitError::Unsolvable)?;
    let add = |points: &[DVec3], offsets: &[DVec3]| -> Vec<DVec3> {
        points.iter().zip(offsets).map(|(p, offset)| *p + *offset).collect()
    };
    let opened = source.shapes.iter().find(|(name, _)| name == "jawOpen").map(|(_, offsets)| offsets);
    let mut carry = |posed: &[DVec3]| {
        transfer.apply(&deformation_gradients(&source.positions, posed, &source.triangles), &skin)
    };
    let open = opened.map(|offsets| carry(&add(&source.positions, offsets)));
    let mut shapes = Vec::with_capacity(source.shapes.len());
    for (name, offsets) in &source.shapes {
        let mut posed = add(&source.positions, offsets);
        let mut before = &skin;
        // The lips' seal is made over the open jaw.
        if let (true, Some(by_jaw), Some(open)) = (name == "mouthClose", opened, &open) {
            posed = add(&posed, by_jaw);
            before = open;
        }
        let moved = carry(&posed).iter().zip(before).map(|(p, q)| *p - *q).collect();
        shapes.push((name.clone(), moved));
    }
    Ok(HeadMesh { positions: skin, shapes, ..source.clone() })
}

/// The skin next to a part, before and after.
struct Follow<'a> {
    search: Option<IcpTarget>,
    source: &'a HeadMesh,
    fitted: &'a HeadMesh,
}

impl<'a> Follow<'a> {
    fn new(source: &'a HeadMesh, fitted: &'a HeadMesh) -> Self {
        Self { search: IcpTarget::new(&source.positions, &source.triangles), source, fitted }
    }

    /// The shift of an eyeball to where the space around it goes, and from there to behind the fitted lids.
    fn eye_shift(&self, eye: &HeadMesh, space: &RbfWarp) -> DVec3 {
        const STEPS: usize = 100;
        /// Skin within this multiple of the eye's radius is lid.
        const LIDS: f64 = 1.5;
        /// Distance of lids from the eyeball, in metres.
        const GAP: f64 = 5e-4;
        let start = ball_centre(&eye.positions);
        let radius = eye.positions.iter().map(|p| p.distance(start)).fold(0.0, f64::max);
        let parts = &Template::of(Level::High).base.parts;
        let is_lid =
            |v: &usize| parts[*v] == Part::Outer && self.source.positions[*v].distance(start) < LIDS * radius;
        let lids: Vec<usize> = (0..parts.len()).filter(is_lid).collect();
        let mut centre = space.apply(start);
        for _ in 0..STEPS {
            let nearest = lids.iter().map(|v| self.fitted.positions[*v] - centre);
            let Some(away) = nearest.min_by(|a, b| a.length().total_cmp(&b.length())) else { break };
            let short = radius + GAP - away.length();
            if short <= 0.0 {
                break;
            }
            centre -= short * away.normalize_or(DVec3::Z);
        }
        centre - start
    }

    /// How much further the skin next to a point moves in a shape of the fitted skin than in the source's.
    fn further(&self, p: DVec3, shape: &str) -> DVec3 {
        let Some(hit) = self.search.as_ref().and_then(|search| search.closest(p)) else { return DVec3::ZERO };
        let corners = self.source.triangles[hit.triangle as usize];
        let offset = |mesh: &HeadMesh| {
            let shape = mesh.shapes.iter().find(|(name, _)| name == shape);
            let at = |offsets: &[DVec3]| {
                (0..3).map(|i| hit.barycentric[i] * offsets[corners[i] as usize]).sum::<DVec3>()
            };
            shape.map_or(DVec3::ZERO, |(_, offsets)| at(offsets))
        };
        offset(self.fitted) - offset(self.source)
    }
}

/// A part on the fitted head. Lashes and brows go with the skin, eyeballs lie behind them; everything else keeps its form.
fn carried_part(part: &HeadMesh, space: &RbfWarp, follow: &Follow<'_>) -> HeadMesh {
    let mut carried = part.clone();
    if part.name.starts_with("eye") {
        let shift = follow.eye_shift(part, space);
        carried.positions.iter_mut().for_each(|p| *p += shift);
        return carried;
    }
    let placed: Vec<DVec3> = part.positions.iter().map(|p| space.apply(*p)).collect();
    if ["lashes", "brows", "caruncle"].iter().any(|name| part.name.starts_with(name)) {
        for (name, offsets) in &mut carried.shapes {
            offsets
                .iter_mut()
                .zip(&part.positions)
                .for_each(|(offset, p)| *offset += follow.further(*p, name));
        }
        carried.positions = placed;
        return carried;
    }
    let fit = fit_similarity(&part.positions, &placed);
    let turned = Similarity { translation: DVec3::ZERO, ..fit };
    carried.positions.iter_mut().for_each(|p| *p = fit.apply(*p));
    carried
        .shapes
        .iter_mut()
        .flat_map(|(_, offsets)| offsets)
        .for_each(|offset| *offset = turned.apply(*offset));
    carried
}

/// The centre of an eyeball: of its bounds, since its vertices are denser around the iris. The iris is set back, so that depth counts
/// from behind.
fn ball_centre(positions: &[DVec3]) -> DVec3 {
    let (low, high) = bounds(positions);
    let middle = 0.5 * (low + high);
    DVec3::new(middle.x, middle.y, low.z + 0.5 * (high.y - low.y))
}

/// Puts the joints of the eyes into the eyeballs' centres, and the jaw's between the condyles.
fn place_joints(rig: &mut Rig, head: &Head, jaw: DVec3) {
    let centre = |name: &str| {
        head.parts.iter().find(|part| part.name == name).map(|part| ball_centre(&part.positions))
    };
    for entry in &mut rig.joints {
        let place = match entry.role {
            JointRole::Jaw => Some(jaw),
            JointRole::LeftEye => centre("eye_left"),
            JointRole::RightEye => centre("eye_right"),
            JointRole::Head => None,
        };
        entry.position = place.unwrap_or(entry.position);
    }
}
