//! Decimal numbers in OBJ files: reading, precision and writing.

/// How precisely numbers are written.
///
/// Some programs write a fixed number of decimals, others (`%g`) a fixed number of significant digits; the
/// larger of the two steps is the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digits {
    /// Decimals after the point.
    pub(crate) decimals: i32,
    /// Digits from the first that is not zero.
    pub(crate) significant: i32,
}

impl Digits {
    /// The finer of two precisions.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            decimals: self.decimals.max(other.decimals),
            significant: self.significant.max(other.significant),
        }
    }

    /// The difference between neighbouring numbers of this precision near `magnitude`.
    pub(crate) fn step(self, magnitude: f64) -> f64 {
        let digits_before_point = if magnitude > 0.0 { magnitude.log10().floor() as i32 + 1 } else { 0 };
        let by_decimals = 10f64.powi(-self.decimals);
        let by_significance = 10f64.powi(digits_before_point - self.significant);
        by_decimals.max(by_significance)
    }
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// A number with its precision; `None` if it is not a number. The caller handles infinities and NaN.
///
/// Up to 2⁵³ the digits are an exact f64, and so is 10ⁿ up to n = 22: one rounding, hence the right result
/// \[Clinger 1990\]. Anything longer goes to the standard library.
pub(crate) fn parse(text: &[u8]) -> Option<(f64, Digits)> {
    let negative = text.first() == Some(&b'-');
    let signed = matches!(text.first(), Some(b'-' | b'+'));
    let mut digits = 0u64;
    let mut digit_count = 0;
    let mut significant = 0;
    let mut decimals = 0;
    let mut after_point = false;
    let mut at = usize::from(signed);
    while let Some(byte) = text.get(at) {
        match byte {
            b'0'..=b'9' => {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                digit_count += 1;
                significant += i32::from(digits != 0 || significant > 0);
                decimals += i32::from(after_point);
            }
            b'.' if !after_point => after_point = true,
            _ => break,
        }
        at += 1;
    }
    let exponent = match text.get(at) {
        None => 0,
        Some(b'e' | b'E') => i32::try_from(parse_index(&text[at + 1..])?).ok()?.clamp(-400, 400),
        Some(_) => return slow(text, Digits::default()),
    };
    decimals -= exponent;
    let precision = Digits { decimals, significant };
    if digit_count == 0 {
        return None;
    }
    if significant > 18 || digits > 1 << 53 || decimals.unsigned_abs() > 22 {
        return slow(text, precision);
    }
    let power = POWERS[decimals.unsigned_abs() as usize];
    let value = if decimals < 0 { digits as f64 * power } else { digits as f64 / power };
    Some((if negative { -value } else { value }, precision))
}

fn slow(text: &[u8], precision: Digits) -> Option<(f64, Digits)> {
    let value = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some((value, precision))
}

/// A whole number with an optional sign, of at most 18 digits.
pub(crate) fn parse_index(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = 10 * value + i64::from(byte - b'0');
    }
    Some(if negative { -value } else { value })
}

/// A decimal near `value` that reads back as the wanted f32, which `accepts` checks. The short form of an f32 nearly
/// always suffices; otherwise all digits of the f64.
pub(crate) fn decimal(value: f64, accepts: impl FnOnce(f64) -> bool) -> String {
    let short = value as f32;
    // The reader sees the decimal, not the f32 that it stands for.
    let text = short.to_string();
    let read = text.parse().unwrap_or(f64::NAN);
    if accepts(read) { text } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn precision_is_found_from_the_digits() {
        let digits = |text: &str| parse(text.as_bytes()).unwrap().1;
        assert_eq!(digits("11.838700"), Digits { decimals: 6, significant: 8 });
        assert_eq!(digits("-2.48251"), Digits { decimals: 5, significant: 6 });
        assert_eq!(digits("4.54747e-13"), Digits { decimals: 18, significant: 6 });
        assert_eq!(digits("0.0012"), Digits { decimals: 4, significant: 2 });
        let six_significant = digits("11.8387").max(digits("4.54747e-13"));
        assert!((six_significant.step(11.8387) - 1e-4).abs() < 1e-12);
        assert!((six_significant.step(0.5) - 1e-6).abs() < 1e-14);
        let six_decimals = digits("11.838700").max(digits("0.000001"));
        assert!((six_decimals.step(11.8387) - 1e-6).abs() < 1e-14);
        assert!((six_decimals.step(0.5) - 1e-6).abs() < 1e-14);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1,5", "--1", "1e5.5", "abc", "1_0"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_as_the_standard_library(text in "[-+]?[0-9]{0,20}\\.?[0-9]{0,20}([eE][-+]?[0-9]{1,3})?") {
            let ours = parse(text.as_bytes()).map(|(value, _)| value.to_bits());
            let theirs = text.parse::<f64>().ok().map(f64::to_bits);
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn never_panics(text in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = parse(&text);
            let _ = parse_index(&text);
        }

        #[test]
        fn a_written_sum_gives_its_part_back(neutral in -0.5f32..0.5, delta in -0.1f32..0.1) {
            let recover = |sum: f64| (sum - f64::from(neutral)) as f32;
            let text = decimal(f64::from(neutral) + f64::from(delta), |sum| recover(sum) == delta);
            prop_assert_eq!(recover(parse(text.as_bytes()).unwrap().0), delta);
        }
    }
}
