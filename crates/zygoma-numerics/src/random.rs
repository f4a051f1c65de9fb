//! Random numbers keyed by what they are for.
//!
//! A number depends on (seed, purpose, tick) only, never on the order of calls, so that threads may draw in any order.

/// A stream of numbers for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed {
    key: u64,
}

impl Keyed {
    /// The stream of a seed and a purpose.
    pub fn new(seed: u64, what: u64) -> Self {
        Self { key: mix(mix(seed) ^ what.wrapping_mul(ODD)) }
    }

    /// 64 uniform bits.
    pub fn bits(self, tick: u64) -> u64 {
        mix(self.key.wrapping_add(tick.wrapping_mul(ODD)))
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn uniform(self, tick: u64) -> f64 {
        (self.bits(tick) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number of mean 0, variance 1 and nearly normal distribution: the sum of twelve uniform ones, minus six,
    /// which needs no functions whose last bits differ between machines.
    pub fn normal(self, tick: u64) -> f64 {
        // Four bit fields of each of three words: 16 bits are plenty for a sketch.
        let words = [0, 1, 2].map(|word| self.bits(tick.wrapping_mul(3).wrapping_add(word)));
        let fields = words.iter().flat_map(|word| [0, 16, 32, 48].map(|shift| (word >> shift) & 0xffff));
        fields.map(|field| (field as f64 + 0.5) / 65_536.0).sum::<f64>() - 6.0
    }
}

/// 2⁶⁴ over the golden ratio, made odd: steps of it visit all words evenly.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads every bit over the whole word: the finaliser of SplitMix64
/// ([Steele et al. 2014] *Fast splittable pseudorandom number generators*).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let stream = Keyed::new(7, 1);
        let count = 100_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..count).map(f).sum::<f64>() / count as f64;
        assert!((mean(&|t| stream.uniform(t)) - 0.5).abs() < 0.005);
        assert!(mean(&|t| stream.normal(t)).abs() < 0.015);
        assert!((mean(&|t| stream.normal(t).powi(2)) - 1.0).abs() < 0.02);
        assert!(mean(&|t| stream.normal(t) * stream.normal(t + 1)).abs() < 0.015);
    }

    #[test]
    fn streams_differ_by_seed_and_purpose() {
        let first = |seed, what| Keyed::new(seed, what).bits(0);
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_eq!(first(1, 1), first(1, 1));
    }
}
