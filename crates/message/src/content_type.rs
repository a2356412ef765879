//! The names of encodings in the `content-type` header.
//!
//! gRPC names an encoding as a content-subtype of `application/grpc`, Connect uses the same name as a subtype
//! of `application`, and REST has a media type for each. All forms of JSON share one name: they are all the
//! proto3 JSON mapping, whose readers accept either kind of field names.

use crate::Encoding;

/// The content type of gRPC with protobuf.
pub const GRPC: &str = "application/grpc";

/// An encoding's content-subtype after a prefix.
macro_rules! named {
    ($prefix:literal, $encoding:expr) => {
        match $encoding {
            Encoding::Protobuf => concat!($prefix, "proto"),
            Encoding::Json | Encoding::JsonProtoNames | Encoding::ProtoJson => {
                concat!($prefix, "json")
            }
            Encoding::Msgpack => concat!($prefix, "msgpack"),
            Encoding::Cbor => concat!($prefix, "cbor"),
            Encoding::Hybrid => concat!($prefix, "hybrid"),
        }
    };
}

/// The `content-type` of a gRPC call.
pub const fn grpc(encoding: Encoding) -> &'static str {
    named!("application/grpc+", encoding)
}

/// The `content-type` of a unary Connect call. The protocol defines only `proto` and `json`, and leaves other
/// names to its users.
pub const fn connect(encoding: Encoding) -> &'static str {
    named!("application/", encoding)
}

/// The media type of a REST call.
pub const fn rest(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => "application/protobuf",
        Encoding::Hybrid => "application/vnd.rpcgauge.hybrid+protobuf",
        Encoding::Json
        | Encoding::JsonProtoNames
        | Encoding::ProtoJson
        | Encoding::Msgpack
        | Encoding::Cbor => connect(encoding),
    }
}

/// Returns the encoding of a gRPC call's `content-type`; `None` if it is not a gRPC content type or the subtype
/// is unknown. Case and parameters are ignored.
pub fn parse_grpc(content_type: &str) -> Option<Encoding> {
    let essence = essence(content_type);
    if essence.eq_ignore_ascii_case(GRPC) {
        Some(Encoding::Protobuf)
    } else {
        named(essence, grpc)
    }
}

/// Returns the encoding of a Connect call's `content-type`; `None` if it is unknown. Case and parameters are
/// ignored.
pub fn parse_connect(content_type: &str) -> Option<Encoding> {
    named(essence(content_type), connect)
}

/// Returns the encoding of a REST call's `content-type`; `None` if the media type is unknown. Case and
/// parameters are ignored. The older unregistered names (`application/x-protobuf`, `application/x-msgpack`,
/// `application/vnd.msgpack`) are accepted too.
pub fn parse_rest(content_type: &str) -> Option<Encoding> {
    let essence = essence(content_type);
    named(essence, rest).or_else(|| match essence.to_ascii_lowercase().as_str() {
        "application/vnd.msgpack" | "application/x-msgpack" => Some(Encoding::Msgpack),
        "application/x-protobuf" => Some(Encoding::Protobuf),
        _ => None,
    })
}

/// Returns the first encoding with this name.
fn named(essence: &str, name: fn(Encoding) -> &'static str) -> Option<Encoding> {
    let mut encodings = Encoding::ALL.into_iter();
    encodings.find(|encoding| name(*encoding).eq_ignore_ascii_case(essence))
}

/// The media type without its parameters (RFC 9110, section 8.3.1).
fn essence(content_type: &str) -> &str {
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_an_encoding_with_that_name() {
        for encoding in Encoding::ALL {
            assert_eq!(parse_grpc(grpc(encoding)).map(grpc), Some(grpc(encoding)));
            assert_eq!(parse_rest(rest(encoding)).map(rest), Some(rest(encoding)));
            let named = connect(encoding);
            assert_eq!(parse_connect(named).map(connect), Some(named));
        }
    }

    #[test]
    fn case_and_parameters_do_not_matter() {
        assert_eq!(
            parse_rest("Application/JSON; charset=utf-8"),
            Some(Encoding::Json)
        );
        assert_eq!(parse_rest(" application/cbor ;x=1"), Some(Encoding::Cbor));
        assert_eq!(parse_grpc("application/grpc"), Some(Encoding::Protobuf));
        assert_eq!(
            parse_grpc("application/GRPC+Json;a=b"),
            Some(Encoding::Json)
        );
    }

    #[test]
    fn unknown_content_types_are_refused() {
        for strange in [
            "",
            "application/grpc-web",
            "application/grpc+",
            "application/grpc+thrift",
            "application/json",
            "application/gröc",
        ] {
            assert_eq!(parse_grpc(strange), None, "{strange}");
        }
        for strange in [
            "",
            ";",
            "text/plain",
            "application/grpc+json",
            "application/jsonp",
        ] {
            assert_eq!(parse_rest(strange), None, "{strange}");
        }
        for strange in ["", "application/protobuf", "application/connect+proto"] {
            assert_eq!(parse_connect(strange), None, "{strange}");
        }
    }
}
