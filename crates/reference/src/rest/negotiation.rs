//! Proactive negotiation: `accept`, `accept-encoding` and `content-encoding` (RFC 9110, sections
//! 8.4 and 12.5).

use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, HeaderValue};
use rpcgauge_message::{Compression, Encoding, content_type};

use super::stream::StreamType;

/// The supported encodings, most widely used first. The two JSON encodings, which differ in field names,
/// share a media type.
pub(super) const SERVED: [Encoding; 5] = [
    Encoding::Json,
    Encoding::Msgpack,
    Encoding::Cbor,
    Encoding::Protobuf,
    Encoding::Hybrid,
];

/// A weight in thousandths (section 12.4.2). 0 means "not acceptable".
type Weight = u16;

const FULL_WEIGHT: Weight = 1000;

/// The form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// One message.
    Message(Encoding),
    /// A stream of messages in JSON.
    Stream(StreamType),
}

/// The last `accept` header and what was chosen for it. A client usually sends the same header with every call.
#[derive(Default)]
pub(crate) struct Accepted(Mutex<Option<(HeaderValue, Encoding, Option<Chosen>)>>);

impl Accepted {
    /// Like [`choose`], but cached. `streams` is the same in all calls.
    pub(super) fn choose(
        &self,
        headers: &HeaderMap,
        request: Encoding,
        streams: bool,
    ) -> Option<Chosen> {
        let mut values = headers.get_all(ACCEPT).iter();
        let (value, more) = (values.next(), values.next());
        let (Some(value), None) = (value, more) else {
            return choose(headers, request, streams);
        };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((same, of, chosen)) if same == value && *of == request => *chosen,
            _ => {
                let chosen = choose(headers, request, streams);
                // Copied, since a slice of the received bytes would keep all of them in memory.
                if let Ok(copy) = HeaderValue::from_bytes(value.as_bytes()) {
                    *last = Some((copy, request, chosen));
                }
                chosen
            }
        }
    }
}

/// Chooses the form of the response; `None` if `accept` allows none of the supported ones. One message in the
/// request's encoding wins ties, and is the default without `accept`. A stream must be named, and preferred to
/// one message.
fn choose(headers: &HeaderMap, request: Encoding, streams: bool) -> Option<Chosen> {
    if !headers.contains_key(ACCEPT) {
        return Some(Chosen::Message(request));
    }
    let ranges: Vec<(&str, Weight)> = weighted(headers, &ACCEPT).collect();
    let of_encoding = |encoding| {
        (
            Chosen::Message(encoding),
            weight_of_encoding(&ranges, encoding),
        )
    };
    let of_stream = |stream: StreamType| {
        let named = |range: &str| range.eq_ignore_ascii_case(stream.media_type());
        let weight = weight_where(&ranges, named);
        (Chosen::Stream(stream), weight.unwrap_or(0))
    };
    let stream_types = StreamType::ALL.into_iter().filter(|_| streams);
    let candidates = SERVED.into_iter().map(of_encoding);
    let mut best = of_encoding(request);
    for candidate in candidates.chain(stream_types.map(of_stream)) {
        if candidate.1 > best.1 {
            best = candidate;
        }
    }
    (best.1 > 0).then_some(best.0)
}

/// The weight of the most specific range that matches an encoding's media type.
fn weight_of_encoding(ranges: &[(&str, Weight)], encoding: Encoding) -> Weight {
    let named = |range: &str| {
        content_type::parse_rest(range).map(content_type::rest)
            == Some(content_type::rest(encoding))
    };
    weight_where(ranges, named)
        .or_else(|| weight_where(ranges, |range| range.eq_ignore_ascii_case("application/*")))
        .or_else(|| weight_where(ranges, |range| range == "*/*"))
        .unwrap_or(0)
}

/// The largest weight of the ranges that cover a media type.
fn weight_where(ranges: &[(&str, Weight)], covers: impl Fn(&str) -> bool) -> Option<Weight> {
    ranges
        .iter()
        .filter(|(range, _)| covers(range))
        .map(|(_, weight)| *weight)
        .max()
}

/// Whether to compress the response; `None` if the client accepts neither this compression nor uncompressed
/// bytes. Without a preference for compression, the response is not compressed.
pub(super) fn compress(headers: &HeaderMap, compression: Compression) -> Option<bool> {
    if !headers.contains_key(ACCEPT_ENCODING) {
        return Some(false);
    }
    let (mut own, mut identity, mut any) = (None, None, None);
    for (name, weight) in weighted(headers, &ACCEPT_ENCODING) {
        let slot = match Compression::from_coding(name) {
            Some(Compression::None) => &mut identity,
            Some(known) if known.coding() == compression.coding() => &mut own,
            _ if name == "*" => &mut any,
            _ => continue,
        };
        *slot = Some(slot.unwrap_or(0).max(weight));
    }
    let own = if compression.is_none() {
        0
    } else {
        own.or(any).unwrap_or(0)
    };
    if own > 0 && own >= identity.unwrap_or(0) {
        return Some(true);
    }
    // Uncompressed bytes are acceptable unless `identity;q=0` or `*;q=0` excludes them.
    (identity.or(any.filter(|weight| *weight == 0)) != Some(0)).then_some(false)
}

/// Returns the coding of the request's body. If the coding is unknown, or there is more than one, the error
/// is text that names it.
pub(super) fn coding(headers: &HeaderMap) -> Result<Compression, String> {
    let mut found = Compression::None;
    for value in headers.get_all(CONTENT_ENCODING) {
        let text = String::from_utf8_lossy(value.as_bytes());
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let coding = Compression::from_coding(name).ok_or_else(|| name.to_owned())?;
            if !found.is_none() && !coding.is_none() {
                return Err(format!("{} and {name} together", found.coding()));
            }
            if !coding.is_none() {
                found = coding;
            }
        }
    }
    Ok(found)
}

/// The elements of a list header with their weights. Skips elements with a malformed weight, and values that
/// are not text.
fn weighted<'a>(
    headers: &'a HeaderMap,
    name: &'a HeaderName,
) -> impl Iterator<Item = (&'a str, Weight)> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(element)
        .filter(|(name, _)| !name.is_empty())
}

/// Parses one element: a name and its parameters. All parameters except `q` are ignored.
fn element(text: &str) -> Option<(&str, Weight)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?;
    let mut weight = FULL_WEIGHT;
    for parameter in parts {
        if let Some(("q" | "Q", value)) = parameter.split_once('=') {
            weight = parse_weight(value)?;
        }
    }
    Some((name, weight))
}

/// Parses `0` to `1` with at most three digits after the decimal point.
fn parse_weight(text: &str) -> Option<Weight> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: Weight = format!("{fraction:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(FULL_WEIGHT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, HeaderValue::from_str(value).expect("a header value"));
        }
        headers
    }

    #[test]
    fn accept_chooses_by_weight_and_specificity() {
        use Encoding::{Cbor, Json, Msgpack, Protobuf};
        for (accept, request, want) in [
            (&[][..], Cbor, Some(Cbor)),
            (&["*/*"], Cbor, Some(Cbor)),
            (&["application/*"], Protobuf, Some(Protobuf)),
            (&["application/json"], Cbor, Some(Json)),
            (&["Application/JSON; charset=utf-8"], Cbor, Some(Json)),
            (&["application/x-msgpack"], Json, Some(Msgpack)),
            (
                &["application/json;q=0.5, application/cbor;q=0.501"],
                Json,
                Some(Cbor),
            ),
            (
                &["application/json;q=0.5", "application/cbor"],
                Json,
                Some(Cbor),
            ),
            (&["application/json;q=0, */*"], Json, Some(Msgpack)),
            (&["application/json;q=0"], Json, None),
            (
                &["application/json;q=2, application/cbor;q=0.1"],
                Json,
                Some(Cbor),
            ),
            (&["text/html, image/*"], Json, None),
            (&["text/html, */*;q=0.1"], Json, Some(Json)),
            (&[""], Json, None),
            (&[",,;q=1,"], Json, None),
        ] {
            assert_eq!(
                choose(&headers(ACCEPT, accept), request, true),
                want.map(Chosen::Message),
                "{accept:?}"
            );
        }
    }

    #[test]
    fn a_stream_must_be_named_and_preferred() {
        let (json, ndjson, sse) = (
            Some(Chosen::Message(Encoding::Json)),
            Some(Chosen::Stream(StreamType::Ndjson)),
            Some(Chosen::Stream(StreamType::Sse)),
        );
        for (accept, want) in [
            ("application/x-ndjson", ndjson),
            ("Text/Event-Stream; charset=utf-8", sse),
            ("text/event-stream, application/json;q=0.9", sse),
            ("text/event-stream, application/json", json),
            ("text/event-stream;q=0.5, */*;q=0.1", sse),
            ("text/event-stream;q=0", None),
            ("text/*", None),
            ("*/*", json),
        ] {
            let headers = headers(ACCEPT, &[accept]);
            assert_eq!(choose(&headers, Encoding::Json, true), want, "{accept:?}");
            let one = choose(&headers, Encoding::Json, false);
            assert!(matches!(one, None | Some(Chosen::Message(_))), "{accept:?}");
        }
    }

    #[test]
    fn accept_encoding_decides_about_compression() {
        let gzip = Compression::GZIP;
        for (accept, compression, want) in [
            (&[][..], gzip, Some(false)),
            (&["gzip"], gzip, Some(true)),
            (&["gzip"], Compression::None, Some(false)),
            (&["x-gzip"], gzip, Some(true)),
            (&["zstd, GZIP;q=0.5"], gzip, Some(true)),
            (&["zstd"], gzip, Some(false)),
            (&["*"], gzip, Some(true)),
            (&["gzip;q=0, *"], gzip, Some(false)),
            (&["gzip;q=0"], gzip, Some(false)),
            (&["gzip;q=0.5, identity"], gzip, Some(false)),
            (&["gzip;q=0.5, identity;q=0.5"], gzip, Some(true)),
            (&["identity;q=0"], gzip, None),
            (&["*;q=0"], gzip, None),
            (&["*;q=0, gzip"], gzip, Some(true)),
            (&["*;q=0, identity"], gzip, Some(false)),
            (&["identity;q=0, gzip"], Compression::None, None),
            (&[""], gzip, Some(false)),
        ] {
            assert_eq!(
                compress(&headers(ACCEPT_ENCODING, accept), compression),
                want,
                "{accept:?}"
            );
        }
    }

    #[test]
    fn a_body_has_one_known_coding_or_none() {
        for (values, want) in [
            (&[][..], Ok(Compression::None)),
            (&["identity"], Ok(Compression::None)),
            (&["gzip"], Ok(Compression::GZIP)),
            (&["identity", "zstd"], Ok(Compression::ZSTD)),
            (&["br"], Err("br")),
            (&["gzip, zstd"], Err("gzip and zstd together")),
            (&["gzip", "gzip"], Err("gzip and gzip together")),
        ] {
            let got = coding(&headers(CONTENT_ENCODING, values));
            assert_eq!(got, want.map_err(str::to_owned), "{values:?}");
        }
    }

    #[test]
    fn weights_have_the_form_of_the_rfc() {
        for (text, want) in [
            ("1", Some(1000)),
            ("1.000", Some(1000)),
            ("0", Some(0)),
            ("0.", Some(0)),
            ("0.5", Some(500)),
            ("0.123", Some(123)),
            ("0.1234", None),
            ("1.001", None),
            ("2", None),
            ("-1", None),
            ("", None),
            ("q", None),
            ("0.+1", None),
        ] {
            assert_eq!(parse_weight(text), want, "{text:?}");
        }
    }

    #[test]
    fn the_last_choice_is_not_used_for_another_header() {
        let accepted = Accepted::default();
        for (accept, request) in [
            (&["application/cbor"][..], Encoding::Json),
            (&["application/cbor"], Encoding::Json),
            (&["*/*"], Encoding::Json),
            (&["*/*"], Encoding::Cbor),
            (&["*/*", "application/json;q=0"], Encoding::Json),
            (&["*/*"], Encoding::Json),
            (&["text/html"], Encoding::Json),
            (&["text/html"], Encoding::Json),
            (&["text/event-stream"], Encoding::Json),
            (&["application/x-ndjson"], Encoding::Json),
            (&[], Encoding::Json),
        ] {
            let headers = headers(ACCEPT, accept);
            let want = choose(&headers, request, true);
            let got = accepted.choose(&headers, request, true);
            assert_eq!(got, want, "{accept:?}");
        }
    }

    proptest! {
        #[test]
        fn a_response_is_never_in_an_encoding_that_was_refused(text in "[ -~]{0,60}") {
            let headers = headers(ACCEPT, &[&text]);
            let ranges: Vec<_> = weighted(&headers, &ACCEPT).collect();
            if let Some(Chosen::Message(chosen)) = choose(&headers, Encoding::Json, false) {
                prop_assert!(weight_of_encoding(&ranges, chosen) > 0);
            }
            let _ = compress(&self::headers(ACCEPT_ENCODING, &[&text]), Compression::GZIP);
        }
    }
}
