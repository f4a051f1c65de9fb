//! Newton's method on a system: a reference for the quasi-Newton steps of [`Solver::minimise`].

use zygoma_numerics::{Analysis, CgEnd, CgStatus, Cholesky, NotPositiveDefinite, conjugate_gradients};

use super::elements::{Precision, Row};
use super::solve::{GlobalStep, Inertia, SolveOptions, SolveReport, Solver};
use super::system::System;

/// Most products of the Hessian in a step.
const MOST_PRODUCTS: usize = 200;
/// The linear system of a step is solved until its residual has fallen to at most this fraction; farther near the minimum.
const LEAST_FALL: f64 = 0.1;

impl<T: Precision> Solver<T> {
    /// Moves the free vertices of `x` towards a minimum by Newton's method, whose linear systems are solved by conjugate gradients with the global step
    /// as preconditioner. Where the Hessian is not positive definite, a step is that of the Hessian without the negative curvature of single elements.
    pub fn minimise_by_newton(
        &mut self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        global: &mut dyn GlobalStep<T>,
        options: &SolveOptions,
        x: &mut [Row<T>],
    ) -> SolveReport {
        let free = system.free_count();
        let (mut energy, first) = self.begin_newton(system, inertia, x);
        let mut report =
            SolveReport { energies: vec![energy], gradient: [first; 2], ..SolveReport::default() };
        global.begin();
        for _ in 0..options.iterations {
            let [norm, _] = report.gradient;
            if norm <= options.tolerance * first || first == 0.0 {
                break;
            }
            let step = self.newton_step(system, inertia, global, norm / first, x);
            let slope = self.set_direction(&step);
            let before: Vec<Row<T>> = x[..free].to_vec();
            let Some(next) = self.search_from(system, inertia, options, (energy, slope), x) else {
                x[..free].copy_from_slice(&before);
                report.stalled = true;
                break;
            };
            let fall = energy - next.energy;
            energy = next.energy;
            report.energies.push(energy);
            report.gradient[0] = next.square.sqrt();
            // Newton's method converges so fast that energies which differ by rounding are those of the minimum.
            if fall <= T::EPSILON * self.largest_energy() {
                break;
            }
            let moved = x[..free].iter().zip(&before).flat_map(|(a, b)| (0..3).map(move |k| (a[k], b[k])));
            let farthest = moved.map(|(a, b)| (a.into() - b.into()).abs()).fold(0.0, f64::max);
            if farthest < options.least_motion {
                break;
            }
        }
        report
    }

    /// Solves H s = g for the present gradient g; `left` is the fraction of the first gradient that is left.
    fn newton_step(
        &self,
        system: &System<T>,
        inertia: Option<&Inertia<'_, T>>,
        global: &mut dyn GlobalStep<T>,
        left: f64,
        x: &[Row<T>],
    ) -> Vec<f64> {
        let free = system.free_count();
        let flat = |rows: &[Row<T>]| -> Vec<f64> {
            rows.iter().flat_map(|row| [row[0].into(), row[1].into(), row[2].into()]).collect()
        };
        let gradient = flat(&self.gradient()[..free]);
        let multiply = |direction: &[f64], out: &mut [f64]| {
            let mut all = vec![[0.0; 3]; system.vertex_count()];
            all.as_flattened_mut()[..direction.len()].copy_from_slice(direction);
            let product = system.hessian_product(x, &all);
            out.copy_from_slice(&product.as_flattened()[..direction.len()]);
            for (v, weight) in inertia.iter().flat_map(|inertia| inertia.weights).enumerate() {
                let weight: f64 = (*weight).into();
                (3 * v..3 * v + 3).for_each(|k| out[k] += weight * direction[k]);
            }
        };
        let (mut q, mut s) = (vec![[T::default(); 4]; free], vec![[T::default(); 4]; free]);
        let mut precondition = |from: &[f64], out: &mut [f64]| {
            for (row, from) in q.iter_mut().zip(from.chunks_exact(3)) {
                (0..3).for_each(|k| row[k] = T::of(from[k]));
            }
            global.solve(&q, &mut s);
            out.copy_from_slice(&flat(&s));
        };
        let square = |v: &[f64]| v.iter().map(|a| a * a).sum::<f64>();
        let wanted = (LEAST_FALL.min(left.sqrt())).powi(2) * square(&gradient);
        let mut plain = vec![0.0; gradient.len()];
        precondition(&gradient, &mut plain);
        let is_done = |status: &CgStatus<'_>| square(status.residual) <= wanted;
        let found = conjugate_gradients(&gradient, multiply, precondition, is_done, MOST_PRODUCTS);
        let definite = (found.end == CgEnd::NotPositiveDefinite)
            .then(|| definite_step(system, inertia, &gradient, x).ok())
            .flatten();
        match definite {
            Some(step) => step,
            None if found.iterations == 0 => plain,
            None => found.x,
        }
    }
}

/// Solves H s = g with the Hessian without the negative curvature of single elements.
fn definite_step<T: Precision>(
    system: &System<T>,
    inertia: Option<&Inertia<'_, T>>,
    gradient: &[f64],
    x: &[Row<T>],
) -> Result<Vec<f64>, NotPositiveDefinite> {
    let weights = inertia.map_or(&[][..], |inertia| inertia.weights);
    let diagonal: Vec<f64> = weights.iter().map(|weight| (*weight).into()).collect();
    let matrix = system.definite_hessian(x, &diagonal);
    let mut step = gradient.to_vec();
    Cholesky::<f64>::new(Analysis::new(&matrix), &matrix)?.solve_in_place(&mut step);
    Ok(step)
}
