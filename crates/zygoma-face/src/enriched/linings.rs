//! Linings of hollows that a rig does not have, such as that of a mouth behind modelled lips: nobody says where they go in an expression, so they leave
//! whatever the volume has there (*Blendvolumes* §7 resolves collisions of rest shapes by simulation).

use std::collections::HashMap;

use glam::DVec3;
use zygoma_geometry::closest::{TriangleTree, at_barycentric};
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::unfold::{UnfoldInput, Unfolder};

use super::blend_volumes::FULLNESS;
use super::build::Ground;
use super::patch::{Patch, vertices_around};
use crate::volume::Tie;

/// Times that linings are moved in one expression. Ours.
const ROUNDS: usize = 8;
/// Attempts to follow them without crushed elements: between two, those that crush some are let go. Ours.
const ATTEMPTS: usize = 3;
/// Rings of elements around crossing triangles whose vertices may be inside others, and rings that yield to those which move. Ours.
const NEAR: usize = 3;
const YIELDING: usize = 4;
/// The gap that is left, m. Ours.
const GAP: f64 = 1e-4;
/// The way of a lining that crosses something although no vertex is inside, m. Ours.
const RETREAT: f64 = 3e-4;
/// Stiffness of the pull to the way out, per area and stiffness of the material, 1/m. Ours.
const PULL: f64 = 2e4;

/// The boundary of a volume, some of which is such linings.
pub(super) struct Linings {
    pub(super) boundary: Vec<[u32; 3]>,
    /// Triangles of skin and linings, through which a vertex that is inside leaves; those of bones lie between tissue and bone.
    exits: Vec<[u32; 3]>,
    tree: TriangleTree<DVec3>,
    /// Vertices of the boundary that neither skin nor bone defines.
    is_lining: Vec<bool>,
    on_boundary: Vec<bool>,
    /// Pairs of the boundary's triangles that cross in the neutral.
    at_rest: Vec<(u32, u32)>,
}

impl Linings {
    pub(super) fn new(ground: &Ground) -> Self {
        let mesh = &ground.mesh.mesh;
        let boundary = mesh.boundary();
        let is_bone = |v: &u32| matches!(ground.mesh.ties[*v as usize], Tie::Cranium | Tie::Jaw);
        let exits: Vec<[u32; 3]> = boundary.iter().filter(|t| !t.iter().all(is_bone)).copied().collect();
        let mut on_boundary = vec![false; mesh.positions.len()];
        boundary.iter().flatten().for_each(|v| on_boundary[*v as usize] = true);
        let is_lining = |v: usize| on_boundary[v] && ground.mesh.ties[v] == Tie::Free;
        Self {
            is_lining: (0..mesh.positions.len()).map(is_lining).collect(),
            tree: TriangleTree::new(&mesh.positions, &exits),
            at_rest: crossing_pairs(&mesh.positions, &boundary),
            on_boundary,
            exits,
            boundary,
        }
    }

    /// Moves linings out of skin and of each other, as long as that leaves fewer crossings and crushes no more elements.
    pub(super) fn part(&self, ground: &Ground, all: &mut [DVec3]) -> Result<(), NotPositiveDefinite> {
        let mut crossing = self.crossings(all);
        let (mut fewest, crushed) = (crossing.len(), ground.crushed(all, FULLNESS).len());
        let mut moved = all.to_vec();
        for _ in 0..ROUNDS {
            if crossing.is_empty() {
                break;
            }
            let ways = self.ways_out(ground, &crossing, &moved);
            follow(ground, &ways, &mut moved)?;
            crossing = self.crossings(&moved);
            if crossing.len() < fewest && ground.crushed(&moved, FULLNESS).len() <= crushed {
                fewest = crossing.len();
                all.copy_from_slice(&moved);
            }
        }
        Ok(())
    }

    /// Pairs of triangles that cross, but not in the neutral, and one of which can move.
    fn crossings(&self, positions: &[DVec3]) -> Vec<(u32, u32)> {
        let can_move = |t: u32| self.boundary[t as usize].iter().any(|v| self.is_lining[*v as usize]);
        let mut pairs = crossing_pairs(positions, &self.boundary);
        pairs.retain(|pair| {
            (can_move(pair.0) || can_move(pair.1)) && self.at_rest.binary_search(pair).is_err()
        });
        pairs
    }

    /// The displacements by which linings leave what is around crossing triangles.
    fn ways_out(&self, ground: &Ground, crossing: &[(u32, u32)], all: &[DVec3]) -> HashMap<u32, DVec3> {
        let rest = &ground.mesh.mesh.positions;
        let mut ways = self.retreats(crossing, all);
        for (vertex, tet) in self.inside(ground, crossing, all) {
            let Some(place) = place_at_rest(ground, tet, all[vertex], all) else { continue };
            // Skin stays, so what it is in has to give way.
            let leaves = |t: u32| {
                let corners = &self.exits[t as usize];
                let can_move = self.is_lining[vertex] || corners.iter().any(|v| self.is_lining[*v as usize]);
                can_move && !corners.contains(&(vertex as u32))
            };
            let Some(exit) = self.tree.closest_among(rest, &self.exits, place, f64::INFINITY, leaves) else {
                continue;
            };
            let triangle = self.exits[exit.triangle as usize];
            let corners = triangle.map(|v| all[v as usize]);
            let normal = area_vector(corners[0], corners[1], corners[2]).normalize_or_zero();
            let surface = at_barycentric(exit.barycentric, corners);
            let way = ((surface - all[vertex]).dot(normal) + GAP) * normal;
            let yields = triangle.iter().any(|v| self.is_lining[*v as usize]);
            // Both go half of the way where both can.
            let fraction = if yields && self.is_lining[vertex] { 0.5 } else { 1.0 };
            let moves = [(vertex as u32, fraction * way)].into_iter();
            let moves = moves.chain(triangle.map(|v| (v, -fraction * way)));
            for (v, way) in moves.filter(|(v, _)| self.is_lining[*v as usize]) {
                let own: &mut DVec3 = ways.entry(v).or_default();
                if way.length_squared() > own.length_squared() {
                    *own = way;
                }
            }
        }
        ways
    }

    /// Short ways of the linings among crossing triangles, into the tissue that they line.
    fn retreats(&self, crossing: &[(u32, u32)], all: &[DVec3]) -> HashMap<u32, DVec3> {
        let mut ways: HashMap<u32, DVec3> = HashMap::new();
        for triangle in crossing.iter().flat_map(|(a, b)| [*a, *b]).map(|t| self.boundary[t as usize]) {
            let [a, b, c] = triangle.map(|v| all[v as usize]);
            let outwards = area_vector(a, b, c).normalize_or_zero();
            for v in triangle.into_iter().filter(|v| self.is_lining[*v as usize]) {
                *ways.entry(v).or_default() -= outwards;
            }
        }
        ways.values_mut().for_each(|way| *way = RETREAT * way.normalize_or_zero());
        ways
    }

    /// Vertices of the boundary near crossing triangles that are inside an element, with that.
    fn inside(&self, ground: &Ground, crossing: &[(u32, u32)], all: &[DVec3]) -> Vec<(usize, usize)> {
        let tets = &ground.mesh.mesh.tets;
        let mut near = vec![false; all.len()];
        let triangles = crossing.iter().flat_map(|(a, b)| [*a, *b]).map(|t| self.boundary[t as usize]);
        triangles.flatten().for_each(|v| near[v as usize] = true);
        for _ in 0..NEAR {
            let before = near.clone();
            for t in self.boundary.iter().filter(|t| t.iter().any(|v| before[*v as usize])) {
                t.iter().for_each(|v| near[*v as usize] = true);
            }
        }
        let candidates: Vec<usize> = (0..all.len()).filter(|v| near[*v] && self.on_boundary[*v]).collect();
        let bounds = |points: &mut dyn Iterator<Item = DVec3>| {
            let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            points.fold(empty, |(low, high), p| (low.min(p), high.max(p)))
        };
        let (low, high) = bounds(&mut candidates.iter().map(|v| all[*v]));
        let mut found = Vec::new();
        for (index, tet) in tets.iter().enumerate() {
            let (from, to) = bounds(&mut tet.iter().map(|v| all[*v as usize]));
            if from.cmpgt(high).any() || to.cmplt(low).any() {
                continue;
            }
            let is_in = |v: &&usize| {
                let p = all[**v];
                p.cmpge(from).all()
                    && p.cmple(to).all()
                    && !tet.contains(&(**v as u32))
                    && weights_in(tet.map(|v| all[v as usize]), p).is_some()
            };
            found.extend(candidates.iter().filter(is_in).map(|v| (*v, index)));
        }
        found
    }
}

/// Weights of the corners of a tetrahedron at a point inside it; `None` outside, and where it has no volume.
fn weights_in(corners: [DVec3; 4], point: DVec3) -> Option<[f64; 4]> {
    let whole = volume(corners);
    if whole <= 0.0 {
        return None;
    }
    let weights = [0, 1, 2, 3].map(|k| {
        let mut part = corners;
        part[k] = point;
        volume(part) / whole
    });
    weights.iter().all(|weight| *weight > 0.0).then_some(weights)
}

/// Where a point inside an element is in the neutral.
fn place_at_rest(ground: &Ground, tet: usize, point: DVec3, all: &[DVec3]) -> Option<DVec3> {
    let tet = ground.mesh.mesh.tets[tet];
    let weights = weights_in(tet.map(|v| all[v as usize]), point)?;
    Some((0..4).map(|k| weights[k] * ground.mesh.mesh.positions[tet[k] as usize]).sum())
}

/// Moves some vertices by given ways as far as the tissue around them gives way, and that with them.
fn follow(ground: &Ground, ways: &HashMap<u32, DVec3>, all: &mut [DVec3]) -> Result<(), NotPositiveDefinite> {
    let tets = &ground.mesh.mesh.tets;
    let touched = |tet: &usize| tets[*tet].iter().any(|v| ways.contains_key(v));
    let elements: Vec<usize> = (0..tets.len()).filter(touched).collect();
    let mut is_free = vertices_around(tets, &elements, YIELDING, all.len());
    is_free
        .iter_mut()
        .enumerate()
        .for_each(|(v, free)| *free &= !ground.is_fixed(v) && !ground.is_on_skin(v));
    let patch = Patch::around(tets, &is_free);
    if patch.tets.is_empty() {
        return Ok(());
    }
    let pull = |v: &u32| match ways.contains_key(v) {
        true => PULL * ground.surface.areas[ground.mesh.above[*v as usize] as usize],
        false => 0.0,
    };
    let rest = patch.gather(&ground.mesh.mesh.positions);
    let pulls: Vec<f64> = patch.vertices.iter().map(pull).collect();
    let input = UnfoldInput { rest: &rest, tets: &patch.tets, fixed: &patch.is_fixed, pulls: &pulls };
    let mut targets = patch.gather(all);
    for (target, v) in targets.iter_mut().zip(&patch.vertices) {
        *target += ways.get(v).copied().unwrap_or_default();
    }
    let mut x = patch.gather(all);
    Unfolder::new(&input)?.run(&mut x, &targets, FULLNESS, ATTEMPTS);
    patch.scatter(&x, all);
    Ok(())
}
