//! Whether two shares differ.

use crate::distribution::normal_quantile;

/// A number of calls out of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The number of calls that are included.
    pub part: u64,
    /// The total.
    pub of: u64,
}

impl Share {
    /// The part as a fraction of the total; 0 if the total is 0.
    pub fn value(self) -> f64 {
        if self.of == 0 {
            return 0.0;
        }
        self.part as f64 / self.of as f64
    }
}

/// Whether two shares differ by more than chance would explain: the two-proportion z test with
/// pooled variance, at 5%.
pub fn shares_differ(a: Share, b: Share) -> bool {
    let (all, parts) = (a.of as f64 + b.of as f64, a.part as f64 + b.part as f64);
    let pooled = parts / all;
    let variance = pooled * (1.0 - pooled) * (1.0 / a.of as f64 + 1.0 / b.of as f64);
    // If a total is 0, this is NaN, so there is no difference.
    (a.value() - b.value()).abs() > normal_quantile(0.975) * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_more_than_chance() {
        let table = [
            ((0, 1_000), (0, 1_000), false),
            ((3, 1_000), (0, 1_000), false),
            ((4, 1_000), (0, 1_000), true),
            ((50, 1_000), (70, 1_000), false),
            ((50, 1_000), (72, 1_000), true),
            ((5_000, 100_000), (5_300, 100_000), true),
            ((10, 10), (0, 10), true),
            ((10, 10), (10, 10), false),
            ((0, 0), (10, 10), false),
        ];
        for ((part, of), other, expected) in table {
            let (a, b) = (
                Share { part, of },
                Share {
                    part: other.0,
                    of: other.1,
                },
            );
            assert_eq!(shares_differ(a, b), expected, "{a:?} {b:?}");
            assert_eq!(shares_differ(b, a), expected, "{b:?} {a:?}");
        }
    }
}
