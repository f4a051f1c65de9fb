//! Energies of the published method, and their global step.

use glam::{DVec3, Vec3};
use zygoma_physics::projective::{
    Attachments, Elements, GlobalStep, Prefactored, Row, ShapedTets, Stencil, Target,
};

use super::super::build::Tissue;
use super::super::contraction::ContractedShape;
use super::super::elements::shaped_parameters;
use crate::contact::Samples;
use crate::volume::Tie;
use crate::volume::contact::stencil;

/// w_tar, w_S and w_J = w_C of NePHIM Table 7.
const TRACKED: f64 = 1e2;
const STRAIN: f64 = 1e1;
const BONE: f64 = 1e4;
/// w_corr over w_tar, which w_push and w_pull equal (NePHIM Table 7).
pub(super) const CORRECTED: f64 = 1.0;
/// Mean area of skin per vertex and mean volume of a tetrahedron of the published template, m² and m³: 6,688 vertices and 31,456 tetrahedra
/// (NePHIM Table 6) of a head with 0.15 m² of skin and two litres of soft tissue. Both sizes are ours.
const AREA: f64 = 0.15 / 6688.0;
const VOLUME: f64 = 2e-3 / 31_456.0;
/// Square centimetres in a square metre: the unit of length of the published targets. Ours: in metres strain would outweigh them
/// ten-thousandfold and nothing would move, in millimetres they would bend bones.
const PER_METRE: f64 = 1e4;
/// Stiffness s_t of tissue far from bone; at bone it is 1. Ours, as the percentile of distances at which it is reached.
const SOFTEST: f64 = 0.2;
const FAR: f64 = 0.9;
/// Without bones a trace of their weight remains, so that there is one solution.
const TRACE: f64 = 1e-6;
/// Iterations of conjugate gradients in a global step: a correction at most doubles the weight of a target, so that each of them leaves at
/// most a fifth of the error.
const CONJUGATE: usize = 6;

/// Targets of points on the skin, each carried by up to nine rows.
pub(super) type Pins = Elements<f32, Target, 9, 1, 4>;

/// The weight of the target of a point of the skin, by the area that it stands for.
pub(super) fn weight(samples: &Samples, sample: u32) -> f64 {
    TRACKED * PER_METRE * f64::from(samples.area(sample)) / AREA
}

/// A target for each point of the skin (Thesis ch. 6 eq. 2, 6 and 7), at its place at rest.
pub(super) fn skin_targets(samples: &Samples, rest: &[Row<f32>]) -> Pins {
    let mut pins = Pins::new();
    for sample in 0..samples.len() as u32 {
        let target = crate::volume::contact::carried(samples, sample, rest).to_array().map(f64::from);
        pins.push(&stencil(samples, sample), Target { weight: weight(samples, sample), target });
    }
    pins
}

/// Targets of tissue on bone in place of tetrahedra in the bones, and its rows.
pub(super) fn bone_targets(tissue: &Tissue, at: &[DVec3], fraction: f64) -> (Attachments<f32>, Vec<u32>) {
    let (mesh, layout) = (&tissue.tissue_mesh, &tissue.layout);
    let is_bone = |v: usize| matches!(mesh.ties[v], Tie::Cranium | Tie::Jaw | Tie::Ligaments { .. });
    // Nothing but a target holds tissue without elements.
    let below = tissue.surface.positions.len()..at.len();
    let vertices: Vec<usize> = below.filter(|v| is_bone(*v) || tissue.is_alone[*v]).collect();
    let mut targets = Attachments::new();
    for vertex in &vertices {
        let row = layout.rows[*vertex];
        let area = tissue.surface.areas[mesh.above[*vertex] as usize];
        let weight = BONE * fraction.max(TRACE) * PER_METRE * area / AREA;
        targets.push(&Stencil::vertex(row), Target { weight, target: at[row as usize].to_array() });
    }
    (targets, vertices.into_iter().map(|vertex| layout.rows[vertex]).collect())
}

/// Strain of all tetrahedra (Thesis ch. 6 eq. 3): stiff at bone, softer away from it.
pub(super) fn strain(tissue: &Tissue, at: &[DVec3]) -> ShapedTets<f32> {
    let mesh = &tissue.tissue_mesh;
    let is_bone = |tie: &Tie| matches!(tie, Tie::Cranium | Tie::Jaw | Tie::Ligaments { .. });
    let bone: Vec<DVec3> =
        mesh.ties.iter().zip(&mesh.mesh.positions).filter(|(tie, _)| is_bone(tie)).map(|(_, p)| *p).collect();
    let middle = |tet: &[u32; 4]| 0.25 * tet.iter().map(|v| mesh.mesh.positions[*v as usize]).sum::<DVec3>();
    let distance = |p: DVec3| bone.iter().map(|b| b.distance_squared(p)).fold(f64::MAX, f64::min).sqrt();
    let distances: Vec<f64> = mesh.mesh.tets.iter().map(|tet| distance(middle(tet))).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let far = sorted.get((FAR * sorted.len() as f64) as usize).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let mut strain = ShapedTets::new();
    for (tet, distance) in mesh.mesh.tets.iter().zip(distances) {
        let corners = tet.map(|v| tissue.layout.rows[v as usize]);
        let Some(stencil) = Stencil::tetrahedron(at, corners) else { continue };
        let stiffness = 1.0 + (SOFTEST - 1.0) * (distance / far).min(1.0);
        let weight = STRAIN * stiffness * stencil.size / VOLUME;
        strain.push(&stencil, shaped_parameters([weight, 0.0], &ContractedShape::NOT));
    }
    strain
}

/// A row of the matrix that comes on top of the factored one: its weight, and rows with coefficients.
pub(super) type AddedRow<'a> = (f32, &'a [(u32, f32)]);

/// Solves (A + Σ w c cᵀ) s = q by conjugate gradients with A as preconditioner, whose products follow from the recursion itself.
pub(super) fn conjugate(
    global: &mut Prefactored<f32>,
    added_rows: &[AddedRow<'_>],
    q: &[Row<f32>],
) -> Vec<Row<f32>> {
    let mut residual = q.to_vec();
    let mut solved = vec![[0.0; 4]; q.len()];
    let mut preconditioned = vec![[0.0; 4]; q.len()];
    global.solve(&residual, &mut preconditioned);
    if added_rows.is_empty() {
        return preconditioned;
    }
    let mut direction = preconditioned.clone();
    let mut product = residual.clone();
    let mut square = dot(&residual, &preconditioned);
    for _ in 0..CONJUGATE {
        let mut whole = product.clone();
        for (weight, follows) in added_rows {
            let value: Vec3 =
                follows.iter().map(|(row, w)| *w * Vec3::from_slice(&direction[*row as usize])).sum();
            for (row, w) in *follows {
                (0..3).for_each(|k| whole[*row as usize][k] += weight * w * value[k]);
            }
        }
        let curvature = dot(&direction, &whole);
        if curvature <= 0.0 || square <= 0.0 {
            break;
        }
        let length = (square / curvature) as f32;
        solved.iter_mut().zip(&direction).for_each(|(s, p)| *s = added(s, p, length));
        residual.iter_mut().zip(&whole).for_each(|(r, w)| *r = added(r, w, -length));
        global.solve(&residual, &mut preconditioned);
        let next = dot(&residual, &preconditioned);
        let kept = (next / square) as f32;
        square = next;
        direction.iter_mut().zip(&preconditioned).for_each(|(p, z)| *p = added(z, p, kept));
        product.iter_mut().zip(&residual).for_each(|(p, r)| *p = added(r, p, kept));
    }
    solved
}

fn dot(a: &[Row<f32>], b: &[Row<f32>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (0..3).map(|k| f64::from(a[k]) * f64::from(b[k])).sum::<f64>()).sum()
}

/// a + t b.
pub(super) fn added(a: &Row<f32>, b: &Row<f32>, t: f32) -> Row<f32> {
    std::array::from_fn(|k| a[k] + t * b[k])
}

#[cfg(test)]
mod tests {
    use zygoma_physics::projective::{System, row};

    use super::*;

    #[test]
    fn corrections_on_top_of_a_factor_are_solved_for_as_if_they_were_in_it() {
        let springs = |added: &[(usize, f64)]| {
            let mut held = Attachments::new();
            for vertex in 0..6u32 {
                let more: f64 = added.iter().filter(|(v, _)| *v == vertex as usize).map(|(_, w)| w).sum();
                let weight = 1.0 + f64::from(vertex) + more;
                held.push(&Stencil::vertex(vertex), Target { weight, target: [0.0; 3] });
            }
            let mut edges: Elements<f32, Target, 2, 1, 4> = Elements::new();
            let at: Vec<DVec3> = (0..6).map(|k| f64::from(k) * DVec3::X).collect();
            for k in 0..5u32 {
                edges.push(&Stencil::edge(&at, [k, k + 1]), Target { weight: 3.0, target: [1.0, 0.0, 0.0] });
            }
            let mut system: System<f32> = System::new(6, 6);
            system.add(held).expect("there are six vertices");
            system.add(edges).expect("there are six vertices");
            Prefactored::<f32>::new(&system.matrix(&[0.0; 6]), &[]).expect("it is positive definite")
        };
        let added = [(1, 2.0), (4, 5.0)];
        let q: Vec<Row<f32>> =
            (0..6).map(|k| row(DVec3::new(f64::from(k), 1.0, -f64::from(k * k)))).collect();
        let mut whole = vec![[0.0; 4]; 6];
        springs(&added).solve(&q, &mut whole);
        let entries = added.map(|(vertex, _)| [(vertex as u32, 1.0f32)]);
        let rows: Vec<AddedRow<'_>> =
            added.iter().zip(&entries).map(|((_, weight), entry)| (*weight as f32, &entry[..])).collect();
        let solved = conjugate(&mut springs(&[]), &rows, &q);
        let apart = solved.iter().zip(&whole).flat_map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).abs()));
        let apart = apart.fold(0.0, f32::max);
        assert!(apart < 1e-4, "{apart}");
        let without = conjugate(&mut springs(&[]), &[], &q);
        assert!((without[4][0] - whole[4][0]).abs() > 0.01, "the corrections matter");
    }
}
