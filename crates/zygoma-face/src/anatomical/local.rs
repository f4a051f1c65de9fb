//! Dials that differ from place to place (Thesis ch. 3 eq. 20).
//!
//! A local dial covers part of the skin. The tissue below has what the skin above it has, blended as heat would spread.

use glam::DVec3;
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::normals::area_vector;
use zygoma_numerics::NotPositiveDefinite;

use super::build::Anatomical;
use super::dials::{BadDial, Dials};
use crate::volume::Harmonic;

/// Half the width of the transition between the sides of a face, m. Ours.
const MIDLINE: f64 = 3e-3;

/// A dial that may have another value at each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalKind {
    /// [`Dials::fat`].
    Fat,
    /// [`Dials::muscle`].
    Muscle,
    /// [`Dials::skin_area`].
    SkinArea,
    /// [`Dials::skin_stiffness`].
    SkinStiffness,
    /// Weakness of nerves, whichever side they are on.
    Palsy,
    /// [`Dials::frequency`].
    Frequency,
    /// [`Dials::half_life`].
    HalfLife,
}

impl LocalKind {
    const ALL: [(&str, Self); 7] = [
        ("fat", Self::Fat),
        ("muscle", Self::Muscle),
        ("skin_area", Self::SkinArea),
        ("skin_stiffness", Self::SkinStiffness),
        ("palsy", Self::Palsy),
        ("frequency", Self::Frequency),
        ("half_life", Self::HalfLife),
    ];

    fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind)
    }

    /// The value in between two, at a fraction of the way.
    fn between(self, from: f64, to: f64, fraction: f64) -> f64 {
        match self {
            Self::SkinStiffness => from * (to / from).powf(fraction),
            _ => from + fraction * (to - from),
        }
    }
}

/// The value of a dial on part of a face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalDial {
    /// The dial.
    pub dial: LocalKind,
    /// Its value.
    pub value: f64,
    /// Where it is, in words.
    pub at: String,
    /// How much of it is at each vertex of the whole mesh, from 0 to 1.
    #[serde(skip)]
    pub cover: Vec<f64>,
}

impl Dials {
    /// Sets a dial on part of a face: `cover` says how much of it is at each vertex of the whole mesh, from 0 to 1, and `at` where that is.
    /// A part set later covers earlier ones.
    pub fn set_at(&mut self, name: &str, value: &str, at: &str, cover: Vec<f64>) -> Result<(), BadDial> {
        let Some(dial) = LocalKind::of(name) else {
            let known = LocalKind::ALL.map(|(name, _)| name).join(", ");
            return Err(BadDial::NotLocal { name: name.to_owned(), known });
        };
        if let (LocalKind::Frequency | LocalKind::HalfLife, Some([alpha, beta, gamma])) =
            (dial, self.dynamics)
        {
            let why = "this is for the whole face; with frequency and half_life in its place, those may differ from place to place";
            return Err(BadDial::Dynamics { alpha, beta, gamma, why });
        }
        let side = if dial == LocalKind::Palsy { "palsy.left" } else { name };
        let mut alone = Self::default();
        alone.set(side, value)?;
        let value = alone.number(side);
        self.local.push(LocalDial { dial, value, at: at.to_owned(), cover });
        Ok(())
    }

    /// Whether some part of the face has a value of its own of one of some dials.
    pub(super) fn has_local(&self, kinds: &[LocalKind]) -> bool {
        self.local.iter().any(|local| kinds.contains(&local.dial))
    }
}

/// The value of each local dial at every vertex of the tissue.
pub(super) struct DialFields {
    /// Growth of soft tissue and of muscles, as fractions.
    pub(super) growth: [Vec<f64>; 2],
    pub(super) skin_area: Vec<f64>,
    pub(super) skin_stiffness: Vec<f64>,
    pub(super) weakness: Vec<f64>,
    /// How much of what changes the head is dialled at each vertex, from 0 to 1.
    pub(super) changed: Vec<f64>,
    /// The ways in which the face swings, that of most of it first.
    pub(super) paces: Vec<PaceShare>,
}

/// Frequency and half-life of swings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub(super) frequency: f64,
    pub(super) half_life: f64,
}

impl Pace {
    /// That of the whole face.
    pub(super) fn of(dials: &Dials) -> Self {
        Self { frequency: dials.frequency, half_life: dials.half_life }
    }

    fn with(self, dial: LocalKind, value: f64) -> Self {
        match dial {
            LocalKind::Frequency => Self { frequency: value, ..self },
            _ => Self { half_life: value, ..self },
        }
    }
}

/// A way to swing, and its share of each vertex.
pub(super) struct PaceShare {
    pub(super) pace: Pace,
    pub(super) share: Vec<f64>,
}

/// Covers ways to swing with another frequency, half-life or both.
fn cover_paces(paces: &[PaceShare], changes: &[(LocalKind, f64)], cover: &[f64]) -> Vec<PaceShare> {
    let mut found: Vec<PaceShare> = Vec::new();
    let mut add = |pace: Pace, share: Vec<f64>| match found.iter_mut().find(|other| other.pace == pace) {
        Some(other) => other.share.iter_mut().zip(share).for_each(|(own, more)| *own += more),
        None => found.push(PaceShare { pace, share }),
    };
    let part = |share: &[f64], of: &dyn Fn(f64) -> f64| -> Vec<f64> {
        share.iter().zip(cover).map(|(share, cover)| share * of(*cover)).collect()
    };
    for PaceShare { pace, share } in paces {
        add(*pace, part(share, &|cover| 1.0 - cover));
    }
    for PaceShare { pace, share } in paces {
        let changed = changes.iter().fold(*pace, |pace, (dial, value)| pace.with(*dial, *value));
        add(changed, part(share, &|cover| cover));
    }
    found
}

impl Anatomical {
    /// The dials at every vertex.
    pub(super) fn fields(&self, dials: &Dials) -> Result<DialFields, NotPositiveDefinite> {
        let everywhere = |value: f64| vec![value; self.rest.len()];
        let [left, right] = dials.palsy;
        let side = |p: &DVec3| {
            let side = ((p.x + MIDLINE) / (2.0 * MIDLINE)).clamp(0.0, 1.0);
            right + side * side * (3.0 - 2.0 * side) * (left - right)
        };
        let mut fields = DialFields {
            growth: [everywhere(dials.fat), everywhere(dials.muscle)],
            skin_area: everywhere(dials.skin_area),
            skin_stiffness: everywhere(dials.skin_stiffness),
            weakness: self.rest.iter().map(side).collect(),
            changed: Vec::new(),
            paces: vec![PaceShare { pace: Pace::of(dials), share: everywhere(1.0) }],
        };
        let covers = self.spread(dials)?;
        let (mut below, mut changes, mut covered) = (Vec::new(), Vec::new(), Vec::new());
        for (local, cover) in dials.local.iter().zip(covers) {
            let values = match local.dial {
                LocalKind::Fat => &mut fields.growth[0],
                LocalKind::Muscle => &mut fields.growth[1],
                LocalKind::SkinArea => &mut fields.skin_area,
                LocalKind::SkinStiffness => &mut fields.skin_stiffness,
                LocalKind::Palsy => &mut fields.weakness,
                dial @ (LocalKind::Frequency | LocalKind::HalfLife) => {
                    // Frequency and half-life of one place belong together.
                    if changes.is_empty() || covered != local.cover {
                        (below, changes) = (fields.paces, Vec::new());
                        covered.clone_from(&local.cover);
                    }
                    changes.push((dial, local.value));
                    fields.paces = cover_paces(&below, &changes, &cover);
                    continue;
                }
            };
            for (value, cover) in values.iter_mut().zip(cover) {
                *value = local.dial.between(*value, local.value, cover);
            }
        }
        fields.changed = fields.changed(dials);
        // The points that stand for the jaw are moved by other nerves.
        let nerves = |v: usize| self.above.get(v).map_or(0.0, |above| self.surface.nerves[*above as usize]);
        fields.weakness.iter_mut().enumerate().for_each(|(v, weakness)| *weakness *= nerves(v));
        Ok(fields)
    }

    /// The cover of each local dial at every vertex of the tissue: on the open skin as given, elsewhere as heat would spread.
    fn spread(&self, dials: &Dials) -> Result<Vec<Vec<f64>>, NotPositiveDefinite> {
        if dials.local.is_empty() {
            return Ok(Vec::new());
        }
        let is_open = self.open_skin();
        let given = |v: usize| is_open.get(v).copied().unwrap_or(false);
        let mut harmonic = Harmonic::new(&self.rest, &self.tets, given)?;
        let covers = dials.local.iter().map(|local| {
            let mut values = vec![[0.0]; self.rest.len()];
            for ((value, (corners, weights)), _) in
                values.iter_mut().zip(&self.surface.on_mesh).zip(&is_open).filter(|(_, open)| **open)
            {
                let cover = |corner: u32| local.cover.get(corner as usize).copied().unwrap_or(0.0);
                value[0] = corners.iter().zip(weights).map(|(corner, weight)| weight * cover(*corner)).sum();
            }
            harmonic.extend(&mut values);
            values.iter().map(|[value]| value.clamp(0.0, 1.0)).collect()
        });
        Ok(covers.collect())
    }

    /// The vertices of the surface above which there is no other skin, as there is inside a mouth.
    pub(super) fn open_skin(&self) -> Vec<bool> {
        let skin = &self.rest[..self.skin_count()];
        let triangles = &self.surface.triangles;
        let mut normals = vec![DVec3::ZERO; skin.len()];
        for t in triangles {
            let vector = area_vector(skin[t[0] as usize], skin[t[1] as usize], skin[t[2] as usize]);
            t.iter().for_each(|v| normals[*v as usize] += vector);
        }
        let tree = TriangleTree::new(skin, triangles);
        let is_open = |(v, normal): (usize, &DVec3)| {
            let elsewhere = |t: u32| !triangles[t as usize].contains(&(v as u32));
            tree.first_hit(skin, triangles, skin[v], normal.normalize_or_zero(), 0.0, elsewhere).is_none()
        };
        normals.iter().enumerate().map(is_open).collect()
    }
}

impl DialFields {
    /// How much of what changes the head is dialled at each vertex: all of it where bones change, or where a dial is farthest from usual.
    fn changed(&self, dials: &Dials) -> Vec<f64> {
        let [fat, muscle] = &self.growth;
        if dials.changes_bones() {
            return vec![1.0; fat.len()];
        }
        let at =
            |v: usize| [fat[v], muscle[v], self.skin_area[v]].map(f64::abs).into_iter().fold(0.0, f64::max);
        let most = (0..fat.len()).map(at).fold(0.0, f64::max);
        (0..fat.len()).map(|v| if most > 0.0 { at(v) / most } else { 0.0 }).collect()
    }

    /// The largest growth anywhere, as a fraction.
    pub(super) fn largest(&self) -> f64 {
        let [fat, muscle] = &self.growth;
        fat.iter().chain(muscle).chain(&self.skin_area).map(|value| value.abs()).fold(0.0, f64::max)
    }
}
