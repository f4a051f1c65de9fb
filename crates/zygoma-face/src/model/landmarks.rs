//! Named landmarks of a face's skin, found from the motion of its shapes and from its proportions.

use glam::{Vec2, Vec3};
use zygoma_geometry::closest::TriangleTree;
use zygoma_rig::arkit;

use super::FaceModel;

/// A named landmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    /// Its name, such as `cheek-left`; left is the character's.
    pub name: String,
    /// The vertex of the whole mesh at its centre.
    pub vertex: u32,
    /// Its radius around that vertex, in metres.
    pub radius: f32,
}

/// All landmarks of a face.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmarks {
    places: Vec<Landmark>,
    /// The rest position of each landmark's vertex, in metres.
    positions: Vec<Vec3>,
}

/// Pairs of moving landmarks: name, shapes whose motion is centred there, default position without such shapes, and radius. Lengths are
/// in face heights; positions are relative to the middle of the face and the underside of the chin, and are the mean of three heads.
/// Ours.
const MOVING: [(&str, &[&str], Vec2, f32); 4] = [
    ("mouth", &["mouthSmile", "mouthStretch", "mouthDimple", "mouthFrown"], Vec2::new(0.105, 0.225), 0.025),
    ("eyelid", &["eyeBlink"], Vec2::new(0.140, 0.530), 0.040),
    ("brow", &["browOuterUp", "browDown"], Vec2::new(0.185, 0.605), 0.040),
    ("cheekbone", &["cheekSquint"], Vec2::new(0.215, 0.370), 0.050),
];

const SIDES: [(&str, f32); 2] = [("left", 1.0), ("right", -1.0)];

/// Skin this close to the middle of the face counts as its middle, in face heights.
const MIDDLE: f32 = 0.02;

/// Lips are found at their edge; their centre is this much farther from the mouth, in face heights.
const LIP: f32 = 0.012;

impl Landmarks {
    /// Finds the landmarks of a face.
    pub fn new(face: &FaceModel) -> Self {
        let mut finder = Finder::new(face);
        finder.find_moving();
        finder.find_middle();
        finder.find_pairs();
        finder.places.sort_by(|a, b| a.name.cmp(&b.name));
        let positions = finder.places.iter().map(|p| face.neutral[p.vertex as usize]).collect();
        Self { places: finder.places, positions }
    }

    /// All landmarks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Landmark> {
        self.places.iter()
    }

    /// Finds a landmark by name, in any spelling: `cheek-left`, `cheek_L`, `leftCheek`.
    pub fn find(&self, name: &str) -> Option<&Landmark> {
        let key = arkit::key(name);
        self.places.iter().find(|place| arkit::key(&place.name) == key)
    }

    /// The landmark with the most similar name, if any is similar.
    pub fn similar(&self, name: &str) -> Option<&Landmark> {
        let key = arkit::key(name);
        let ranked = self.places.iter().map(|place| (edits(&key, &arkit::key(&place.name)), place));
        let (edits, place) = ranked.min_by_key(|(edits, _)| *edits)?;
        (edits <= 1 + key.len() / 3).then_some(place)
    }

    /// The landmark nearest to a position at rest, in metres.
    pub fn nearest(&self, position: Vec3) -> Option<&Landmark> {
        let places = self.places.iter().zip(&self.positions);
        let nearest = places.min_by(|(_, a), (_, b)| a.distance(position).total_cmp(&b.distance(position)));
        nearest.map(|(place, _)| place)
    }
}

/// Edit distance between two words: insertions, deletions and substitutions of letters (\[Levenshtein 1966\]).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

struct Finder<'a> {
    face: &'a FaceModel,
    /// The whole mesh and its skin, in face heights.
    neutral: Vec<Vec3>,
    skin: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    tree: TriangleTree,
    /// Middle of the face, height of the chin's underside and of the crown.
    middle: f32,
    chin: f32,
    crown: f32,
    /// The foremost extent of the skin.
    front: f32,
    places: Vec<Landmark>,
}

impl<'a> Finder<'a> {
    fn new(face: &'a FaceModel) -> Self {
        let neutral = face.neutral_in_heights();
        let skin: Vec<Vec3> = face.skin.iter().map(|v| neutral[*v as usize]).collect();
        let follows = |v: &u32| face.embedding.weights[*v as usize].iter().sum::<f32>() > 0.5;
        let triangles: Vec<[u32; 3]> =
            face.triangles.iter().filter(|t| t.iter().all(follows)).copied().collect();
        let low = skin.iter().copied().reduce(Vec3::min).unwrap_or_default();
        let high = skin.iter().copied().reduce(Vec3::max).unwrap_or_default();
        Self {
            tree: TriangleTree::new(&neutral, &triangles),
            middle: 0.5 * (low.x + high.x),
            crown: high.y,
            front: high.z,
            // One face height is the distance from the crown to the underside of the chin.
            chin: high.y - 1.0,
            places: Vec::new(),
            face,
            neutral,
            skin,
            triangles,
        }
    }

    fn add(&mut self, name: String, vertex: u32, radius: f32) {
        self.places.push(Landmark { name, vertex, radius: radius * self.face.height as f32 });
    }

    fn at(&self, name: &str) -> Vec3 {
        let place = self.places.iter().find(|place| place.name == name);
        place.map_or(Vec3::ZERO, |place| self.neutral[place.vertex as usize])
    }

    /// The midpoint of a pair of landmarks.
    fn between(&self, name: &str) -> Vec3 {
        0.5 * (self.at(&format!("{name}-left")) + self.at(&format!("{name}-right")))
    }

    /// Motion of each point of the skin under some shapes, each relative to its own maximum; `None` without any shape.
    fn motion(&self, shapes: &[String]) -> Option<Vec<f32>> {
        let is_wanted = |index: &usize| {
            let recognised = arkit::recognise(&self.face.shapes[*index].name);
            recognised.is_some_and(|r| shapes.iter().any(|shape| shape == r.shape))
        };
        let mut sum = vec![0.0; self.skin.len()];
        for index in (0..self.face.shapes.len()).filter(is_wanted) {
            let moved = self.face.displacements(index);
            let lengths = self.face.skin.iter().map(|v| moved[*v as usize].length());
            let most = lengths.clone().fold(0.0, f32::max);
            if most > 0.0 {
                for (sum, length) in sum.iter_mut().zip(lengths) {
                    *sum += length / most;
                }
            }
        }
        sum.iter().any(|value| *value > 0.0).then_some(sum)
    }

    /// The centre of the strongest motion among points that satisfy `counts`; `None` if nothing there moves.
    fn centre(&self, motion: &[f32], counts: impl Fn(Vec3) -> bool) -> Option<Vec3> {
        let counted = || self.skin.iter().zip(motion).filter(|(p, _)| counts(**p));
        let most = counted().map(|(_, m)| *m).fold(0.0, f32::max);
        let weight = |m: f32| (m - 0.75 * most).max(0.0);
        let total: f32 = counted().map(|(_, m)| weight(*m)).sum();
        let sum: Vec3 = counted().map(|(p, m)| weight(*m) * *p).sum();
        (total > 0.0).then(|| sum / total)
    }

    /// The vertex visible in front of a point when looking along −`outward`.
    fn seen(&self, point: Vec3, outward: Vec3) -> u32 {
        let positions = &self.neutral;
        let hit =
            self.tree.first_hit(positions, &self.triangles, point + 2.0 * outward, -outward, 0.0, |_| true);
        let near = hit.map_or(point, |hit| point + (2.0 - hit.distance) * outward);
        self.farthest(|p| -p.distance(near))
    }

    /// The skin vertex with the largest value.
    fn farthest(&self, value: impl Fn(Vec3) -> f32) -> u32 {
        let best = (0..self.skin.len()).max_by(|a, b| value(self.skin[*a]).total_cmp(&value(self.skin[*b])));
        best.map_or(0, |index| self.face.skin[index])
    }

    /// Finds pairs of landmarks that shapes move.
    fn find_moving(&mut self) {
        for (name, shapes, guess, radius) in MOVING {
            for (side, sign) in SIDES {
                let capital = if sign > 0.0 { "Left" } else { "Right" };
                let names: Vec<String> = shapes
                    .iter()
                    .flat_map(|shape| [(*shape).to_owned(), format!("{shape}{capital}")])
                    .collect();
                let on_side = |p: Vec3| sign * (p.x - self.middle) > 0.0;
                let centre = self.motion(&names).and_then(|motion| self.centre(&motion, on_side));
                let guessed = Vec3::new(self.middle + sign * guess.x, self.chin + guess.y, self.front - 0.5);
                let vertex = self.seen(centre.unwrap_or(guessed), Vec3::Z);
                self.add(format!("{name}-{side}"), vertex, radius);
            }
            if name == "eyelid" {
                self.middle = self.between("eyelid").x;
            }
        }
    }

    /// Finds pairs of landmarks that lie between others.
    fn find_pairs(&mut self) {
        let [mouth, brow] = ["mouth", "brow"].map(|name| self.between(name).y);
        for (side, sign) in SIDES {
            let of = |name: &str| self.at(&format!("{name}-{side}"));
            let tip = self.at("nose-tip");
            let wing = Vec3::new(self.middle + 0.4 * (of("eyelid").x - self.middle), tip.y - 0.03, tip.z);
            let cheek = Vec3::new(
                self.middle + 0.95 * (of("cheekbone").x - self.middle),
                0.5 * (of("cheekbone").y + of("mouth").y),
                of("cheekbone").z,
            );
            // At the sides of the face the view is from the side and slightly from the front; along the jaw also from below.
            let aside = |up: f32| Vec3::new(sign, up, 0.25).normalize();
            let inside = |back: f32, y: f32| Vec3::new(self.middle, y, self.front - back);
            let (chin, lip) = (self.at("chin").y, self.at("lip-lower").y);
            let jaw = inside(0.3, chin + 0.35 * (lip - chin));
            let temple = inside(0.25, of("brow").y);
            let ear = |p: Vec3| {
                if p.y > mouth && p.y < brow { sign * (p.x - self.middle) } else { f32::MIN }
            };
            let found = [
                ("nose", self.seen(wing, Vec3::Z), 0.025),
                ("cheek", self.seen(cheek, Vec3::new(sign, 0.0, 1.0).normalize()), 0.06),
                ("jaw", self.seen(jaw, aside(-0.2)), 0.06),
                ("temple", self.seen(temple, aside(0.0)), 0.05),
                ("ear", self.farthest(ear), 0.08),
            ];
            for (name, vertex, radius) in found {
                self.add(format!("{name}-{side}"), vertex, radius);
            }
        }
    }

    fn find_middle(&mut self) {
        let [eyes, mouth, brows] = ["eyelid", "mouth", "brow"].map(|name| self.between(name).y);
        let middle = self.middle;
        let on = |p: Vec3| (p.x - middle).abs() < MIDDLE;
        let foremost = |finder: &Self, low: f32, high: f32| {
            finder.farthest(|p| if on(p) && p.y > low && p.y < high { p.z } else { f32::MIN })
        };
        let tip = foremost(self, mouth + 0.3 * (eyes - mouth), eyes);
        self.add("nose-tip".into(), tip, 0.03);
        let bridge = foremost(self, eyes - 0.02, eyes + 0.02);
        self.add("nose-bridge".into(), bridge, 0.03);
        for (name, shapes, down) in
            [("lip-upper", "mouthUpperUp", 1.0), ("lip-lower", "mouthLowerDown", -1.0)]
        {
            let names: Vec<String> =
                ["", "Left", "Right"].iter().map(|side| format!("{shapes}{side}")).collect();
            let below_nose = |p: Vec3| on(p) && p.y < 0.5 * (mouth + self.at("nose-tip").y);
            let centre = self.motion(&names).and_then(|motion| self.centre(&motion, below_nose));
            let centre = centre.unwrap_or(Vec3::new(middle, mouth, self.at("nose-tip").z));
            let vertex = self.seen(centre + Vec3::new(0.0, down * LIP, 0.0), Vec3::Z);
            self.add(name.into(), vertex, 0.025);
        }
        let lip = self.at("lip-lower").y - self.chin;
        let chin = foremost(self, self.chin + 0.05 * lip, self.chin + 0.6 * lip);
        self.add("chin".into(), chin, 0.05);
        let height = brows + 0.4 * (self.crown - brows);
        let forehead = self.seen(Vec3::new(middle, height, self.at("nose-bridge").z), Vec3::Z);
        self.add("forehead".into(), forehead, 0.08);
        let crown = self.farthest(|p| p.y);
        self.add("crown".into(), crown, 0.1);
    }
}

#[cfg(test)]
mod tests;
