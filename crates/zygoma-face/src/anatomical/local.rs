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
}

impl LocalKind {
    const ALL: [(&str, Self); 5] = [
        ("fat", Self::Fat),
        ("muscle", Self::Muscle),
        ("skin_area", Self::SkinArea),
        ("skin_stiffness", Self::SkinStiffness),
        ("palsy", Self::Palsy),
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
        };
        let covers = self.spread(dials)?;
        for (local, cover) in dials.local.iter().zip(covers) {
            let values = match local.dial {
                LocalKind::Fat => &mut fields.growth[0],
                LocalKind::Muscle => &mut fields.growth[1],
                LocalKind::SkinArea => &mut fields.skin_area,
                LocalKind::SkinStiffness => &mut fields.skin_stiffness,
                LocalKind::Palsy => &mut fields.weakness,
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
