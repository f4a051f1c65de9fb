//! Round numbers along an axis.

/// A mark on an axis and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Its text.
    pub label: String,
}

/// About `count` round values (1, 2 or 5 times a power of ten apart) within `range`, its ends included where they
/// are round. Empty where the range is empty or not finite.
pub fn ticks(range: [f64; 2], count: usize) -> Vec<Tick> {
    let [low, high] = range;
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) || count == 0 {
        return Vec::new();
    }
    let raw = span / count as f64;
    let magnitude = raw.log10().floor();
    let power = 10_f64.powf(magnitude);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= raw * (1.0 - 1e-9)).unwrap_or(10.0);
    let step = factor * power;
    let decimals = if factor < 10.0 { -magnitude } else { -magnitude - 1.0 };
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    let tick = |i: i64| {
        let value = i as f64 * step;
        Tick { value, label: label(value, decimals, low.abs().max(high.abs())) }
    };
    (first..=last).map(tick).collect()
}

/// The powers of ten within a positive range, thinned to at most about `count`.
pub fn log_ticks(range: [f64; 2], count: usize) -> Vec<Tick> {
    let [low, high] = range;
    if !(low > 0.0 && high > low && high.is_finite()) || count == 0 {
        return Vec::new();
    }
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let every = ((last - first + 1) as f64 / count as f64).ceil().max(1.0) as usize;
    let tick = |power: i32| {
        let plain = (-3..=3).contains(&power);
        let value = 10_f64.powi(power);
        Tick { value, label: if plain { format!("{value}") } else { format!("1e{power}") } }
    };
    (first..=last).step_by(every).map(tick).collect()
}

fn label(value: f64, decimals: f64, largest: f64) -> String {
    if !(1e-3..1e5).contains(&largest) {
        let digits = (largest.log10().floor() + decimals).clamp(0.0, 6.0) as usize;
        return if value == 0.0 { "0".into() } else { format!("{value:.digits$e}") };
    }
    // Adding zero turns -0 into 0.
    format!("{:.*}", decimals.clamp(0.0, 9.0) as usize, value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(labels(&ticks([0.0, 1.0], 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&ticks([-2.0, 2.0], 4)), ["-2", "-1", "0", "1", "2"]);
        assert_eq!(labels(&ticks([0.0, 0.37], 4)), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(&ticks([0.0, 3e-5], 3)), ["0", "1e-5", "2e-5", "3e-5"]);
        assert_eq!(labels(&ticks([0.0, 1500.0], 3)), ["0", "500", "1000", "1500"]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        assert_eq!(labels(&log_ticks([1e-5, 20.0], 10)), ["1e-5", "1e-4", "0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(log_ticks([1e-12, 1.0], 4).len(), 4);
    }

    #[test]
    fn odd_ranges_have_no_ticks() {
        for range in [[0.0, 0.0], [1.0, 0.0], [f64::NAN, 1.0], [0.0, f64::INFINITY]] {
            assert!(ticks(range, 5).is_empty());
        }
        assert!(log_ticks([0.0, 1.0], 5).is_empty());
    }
}
