//! Conversations with a server, and field blocks.

use rpcgauge_fuzz::conversation::LONG_HEAD;
use rpcgauge_fuzz::hpack;
use rpcgauge_fuzz::http2::server::{flag, kind};
use rpcgauge_fuzz::http2::{HANDSHAKE, step};
use rpcgauge_fuzz::script::Script;

use crate::{Seed, named};

/// Responses of HTTP/1.1, whole.
const RESPONSES: [(&str, &[u8]); 8] = [
    ("length", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello"),
    ("chunked", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n"),
    ("until-close", b"HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nuntil the end"),
    ("no-content", b"HTTP/1.1 204 No Content\r\n\r\n"),
    ("interim", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ("close", b"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\ncontent-length: 2, 2\r\n\r\nhi"),
    ("http2", b"\0\0\x12\x04\0\0\0\0\0"),
    ("conflict", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"),
];

pub(crate) fn http1_head() -> Vec<Seed> {
    let seed = |(name, response): (&str, &[u8])| (name.to_owned(), response.to_vec());
    RESPONSES.into_iter().map(seed).collect()
}

pub(crate) fn http1() -> Vec<Seed> {
    use rpcgauge_fuzz::http1::step;
    let mut seeds: Vec<Seed> = Vec::new();
    for (name, response) in RESPONSES {
        // With the default limits and small ones, and a GET.
        for limits in 0..2 {
            let script = Script::new(&[limits, 5, 0, 0]).step(step::TAKE, &[]);
            let script = script.step(step::BYTES, response);
            seeds.push((format!("{name}-{limits}"), script.bytes()));
        }
    }
    let (length, chunked) = (RESPONSES[0].1, RESPONSES[1].1);
    let again = Script::new(&[0, 9, 0, 1])
        .step(step::TAKE, &[0, 40])
        .step(step::TAKE, &[])
        .step(step::BYTES, length)
        .step(step::START, &[2, 3])
        .step(step::TAKE, &[])
        .step(step::NOTHING, &[])
        .step(step::BYTES, chunked)
        .step(step::START, &[3, 0])
        .step(step::TAKE, &[])
        .step(step::BYTES, length);
    let early = Script::new(&[0, 1, 1])
        .step(step::START, &[1, 5])
        .step(step::TAKE, &[1, 0])
        .step(step::BYTES, length);
    let chunks = Script::new(&[3, 3, 0, 0])
        .step(
            step::BYTES,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .step(step::CHUNK, b"a chunk")
        .step(step::CHUNK, &[b'x'; 300])
        .step(step::CHUNK, b"")
        .step(step::END, &[1]);
    let cancelled = Script::new(&[0, 1, 0, 4])
        .step(step::BYTES, &length[..30])
        .step(step::CANCEL, &[0])
        .step(step::SHUT_DOWN, &[]);
    seeds.extend(named([
        ("calls-one-after-the-other", again.bytes()),
        ("answer-before-the-request-is-out", early.bytes()),
        ("chunks", chunks.bytes()),
        ("cancelled", cancelled.bytes()),
    ]));
    seeds
}

/// Numbers of fields, as `http2::server::fields` has them.
mod field {
    pub(super) const STATUS_200: u8 = 0;
    pub(super) const GRPC: u8 = 1;
    pub(super) const GRPC_STATUS: u8 = 2;
    pub(super) const GRPC_MESSAGE: u8 = 3;
    pub(super) const LENGTH_5: u8 = 6;
    pub(super) const STATUS_103: u8 = 8;
    pub(super) const LONG: u8 = 11;
    pub(super) const REPEAT: u8 = 0x80;
}

/// The first streams, as `http2::server::stream` has them.
const FIRST: u8 = 0;
const SECOND: u8 = 1;

pub(crate) fn http2() -> Vec<Seed> {
    use field::*;
    let end = flag::END_STREAM;
    // The defaults, cut in sevens, a handshake, and so many gRPC calls with a short body.
    let calls = |n: u8| {
        let setup = [0, 5, HANDSHAKE | n, 2, 2, 2, 2, 2, 2, 2, 2];
        Script::new(&setup).step(step::TAKE, &[])
    };
    let small = |n: u8| Script::new(&[1, 5, HANDSHAKE | n, 2, 5, 1, 5]).step(step::TAKE, &[]);
    let response = |script: Script, stream: u8| {
        script
            .step(step::HEADERS, &[0, stream, 0, STATUS_200, GRPC])
            .step(
                step::FRAME,
                &[kind::DATA, 0, stream, 0, 0, 0, 0, 2, b'h', b'i'],
            )
            .step(step::HEADERS, &[end, stream, 0, GRPC_STATUS, GRPC_MESSAGE])
    };
    let grpc = response(calls(1), FIRST);
    let interleaved = response(response(calls(3), SECOND), FIRST).step(step::START, &[2, 2]);
    let trailers_only = calls(1).step(
        step::HEADERS,
        &[end, FIRST, 0, STATUS_200, GRPC, GRPC_STATUS],
    );
    let continued = calls(1).step(
        step::HEADERS,
        &[0, FIRST, 20, STATUS_103, LONG, GRPC_MESSAGE],
    );
    let continued = continued.step(step::HEADERS, &[0, FIRST, 9, STATUS_200, LENGTH_5]);
    let continued = continued.step(step::FRAME, &[kind::DATA, end, FIRST, 1, 2, 3, 4, 5]);
    let padded = calls(1)
        .step(
            step::FRAME,
            &[kind::HEADERS, 0x2c, FIRST, 2, 0, 0, 0, 0, 9, 0x88, 0, 0],
        )
        .step(
            step::FRAME,
            &[kind::DATA, 0x8 | end, FIRST, 3, b'a', b'b', 0, 0, 0],
        );
    // Bodies of many frames through windows that open slowly and settings that change.
    let windows = Script::new(&[0, 5, HANDSHAKE | 2, 1, 5, 1, 5])
        .step(step::TAKE, &[])
        .step(
            step::SETTINGS,
            &[4, 0, 0, 0, 10, 5, 0, 0, 0x50, 0, 1, 0, 0, 0, 0],
        )
        .step(step::WINDOW_UPDATE, &[0x80, 0, 1, 0, 0])
        .step(step::WINDOW_UPDATE, &[FIRST, 0, 1, 0, 0])
        .step(step::TAKE, &[2, 0])
        .step(step::SETTINGS, &[4, 0, 2, 0, 0])
        .step(step::TAKE, &[])
        .step(step::HEADERS, &[end, SECOND, 0, STATUS_200]);
    let received = small(1)
        .step(step::HEADERS, &[0, FIRST, 0, STATUS_200])
        .step(step::ZEROS, &[0, FIRST, 0, 200])
        .step(step::ZEROS, &[end, FIRST, 0, 100]);
    let flow = Script::new(&[2, 5, HANDSHAKE | 1, 0, 0])
        .step(step::HEADERS, &[0, FIRST, 0, STATUS_200])
        .step(step::ZEROS, &[0, FIRST, 0, 60])
        .step(step::ZEROS, &[0, FIRST, 0, 60])
        .step(step::ZEROS, &[0, FIRST, 0, 200]);
    let going = calls(3)
        .step(step::GOAWAY, &[SECOND, 0, 0, 0, 0])
        .step(step::RST_STREAM, &[FIRST, 0, 0, 0, 7])
        .step(step::GOAWAY, &[FIRST, 0, 0, 0, 0xb]);
    let pings = small(1).step(step::PINGS, &[40]);
    let bomb = small(1).step(
        step::HEADERS,
        &[0, FIRST, 0, STATUS_200, LONG, REPEAT | 100],
    );
    let cancelled = response(
        calls(2).step(step::CANCEL, &[0]).step(step::NOTHING, &[]),
        FIRST,
    )
    .step(step::SHUT_DOWN, &[])
    .step(step::END, &[1]);
    let silent = Script::new(&[0, 0, 1, 0, 0]).step(step::BYTES, b"HTTP/1.1 400 Bad Request\r\n");
    let late = Script::new(&[2, 0, 2, 0, 0, LONG_HEAD, 0])
        .step(step::SETTINGS, &[3, 0, 0, 0, 9, 6, 0, 0, 0x10, 0])
        .step(step::START, &[LONG_HEAD, 0])
        .step(step::SETTINGS_ACK, &[])
        .step(step::START, &[LONG_HEAD, 0]);
    named([
        ("grpc", grpc.bytes()),
        ("interleaved", interleaved.bytes()),
        ("trailers-only", trailers_only.bytes()),
        ("continued", continued.bytes()),
        ("padded", padded.bytes()),
        ("windows-for-bodies", windows.bytes()),
        ("body-over-limit", received.bytes()),
        ("flow-control", flow.bytes()),
        ("going-away", going.bytes()),
        ("pings", pings.bytes()),
        ("field-bomb", bomb.bytes()),
        ("cancelled", cancelled.bytes()),
        ("http1-server", silent.bytes()),
        ("late-settings", late.bytes()),
    ])
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digits).collect()
}

/// Blocks of RFC 7541 Appendix C, and some that change the table.
pub(crate) fn hpack_decode() -> Vec<Seed> {
    use hpack::step;
    let blocks = |blocks: &[&str]| {
        let script = Script::new(&[]);
        let add = |script: Script, block: &&str| script.step(step::BLOCK, &hex(block));
        blocks.iter().fold(script, add).bytes()
    };
    let shrunk = Script::new(&[])
        .step(step::BLOCK, &hex("400161016240016301648286"))
        .step(step::ALLOW, &[0, 100])
        .step(step::BLOCK, &hex("203f45be"))
        .step(step::BLOCK, &hex("3f45820f2f01611f2f81ff"));
    named([
        (
            "c-2",
            blocks(&[
                "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
                "040c2f73616d706c652f70617468",
                "100870617373776f726406736563726574",
                "82",
            ]),
        ),
        (
            "c-4",
            blocks(&[
                "828684418cf1e3c2e5f23a6ba0ab90f4ff",
                "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ]),
        ),
        (
            "c-6",
            blocks(&[
                "3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d\
                 29ad171863c78f0b97c8e9ae82ae43d3",
                "4883640effc1c0bf",
            ]),
        ),
        ("table-shrinks", shrunk.bytes()),
        (
            "repeated-entry",
            blocks(&[
                "4001611f787878787878787878787878787878787878787878787878787878787878",
                "bebebebebebebebebebebebe",
            ]),
        ),
        ("huffman-padding", blocks(&["008107810000"])),
    ])
}

pub(crate) fn hpack_encode() -> Vec<Seed> {
    use hpack::step;
    let field = |script: Script, name: &str, value: &str| {
        let payload = [&[name.len() as u8], name.as_bytes(), value.as_bytes()].concat();
        script.step(step::FIELD, &payload)
    };
    let request = |script: Script| {
        let script = field(script, ":method", "POST");
        let script = field(script, ":path", "/pkg.Service/Method");
        let script = field(script, "x-binary", "\u{0}\u{7f}\u{e4}");
        field(script, "authorization", "secret").step(step::BLOCK, b"")
    };
    let twice = request(request(Script::new(&[0x10, 0])));
    let none = request(request(Script::new(&[0, 0])));
    let changes = request(Script::new(&[0x10, 0]))
        .step(step::ALLOW, &[0, 0])
        .step(step::ALLOW, &[0, 90]);
    let changes = request(request(changes)).step(step::ALLOW, &[0x20, 0]);
    named([
        ("twice", twice.bytes()),
        ("without-a-table", none.bytes()),
        ("table-changes", request(changes).bytes()),
    ])
}
