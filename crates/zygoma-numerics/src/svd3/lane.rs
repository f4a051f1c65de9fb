//! The operations of a 3×3 kernel on numbers, so that the same code serves scalars and wide registers.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::simd::Simd;

/// A number, or as many numbers as a register holds.
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The outcome of a comparison, number by number.
    type Mask: Copy;
    /// Squares below this count as zero.
    const TINY: f64;
    /// The step from 1 to the next number.
    const EPSILON: f64;
    /// Newton steps that take a root from an error of 4e-4 to the last bits.
    const NEWTON_STEPS: usize;

    /// A constant in every lane. `self` only selects the type.
    fn splat(self, value: f64) -> Self;
    /// `self · b + c`, fused where that is faster.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// Where `self < other`.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, `no` elsewhere.
    fn pick(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether some number is above a limit.
    fn any_above(self, limit: f64) -> bool;
}

macro_rules! single {
    ($number:ty, $tiny:expr, $steps:expr) => {
        impl Lane for $number {
            type Mask = bool;
            const TINY: f64 = $tiny;
            const EPSILON: f64 = <$number>::EPSILON as f64;
            const NEWTON_STEPS: usize = $steps;

            #[inline(always)]
            fn splat(self, value: f64) -> Self {
                value as $number
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // Without the instruction a fused product is a slow library call.
                self * b + c
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn pick(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn any_above(self, limit: f64) -> bool {
                self > limit as $number
            }
        }
    };
}
single!(f32, 1e-36, 1);
single!(f64, 1e-300, 3);

/// A register of `f32`.
#[derive(Clone, Copy)]
pub struct Wide<S: Simd> {
    simd: S,
    values: S::f32s,
}

impl<S: Simd> Wide<S> {
    /// A register.
    #[inline(always)]
    pub fn new(simd: S, values: S::f32s) -> Self {
        Self { simd, values }
    }

    /// The register.
    #[inline(always)]
    pub fn values(self) -> S::f32s {
        self.values
    }

    /// The first numbers of a slice that holds at least a register of them.
    #[inline(always)]
    pub fn load(simd: S, from: &[f32]) -> Self {
        Self { simd, values: S::as_simd_f32s(from).0[0] }
    }

    /// Writes to the start of a slice that holds at least a register of numbers.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        S::as_mut_simd_f32s(to).0[0] = self.values;
    }

    /// The largest of its numbers.
    #[inline(always)]
    pub fn largest(self) -> f32 {
        self.simd.reduce_max_f32s(self.values)
    }
}

macro_rules! operator {
    ($name:ident, $method:ident, $call:ident) => {
        impl<S: Simd> $name for Wide<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { values: self.simd.$call(self.values, other.values), ..self }
            }
        }
    };
}
operator!(Add, add, add_f32s);
operator!(Sub, sub, sub_f32s);
operator!(Mul, mul, mul_f32s);
operator!(Div, div, div_f32s);

impl<S: Simd> Neg for Wide<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // The compiler turns this into a change of sign; `neg_f32s` and `abs_f32s` of the interface may stay calls.
        self.splat(-0.0) - self
    }
}

impl<S: Simd> Lane for Wide<S> {
    type Mask = S::m32s;
    const TINY: f64 = <f32 as Lane>::TINY;
    const EPSILON: f64 = <f32 as Lane>::EPSILON;
    const NEWTON_STEPS: usize = <f32 as Lane>::NEWTON_STEPS;

    #[inline(always)]
    fn splat(self, value: f64) -> Self {
        Self { values: self.simd.splat_f32s(value as f32), ..self }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self { values: self.simd.mul_add_e_f32s(self.values, b.values, c.values), ..self }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self { values: self.simd.sqrt_f32s(self.values), ..self }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self { values: self.simd.max_f32s(self.values, (-self).values), ..self }
    }
    #[inline(always)]
    fn less(self, other: Self) -> S::m32s {
        self.simd.less_than_f32s(self.values, other.values)
    }
    #[inline(always)]
    fn pick(mask: S::m32s, yes: Self, no: Self) -> Self {
        Self { values: yes.simd.select_f32s(mask, yes.values, no.values), ..yes }
    }
    #[inline(always)]
    fn any_above(self, limit: f64) -> bool {
        self.largest() > limit as f32
    }
}

/// Two lanes side by side: while one waits for a quotient or a root, the other has work.
#[derive(Clone, Copy)]
pub struct Pair<T>(pub T, pub T);

macro_rules! pair_operator {
    ($name:ident, $method:ident) => {
        impl<T: Lane> $name for Pair<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0), self.1.$method(other.1))
            }
        }
    };
}
pair_operator!(Add, add);
pair_operator!(Sub, sub);
pair_operator!(Mul, mul);
pair_operator!(Div, div);

impl<T: Lane> Neg for Pair<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl<T: Lane> Lane for Pair<T> {
    type Mask = (T::Mask, T::Mask);
    const TINY: f64 = T::TINY;
    const EPSILON: f64 = T::EPSILON;
    const NEWTON_STEPS: usize = T::NEWTON_STEPS;

    #[inline(always)]
    fn splat(self, value: f64) -> Self {
        Self(self.0.splat(value), self.1.splat(value))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(self.0.mul_add(b.0, c.0), self.1.mul_add(b.1, c.1))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), self.1.sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs(), self.1.abs())
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        (self.0.less(other.0), self.1.less(other.1))
    }
    #[inline(always)]
    fn pick(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(T::pick(mask.0, yes.0, no.0), T::pick(mask.1, yes.1, no.1))
    }
    #[inline(always)]
    fn any_above(self, limit: f64) -> bool {
        T::pick(self.0.less(self.1), self.1, self.0).any_above(limit)
    }
}
