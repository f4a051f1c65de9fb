//! The limited-memory BFGS recursion around any initial inverse Hessian.

use std::collections::VecDeque;

use crate::svd3::Lane;
use crate::{simd, vectors};

/// A single number of either precision.
pub trait Real: Lane + Default + PartialOrd + Into<f64> + Send + Sync + std::fmt::Debug + 'static {
    /// The nearest number of this precision.
    fn of(value: f64) -> Self;

    /// a · b of vectors so short that partial sums of this precision are accurate; see [`vectors::dot`](crate::vectors::dot).
    fn short_dot(a: &[Self], b: &[Self]) -> f64 {
        vectors::plain_dot(a, b)
    }

    /// y += scale · x.
    fn add_short(y: &mut [Self], scale: f64, x: &[Self]) {
        let scale = Self::of(scale);
        for (y, x) in y.iter_mut().zip(x) {
            *y = scale.mul_add(*x, *y);
        }
    }

    /// out ← a − b; returns the largest absolute value.
    fn subtract_short(out: &mut [Self], from: [&[Self]; 2]) -> f64 {
        vectors::plain_subtract(out, from)
    }
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }

    fn short_dot(a: &[Self], b: &[Self]) -> f64 {
        vectors::wide_dot(a, b)
    }

    fn add_short(y: &mut [Self], scale: f64, x: &[Self]) {
        simd::axpy(y, scale as f32, x);
    }

    fn subtract_short(out: &mut [Self], from: [&[Self]; 2]) -> f64 {
        vectors::wide_subtract(out, from)
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// The history of L-BFGS: the last few changes of position and gradient.
///
/// The recursion ([Nocedal and Wright 2006] algorithm 7.4) has two halves, [`forward`](Self::forward) and
/// [`backward`](Self::backward), between which the caller applies its own initial inverse Hessian, exactly or not. Products between
/// stored vectors are stored too, so that each half reads every vector once for its products and once for its sum.
#[derive(Clone, Debug)]
pub struct Lbfgs<T> {
    history: usize,
    pairs: VecDeque<Curvature<T>>,
    /// Memory of dropped pairs, for reuse.
    spare: Vec<Curvature<T>>,
}

#[derive(Clone, Debug)]
struct Curvature<T> {
    step: Vec<T>,
    change: Vec<T>,
    /// 1 / (step · change).
    inverse: f64,
    /// Steps of the pairs before, oldest first, times the change of this one.
    older: VecDeque<f64>,
    /// Written by the forward half for the backward half.
    alpha: f64,
}

impl<T: Real> Lbfgs<T> {
    /// An empty history of at most `history` pairs.
    pub fn new(history: usize) -> Self {
        Self { history, pairs: VecDeque::with_capacity(history), spare: Vec::new() }
    }

    /// Clears the history and keeps its memory.
    pub fn clear(&mut self) {
        self.spare.extend(self.pairs.drain(..));
    }

    /// Maximum number of pairs.
    pub fn history(&self) -> usize {
        self.history
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether the history is empty.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The first half: from the gradient to q, to which the initial inverse Hessian is applied.
    pub fn forward(&mut self, gradient: &[T], q: &mut [T]) {
        let steps: Vec<&[T]> = self.pairs.iter().map(|pair| pair.step.as_slice()).collect();
        // step · q as q loses its parts along the changes, newest first.
        let mut left = vectors::dots(&steps, gradient);
        for i in (0..self.pairs.len()).rev() {
            let pair = &mut self.pairs[i];
            pair.alpha = pair.inverse * left[i];
            left.iter_mut().zip(&pair.older).for_each(|(left, product)| *left -= pair.alpha * product);
        }
        let changes: Vec<(f64, &[T])> =
            self.pairs.iter().rev().map(|pair| (-pair.alpha, pair.change.as_slice())).collect();
        vectors::combine(q, gradient, &changes);
    }

    /// The second half: from s, the initial inverse Hessian times q, to the search direction.
    pub fn backward(&self, s: &[T], direction: &mut [T]) {
        let changes: Vec<&[T]> = self.pairs.iter().map(|pair| pair.change.as_slice()).collect();
        let products = vectors::dots(&changes, s);
        let mut steps: Vec<(f64, &[T])> = Vec::with_capacity(products.len());
        for (pair, product) in self.pairs.iter().zip(products) {
            let added: f64 = pair.older.iter().zip(&steps).map(|(product, (scale, _))| scale * product).sum();
            steps.push((pair.alpha - pair.inverse * (product + added), &pair.step));
        }
        vectors::combine(direction, s, &steps);
    }

    /// Stores the step between two positions and the change of the gradient over it, unless the curvature is not positive. Positions and
    /// gradients are given as [new, old]. Returns the largest absolute value of the step.
    pub fn push(&mut self, places: [&[T]; 2], gradients: [&[T]; 2]) -> f64 {
        let mut pair = self.spare.pop().unwrap_or_else(Curvature::empty);
        pair.step.resize(places[0].len(), T::default());
        pair.change.resize(places[0].len(), T::default());
        let steps: Vec<&[T]> = self.pairs.iter().map(|pair| pair.step.as_slice()).collect();
        let found = [pair.step.as_mut_slice(), pair.change.as_mut_slice()];
        let products = vectors::Differences { found, first: places, second: gradients }.find(&steps);
        let [step_size, curvature, change_size] = products.own;
        if self.history == 0 || curvature <= T::EPSILON * (step_size * change_size).sqrt() {
            self.spare.push(pair);
            return products.largest;
        }
        pair.inverse = 1.0 / curvature;
        pair.older = products.others.into();
        self.pairs.push_back(pair);
        if self.pairs.len() > self.history {
            self.spare.extend(self.pairs.pop_front());
            for pair in &mut self.pairs {
                pair.older.pop_front();
            }
        }
        products.largest
    }
}

impl<T> Curvature<T> {
    fn empty() -> Self {
        Self { step: Vec::new(), change: Vec::new(), inverse: 0.0, older: VecDeque::new(), alpha: 0.0 }
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

    /// The whole recursion, around 0.1 as the inverse Hessian.
    fn direction(memory: &mut Lbfgs<f64>, gradient: &[f64]) -> Vec<f64> {
        let (mut q, mut direction) = (vec![0.0; gradient.len()], vec![0.0; gradient.len()]);
        memory.forward(gradient, &mut q);
        q.iter_mut().for_each(|v| *v *= 0.1);
        memory.backward(&q, &mut direction);
        direction
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
            assert_eq!(memory.push([&step, &[0.0; 4]], [&next, &g]), 0.1);
            (last, g) = ((step, change), next);
        }
        // H y = s for the newest pair, whatever the first guess is.
        for (h, s) in direction(&mut memory, &last.1).iter().zip(&last.0) {
            assert!((h - s).abs() < 1e-12, "{h} {s}");
        }
    }

    /// The recursion as the book has it, over pairs from the oldest on.
    fn by_the_book(pairs: &[(Vec<f64>, Vec<f64>)], mut q: Vec<f64>) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let mut alphas = Vec::new();
        for (s, y) in pairs.iter().rev() {
            let alpha = dot(s, &q) / dot(s, y);
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= alpha * y);
            alphas.push(alpha);
        }
        q.iter_mut().for_each(|v| *v *= 0.1);
        for ((s, y), alpha) in pairs.iter().zip(alphas.iter().rev()) {
            let beta = dot(y, &q) / dot(s, y);
            q.iter_mut().zip(s).for_each(|(q, s)| *q += (alpha - beta) * s);
        }
        q
    }

    #[test]
    fn remembered_products_change_nothing() {
        let mut memory = Lbfgs::new(3);
        let mut pairs = Vec::new();
        for k in 0..7 {
            let step: Vec<f64> = (0..4).map(|i| 0.1 + 0.3 * f64::from((i * 5 + k * 3) % 7)).collect();
            let at = |x: &[f64]| gradient(&[x[0], x[1], x[2], x[3]]);
            let change: Vec<f64> = at(&step).iter().zip(at(&[0.0; 4])).map(|(a, b)| a - b).collect();
            memory.push([&step, &[0.0; 4]], [&change, &[0.0; 4]]);
            pairs.push((step, change));
            let q = vec![1.0, -2.0, 0.5, 3.0];
            let found = direction(&mut memory, &q);
            let expected = by_the_book(&pairs[pairs.len().saturating_sub(3)..], q);
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn curvature_of_the_wrong_sign_is_not_remembered() {
        let mut memory = Lbfgs::<f32>::new(2);
        let zero = [0.0; 2];
        memory.push([&[1.0, 0.0], &zero], [&[-1.0, 0.0], &zero]);
        memory.push([&[1.0, 0.0], &zero], [&[0.0, 1.0], &zero]);
        assert!(memory.is_empty());
        for _ in 0..3 {
            memory.push([&[1.0, 0.0], &zero], [&[1.0, 0.0], &zero]);
        }
        assert_eq!(memory.len(), 2);
    }
}
