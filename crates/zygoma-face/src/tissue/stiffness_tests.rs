//! A slab of tissue of known stiffness: the fit recovers it from shapes that were made by loading the slab.

use glam::DVec3;
use zygoma_geometry::shapes;
use zygoma_physics::projective::{
    Attachments, CorotatedTets, Prefactored, Row, SolveOptions, Solver, Stencil, System, Target, position,
    row,
};

use super::TissueParams;
use super::contraction::ContractedShape;
use super::stiffness::{FitOptions, Posed, Regions, StiffnessFit, StiffnessMap};
use crate::volume::Hypodermis;
use crate::volume::{Tie, TissueMesh};

const SIDE: f64 = 0.12;
const SHAPES: usize = 8;
const SUBSPACE: usize = 14;
const ROUNDS: usize = 40;

struct Slab {
    tissue_mesh: TissueMesh,
    triangles: Vec<[u32; 3]>,
    areas: Vec<f64>,
    params: TissueParams,
}

impl Slab {
    fn new() -> Self {
        let (flat, triangles) = shapes::square(10);
        let skin: Vec<DVec3> = flat.iter().map(|p| SIDE * p.as_dvec3()).collect();
        let params = TissueParams { thickness: 0.01, ..TissueParams::default() };
        let Hypodermis { mesh, triangles: above, bare } = Hypodermis::new(
            &skin,
            &triangles,
            vec![params.thickness; skin.len()],
            &vec![false; triangles.len()],
            &params.layer().hypodermis,
        )
        .unwrap();
        let areas = zygoma_geometry::normals::vertex_areas(&skin, &triangles);
        let count = skin.len();
        let ties = [Tie::Skin, Tie::Ligaments { jaw: 0.0 }].map(|tie| vec![tie; count]).concat();
        let tissue_mesh = TissueMesh {
            ties,
            above: [0, 1].map(|_| (0..count as u32).collect::<Vec<_>>()).concat(),
            materials: vec![params.material(); mesh.tets.len()],
            triangle_above: above.iter().flat_map(|triangle| [Some(*triangle); 3]).collect(),
            bare,
            mesh,
        };
        Self { tissue_mesh, triangles, areas, params }
    }

    fn skin(&self) -> &[DVec3] {
        &self.tissue_mesh.mesh.positions[..self.areas.len()]
    }

    fn system(&self, stiffness: &StiffnessMap) -> System<f64> {
        let count = self.areas.len();
        let rest = &self.tissue_mesh.mesh.positions;
        let mut tets = CorotatedTets::new();
        for (index, tet) in self.tissue_mesh.mesh.tets.iter().enumerate() {
            let stencil = Stencil::tetrahedron(rest, *tet).unwrap();
            let [strain, volume] = stiffness.of_element(&self.tissue_mesh.skin_corners(index));
            let mut weights = self.tissue_mesh.materials[index].corotated_volume(stencil.size);
            weights.strain_weight *= strain;
            weights.volume_weight *= volume;
            tets.push(&stencil, weights);
        }
        let mut holds = Attachments::new();
        for v in 0..count {
            let at = rest[count + v];
            let weight = self.params.attachment() * stiffness.attachment[v] * self.areas[v];
            holds.push(&Stencil::vertex((count + v) as u32), Target { weight, target: at.to_array() });
        }
        let mut system = System::new(2 * count, 2 * count);
        system.add(tets).unwrap();
        system.add(holds).unwrap();
        system
    }

    /// The stiffness for which the poses hold best, with all of the skin counted, and the remaining misfit.
    fn fit(&self, regions: &Regions, poses: &[Posed], options: &FitOptions) -> (StiffnessMap, f64) {
        let is_counted = vec![true; self.areas.len()];
        let Self { tissue_mesh, triangles, areas, params } = self;
        StiffnessFit { tissue_mesh, triangles, areas, is_counted: &is_counted, regions, params }
            .solve(poses, options)
    }

    /// Shapes that small forces along themselves hold: the slab's softest modes, by subspace iteration over loads and responses.
    fn shapes(&self, stiffness: &StiffnessMap) -> Vec<Posed> {
        const SMALL: f64 = 1e-6;
        let count = self.areas.len();
        let mut system = self.system(stiffness);
        let mut global = Prefactored::new(&system.matrix(&[]), &[]).unwrap();
        let options = SolveOptions { iterations: 300, tolerance: 1e-9, ..Default::default() };
        let inner = |a: &[DVec3], b: &[DVec3]| -> f64 {
            (0..count).map(|v| self.areas[v] * a[v].dot(b[v])).sum::<f64>() / (SIDE * SIDE)
        };
        let wave = |k: usize| -> Vec<DVec3> {
            let at = |p: &DVec3| {
                let phase = DVec3::new(31.0 + 11.0 * k as f64, 47.0 - 13.0 * k as f64, k as f64);
                let (s, c) = phase.dot(*p + DVec3::splat(0.1)).sin_cos();
                DVec3::new(s, c, (3.0 * s + k as f64).sin())
            };
            self.skin().iter().map(at).collect()
        };
        let mut loads: Vec<Vec<DVec3>> = (0..SUBSPACE).map(wave).collect();
        let mut answers = vec![self.tissue_mesh.mesh.positions.clone(); SUBSPACE];
        let moves = |answer: &[DVec3]| -> Vec<DVec3> {
            (0..count).map(|v| answer[v] - self.tissue_mesh.mesh.positions[v]).collect()
        };
        for round in 1..=ROUNDS {
            for k in 0..SUBSPACE {
                for j in 0..k {
                    let along = inner(&loads[k], &loads[j]);
                    let other = loads[j].clone();
                    loads[k].iter_mut().zip(&other).for_each(|(a, b)| *a -= along * *b);
                }
                let size = inner(&loads[k], &loads[k]).sqrt();
                loads[k].iter_mut().for_each(|a| *a /= size);
                for v in 0..count {
                    system.forces[v] = row(self.params.attachment() * SMALL * self.areas[v] * loads[k][v]);
                }
                let mut x: Vec<Row<f64>> = answers[k].iter().map(|p| row(*p)).collect();
                Solver::new(&system).minimise(&system, None, &mut global, &options, &mut x);
                answers[k] = x.iter().map(position).collect();
            }
            if round == ROUNDS {
                break;
            }
            // The principal directions of the response are the next loads.
            let moved: Vec<Vec<DVec3>> = answers.iter().map(|answer| moves(answer)).collect();
            let matrix: Vec<Vec<f64>> =
                (0..SUBSPACE).map(|i| (0..SUBSPACE).map(|j| inner(&loads[i], &moved[j])).collect()).collect();
            let mix = |columns: &[Vec<DVec3>], weights: &[f64], rest: &[DVec3]| -> Vec<DVec3> {
                let at = |v: usize| {
                    rest[v] + (0..SUBSPACE).map(|k| weights[k] * (columns[k][v] - rest[v])).sum::<DVec3>()
                };
                (0..rest.len()).map(at).collect()
            };
            let vectors = eigenvectors(matrix);
            let none = vec![DVec3::ZERO; count];
            loads = vectors.iter().map(|weights| mix(&moved, weights, &none)).collect();
            answers = vectors.iter().map(|w| mix(&answers, w, &self.tissue_mesh.mesh.positions)).collect();
        }
        let feet = self.tissue_mesh.mesh.positions.clone();
        let posed = |answer: &Vec<DVec3>| Posed {
            positions: answer.clone(),
            feet: feet.clone(),
            moves: moves(answer),
            shapes: vec![ContractedShape::NOT; self.tissue_mesh.mesh.tets.len()],
        };
        answers[..SHAPES].iter().map(posed).collect()
    }
}

/// Eigenvectors of a symmetric matrix by Jacobi rotations, largest eigenvalue first.
fn eigenvectors(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..30 {
        for p in 0..n {
            for q in p + 1..n {
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (s, c) = angle.sin_cos();
                for line in &mut a {
                    (line[p], line[q]) = (c * line[p] - s * line[q], s * line[p] + c * line[q]);
                }
                let (above, below) = a.split_at_mut(q);
                for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
                let (above, below) = vectors.split_at_mut(q);
                for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[*j][*j].total_cmp(&a[*i][*i]));
    order.into_iter().map(|i| vectors[i].clone()).collect()
}

#[test]
fn known_stiffness_is_found_again() {
    let slab = Slab::new();
    let regions = Regions::spread(slab.skin(), 4);
    let truth = [[2.0, 1.0, 0.8], [0.5, 0.7, 1.4], [1.2, 0.4, 0.6], [0.8, 1.6, 1.0]];
    let map = |kind: usize| regions.spread_out(&truth.map(|line| line[kind]));
    let truth = StiffnessMap { strain: map(0), volume: map(1), attachment: map(2) };
    let poses = slab.shapes(&truth);
    let (found, misfit) = slab.fit(&regions, &poses, &FitOptions { bounds: [0.1, 10.0], smooth: 0.0 });
    println!("the misfit falls to {misfit:.2e}");
    // Shapes determine ratios of stiffness, not its scale.
    let size = found.strain.iter().sum::<f64>() / truth.strain.iter().sum::<f64>();
    for (name, found, truth) in [
        ("strain", &found.strain, &truth.strain),
        ("volume", &found.volume, &truth.volume),
        ("attachment", &found.attachment, &truth.attachment),
    ] {
        let off = found.iter().zip(truth).map(|(f, t)| (f / (size * t) - 1.0).abs()).fold(0.0, f64::max);
        println!("{name}: at most {:.1} % off", 100.0 * off);
        assert!(off < 0.1, "{name} {off}");
    }
    assert!(misfit < 1e-2, "{misfit}");
}

#[test]
fn bounds_and_the_mean_are_kept() {
    let slab = Slab::new();
    let count = slab.areas.len();
    let regions = Regions::spread(slab.skin(), 6);
    let moves: Vec<DVec3> =
        slab.skin().iter().map(|p| 0.004 * DVec3::new((40.0 * p.y).sin(), 0.0, (60.0 * p.x).cos())).collect();
    let feet = slab.tissue_mesh.mesh.positions.clone();
    let below = feet[count..].iter();
    let above = slab.skin().iter().zip(&moves).map(|(p, d)| *p + *d);
    let shapes = vec![ContractedShape::NOT; slab.tissue_mesh.mesh.tets.len()];
    let pose = Posed { positions: above.chain(below.copied()).collect(), feet: feet.clone(), moves, shapes };
    let (found, misfit) = slab.fit(&regions, &[pose], &FitOptions { bounds: [0.5, 2.0], smooth: 0.1 });
    let all = || found.strain.iter().chain(&found.volume).chain(&found.attachment);
    assert!(all().all(|w| (0.5 - 1e-9..2.0 + 1e-9).contains(w)));
    assert!(misfit < 1.0, "better than the same everywhere: {misfit}");
}

#[test]
fn regions_of_a_symmetric_skin_are_symmetric() {
    // Points of an ellipsoid and their mirror images in another order, off the origin.
    let point = |k: usize| {
        let (height, turn) = (2.0 * (k as f64 + 0.5) / 300.0 - 1.0, 2.4 * k as f64);
        let across = (1.0 - height * height).sqrt();
        DVec3::new(0.07 * across * turn.cos(), 0.12 * height, 0.09 * across * turn.sin())
    };
    let away = DVec3::new(0.3, -0.1, 0.2);
    let mirrored = |p: DVec3| DVec3::new(-p.x, p.y, p.z);
    let skin: Vec<DVec3> =
        (0..300).map(point).chain((0..300).map(|k| mirrored(point(k)))).map(|p| p + away).collect();
    let regions = Regions::spread(&skin, 32);
    for k in 0..300 {
        let sorted = |vertex: usize| {
            let mut fractions: Vec<f64> =
                regions.fractions[vertex].iter().map(|(_, fraction)| *fraction).collect();
            fractions.sort_by(f64::total_cmp);
            fractions
        };
        let (one, other) = (sorted(k), sorted(300 + k));
        assert_eq!(one.len(), other.len(), "vertex {k}");
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9), "vertex {k}: {one:?} {other:?}");
    }
}

#[test]
fn skin_that_no_shape_moves_is_attached_more_firmly() {
    let way = |mm: f64| 1e-3 * mm * DVec3::X;
    let shapes = [vec![way(0.0), way(2.0), way(3.0)], vec![way(0.0), way(1.0), way(8.0)]];
    let map = StiffnessMap::by_motion(shapes.iter().map(|moves| &moves[..]), 3, 0.24);
    let [still, some, far] = [0, 1, 2].map(|v| map.attachment[v]);
    assert!(still > 2.0 && far < 0.5 && some < still && some > far, "{:?}", map.attachment);
    assert_eq!(map.strain, StiffnessMap::uniform(3).strain);
}
