//! The limited-memory BFGS recursion around any first guess of the inverse Hessian.

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
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// The last few changes of position and gradient.
///
/// The recursion ([Nocedal and Wright 2006] algorithm 7.4) has two halves, [`forward`](Self::forward) and
/// [`backward`](Self::backward), between which the caller applies its own inverse Hessian, exactly or not. Products between
/// remembered vectors are remembered too, so that each half reads every vector once for its products and once for its sum.
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
    /// Steps of the pairs before, oldest first, times the change of this one.
    older: VecDeque<f64>,
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
        let steps: Vec<&[T]> = self.pairs.iter().map(|pair| pair.step.as_slice()).collect();
        // step · q as q loses its parts along the changes, newest first.
        let mut left = vectors::dots(&steps, q);
        for i in (0..self.pairs.len()).rev() {
            let pair = &mut self.pairs[i];
            pair.alpha = pair.inverse * left[i];
            left.iter_mut().zip(&pair.older).for_each(|(left, product)| *left -= pair.alpha * product);
        }
        let changes: Vec<(f64, &[T])> =
            self.pairs.iter().rev().map(|pair| (-pair.alpha, pair.change.as_slice())).collect();
        vectors::add_scaled(q, &changes);
    }

    /// The second half: what makes the guess fit the remembered changes.
    pub fn backward(&self, r: &mut [T]) {
        let changes: Vec<&[T]> = self.pairs.iter().map(|pair| pair.change.as_slice()).collect();
        let products = vectors::dots(&changes, r);
        let mut steps: Vec<(f64, &[T])> = Vec::with_capacity(products.len());
        for (pair, product) in self.pairs.iter().zip(products) {
            let added: f64 = pair.older.iter().zip(&steps).map(|(product, (scale, _))| scale * product).sum();
            steps.push((pair.alpha - pair.inverse * (product + added), &pair.step));
        }
        vectors::add_scaled(r, &steps);
    }

    /// Remembers a step and the change of gradient over it, unless they curve the wrong way.
    pub fn push(&mut self, step: &[T], change: &[T]) {
        if self.history == 0 {
            return;
        }
        let vectors: Vec<&[T]> =
            self.pairs.iter().map(|pair| pair.step.as_slice()).chain([step, change]).collect();
        let mut older: VecDeque<f64> = vectors::dots(&vectors, change).into();
        let (Some(size), Some(curvature)) = (older.pop_back(), older.pop_back()) else { return };
        if curvature <= T::EPSILON * (vectors::dot(step, step) * size).sqrt() {
            return;
        }
        // A forgotten pair lends its memory.
        let mut pair = if self.pairs.len() == self.history {
            older.pop_front();
            for pair in &mut self.pairs {
                pair.older.pop_front();
            }
            self.pairs.pop_front()
        } else {
            self.spare.pop()
        }
        .unwrap_or_else(Curvature::empty);
        pair.step.clear();
        pair.step.extend_from_slice(step);
        pair.change.clear();
        pair.change.extend_from_slice(change);
        pair.inverse = 1.0 / curvature;
        pair.older = older;
        self.pairs.push_back(pair);
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
            memory.push(&step, &change);
            pairs.push((step, change));
            let mut q = vec![1.0, -2.0, 0.5, 3.0];
            let expected = by_the_book(&pairs[pairs.len().saturating_sub(3)..], q.clone());
            memory.forward(&mut q);
            q.iter_mut().for_each(|v| *v *= 0.1);
            memory.backward(&mut q);
            for (a, b) in q.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{q:?} {expected:?}");
            }
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
}
