//! Tissue that slides over bones: in an expression a bone's vertices first go where the skin draws them, and are then put back onto the bone
//! (*Blendvolumes* §6.1).

use std::f64::consts::FRAC_PI_2;

use glam::DVec3;
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;

use super::build::Ground;
use crate::volume::Harmonic;
use crate::volume::Tie;

/// The farthest that tissue slides in one shape, m. Ours: farther, sums of shapes would leave a curved bone.
const FARTHEST: f64 = 3e-3;
/// A slide over the bone by as much as a vertex may go ends at most this far from the plane of another triangle around it, m. Ours.
const LEAVING: f64 = 2e-4;
/// Triangles of a bone keep at least this fraction of their size. Ours.
const KEPT: f64 = 0.5;
/// Rounds in which slides that crush them are halved, before those are left out. Ours.
const HALVINGS: usize = 6;

/// The bones under a volume, and how the skin draws tissue over them.
pub(super) struct BoneSlide {
    /// The extension from the skin alone: bones hold nothing.
    drawn: Harmonic,
    bones: [BoneSurface; 2],
}

/// The part of a volume's boundary on one bone, at rest.
struct BoneSurface {
    tie: Tie,
    vertices: Vec<usize>,
    triangles: Vec<[u32; 3]>,
    tree: TriangleTree<DVec3>,
    /// Normals of triangles and, at the same places as theirs in the mesh, of vertices.
    normals: Vec<DVec3>,
    vertex_normals: Vec<DVec3>,
    /// For each vertex of the mesh how far it may slide.
    reach: Vec<f64>,
}

impl BoneSlide {
    /// `None` for a volume without bones.
    pub(super) fn new(ground: &Ground) -> Result<Option<Self>, NotPositiveDefinite> {
        let (mesh, ties) = (&ground.mesh.mesh, &ground.mesh.ties);
        let is_given = |v: usize| matches!(ties[v], Tie::Skin | Tie::Ligaments { .. });
        let boundary = mesh.boundary();
        let bones = [Tie::Cranium, Tie::Jaw].map(|tie| {
            let is_on = |v: &u32| ties[*v as usize] == tie;
            let triangles = boundary.iter().filter(|t| t.iter().all(is_on)).copied().collect();
            BoneSurface::new(tie, &mesh.positions, triangles)
        });
        if bones.iter().all(|bone| bone.vertices.is_empty()) {
            return Ok(None);
        }
        Ok(Some(Self { drawn: Harmonic::new(&mesh.positions, &mesh.tets, is_given)?, bones }))
    }

    /// Lets the bones' vertices among the targets of an expression slide. A jaw that moves takes its tissue along: in blends of its poses, vertices that
    /// had slid in each of them would leave its edges.
    pub(super) fn slide(&mut self, ground: &Ground, pose: &RigidMotion, targets: &mut [DVec3]) {
        let rest = &ground.mesh.mesh.positions;
        let mut drawn: Vec<[f64; 3]> =
            targets.iter().zip(rest).map(|(to, p)| (*to - *p).to_array()).collect();
        self.drawn.extend(&mut drawn);
        let is_still = *pose == RigidMotion::IDENTITY;
        for bone in self.bones.iter().filter(|bone| bone.tie != Tie::Jaw || is_still) {
            let mut slid = rest.clone();
            for v in &bone.vertices {
                let way = DVec3::from_array(drawn[*v]).clamp_length_max(bone.reach[*v]);
                slid[*v] = bone.onto(rest, *v, rest[*v] + way);
            }
            bone.keep_sound(rest, &mut slid);
            bone.vertices.iter().for_each(|v| targets[*v] = slid[*v]);
        }
    }
}

impl BoneSurface {
    fn new(tie: Tie, rest: &[DVec3], triangles: Vec<[u32; 3]>) -> Self {
        let mut vertices: Vec<usize> = triangles.iter().flatten().map(|v| *v as usize).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let normals: Vec<DVec3> = triangles.iter().map(|t| area_of(t, rest)).collect();
        let mut vertex_normals = vec![DVec3::ZERO; rest.len()];
        for (t, normal) in triangles.iter().zip(&normals) {
            t.iter().for_each(|v| vertex_normals[*v as usize] += *normal);
        }
        let mut reach = vec![FARTHEST; rest.len()];
        for (t, normal) in triangles.iter().zip(&normals) {
            for v in t.map(|v| v as usize) {
                let turn = normal.angle_between(vertex_normals[v]);
                // Triangles on either side of an edge are twice as far apart as one is from the mean.
                let sine = (2.0 * turn).min(FRAC_PI_2).sin();
                reach[v] = reach[v].min(LEAVING / sine.max(f64::MIN_POSITIVE));
            }
        }
        let tree = TriangleTree::new(rest, &triangles);
        Self { tie, vertices, tree, triangles, normals, vertex_normals, reach }
    }

    /// The point of the bone nearest to one where a vertex is drawn, on the side of the bone that the vertex is on: bones are thin.
    fn onto(&self, rest: &[DVec3], vertex: usize, point: DVec3) -> DVec3 {
        let normal = self.vertex_normals[vertex];
        let is_on_side = |t: u32| self.normals[t as usize].dot(normal) > 0.0;
        let found = self.tree.closest_among(rest, &self.triangles, point, f64::INFINITY, is_on_side);
        found.map_or(rest[vertex], |found| found.point)
    }

    /// Halves slides until none folds or crushes the bone's surface.
    fn keep_sound(&self, rest: &[DVec3], slid: &mut [DVec3]) {
        for round in 0..=HALVINGS {
            let crushing = self.crushing(rest, slid);
            if crushing.is_empty() {
                return;
            }
            for v in crushing {
                slid[v] = match round == HALVINGS {
                    true => rest[v],
                    false => self.onto(rest, v, rest[v].midpoint(slid[v])),
                };
            }
        }
    }

    /// The vertices of triangles that are crushed or folded.
    fn crushing(&self, rest: &[DVec3], slid: &[DVec3]) -> Vec<usize> {
        let is_folded = |(t, normal): &(&[u32; 3], &DVec3)| {
            area_of(t, slid).dot(**normal) < KEPT * normal.length_squared()
        };
        let folded = self.triangles.iter().zip(&self.normals).filter(is_folded);
        let mut found: Vec<usize> = folded.flat_map(|(t, _)| *t).map(|v| v as usize).collect();
        found.sort_unstable();
        found.dedup();
        found.retain(|v| slid[*v] != rest[*v]);
        found
    }
}

fn area_of(t: &[u32; 3], positions: &[DVec3]) -> DVec3 {
    let [a, b, c] = t.map(|v| positions[v as usize]);
    area_vector(a, b, c)
}
