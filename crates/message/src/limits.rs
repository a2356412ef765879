//! Limits on input from other programs.

use serde::{Deserialize, Serialize};

/// Limits on decoding. Each has a default and a command-line option of the same name.
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
    /// * 16 MiB: four times gRPC's usual default, because some workloads send whole data sets.
    /// * [`MAX_DEPTH`] levels: protobuf's own default in most languages.
    /// * 10,000 times: close to what zstd achieves on the most repetitive legitimate data, and far above
    ///   DEFLATE's maximum of 1,032. Only a decompression bomb exceeds it, and the maximum message size bounds
    ///   memory anyway.
    pub const DEFAULT: Self = Self {
        max_message_bytes: 16 << 20,
        max_depth: MAX_DEPTH,
        max_inflation: 10_000,
    };
}

/// A message that decompresses to less than this is never refused for its expansion: a few bytes can
/// legitimately expand to a few thousand.
pub const INFLATION_FREE_BYTES: usize = 64 << 10;

/// The maximum memory of a decoded message, in multiples of the maximum encoded size. An empty message in a
/// list needs two bytes on the wire and a few dozen in memory.
pub const MEMORY_PER_BYTE: usize = 32;

/// A decoded message that needs less memory than this is never refused for it. If `max_message_bytes` is small,
/// a legitimate message can need many times as much memory.
pub const MEMORY_FREE_BYTES: usize = 1 << 20;

/// The maximum of [`Limits::max_depth`]. The protobuf library cannot write JSON that nests deeper, and readers
/// use part of a thread's stack for each level.
pub const MAX_DEPTH: usize = 100;

/// The maximum of [`Limits::max_message_bytes`]: gRPC encodes a message's length in 32 bits.
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
    /// Returns the limits if every value is in range.
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

    /// The maximum memory of a decoded message, in bytes.
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

    /// The limits that differ from the defaults, as options: `--max-depth 50`. `None` if all are defaults.
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
    /// The memory limit derived from [`Limits::max_message_bytes`]: [`MEMORY_PER_BYTE`] times its value, but at
    /// least [`MEMORY_FREE_BYTES`].
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
