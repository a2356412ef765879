//! Errors in the input.

/// Why numbers cannot be evaluated. The caller must correct them: nothing is silently dropped or
/// repaired.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// There are no values.
    #[error("no values: at least one is required")]
    Empty,
    /// An invocation has no blocks.
    #[error("invocation {invocation} has no blocks: omit it, or add at least one")]
    EmptyInvocation {
        /// Position of the invocation, from 0.
        invocation: usize,
    },
    /// A value in a list is not a finite number.
    #[error("value {index} is {value}: it must be a finite number")]
    NotFinite {
        /// Position of the value, from 0.
        index: usize,
        /// The value itself.
        value: f64,
    },
    /// A paired value is zero, negative or not finite, so the ratio is undefined.
    #[error(
        "{side} of invocation {invocation}, block {block} is {value}: a ratio requires finite values above 0"
    )]
    NoRatio {
        /// Which value: "of", "against" or "ratio".
        side: &'static str,
        /// Position of the invocation, from 0.
        invocation: usize,
        /// Position of the block in its invocation, from 0.
        block: usize,
        /// The value itself.
        value: f64,
    },
    /// Two sizes do not have the same number of invocations.
    #[error(
        "one size has {first} invocations and another has {second}: use only those that all sizes have"
    )]
    Uneven {
        /// Invocations of one size.
        first: usize,
        /// Invocations of the other size.
        second: usize,
    },
    /// A setting is out of bounds.
    #[error("{name} is {value}: it must be {allowed}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed values.
        allowed: &'static str,
    },
}

/// Returns an error if a setting is out of bounds.
pub(crate) fn check_setting(
    name: &'static str,
    value: f64,
    is_allowed: bool,
    allowed: &'static str,
) -> Result<(), StatsError> {
    if is_allowed {
        Ok(())
    } else {
        Err(StatsError::Setting {
            name,
            value,
            allowed,
        })
    }
}
