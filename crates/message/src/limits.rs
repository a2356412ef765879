//! Limits on what is accepted from other programs.

use serde::{Deserialize, Serialize};

/// Limits on decoding. Each has a default and an option of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum size of a message in bytes, both as received and after decompression
    /// (`--max-message-bytes`).
    pub max_message_bytes: usize,
    /// The maximum nesting in levels of messages; the message itself is the first (`--max-depth`). The contents
    /// of a `google.protobuf.Struct` count as the messages that they are.
    pub max_depth: usize,
    /// How many times its compressed size a message may expand to (`--max-inflation`). Checked from 64 KiB on.
    pub max_inflation: usize,
}

impl Limits {
    /// The defaults.
    ///
    /// * 16 MiB: four times gRPC's usual default, since whole data sets are among the workloads.
    /// * [`MAX_DEPTH`] levels: protobuf's own default in most languages.
    /// * 10,000 times: nearly what zstd reaches with the most repetitive honest data, and far above the 1,032
    ///   that DEFLATE can reach. Only a bomb exceeds it; the memory for any message is bounded by its maximum
    ///   size anyway.
    pub const DEFAULT: Self = Self {
        max_message_bytes: 16 << 20,
        max_depth: MAX_DEPTH,
        max_inflation: 10_000,
    };
}

/// A decompressed message below this size is never refused for its expansion: a few bytes can honestly hold a
/// few thousand.
pub const INFLATION_FREE_BYTES: usize = 64 << 10;

/// The memory that a decoded message may take, in multiples of the maximum encoded size: an empty message in a
/// list takes two bytes on the wire and a few dozen in memory.
pub const MEMORY_PER_BYTE: usize = 32;

/// A decoded message below this size is never refused for its memory: with a small `max_message_bytes`, an
/// honest message can take many times as much.
pub const MEMORY_FREE_BYTES: usize = 1 << 20;

/// The maximum of [`Limits::max_depth`]: the protobuf library writes no deeper JSON, and readers use some of a
/// thread's stack for each level.
pub const MAX_DEPTH: usize = 100;

/// The maximum of [`Limits::max_message_bytes`]: gRPC has 32 bits for a message's length.
pub const MAX_MESSAGE_BYTES: usize = u32::MAX as usize;

/// A value that is out of range for a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("--{option} must be from 1 to {most}, not {given}")]
pub struct BadLimit {
    option: &'static str,
    given: usize,
    most: usize,
}

impl Limits {
    /// Returns the limits if each value is in its range.
    ///
    /// # Errors
    /// If a limit is 0, a size is above [`MAX_MESSAGE_BYTES`], or a depth is above [`MAX_DEPTH`].
    pub fn checked(self) -> Result<Self, BadLimit> {
        let most = [MAX_MESSAGE_BYTES, MAX_DEPTH, usize::MAX];
        for ((option, given), most) in self.by_option().into_iter().zip(most) {
            if !(1..=most).contains(&given) {
                return Err(BadLimit {
                    option,
                    given,
                    most,
                });
            }
        }
        Ok(self)
    }

    /// Checks the size of received bytes.
    pub(crate) fn check_size(&self, bytes: &[u8]) -> Result<(), BrokenLimit> {
        if bytes.len() > self.max_message_bytes {
            Err(BrokenLimit::MessageBytes(self.max_message_bytes))
        } else {
            Ok(())
        }
    }

    /// The memory that a decoded message may take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let memory = self.max_message_bytes.saturating_mul(MEMORY_PER_BYTE);
        memory.max(MEMORY_FREE_BYTES)
    }

    /// Each limit with the name of its option.
    #[must_use]
    pub fn by_option(&self) -> [(&'static str, usize); 3] {
        [
            ("max-message-bytes", self.max_message_bytes),
            ("max-depth", self.max_depth),
            ("max-inflation", self.max_inflation),
        ]
    }

    /// The limits that differ from the defaults, as options: `--max-depth 50`. `None` if none differs.
    #[must_use]
    pub fn changed(&self) -> Option<String> {
        let changed: Vec<String> = self
            .by_option()
            .into_iter()
            .zip(Self::DEFAULT.by_option())
            .filter(|(this, default)| this != default)
            .map(|((option, value), _)| format!("--{option} {value}"))
            .collect();
        (!changed.is_empty()).then(|| changed.join(" "))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A limit that a message exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BrokenLimit {
    /// [`Limits::max_message_bytes`], with its value.
    #[error("the message is larger than {0} bytes; --max-message-bytes sets this limit")]
    MessageBytes(usize),
    /// The memory limit that follows from [`Limits::max_message_bytes`]: [`MEMORY_PER_BYTE`] times its value,
    /// and at least [`MEMORY_FREE_BYTES`].
    #[error("the message takes more than {0} bytes of memory; --max-message-bytes sets this limit")]
    Memory(usize),
    /// [`Limits::max_depth`], with its value.
    #[error("the message nests deeper than {} levels{}", .0, depth_words(*.0))]
    Depth(usize),
    /// [`Limits::max_inflation`], with its value.
    #[error(
        "the message expands to over {0} times its compressed size; --max-inflation sets this limit"
    )]
    Inflation(usize),
}

fn depth_words(limit: usize) -> &'static str {
    if limit >= MAX_DEPTH {
        ", the maximum"
    } else {
        "; --max-depth sets this limit"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_refused() {
        assert_eq!(Limits::DEFAULT.checked(), Ok(Limits::DEFAULT));
        let deep = Limits {
            max_depth: 201,
            ..Limits::DEFAULT
        };
        assert_eq!(
            deep.checked().unwrap_err().to_string(),
            "--max-depth must be from 1 to 100, not 201"
        );
        let large = Limits {
            max_message_bytes: usize::MAX,
            ..Limits::DEFAULT
        };
        assert_eq!(
            large.checked().unwrap_err().to_string(),
            "--max-message-bytes must be from 1 to 4294967295, not 18446744073709551615"
        );
        assert_eq!(Limits::DEFAULT.changed(), None);
        assert_eq!(deep.changed().unwrap(), "--max-depth 201");
        assert!(
            Limits {
                max_message_bytes: 0,
                ..Limits::DEFAULT
            }
            .checked()
            .is_err()
        );
    }
}
