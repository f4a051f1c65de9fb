//! The limited-memory BFGS recursion around any first guess of the inverse Hessian.

use std::collections::VecDeque;

use crate::svd3::Lane;

/// A single number of either precision.
pub trait Real: Lane + Default + PartialOrd + Into<f64> + Send + Sync + std::fmt::Debug + 'static {
    /// The nearest number of this precision.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// The last few changes of position and gradient.
///
/// The recursion ([Nocedal and Wright 2006] algorithm 7.4) has two halves, [`forward`](Self::forward) and
/// [`backward`](Self::backward), between which the caller applies its own inverse Hessian, exactly or not.
#[derive(Clone, Debug)]
pub struct Lbfgs<T> {
    history: usize,
    pairs: VecDeque<Curvature<T>>,
    /// Memory of forgotten pairs, for new ones.
    spare: Vec<Curvature<T>>,
}

#[derive(Clone, Debug)]
struct Curvature<T> {
    step: Vec<T>,
    change: Vec<T>,
    /// 1 / (step · change).
    inverse: f64,
    /// Written by the forward half for the backward half.
    alpha: f64,
}

impl<T: Real> Lbfgs<T> {
    /// An empty memory of at most `history` pairs.
    pub fn new(history: usize) -> Self {
        Self { history, pairs: VecDeque::with_capacity(history), spare: Vec::new() }
    }

    /// Forgets everything, and keeps the memory for what comes.
    pub fn clear(&mut self) {
        self.spare.extend(self.pairs.drain(..));
    }

    /// How many pairs are remembered at most.
    pub fn history(&self) -> usize {
        self.history
    }

    /// Number of pairs remembered.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The first half: from the gradient to what the first guess of the inverse Hessian is to be applied to.
    pub fn forward(&mut self, q: &mut [T]) {
        for pair in self.pairs.iter_mut().rev() {
            pair.alpha = pair.inverse * dot(&pair.step, q);
            add_scaled(q, -pair.alpha, &pair.change);
        }
    }

    /// The second half: what makes the guess fit the remembered changes.
    pub fn backward(&self, r: &mut [T]) {
        for pair in &self.pairs {
            let beta = pair.inverse * dot(&pair.change, r);
            add_scaled(r, pair.alpha - beta, &pair.step);
        }
    }

    /// Remembers a step and the change of gradient over it, unless they curve the wrong way.
    pub fn push(&mut self, step: &[T], change: &[T]) {
        let curvature = dot(step, change);
        if self.history == 0 || curvature <= T::EPSILON * (dot(step, step) * dot(change, change)).sqrt() {
            return;
        }
        // A forgotten pair lends its memory.
        let oldest = if self.pairs.len() == self.history { self.pairs.pop_front() } else { self.spare.pop() };
        let mut pair = oldest.unwrap_or_else(Curvature::empty);
        pair.step.clear();
        pair.step.extend_from_slice(step);
        pair.change.clear();
        pair.change.extend_from_slice(change);
        pair.inverse = 1.0 / curvature;
        self.pairs.push_back(pair);
    }
}

impl<T> Curvature<T> {
    fn empty() -> Self {
        Self { step: Vec::new(), change: Vec::new(), inverse: 0.0, alpha: 0.0 }
    }
}

/// a · b, in partial sums that a compiler can keep in one register and whose order never changes.
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    const WIDTH: usize = 16;
    let mut total = 0.0;
    // Partial sums of single precision stay short.
    for (a, b) in a.chunks(1024).zip(b.chunks(1024)) {
        let mut sums = [T::default(); WIDTH];
        let (a, a_rest) = a.as_chunks::<WIDTH>();
        let (b, b_rest) = b.as_chunks::<WIDTH>();
        for (a, b) in a.iter().zip(b) {
            for k in 0..WIDTH {
                sums[k] = a[k].mul_add(b[k], sums[k]);
            }
        }
        total += sums.iter().map(|sum| (*sum).into()).sum::<f64>();
        total += a_rest.iter().zip(b_rest).map(|(a, b)| (*a).into() * (*b).into()).sum::<f64>();
    }
    total
}

fn add_scaled<T: Real>(y: &mut [T], scale: f64, x: &[T]) {
    let scale = T::of(scale);
    for (y, x) in y.iter_mut().zip(x) {
        *y = scale.mul_add(*x, *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gradient of ½ xᵀAx − bᵀx for a badly scaled A.
    fn gradient(x: &[f64; 4]) -> Vec<f64> {
        let a = [[4.0, 1.0, 0.0, 0.0], [1.0, 300.0, 5.0, 0.0], [0.0, 5.0, 2.0, 0.5], [0.0, 0.0, 0.5, 70.0]];
        (0..4).map(|i| (0..4).map(|j| a[i][j] * x[j]).sum::<f64>() - (i as f64 + 1.0)).collect()
    }

    #[test]
    fn directions_satisfy_the_secant_equation() {
        let mut memory = Lbfgs::new(5);
        let mut x = [0.3, -0.2, 0.9, 0.1];
        let mut g = gradient(&x);
        let mut last = (vec![], vec![]);
        for k in 0..4 {
            let step: Vec<f64> = (0..4).map(|i| if i == k { 0.1 } else { 0.02 }).collect();
            (0..4).for_each(|i| x[i] += step[i]);
            let next = gradient(&x);
            let change: Vec<f64> = next.iter().zip(&g).map(|(a, b)| a - b).collect();
            memory.push(&step, &change);
            (last, g) = ((step, change), next);
        }
        // H y = s for the newest pair, whatever the first guess is.
        let mut q = last.1.clone();
        memory.forward(&mut q);
        q.iter_mut().for_each(|v| *v *= 0.1);
        memory.backward(&mut q);
        for (h, s) in q.iter().zip(&last.0) {
            assert!((h - s).abs() < 1e-12, "{h} {s}");
        }
    }

    #[test]
    fn curvature_of_the_wrong_sign_is_not_remembered() {
        let mut memory = Lbfgs::<f32>::new(2);
        memory.push(&[1.0, 0.0], &[-1.0, 0.0]);
        memory.push(&[1.0, 0.0], &[0.0, 1.0]);
        assert!(memory.is_empty());
        for _ in 0..3 {
            memory.push(&[1.0, 0.0], &[1.0, 0.0]);
        }
        assert_eq!(memory.len(), 2);
    }

    #[test]
    fn long_sums_of_single_precision_are_accurate() {
        let ones = vec![0.1_f32; 3_000_017];
        let exact = 3_000_017.0 * f64::from(0.1_f32) * f64::from(0.1_f32);
        assert!((dot(&ones, &ones) / exact - 1.0).abs() < 1e-6);
    }
}
