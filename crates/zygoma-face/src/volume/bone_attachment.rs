//! Attachment of tissue to bones: to the cranium, to the moving jaw, or to a blend of both.

use glam::DVec3;
use zygoma_geometry::rigid::RigidMotion;

use crate::model::Below;
use crate::model::JawMotion;

/// Skin that the widest jaw shape moves by this fraction of its largest displacement is carried by the bone itself. Ours.
const CARRIED: f64 = 0.6;
/// Points whose displacement a rigid motion misses by more than this fraction are not bone. Ours.
const LOOSE: f64 = 0.15;
/// Tissue whose bone lies this much deeper than the tissue is thick does not depend on which bone it is, m. Ours.
const FEELS: f64 = 0.01;
/// A point belongs to the nearer bone alone where the distances to the two differ by this fraction of their sum. Ours.
const NEARER: f64 = 0.3;

/// The motion of the bones, and the kind of attachment to them.
#[derive(Debug)]
pub(crate) struct BoneAttachment {
    jaw: JawMotion,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// To known bones: rigid.
    Bones,
    /// Under skin that shows the motion of the jaw: moves with that skin, and rotates with the jaw. A rigid jaw, found from a skin that
    /// is not rigid, would change the volume of the tissue between them twice as much.
    Skin {
        /// Shapes that move the jaw.
        shapes: Vec<usize>,
    },
}

/// A vertex at rest that ligaments hold.
pub(crate) struct AttachmentPoint<'a> {
    pub(crate) at: DVec3,
    /// Fraction by which the bone there follows the jaw: 0 stays with the cranium.
    pub(crate) jaw: f64,
    /// The skin vertex above it.
    pub(crate) above: usize,
    pub(crate) skin: DVec3,
    /// Displacement of the skin by every shape.
    pub(crate) moves: &'a [Vec<DVec3>],
}

/// The shapes of a skin that move its jaw.
pub(crate) struct JawShapes<'a> {
    pub(crate) skin: &'a [DVec3],
    /// Displacement of the skin by every shape.
    pub(crate) moves: &'a [Vec<DVec3>],
    /// Those of them that move the bone.
    pub(crate) shapes: &'a [usize],
}

impl JawShapes<'_> {
    /// The motion of the bone, as far as the skin shows it.
    pub(crate) fn motion(&self) -> JawMotion {
        let farthest = |shape: usize| self.moves[shape].iter().map(|d| d.length()).fold(0.0, f64::max);
        let widest = self.shapes.iter().copied().max_by(|a, b| farthest(*a).total_cmp(&farthest(*b)));
        let Some(widest) = widest.filter(|shape| farthest(*shape) > 0.0) else { return JawMotion::still() };
        let least = CARRIED * farthest(widest);
        let moves = &self.moves[widest];
        let mut patch: Vec<usize> = (0..self.skin.len()).filter(|v| moves[*v].length() >= least).collect();
        let motion_of = |patch: &[usize]| {
            let gather = |values: &[DVec3]| patch.iter().map(|v| values[*v]).collect::<Vec<DVec3>>();
            JawMotion::new(
                &gather(self.skin),
                self.shapes.iter().map(|shape| (*shape, gather(&self.moves[*shape]))),
            )
        };
        let mut weights = vec![0.0; self.moves.len()];
        weights[widest] = 1.0;
        let pose = motion_of(&patch).pose(&weights);
        let off = |v: usize| pose.apply(self.skin[v]).distance(self.skin[v] + moves[v]);
        patch.retain(|v| off(*v) < LOOSE * moves[*v].length());
        motion_of(&patch)
    }

    /// Fraction by which each vertex follows a jaw, over all the shapes that move it.
    pub(crate) fn fractions(&self, jaw: &JawMotion) -> Vec<f64> {
        let poses: Vec<(usize, RigidMotion)> = self
            .shapes
            .iter()
            .map(|shape| {
                let mut weights = vec![0.0; self.moves.len()];
                weights[*shape] = 1.0;
                (*shape, jaw.pose(&weights))
            })
            .collect();
        let fraction = |v: usize| {
            let (mut along, mut all) = (0.0, 0.0);
            for (shape, pose) in &poses {
                let whole = pose.apply(self.skin[v]) - self.skin[v];
                along += whole.dot(self.moves[*shape][v]);
                all += whole.length_squared();
            }
            if all > 0.0 { (along / all).clamp(0.0, 1.0) } else { 0.0 }
        };
        (0..self.skin.len()).map(fraction).collect()
    }
}

impl BoneAttachment {
    /// The attachment that the skin shows: tissue under skin that the jaw carries follows the jaw. Also returns that fraction for each
    /// vertex of the skin.
    pub(crate) fn of_skin(shapes: &JawShapes) -> (Self, Vec<f64>) {
        let jaw = shapes.motion();
        let fractions = shapes.fractions(&jaw);
        (Self { jaw, kind: Kind::Skin { shapes: shapes.shapes.to_vec() } }, fractions)
    }

    /// Rigid attachment to bones whose jaw moves as given.
    pub(crate) fn rigid(jaw: JawMotion) -> Self {
        Self { jaw, kind: Kind::Bones }
    }

    /// The attachment to bones, and the fraction by which the tissue below each vertex of the skin follows the jaw: near a bone it
    /// follows that bone, and far from all bones the skin above it.
    pub(crate) fn on_bones(
        jaw: JawMotion,
        shapes: &JawShapes,
        below: &[Below],
        thickness: &[f64],
    ) -> (Self, Vec<f64>) {
        let mut fractions = shapes.fractions(&jaw);
        for ((fraction, below), thickness) in fractions.iter_mut().zip(below).zip(thickness) {
            let [cranium, mandible] = below.distances;
            let nearer = (cranium - mandible) / (cranium + mandible).max(f64::MIN_POSITIVE);
            let bone = smooth_step(0.5 + 0.5 * nearer / NEARER);
            let gap = below.bone.unwrap_or(f64::INFINITY) - thickness;
            let felt = smooth_step(1.0 - gap / FEELS);
            *fraction += felt * (bone - *fraction);
        }
        (Self::rigid(jaw), fractions)
    }

    /// The motion of the jaw.
    pub(crate) fn motion(&self) -> &JawMotion {
        &self.jaw
    }

    /// The pose of the jaw.
    pub(crate) fn pose(&self, weights: &[f32]) -> RigidMotion {
        self.jaw.pose(weights)
    }

    /// Position of an attachment for the given weights and pose of the jaw.
    pub(crate) fn place(&self, foot: &AttachmentPoint, weights: &[f32], pose: &RigidMotion) -> DVec3 {
        let fraction = foot.jaw;
        match &self.kind {
            Kind::Bones => foot.at + fraction * (pose.apply(foot.at) - foot.at),
            Kind::Skin { shapes } => {
                let arm = foot.at - foot.skin;
                let turned = fraction * (pose.rotation * arm - arm);
                foot.at + turned + carried(shapes, weights, foot)
            }
        }
    }
}

/// Displacement of the skin above an attachment by some shapes.
pub(crate) fn carried(shapes: &[usize], weights: &[f32], foot: &AttachmentPoint) -> DVec3 {
    let active = shapes.iter().filter(|shape| weights[**shape] != 0.0);
    active.map(|shape| f64::from(weights[*shape]) * foot.moves[*shape][foot.above]).sum()
}

pub(crate) fn smooth_step(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}
