//! A slab of flesh whose stiffness is known gives it back from shapes that were made by loading it.

use glam::DVec3;
use zygoma_geometry::shapes;
use zygoma_physics::projective::{
    Attachments, Prefactored, Row, SolveOptions, Solver, Stencil, System, TissueTets, position, row,
};

use super::PerformParams;
use super::hypodermis::Flesh;
use super::stiffness::{FitOptions, Posed, Regions, StiffnessFit, StiffnessMap};

const SIDE: f64 = 0.12;
const SHAPES: usize = 10;

struct Slab {
    flesh: Flesh,
    triangles: Vec<[u32; 3]>,
    areas: Vec<f64>,
    params: PerformParams,
}

impl Slab {
    fn new() -> Self {
        let (flat, triangles) = shapes::square(10);
        let skin: Vec<DVec3> = flat.iter().map(|p| SIDE * p.as_dvec3()).collect();
        let params = PerformParams { thickness: 0.01, ..PerformParams::default() };
        let flesh = Flesh::new(
            &skin,
            &triangles,
            vec![params.thickness; skin.len()],
            &vec![false; triangles.len()],
            &params.hypodermis(),
        )
        .unwrap();
        let mut areas = vec![0.0; skin.len()];
        for t in &triangles {
            let [a, b, c] = t.map(|v| skin[v as usize]);
            t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
        }
        Self { flesh, triangles, areas, params }
    }

    fn skin(&self) -> &[DVec3] {
        &self.flesh.mesh.positions[..self.areas.len()]
    }

    fn system(&self, stiffness: &StiffnessMap) -> System<f64> {
        let count = self.areas.len();
        let rest = &self.flesh.mesh.positions;
        let mut tets = TissueTets::new();
        for tet in &self.flesh.mesh.tets {
            let stencil = Stencil::tetrahedron(rest, *tet).unwrap();
            let [strain, volume] = stiffness.of_element(tet);
            let mut weights = self.params.material().tissue(stencil.size, 1.0);
            weights[0] *= strain;
            weights[1] *= volume;
            tets.push(&stencil, weights);
        }
        let mut holds = Attachments::new();
        for v in 0..count {
            let at = rest[count + v];
            let weight = self.params.attachment * stiffness.attachment[v] * self.areas[v];
            holds.push(&Stencil::vertex((count + v) as u32), [weight, at.x, at.y, at.z]);
        }
        let mut system = System::new(2 * count, 2 * count);
        system.add(tets).unwrap();
        system.add(holds).unwrap();
        system
    }

    /// Shapes that small forces along themselves hold: orthogonal iteration over loads, each answered by the slab.
    fn shapes(&self, stiffness: &StiffnessMap) -> Vec<Posed> {
        const SMALL: f64 = 1e-4;
        let count = self.areas.len();
        let mut system = self.system(stiffness);
        let mut global = Prefactored::new(&system.matrix(&[]), &[]).unwrap();
        let rest: Vec<Row<f64>> = self.flesh.mesh.positions.iter().map(|p| row(*p)).collect();
        let inner =
            |a: &[DVec3], b: &[DVec3]| -> f64 { (0..count).map(|v| self.areas[v] * a[v].dot(b[v])).sum() };
        let wave = |k: usize| -> Vec<DVec3> {
            let at = |p: &DVec3| {
                let phase = DVec3::new(31.0 + 11.0 * k as f64, 47.0 - 13.0 * k as f64, k as f64);
                let (s, c) = phase.dot(*p + DVec3::splat(0.1)).sin_cos();
                DVec3::new(s, c, (3.0 * s + k as f64).sin())
            };
            self.skin().iter().map(at).collect()
        };
        let mut shapes: Vec<Vec<DVec3>> = (0..SHAPES).map(wave).collect();
        let mut answers = vec![Vec::new(); SHAPES];
        for _ in 0..150 {
            for k in 0..SHAPES {
                for j in 0..k {
                    let along = inner(&shapes[k], &shapes[j]) / inner(&shapes[j], &shapes[j]);
                    let other = shapes[j].clone();
                    shapes[k].iter_mut().zip(&other).for_each(|(a, b)| *a -= along * *b);
                }
                let size = (inner(&shapes[k], &shapes[k]) / (SIDE * SIDE)).sqrt();
                // Any scale of the load will do: the slab answers small loads in proportion.
                for v in 0..count {
                    let load = self.params.attachment * SMALL * self.areas[v] * shapes[k][v] / size;
                    system.forces[v] = row(load);
                }
                let mut x = rest.clone();
                let options = SolveOptions { iterations: 400, tolerance: 1e-11, ..Default::default() };
                Solver::new(&system).minimise(&system, None, &mut global, &options, &mut x);
                answers[k] = x.iter().map(position).collect();
                shapes[k] = (0..count).map(|v| answers[k][v] - self.skin()[v]).collect();
            }
        }
        let feet = self.flesh.mesh.positions[count..].to_vec();
        let posed =
            |k: usize| Posed { positions: answers[k].clone(), feet: feet.clone(), moves: shapes[k].clone() };
        (0..SHAPES).map(posed).collect()
    }
}

#[test]
fn known_stiffness_is_found_again() {
    let slab = Slab::new();
    let count = slab.areas.len();
    let regions = Regions::spread(slab.skin(), 4);
    let truth = [[2.0, 1.0, 0.8], [0.5, 0.7, 1.4], [1.2, 0.4, 0.6], [0.8, 1.6, 1.0]];
    let mean: f64 = truth.iter().flatten().sum::<f64>() / 12.0;
    let map = |kind: usize| regions.spread_out(&truth.map(|line| line[kind] / mean));
    let truth = StiffnessMap { strain: map(0), volume: map(1), attachment: map(2) };
    let poses = slab.shapes(&truth);
    let fit = StiffnessFit {
        flesh: &slab.flesh,
        triangles: &slab.triangles,
        areas: &slab.areas,
        is_counted: &vec![true; count],
        regions: &regions,
        params: &slab.params,
    };
    let (found, misfit) = fit.solve(&poses, &FitOptions { bounds: [0.1, 10.0], smooth: 0.0 });
    println!("the misfit falls to {misfit:.2e}");
    for (name, found, truth) in [
        ("strain", &found.strain, &truth.strain),
        ("volume", &found.volume, &truth.volume),
        ("attachment", &found.attachment, &truth.attachment),
    ] {
        let off = found.iter().zip(truth).map(|(f, t)| (f / t - 1.0).abs()).fold(0.0, f64::max);
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
    let below = slab.flesh.mesh.positions[count..].to_vec();
    let above = slab.skin().iter().zip(&moves).map(|(p, d)| *p + *d);
    let pose = Posed { positions: above.chain(below.iter().copied()).collect(), feet: below.clone(), moves };
    let fit = StiffnessFit {
        flesh: &slab.flesh,
        triangles: &slab.triangles,
        areas: &slab.areas,
        is_counted: &vec![true; count],
        regions: &regions,
        params: &slab.params,
    };
    let (found, misfit) = fit.solve(&[pose], &FitOptions { bounds: [0.5, 2.0], smooth: 0.1 });
    let all = || found.strain.iter().chain(&found.volume).chain(&found.attachment);
    assert!(all().all(|w| (0.5 - 1e-9..2.0 + 1e-9).contains(w)));
    assert!(misfit < 1.0, "better than the same everywhere: {misfit}");
}
