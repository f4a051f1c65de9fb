//! Colliders whose path leads through the face.
//!
//! A collider driven straight from one cheek to the other cuts through the head. It pushes the skin on the side that it comes from, but
//! once it is deeper than tissue yields, or nearer to the skin on the other side, it counts as through: it has no contacts until it has
//! come out again. Otherwise it would catch the skin on the other side from within, and drag it out of the face. The inside of the mouth
//! is not out.

use glam::Vec3;
use zygoma_physics::contact::ColliderShape;

use super::HeadWay;
use super::collider_body::{ColliderBody, ColliderMotion};

/// Tissue yields by at most this fraction of the height: 2 cm on a life-size face. Ours, as those below.
pub(super) const DEEPEST: f32 = 0.08;
/// Parts thinner than twice this fraction of the height, such as ears, can be pushed from either side: 1 cm.
const THIN: f32 = 0.025;
/// A hand has passed a part of the face only if it is deeper than this fraction of the height below the skin that it came from: 1.5 cm.
const THICK: f32 = 3.0 * THIN;
/// Skin lies before a point if its direction is within 37° of the normal of the skin behind it, of which this is the cosine.
const AHEAD: f32 = 0.8;
/// Skin faces other skin if their normals are more than 120° apart, of which this is the cosine.
const FACING: f32 = -0.5;
/// The path in a frame is sampled in strides of this fraction of the collider's radius.
const STRIDE: f32 = 0.5;
/// The largest number of strides in a frame.
const MOST_STRIDES: usize = 32;

/// The rig's skin nearest to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    /// Depth of the point inside the head; negative outside.
    pub(crate) depth: f32,
    /// Outward normal of the skin.
    pub(crate) normal: Vec3,
    /// Whether the point is outside in a hollow, with skin before it that faces this skin: in the mouth.
    pub(crate) is_enclosed: bool,
}

impl Below {
    /// Measures from the vertex of a skin nearest to a point, of all or of those that face some side. `normal` gives the normal of a
    /// vertex. `None` beside the skin, as at the edge of a neck, where inside and outside are undefined.
    pub(crate) fn new(
        (at, side): (Vec3, Option<Vec3>),
        skin: impl Iterator<Item = Vec3> + Clone,
        normal: impl Fn(usize) -> Vec3,
    ) -> Option<Self> {
        let squared = |place: &Vec3| place.distance_squared(at);
        let faces = |vertex: usize| side.is_none_or(|side| normal(vertex).dot(side) > 0.0);
        let facing = skin.clone().enumerate().filter(|(vertex, _)| faces(*vertex));
        let (nearest, place) = facing.min_by(|(_, a), (_, b)| squared(a).total_cmp(&squared(b)))?;
        let (up, offset) = (normal(nearest), at - place);
        let height = offset.dot(up);
        // Directly above or below the skin, the offset from its nearest point is along the normal.
        if height.abs() < 0.7 * offset.length() {
            return None;
        }
        let is_before = |place: Vec3| (place - at).dot(up) > AHEAD * place.distance(at);
        let is_across = |(vertex, place): (usize, Vec3)| is_before(place) && normal(vertex).dot(up) < FACING;
        let is_enclosed = height > 0.0 && skin.enumerate().any(is_across);
        Some(Self { depth: -height, normal: up, is_enclosed })
    }
}

/// Progress of a collider through a face.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passage {
    /// Where it was last above the skin.
    entry: Option<Entry>,
    is_through: bool,
}

/// The way into a face: a point of the skin, and the outward normal there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Vec3,
    side: Vec3,
}

/// A kind of collider on its way: hands lie along a face, and their fingers reach over eyes and around jaws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guest {
    Hand,
    Other,
}

impl Passage {
    /// Advances to a point of the collider's core, which is `radius` below its surface, on a face of the given height. `below` finds the
    /// skin nearest to the point, of all or of those parts that face some side.
    fn go(
        &mut self,
        guest: Guest,
        at: Vec3,
        below: impl Fn(Option<Vec3>) -> Option<Below>,
        (radius, height): (f32, f32),
    ) {
        let is_deep = |found: Below| found.depth > THICK * height;
        // Inside a jaw the nearest skin may be that of the mouth, or unclear, however far the skin that it came from was pushed.
        let has_pushed = |entry: Entry| {
            (entry.at - at).dot(entry.side) > DEEPEST * height
                && below(Some(entry.side)).map_or(guest == Guest::Other, is_deep)
        };
        let Some(Below { depth, normal, is_enclosed }) = below(None) else {
            self.is_through |= self.entry.is_some_and(has_pushed);
            return;
        };
        if is_enclosed {
            // Deep below the skin that it came from, it has come through a cheek, not through the lips.
            self.is_through |= self.entry.is_some_and(|entry| below(Some(entry.side)).is_some_and(is_deep));
            return;
        }
        let skin = at + depth * normal;
        if depth < 0.0 {
            self.is_through &= depth > -radius;
            if !self.is_through {
                self.entry = Some(Entry { at: skin, side: normal });
            }
            return;
        }
        self.is_through |= depth > DEEPEST * height || self.entry.is_some_and(has_pushed);
        let Some(entry) = &mut self.entry else { return };
        // Before an eye or a mouth the inner side of lids and lips is nearest. A finger that is not deep below the skin that it came from
        // has passed nothing.
        self.is_through |= entry.side.dot(normal) < 0.0
            && depth > THIN * height
            && (guest == Guest::Other || below(Some(entry.side)).is_some_and(is_deep));
        // A finger that slides along the skin stays on its side, however the face turns away below it.
        if guest == Guest::Hand && depth <= THIN * height && entry.side.dot(normal) > 0.0 {
            *entry = Entry { at: skin, side: normal };
        }
    }
}

impl ColliderBody {
    /// Follows the collider from its current pose to its goal at a fraction of the frame. Afterwards it [is through](Self::is_through) if
    /// it was so anywhere on its path.
    pub(crate) fn pass(
        &mut self,
        head: &HeadWay,
        fraction: f32,
        below: impl Fn((Vec3, Option<Vec3>)) -> Option<Below>,
    ) {
        let (radius, half_length, ends): (f32, f32, &[f32]) = match (&self.collider.shape, self.drive) {
            (ColliderShape::Sphere { radius }, ColliderMotion::Kinematic) => (*radius, 0.0, &[0.0][..]),
            (ColliderShape::Capsule { half_length, radius }, ColliderMotion::Kinematic) => {
                (*radius, *half_length, &[1.0, -1.0][..])
            }
            // A force-driven collider stops where the face holds it back, and one point does not represent a mesh.
            _ => return,
        };
        let (from, to) = (self.start_pose(head), self.wanted(head, fraction));
        self.is_passing = false;
        let guest = if self.hand.is_some() { Guest::Hand } else { Guest::Other };
        for (end, passage) in ends.iter().zip(&mut self.passages) {
            let [from, to] = [from, to].map(|pose| pose.apply(half_length * *end * Vec3::Y));
            let strides = (from.distance(to) / (STRIDE * radius)).ceil().clamp(1.0, MOST_STRIDES as f32);
            self.is_passing |= passage.is_through;
            for stride in 1..=strides as usize {
                let at = from.lerp(to, stride as f32 / strides);
                passage.go(guest, at, |side| below((at, side)), (radius, self.scale.height));
                self.is_passing |= passage.is_through;
            }
        }
    }

    /// Whether the collider cut through the face, so that it has no contacts.
    pub fn is_through(&self) -> bool {
        self.is_passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slab of tissue around x = 0, each side with its own outward normal.
    fn slab(x: f32, half: f32, side: Option<Vec3>) -> Option<Below> {
        let normal = side.unwrap_or(if x < 0.0 { -Vec3::X } else { Vec3::X });
        Some(Below { depth: half - x * normal.x, normal, is_enclosed: false })
    }

    /// A head from x = −0.2 to 0.2 with a mouth from −0.1 to 0.1.
    fn hollow(x: f32, side: Option<Vec3>) -> Option<Below> {
        let skins = [(-0.2, -Vec3::X), (-0.1, Vec3::X), (0.1, -Vec3::X), (0.2, Vec3::X)];
        let facing = skins.into_iter().filter(|(_, normal)| side.is_none_or(|side| side.dot(*normal) > 0.0));
        let (at, normal) = facing.min_by(|(a, _), (b, _)| (x - a).abs().total_cmp(&(x - b).abs()))?;
        let depth = (at - x) * normal.x;
        Some(Below { depth, normal, is_enclosed: depth < 0.0 && x.abs() < 0.1 })
    }

    #[test]
    fn a_thing_that_came_through_a_cheek_is_not_out_in_the_mouth() {
        // Fine and coarse strides: the coarse ones miss the inner half of the cheek.
        for path in [
            (-40..=40).map(|k| 0.01 * k as f32).collect::<Vec<_>>(),
            vec![-0.3, -0.17, -0.06, 0.0, 0.06, 0.17, 0.3],
        ] {
            let mut passage = Passage::default();
            for x in path {
                passage.go(Guest::Other, x * Vec3::X, |side| hollow(x, side), (0.05, 1.0));
                assert!(passage.is_through || x.abs() > 0.09, "{x}");
            }
            assert!(!passage.is_through);
        }
        let entry = Entry { at: Vec3::ZERO, side: Vec3::Z };
        let mut passage = Passage { entry: Some(entry), is_through: false };
        let through_lips = |side: Option<Vec3>| {
            side.is_none().then_some(Below { depth: -0.02, normal: Vec3::Y, is_enclosed: true })
        };
        passage.go(Guest::Other, -0.02 * Vec3::Z, through_lips, (0.05, 1.0));
        assert!(!passage.is_through, "a thing that came through open lips");
    }

    /// Whether a collider is through, at each point of its path from left to right.
    fn through(half: f32) -> Vec<bool> {
        let mut passage = Passage::default();
        let steps = (-40..=40).map(|k| 0.01 * k as f32);
        let go = |x: f32| {
            passage.go(Guest::Other, x * Vec3::X, |side| slab(x, half, side), (0.05, 1.0));
            passage.is_through
        };
        steps.map(go).collect()
    }

    #[test]
    fn a_thing_in_the_head_is_through_until_it_has_come_out() {
        let thick = through(0.2);
        let first = thick.iter().position(|is| *is).unwrap();
        let last = thick.iter().rposition(|is| *is).unwrap();
        let x = |k: usize| 0.01 * (k as f32 - 40.0);
        assert!(x(first) > -0.13 && x(first) < -0.1, "tissue yields before: {}", x(first));
        assert!((x(last) - 0.24).abs() < 0.015, "until it is clear of the skin: {}", x(last));
        assert!(thick[first..=last].iter().all(|is| *is));
    }

    #[test]
    fn a_narrow_jaw_is_passed_at_its_middle_and_an_ear_is_pushed() {
        let jaw = through(0.05);
        let first = 0.01 * (jaw.iter().position(|is| *is).unwrap() as f32 - 40.0);
        assert!((0.0..0.02).contains(&first), "{first}");
        assert!(!jaw[jaw.len() - 1]);
        assert!(through(0.01).iter().all(|is| !is), "an ear never holds anything within");
    }

    #[test]
    fn a_thing_that_pushed_a_narrow_jaw_far_is_through_however_near_its_underside_is() {
        let mut passage = Passage::default();
        let mut go = |x: f32| {
            // A ball that comes along x into a bar whose underside is near.
            let depth = x - 0.1;
            let below = |side: Option<Vec3>| {
                let underside = Below { depth: 0.04, normal: -Vec3::Y, is_enclosed: false };
                let entered = Below { depth, normal: -Vec3::X, is_enclosed: false };
                Some(if side.is_some() || depth < 0.0 { entered } else { underside })
            };
            passage.go(Guest::Other, x * Vec3::X, below, (0.05, 1.0));
            passage.is_through
        };
        let first = (0..40).map(|k| 0.01 * k as f32).find(|x| go(*x)).unwrap();
        assert!((first - 0.1 - DEEPEST).abs() < 0.015, "{first}");
    }

    #[test]
    fn the_nearest_vertex_tells_the_depth_and_edges_tell_nothing() {
        let skin = || [Vec3::ZERO, Vec3::X].into_iter();
        let at = Vec3::new(0.9, 0.0, -0.5);
        let below = Below::new((at, None), skin(), |v| [Vec3::X, Vec3::Z][v]).unwrap();
        assert!((below.depth - 0.5).abs() < 1e-6);
        assert_eq!(below.normal, Vec3::Z);
        assert!(!below.is_enclosed);
        let pair = |normals: [Vec3; 2]| {
            let between = (Vec3::new(0.4, 0.0, 0.0), None);
            Below::new(between, skin(), |v| normals[v]).unwrap().is_enclosed
        };
        assert!(pair([Vec3::X, -Vec3::X]) && !pair([Vec3::X, Vec3::X]) && !pair([-Vec3::X, Vec3::X]));
        assert!(Below::new((Vec3::new(3.0, 0.0, -0.5), None), skin(), |_| Vec3::Z).is_none());
        let behind = Below::new((at, Some(Vec3::Y)), skin(), |v| [Vec3::X, Vec3::Z][v]);
        assert!(behind.is_none(), "nothing faces that side");
    }

    #[test]
    fn a_finger_before_an_eye_and_one_that_slides_around_a_jaw_stay_outside() {
        let mut passage = Passage::default();
        let mut go = |below: &dyn Fn(Option<Vec3>) -> Option<Below>| {
            passage.go(Guest::Hand, Vec3::ZERO, below, (0.03, 1.0));
            passage.is_through
        };
        go(&|_| Some(Below { depth: -0.01, normal: Vec3::Z, is_enclosed: false }));
        // The nearest skin is the inner side of a lid; that which faces the finger is just below it, or beside it.
        let lid = Below { depth: 0.04, normal: -Vec3::Z, is_enclosed: false };
        for facing in [Some(Below { depth: 0.002, normal: Vec3::Z, is_enclosed: false }), None] {
            assert!(!go(&|side| if side.is_some() { facing } else { Some(lid) }));
        }
        for degrees in (0..=150).step_by(10) {
            let normal = glam::Quat::from_rotation_x((degrees as f32).to_radians()) * Vec3::Z;
            go(&|_| Some(Below { depth: 0.02, normal, is_enclosed: false }));
        }
        let round = Below { depth: 0.03, normal: -Vec3::Z, is_enclosed: false };
        assert!(!go(&|_| Some(round)), "it came around and not through");
    }
}
