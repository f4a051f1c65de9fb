//! A fitted head in the poses of its rig, and its bones under the skin of every one of them.

use glam::{DAffine3, DVec3, Vec3};
use zygoma_rig::{Rig, arkit};

use super::jaw_shapes::JawShapes;
use super::posed_bones::{Covered, PosedBones};
use super::skin_map::SkinMap;
use super::{FitError, FittedHead, bones, inside};
use crate::Level;
use crate::anatomy::FillDetail;
use crate::dials::Warp;
use crate::template::Template;

/// A pose of a fitted head, in the head's own frame, in metres.
#[derive(Clone, Debug)]
pub struct HeadPose {
    /// The shape of the rig; a shape that is made for an open jaw is posed over that.
    pub name: String,
    /// The shared skin.
    pub skin: Vec<DVec3>,
    /// The motion of the mandible.
    pub jaw: DAffine3,
}

/// Bones under the skin of one pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PosedCover {
    /// Bone vertices, except ridges, that lie outside the skin.
    pub outside: usize,
    /// The smallest depth of bone, in metres; negative when it sticks out.
    pub least: f64,
    /// Where that is.
    pub place: DVec3,
}

/// Bones under the skin in all shapes of a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct PosedReport {
    /// Shapes that were looked at.
    pub shapes: usize,
    /// Bone vertices outside the skin, summed over all shapes.
    pub outside: usize,
    /// The shape in which bone comes nearest to the skin, or sticks out most.
    pub worst: String,
    /// The smallest depth of bone there.
    pub cover: PosedCover,
}

impl FittedHead {
    /// The poses of the rig that this head was fitted to, one for each shape of its skin.
    pub fn poses(&self, rig: &Rig) -> Vec<HeadPose> {
        let back = self.to_mesh.inverse();
        let rest: Vec<DVec3> = self.skin.iter().map(|p| back.apply(*p)).collect();
        let skin = rig.skin();
        let mut map = SkinMap::new(skin, &rest, &self.to_mesh, Some(self));
        let (jaw, joint) = (JawShapes::of(rig, self), self.joint());
        let is = |shape: usize, name: &str| arkit::is(&skin.shapes[shape].name, name);
        let count = skin.shapes.len();
        let open = (0..count).find(|shape| is(*shape, "jawOpen"));
        let mut pose = |shape: usize| {
            let base = open.filter(|_| is(shape, "mouthClose"));
            let mut weights = vec![0.0; count];
            let mut offsets = vec![Vec3::ZERO; skin.positions.len()];
            for used in base.into_iter().chain([shape]) {
                weights[used] = 1.0;
                for (v, by) in skin.shapes[used].deltas.iter() {
                    offsets[v as usize] += by;
                }
            }
            let jaw = jaw.pose(&weights).motion(joint);
            let skin_posed = map.posed(|v| offsets[v].as_dvec3(), Some(&jaw));
            HeadPose { name: skin.shapes[shape].name.clone(), skin: skin_posed, jaw }
        };
        (0..count).map(&mut pose).collect()
    }

    /// Keeps the bones under the skin in all shapes of the rig as far as that is possible, and reports it.
    pub fn covered_in_shapes(self, rig: &Rig, fill: FillDetail) -> Self {
        /// Bone that is put back to its depth at rest may leave the skin of a pose again.
        const TRIES: usize = 3;
        let poses = self.poses(rig);
        let mut head = self;
        for tried in 0..=TRIES {
            let bones = PosedBones::new(&head);
            let found = bones.covers(&poses);
            head.report.posed = report(&poses, &found);
            let is_outside = found.iter().any(|covered| covered.cover.outside > 0);
            if !is_outside || tried == TRIES {
                break;
            }
            // A head whose tissue does not bear other bones keeps those that it has.
            let Ok(better) = head.clone().covered(bones, &poses, found, fill) else { break };
            head = better;
        }
        head
    }

    /// How deep the bones lie under the skin in each of some poses.
    pub fn covers(&self, poses: &[HeadPose]) -> Vec<PosedCover> {
        PosedBones::new(self).covers(poses).into_iter().map(|covered| covered.cover).collect()
    }

    /// The same head with bones that stay under the skin in some poses as well; the tissue is filled again.
    fn covered(
        mut self,
        mut bones: PosedBones,
        poses: &[HeadPose],
        found: Vec<Covered>,
        fill: FillDetail,
    ) -> Result<Self, FitError> {
        let template = Template::of(Level::High);
        let warp = Warp::new(&self.dials);
        let by_dials = super::dialled_skin(&warp);
        bones.push_under(poses, found);
        let PosedBones { bones, rest, .. } = bones;
        let under = bones::Skin { template, warp: &warp, by_dials: &by_dials, skin: &rest };
        let inside = inside::fit_inside(&under, bones.map(|bone| bone.positions), fill)?;
        self.report.measure_inside(template, &rest, &inside)?;
        self.anatomy = inside.anatomy.moved(&self.to_mesh);
        Ok(self)
    }
}

fn report(poses: &[HeadPose], found: &[Covered]) -> Option<PosedReport> {
    let least = |covered: &Covered| covered.cover.least;
    let worst = poses.iter().zip(found).min_by(|a, b| least(a.1).total_cmp(&least(b.1)))?;
    Some(PosedReport {
        shapes: poses.len(),
        outside: found.iter().map(|covered| covered.cover.outside).sum(),
        worst: worst.0.name.clone(),
        cover: worst.1.cover,
    })
}
