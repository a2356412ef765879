//! How encoded bytes are compressed.

use std::fmt;
use std::str::FromStr;

use crate::encoding::{UnknownWord, serde_as_text};
use crate::nearest::Nearest;

/// gzip's default level: zlib's own default.
const DEFAULT_GZIP_LEVEL: u8 = 6;

/// zstd's default level: the library's own default.
const DEFAULT_ZSTD_LEVEL: u8 = 3;

/// How encoded bytes are compressed.
///
/// In files and on the command line: `none`, `gzip`, `gzip:9`, `zstd` or `zstd:3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "String")
)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// gzip (RFC 1952).
    Gzip {
        /// 1 (fast) to 9 (small).
        level: u32,
    },
    /// Zstandard (RFC 8878).
    Zstd {
        /// 1 (fast) to 19 (small).
        level: i32,
    },
}

impl Compression {
    /// gzip at its default level.
    pub const GZIP: Self = Self::Gzip {
        level: DEFAULT_GZIP_LEVEL as u32,
    };
    /// zstd at its default level.
    pub const ZSTD: Self = Self::Zstd {
        level: DEFAULT_ZSTD_LEVEL as i32,
    };

    /// The name in gRPC's `grpc-encoding` and `grpc-accept-encoding`, and in HTTP's
    /// `content-encoding` and `accept-encoding` (RFC 9110, section 8.4.1).
    pub const fn coding(self) -> &'static str {
        match self {
            Self::None => "identity",
            Self::Gzip { .. } => "gzip",
            Self::Zstd { .. } => "zstd",
        }
    }

    /// Returns the compression for a content coding, at its default level. Names are case-insensitive, and
    /// `x-gzip` means `gzip` (RFC 9110, section 8.4.1.3). Returns `None` if the coding is unknown.
    pub fn from_coding(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("identity") {
            Some(Self::None)
        } else if is("gzip") || is("x-gzip") {
            Some(Self::GZIP)
        } else if is("zstd") {
            Some(Self::ZSTD)
        } else {
            None
        }
    }

    /// Whether this is [`Self::None`].
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether the compressor supports the level.
    pub(crate) const fn level_is_known(self) -> bool {
        match self {
            Self::None => true,
            Self::Gzip { level } => level >= 1 && level <= 9,
            Self::Zstd { level } => level >= 1 && level <= 19,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::GZIP => f.write_str("gzip"),
            Self::ZSTD => f.write_str("zstd"),
            Self::Gzip { level } => write!(f, "gzip:{level}"),
            Self::Zstd { level } => write!(f, "zstd:{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const KNOWN: [&str; 5] = [
            "none",
            "gzip",
            "gzip:1 to gzip:9",
            "zstd",
            "zstd:1 to zstd:19",
        ];
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        // Accept only canonical digits: `gzip:+6` and `gzip:06` do not mean `gzip:6`.
        let level_or = |default: u8| match level {
            None => Some(default),
            Some(digits) => digits.parse().ok().filter(|n: &u8| n.to_string() == digits),
        };
        let gzip = |level: u8| Self::Gzip {
            level: level.into(),
        };
        let zstd = |level: u8| Self::Zstd {
            level: level.into(),
        };
        let (compression, levels) = match name {
            "none" => (level.is_none().then_some(Self::None), "no levels"),
            "gzip" => (level_or(DEFAULT_GZIP_LEVEL).map(gzip), "levels 1 to 9"),
            "zstd" => (level_or(DEFAULT_ZSTD_LEVEL).map(zstd), "levels 1 to 19"),
            _ => {
                let nearest = Nearest::or_known(name, KNOWN);
                let what = format!("unknown compression \"{text}\"{nearest}");
                return Err(UnknownWord(what));
            }
        };
        compression
            .filter(|compression| compression.level_is_known())
            .ok_or_else(|| UnknownWord(format!("\"{text}\": {name} has {levels}")))
    }
}

serde_as_text!(Compression);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compression_reads_back() {
        let all = [Compression::None]
            .into_iter()
            .chain((1..=9).map(|level| Compression::Gzip { level }))
            .chain((1..=19).map(|level| Compression::Zstd { level }));
        for compression in all {
            assert_eq!(compression.to_string().parse(), Ok(compression));
        }
        assert_eq!("gzip".parse(), Ok(Compression::GZIP));
        assert_eq!("gzip:6".parse(), Ok(Compression::GZIP));
        assert_eq!(Compression::GZIP.to_string(), "gzip");
    }

    #[test]
    fn an_unknown_compression_is_refused_with_the_known_ones() {
        let refused = |text: &str| text.parse::<Compression>().unwrap_err().to_string();
        assert_eq!(refused("gzip:10"), "\"gzip:10\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:0"), "\"gzip:0\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:06"), "\"gzip:06\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:"), "\"gzip:\": gzip has levels 1 to 9");
        assert_eq!(refused("zstd:-1"), "\"zstd:-1\": zstd has levels 1 to 19");
        assert_eq!(refused("none:1"), "\"none:1\": none has no levels");
        assert_eq!(
            refused("gzp"),
            r#"unknown compression "gzp"; did you mean "gzip"?"#
        );
        assert_eq!(
            refused("br"),
            "unknown compression \"br\"; expected one of none, gzip, gzip:1 to gzip:9, zstd, zstd:1 to zstd:19"
        );
    }

    #[test]
    fn codings_are_named_as_grpc_and_http_do() {
        assert_eq!(Compression::None.coding(), "identity");
        assert_eq!(Compression::from_coding("GZIP"), Some(Compression::GZIP));
        assert_eq!(Compression::from_coding("x-gzip"), Some(Compression::GZIP));
        assert_eq!(Compression::from_coding("zstd"), Some(Compression::ZSTD));
        assert_eq!(Compression::from_coding("br"), None);
    }
}
