//! How encoded bytes become fewer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::nearest::Nearest;

/// gzip's default level: zlib's own default.
pub const DEFAULT_GZIP_LEVEL: u32 = 6;

/// zstd's default level: the library's own default.
pub const DEFAULT_ZSTD_LEVEL: i32 = 3;

/// How encoded bytes become fewer.
///
/// Written in files and on the command line as `none`, `gzip`, `gzip:9`, `zstd` or `zstd:3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compression {
    /// Not at all.
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
        level: DEFAULT_GZIP_LEVEL,
    };
    /// zstd at its default level.
    pub const ZSTD: Self = Self::Zstd {
        level: DEFAULT_ZSTD_LEVEL,
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

    /// The compression of a coding's name, any case, at its default level; `x-gzip` is `gzip`
    /// (RFC 9110, section 8.4.1.3). `None` for a coding that is not known here.
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

    /// Whether bytes stay as they are.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether the level is one that the compressor has.
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
            Self::Gzip {
                level: DEFAULT_GZIP_LEVEL,
            } => f.write_str("gzip"),
            Self::Zstd {
                level: DEFAULT_ZSTD_LEVEL,
            } => f.write_str("zstd"),
            Self::Gzip { level } => write!(f, "gzip:{level}"),
            Self::Zstd { level } => write!(f, "zstd:{level}"),
        }
    }
}

/// Text that is no compression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownCompression {
    /// No such compression.
    #[error("unknown compression \"{name}\"{nearest}")]
    Name {
        /// What was written.
        name: String,
        /// What was probably meant.
        nearest: Nearest,
    },
    /// No such level of it.
    #[error("\"{text}\": {name} has levels {levels}")]
    Level {
        /// What was written.
        text: String,
        /// The compression.
        name: &'static str,
        /// Which levels there are.
        levels: &'static str,
    },
}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        // A level is plain digits: `gzip:+6` and `gzip:06` are not other names of `gzip:6`.
        let number = |default: u32| match level {
            None => Some(default),
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|n: &u32| n.to_string() == digits),
        };
        let (compression, name, levels) = match (name, level) {
            ("none", None) => return Ok(Self::None),
            ("gzip", _) => (
                number(DEFAULT_GZIP_LEVEL).map(|level| Self::Gzip { level }),
                "gzip",
                "1 to 9",
            ),
            ("zstd", _) => (
                number(DEFAULT_ZSTD_LEVEL as u32)
                    .and_then(|level| i32::try_from(level).ok())
                    .map(|level| Self::Zstd { level }),
                "zstd",
                "1 to 19",
            ),
            ("none", Some(_)) => (None, "none", "of no kind"),
            _ => {
                return Err(UnknownCompression::Name {
                    name: text.to_owned(),
                    nearest: Nearest::or_known(
                        name,
                        [
                            "none",
                            "gzip",
                            "gzip:1 to gzip:9",
                            "zstd",
                            "zstd:1 to zstd:19",
                        ],
                    ),
                });
            }
        };
        compression
            .filter(|c| c.level_is_known())
            .ok_or_else(|| UnknownCompression::Level {
                text: text.to_owned(),
                name,
                levels,
            })
    }
}

impl Serialize for Compression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Compression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

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
    fn what_is_no_compression_is_refused_with_what_there_is() {
        let refused = |text: &str| text.parse::<Compression>().unwrap_err().to_string();
        assert_eq!(refused("gzip:10"), "\"gzip:10\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:0"), "\"gzip:0\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:06"), "\"gzip:06\": gzip has levels 1 to 9");
        assert_eq!(refused("gzip:"), "\"gzip:\": gzip has levels 1 to 9");
        assert_eq!(refused("zstd:-1"), "\"zstd:-1\": zstd has levels 1 to 19");
        assert_eq!(refused("none:1"), "\"none:1\": none has levels of no kind");
        assert_eq!(
            refused("gzp"),
            r#"unknown compression "gzp"; did you mean "gzip"?"#
        );
        assert_eq!(
            refused("br"),
            "unknown compression \"br\"; known are none, gzip, gzip:1 to gzip:9, zstd, zstd:1 to zstd:19"
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
