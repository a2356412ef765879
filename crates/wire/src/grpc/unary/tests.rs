use super::super::response::check_content_type;
use super::super::{Code, StatusSource, frame_message};
use super::*;
use crate::testing::with_fields;

const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// The outcome of a whole response; without trailers if `trailers` is `None`.
fn outcome(
    status: u16,
    head: &[(&str, &str)],
    body: &[u8],
    trailers: Option<&[(&str, &str)]>,
) -> (u32, String, Option<GrpcViolation>) {
    let mut response = UnaryResponse::new(100);
    let end = body.is_empty() && trailers.is_none();
    let _ = with_fields(head, |fields| response.head(status, fields, end, None));
    for byte in body {
        let _ = response.body(std::slice::from_ref(byte));
    }
    if let Some(trailers) = trailers {
        with_fields(trailers, |fields| response.trailers(fields));
    }
    let outcome = response.finish();
    let violation = match outcome.source {
        StatusSource::Server => None,
        StatusSource::Client(violation) => Some(violation),
    };
    (outcome.code.0, outcome.message.to_owned(), violation)
}

fn framed(message: &[u8]) -> Vec<u8> {
    frame_message(message, false).unwrap().to_vec()
}

const OK: Option<&[(&str, &str)]> = Some(&[("grpc-status", "0")]);

#[test]
fn one_message_and_status_0_is_ok() {
    assert_eq!(
        outcome(200, &[GRPC], &framed(b"hi"), OK),
        (0, String::new(), None)
    );
}

#[test]
fn the_payload_is_handed_out_without_its_prefix() {
    let body = framed(b"hello");
    let mut response = UnaryResponse::new(100);
    with_fields(&[GRPC], |fields| response.head(200, fields, false, None)).unwrap();
    assert_eq!(response.body(&body[..3]), Ok(&b""[..]));
    assert_eq!(response.body(&body[3..7]), Ok(&b"he"[..]));
    assert_eq!(response.body(&body[7..]), Ok(&b"llo"[..]));
    assert!(!response.is_compressed());
    assert_eq!(response.prefix_bytes(), 5);
}

#[test]
fn a_trailers_only_response_has_its_status_in_the_head() {
    let head = [GRPC, ("grpc-status", "5"), ("grpc-message", "no%20such")];
    assert_eq!(outcome(200, &head, b"", None), (5, "no such".into(), None));
}

#[test]
fn a_status_in_the_head_does_not_count_when_more_follows() {
    let head = [GRPC, ("grpc-status", "9")];
    let in_open_head = Some(GrpcViolation::StatusInOpenHead);
    assert_eq!(
        outcome(200, &head, &framed(b"hi"), None),
        (2, String::new(), in_open_head)
    );
    let trailers = [("grpc-status", "8")];
    assert_eq!(
        outcome(200, &head, b"", Some(&trailers)),
        (8, String::new(), None)
    );
}

#[test]
fn without_a_status_the_http_status_decides() {
    let content = Some(GrpcViolation::ContentType);
    let html = ("content-type", "text/html");
    assert_eq!(
        outcome(503, &[html], b"<html>", None),
        (14, String::new(), content)
    );
    assert_eq!(
        outcome(200, &[html], b"<html>", None),
        (2, String::new(), content)
    );
    assert_eq!(outcome(404, &[], b"", None), (12, String::new(), content));
    let missing = Some(GrpcViolation::StatusMissing);
    assert_eq!(
        outcome(502, &[GRPC], b"", None),
        (14, String::new(), missing)
    );
}

#[test]
fn an_absurd_status_is_unknown_and_an_unassigned_one_is_kept() {
    let response = |status| {
        let (code, _, violation) = outcome(
            200,
            &[GRPC],
            &framed(b"hi"),
            Some(&[("grpc-status", status)]),
        );
        (code, violation)
    };
    for malformed in ["abc", "-1", "", "99999999999"] {
        let violation = Some(GrpcViolation::StatusMalformed);
        assert_eq!(response(malformed), (2, violation), "{malformed}");
    }
    assert_eq!(response("99"), (99, None));
}

#[test]
fn two_statuses_must_not_differ() {
    let response = |first, second| {
        let both = [("grpc-status", first), ("grpc-status", second)];
        let (code, _, violation) = outcome(200, &[GRPC], &framed(b"hi"), Some(&both));
        (code, violation)
    };
    assert_eq!(response("0", "0"), (0, None));
    assert_eq!(
        response("0", "13"),
        (2, Some(GrpcViolation::StatusConflict))
    );
    assert_eq!(response("13", "0"), (13, None), "failed either way");
    assert_eq!(
        response("0", "x"),
        (2, Some(GrpcViolation::StatusMalformed))
    );
}

#[test]
fn exactly_one_message_belongs_to_ok() {
    let no_message = (12, String::new(), Some(GrpcViolation::NoMessage));
    assert_eq!(outcome(200, &[GRPC], b"", OK), no_message);
    let in_head = [GRPC, ("grpc-status", "0")];
    assert_eq!(outcome(200, &in_head, b"", None), no_message);
    let two = [framed(b"a"), framed(b"b")].concat();
    let many = outcome(200, &[GRPC], &two, OK);
    assert_eq!(many, (12, String::new(), Some(GrpcViolation::ManyMessages)));
}

#[test]
fn a_response_cut_inside_a_message_is_internal_unless_the_server_says_why() {
    let cut = &framed(b"hello")[..7];
    let truncated = (13, String::new(), Some(GrpcViolation::Truncated));
    assert_eq!(outcome(200, &[GRPC], cut, OK), truncated);
    assert_eq!(outcome(200, &[GRPC], &cut[..3], OK), truncated);
    let said = Some(&[("grpc-status", "10")][..]);
    assert_eq!(outcome(200, &[GRPC], cut, said), (10, String::new(), None));
}

#[test]
fn compression_must_be_named() {
    let body = frame_message(b"hi", true).unwrap();
    let unnamed = Some(GrpcViolation::UnnamedCompression);
    assert_eq!(
        outcome(200, &[GRPC], &body, OK),
        (13, String::new(), unnamed)
    );
    let identity = [GRPC, ("grpc-encoding", "identity")];
    assert_eq!(
        outcome(200, &identity, &body, OK),
        (13, String::new(), unnamed)
    );
    let gzip = [GRPC, ("grpc-encoding", "gzip")];
    assert_eq!(outcome(200, &gzip, &body, OK), (0, String::new(), None));
}

#[test]
fn a_message_over_the_limit_is_the_clients_refusal() {
    let too_large = GrpcViolation::MessageTooLarge {
        length: 101,
        limit: 100,
    };
    let got = outcome(200, &[GRPC], &framed(&[0; 101]), OK);
    assert_eq!(got, (8, String::new(), Some(too_large)));
}

#[test]
fn the_content_type_names_grpc_and_the_subtype_asked() {
    let check = |value: &str, subtype| check_content_type(Some(value.as_bytes()), subtype);
    for good in [
        "application/grpc",
        "Application/GRPC+proto",
        "application/grpc;charset=x",
    ] {
        assert_eq!(check(good, None), Ok(()), "{good}");
    }
    assert_eq!(check("application/grpc+json", Some("json")), Ok(()));
    assert_eq!(
        check("application/grpc+json", Some("proto")),
        Err(GrpcViolation::Subtype)
    );
    for bad in [
        "application/grpc-web",
        "application/json",
        "",
        "application/grp",
    ] {
        assert_eq!(check(bad, None), Err(GrpcViolation::ContentType), "{bad}");
    }
}

#[test]
fn a_reset_response_is_as_new() {
    let mut response = UnaryResponse::new(100);
    let trailers = [("grpc-status", "3"), ("grpc-message", "old")];
    with_fields(&[GRPC], |fields| response.head(200, fields, false, None)).unwrap();
    with_fields(&trailers, |fields| response.trailers(fields));
    assert_eq!(response.finish().message, "old");
    response.reset();
    with_fields(&[GRPC], |fields| response.head(200, fields, false, None)).unwrap();
    response.body(&framed(b"x")).unwrap();
    with_fields(&[("grpc-status", "0")], |fields| response.trailers(fields));
    assert_eq!(
        response.finish(),
        Outcome {
            code: Code::OK,
            message: "",
            source: StatusSource::Server
        }
    );
}
