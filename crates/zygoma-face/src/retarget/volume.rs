//! The fill of a fitted head, as both simulations see it.

use glam::{DAffine3, DMat3, DVec3};
use zygoma_head::anatomy::{FillDetail, Tie};
use zygoma_head::fit::{FillSkin, FittedHead, Seat};
use zygoma_physics::projective::{Row, position, row};

use crate::volume::Muscles;

/// Tetrahedra between skin and bone, in the fitted head's frame. Those of all heads have the same corners and ties.
pub(super) struct HeadVolume {
    pub(super) rest: Vec<DVec3>,
    pub(super) tets: Vec<[u32; 4]>,
    pub(super) ties: Vec<Tie>,
    pub(super) is_muscle: Vec<bool>,
    pub(super) skin: &'static FillSkin,
    /// Whether each node lies on skin whose position a mesh determines.
    pub(super) is_seen: Vec<bool>,
    /// Mean volume of a tetrahedron, m³.
    pub(super) mean_volume: f64,
}

impl HeadVolume {
    /// `None` if the fill has no skin. `is_seen` flags the vertices of the shared skin whose position the mesh determines.
    pub(super) fn of(fitted: &FittedHead, is_seen: &[bool]) -> Option<Self> {
        let back = fitted.to_mesh.inverse();
        let rest: Vec<DVec3> = fitted.anatomy.fill.positions.iter().map(|p| back.apply(*p)).collect();
        let tets = fitted.anatomy.fill.tets.clone();
        let corner = |v: u32| rest[v as usize];
        let volume: f64 = tets.iter().map(|t| zygoma_geometry::tets::volume(t.map(corner))).sum();
        let skin = FillSkin::of(FillDetail::Coarse).filter(|skin| skin.on_skin.len() == rest.len())?;
        let seen =
            |seat: &Option<Seat>| seat.is_some_and(|seat| seat.corners.iter().all(|v| is_seen[*v as usize]));
        Some(Self {
            is_seen: skin.on_skin.iter().map(seen).collect(),
            mean_volume: volume / tets.len().max(1) as f64,
            is_muscle: Muscles::of_anatomy(&fitted.anatomy).0,
            ties: fitted.anatomy.fill_ties.clone(),
            skin,
            tets,
            rest,
        })
    }

    /// The square of a mean element's edge, m²: lengths count in units of it.
    pub(super) fn edge_squared(&self) -> f64 {
        // Of a regular tetrahedron.
        (self.mean_volume * 6.0 * 2f64.sqrt()).powf(2.0 / 3.0)
    }

    /// Nodes where the bones and a displaced skin put them; all others at rest. The displacements are those of the shared skin.
    pub(super) fn placed(&self, displacements: &[DVec3], jaw: &DAffine3) -> Vec<DVec3> {
        let place = |v: usize| match (self.ties[v], self.skin.on_skin[v]) {
            (Tie::Mandible, _) => jaw.transform_point3(self.rest[v]),
            (Tie::Skin, Some(seat)) => self.rest[v] + seat.mix(displacements),
            _ => self.rest[v],
        };
        (0..self.rest.len()).map(place).collect()
    }

    /// The deformation gradient of every tetrahedron, the identity where it is flat at rest.
    pub(super) fn gradients(&self, x: &[DVec3]) -> Vec<DMat3> {
        let edges = |points: &[DVec3], t: &[u32; 4]| {
            let [a, b, c, d] = t.map(|v| points[v as usize]);
            DMat3::from_cols(b - a, c - a, d - a)
        };
        let gradient = |t: &[u32; 4]| {
            let inverse = edges(&self.rest, t).inverse();
            if inverse.is_finite() { edges(x, t) * inverse } else { DMat3::IDENTITY }
        };
        self.tets.iter().map(gradient).collect()
    }

    /// Number of inverted tetrahedra, and the mean of |det F − 1|.
    pub(super) fn volume_change(&self, x: &[DVec3]) -> (usize, f64) {
        let determinants: Vec<f64> = self.gradients(x).iter().map(DMat3::determinant).collect();
        let inverted = determinants.iter().filter(|det| **det <= 0.0).count();
        (
            inverted,
            determinants.iter().map(|det| (det - 1.0).abs()).sum::<f64>() / determinants.len().max(1) as f64,
        )
    }

    /// The nodes that share a tetrahedron with each node, increasing.
    pub(super) fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut around = vec![Vec::new(); self.rest.len()];
        for tet in &self.tets {
            for v in tet {
                around[*v as usize].extend(tet.iter().copied().filter(|other| other != v));
            }
        }
        for list in &mut around {
            list.sort_unstable();
            list.dedup();
        }
        around
    }

    /// The row of each node in a system whose free nodes come first, and how many are free.
    pub(super) fn order(&self, is_free: impl Fn(usize) -> bool) -> (Vec<u32>, usize) {
        let mut is_used = vec![false; self.rest.len()];
        self.tets.iter().flatten().for_each(|v| is_used[*v as usize] = true);
        let (free, fixed): (Vec<usize>, Vec<usize>) =
            (0..self.rest.len()).partition(|v| is_used[*v] && is_free(*v));
        let mut rows = vec![0; self.rest.len()];
        free.iter().chain(&fixed).zip(0..).for_each(|(v, row)| rows[*v] = row);
        (rows, free.len())
    }
}

/// Positions of nodes, each in its row.
pub(super) fn to_rows(rows: &[u32], x: &[DVec3], out: &mut [Row<f32>]) {
    rows.iter().zip(x).for_each(|(own, p)| out[*own as usize] = row(*p));
}

/// Positions of nodes from their rows.
pub(super) fn from_rows(rows: &[u32], x: &[Row<f32>]) -> Vec<DVec3> {
    rows.iter().map(|own| position(&x[*own as usize])).collect()
}
