//! The input of a comparison: paired measurements of two variants, by invocation and block.

use crate::error::StatsError;

/// The measurements of two variants in the same block, in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The variant that the comparison is about.
    pub of: f64,
    /// The variant that it is compared with.
    pub against: f64,
}

/// The ratios of two variants, one per block, grouped by invocation.
///
/// Ratios are stored as logarithms, so that a ratio and its inverse have the same distance from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedRatios {
    log_ratios: Vec<Vec<f64>>,
}

impl PairedRatios {
    /// Creates ratios from the pairs of each block, by invocation. Invocations may have different
    /// numbers of blocks.
    ///
    /// # Errors
    /// [`StatsError::Empty`], [`StatsError::EmptyInvocation`], or [`StatsError::NoRatio`] if a
    /// value is zero, negative or not finite.
    pub fn from_pairs(invocations: &[Vec<Pair>]) -> Result<Self, StatsError> {
        // The difference of logarithms rather than the logarithm of a quotient: it cannot overflow,
        // and swapping the two variants yields exactly the negative.
        Self::collect(invocations, |pair, at| {
            Ok(at.log("of", pair.of)? - at.log("against", pair.against)?)
        })
    }

    /// Creates ratios from the ratio of/against of each block, by invocation.
    ///
    /// # Errors
    /// The errors of [`PairedRatios::from_pairs`].
    pub fn from_ratios(invocations: &[Vec<f64>]) -> Result<Self, StatsError> {
        Self::collect(invocations, |&ratio, at| at.log("ratio", ratio))
    }

    /// The number of invocations.
    pub fn invocations(&self) -> usize {
        self.log_ratios.len()
    }

    /// The number of blocks, over all invocations.
    pub fn blocks(&self) -> usize {
        self.log_ratios.iter().map(Vec::len).sum()
    }

    /// The natural logarithms of the ratios, by invocation. Neither the list nor any invocation is
    /// empty.
    pub(crate) fn log_ratios(&self) -> &[Vec<f64>] {
        &self.log_ratios
    }

    fn collect<T>(
        invocations: &[Vec<T>],
        log_ratio: impl Fn(&T, Place) -> Result<f64, StatsError>,
    ) -> Result<Self, StatsError> {
        if invocations.is_empty() {
            return Err(StatsError::Empty);
        }
        let mut log_ratios = Vec::with_capacity(invocations.len());
        for (invocation, blocks) in invocations.iter().enumerate() {
            if blocks.is_empty() {
                return Err(StatsError::EmptyInvocation { invocation });
            }
            let logs = blocks
                .iter()
                .enumerate()
                .map(|(block, value)| log_ratio(value, Place { invocation, block }));
            log_ratios.push(logs.collect::<Result<Vec<f64>, _>>()?);
        }
        Ok(Self { log_ratios })
    }
}

/// The position of a value, to be named in an error.
#[derive(Clone, Copy)]
struct Place {
    invocation: usize,
    block: usize,
}

impl Place {
    fn log(self, side: &'static str, value: f64) -> Result<f64, StatsError> {
        if value.is_finite() && value > 0.0 {
            return Ok(value.ln());
        }
        Err(StatsError::NoRatio {
            side,
            invocation: self.invocation,
            block: self.block,
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_value_and_where() {
        let bad = |of, against| {
            PairedRatios::from_pairs(&[vec![
                Pair {
                    of: 1.0,
                    against: 1.0,
                },
                Pair { of, against },
            ]])
        };
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                bad(value, 1.0),
                Err(StatsError::NoRatio {
                    side: "of",
                    block: 1,
                    ..
                })
            ));
            assert!(matches!(
                bad(1.0, value),
                Err(StatsError::NoRatio {
                    side: "against",
                    block: 1,
                    ..
                })
            ));
        }
        assert_eq!(
            bad(1.0, 0.0).unwrap_err().to_string(),
            "against of invocation 0, block 1 is 0: a ratio requires finite values above 0"
        );
        assert_eq!(PairedRatios::from_ratios(&[]), Err(StatsError::Empty));
        assert_eq!(
            PairedRatios::from_ratios(&[vec![1.0], vec![]]),
            Err(StatsError::EmptyInvocation { invocation: 1 })
        );
    }

    #[test]
    fn counts_invocations_and_blocks() {
        let ratios = PairedRatios::from_ratios(&[vec![1.0, 1.1], vec![0.9]]).unwrap();
        assert_eq!((ratios.invocations(), ratios.blocks()), (2, 3));
    }
}
