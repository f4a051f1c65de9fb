//! Limited-memory BFGS: the direction to go, from the last few steps and the changes of the gradient.

use std::collections::VecDeque;

/// A memory of steps that stands for the inverse of the second derivatives.
///
/// The caller owns the line search, so that it can refuse steps for its own reasons.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    memory: usize,
    pairs: VecDeque<Pair>,
}

#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse_curvature: f64,
}

impl Lbfgs {
    /// Remembers at most `memory` steps.
    pub fn new(memory: usize) -> Self {
        Self { memory, pairs: VecDeque::new() }
    }

    /// Forgets all steps, after which directions are those of the scaled gradient.
    pub fn reset(&mut self) {
        self.pairs.clear();
    }

    /// Whether no step is remembered.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Remembers a step and the change of the gradient over it. Steps along which the function does not curve
    /// upwards would spoil the memory and are left out.
    pub fn remember(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let curvature = dot(&step, &change);
        let size = (dot(&step, &step) * dot(&change, &change)).sqrt();
        if curvature <= 1e-8 * size || self.memory == 0 {
            return;
        }
        if self.pairs.len() == self.memory {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change, inverse_curvature: 1.0 / curvature });
    }

    /// −H ∇f by the two-loop recursion, where the memory improves on `estimate`: the product of a first
    /// estimate of the inverse of the second derivatives with a vector.
    pub fn direction(&self, gradient: &[f64], estimate: impl FnOnce(&[f64]) -> Vec<f64>) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let share = pair.inverse_curvature * dot(&pair.step, &direction);
            add(&mut direction, -share, &pair.change);
            shares.push(share);
        }
        let mut direction = estimate(&direction);
        for (pair, share) in self.pairs.iter().zip(shares.into_iter().rev()) {
            let back = pair.inverse_curvature * dot(&pair.change, &direction);
            add(&mut direction, share - back, &pair.step);
        }
        direction
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long narrow bowl, ½ Σ cᵢ xᵢ² with c from 1 to 1000, and a coupling of neighbours.
    fn bowl(x: &[f64]) -> (f64, Vec<f64>) {
        let c = |i: usize| 10f64.powf(3.0 * i as f64 / (x.len() - 1) as f64);
        let mut gradient: Vec<f64> = x.iter().enumerate().map(|(i, v)| c(i) * v).collect();
        let mut value: f64 = x.iter().enumerate().map(|(i, v)| 0.5 * c(i) * v * v).sum();
        for i in 1..x.len() {
            let d = x[i] - x[i - 1];
            value += 0.5 * d * d;
            gradient[i] += d;
            gradient[i - 1] -= d;
        }
        (value, gradient)
    }

    #[test]
    fn a_narrow_bowl_is_left_in_few_steps() {
        let mut memory = Lbfgs::new(10);
        let mut x = vec![1.0; 12];
        let (mut value, mut gradient) = bowl(&x);
        let mut steps = 0;
        while dot(&gradient, &gradient).sqrt() > 1e-8 {
            let direction = memory.direction(&gradient, |v| v.iter().map(|v| 1e-3 * v).collect());
            let mut share = 1.0;
            loop {
                let next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + share * d).collect();
                let (next_value, next_gradient) = bowl(&next);
                if next_value <= value + 1e-4 * share * dot(&gradient, &direction) {
                    let step = next.iter().zip(&x).map(|(a, b)| a - b).collect();
                    let change = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
                    memory.remember(step, change);
                    (x, value, gradient) = (next, next_value, next_gradient);
                    break;
                }
                share *= 0.5;
            }
            steps += 1;
            assert!(steps < 150, "gradient descent would need thousands");
        }
    }

    #[test]
    fn steps_without_upward_curvature_are_left_out() {
        let mut memory = Lbfgs::new(3);
        memory.remember(vec![1.0, 0.0], vec![-1.0, 0.0]);
        assert!(memory.is_empty());
        assert_eq!(memory.direction(&[1.0, 2.0], <[f64]>::to_vec), [-1.0, -2.0]);
    }
}
