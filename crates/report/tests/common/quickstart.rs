//! A run like those of the quickstart study: five questions with every kind of answer.

use std::sync::LazyLock;

use super::*;

/// What a hostile server might send as an error text.
pub const HOSTILE: &str = "<script>alert('pwned')</script> =cmd|' /C calc'!A0 | `x` \u{1b}[31m";

/// A run in which every kind of verdict, note and failure occurs.
pub fn quickstart() -> Builder {
    let builder = Builder {
        placements: vec![Placement::TwoCores, Placement::OneCore],
        question: "Which way to call suits two small services on one host?",
        ..Builder::new("quickstart")
    };
    claims(pairs(specs(builder)))
}

/// The findings of this run, computed once.
pub fn findings() -> &'static rpcgauge_report::Findings {
    static FINDINGS: LazyLock<rpcgauge_report::Findings> =
        LazyLock::new(|| super::findings(&quickstart().build()));
    &FINDINGS
}

fn specs(builder: Builder) -> Builder {
    let several = |name, ns| Spec {
        group: Some("several"),
        workload: WorkloadSpec::Echo { n: 5_000 },
        everywhere: true,
        bytes: (110_090, 110_090),
        ..Spec::new(name, ns)
    };
    let list = |name, ns, n, answer| Spec {
        group: Some("list"),
        workload: WorkloadSpec::List { n },
        bytes: (6, answer),
        ..Spec::new(name, ns)
    };
    let rows = |name, ns, n, answer| Spec {
        group: Some("gzip"),
        workload: WorkloadSpec::Records { n },
        bytes: (9, answer),
        code: CodeKind::Dynamic,
        ..Spec::new(name, ns)
    };
    let hello = |name, ns| Spec {
        group: Some("unix-socket"),
        everywhere: true,
        ..Spec::new(name, ns)
    };
    let load = |name, ns| Spec {
        group: Some("load"),
        in_flight: 32,
        ..Spec::new(name, ns)
    };
    builder
        .spec(Spec {
            codec: (0.16, 0.24),
            ..several("several-grpc", 1_900_000.0)
        })
        .spec(Spec {
            codec: (0.26, 0.33),
            bytes: (125_301, 125_301),
            spike_every: 333,
            ..several("several-rest-json", 4_390_000.0).rest()
        })
        .spec(Spec {
            repeats: Some("several-grpc"),
            codec: (0.16, 0.24),
            ..several("several-grpc-again", 1_900_000.0)
        })
        .spec(list("list-grpc n=10", 61_000.0, 10, 701))
        .spec(list("list-rest-json n=10", 66_000.0, 10, 1_705).rest())
        .spec(Spec {
            codec: (0.02, 0.41),
            ..list("list-grpc n=500", 640_000.0, 500, 40_561)
        })
        .spec(Spec {
            codec: (0.02, 0.52),
            ..list("list-rest-json n=500", 1_480_000.0, 500, 93_298).rest()
        })
        .spec(rows("gzip-one-plain", 71_000.0, 1, 402))
        .spec(Spec {
            compression: Compression::Gzip { level: 6 },
            uncompressed: 40,
            ..rows("gzip-one-gzip", 104_000.0, 1, 270)
        })
        .spec(rows("gzip-all-plain", 6_200_000.0, 4_900, 1_912_004))
        .spec(Spec {
            compression: Compression::Gzip { level: 6 },
            ..rows("gzip-all-gzip", 31_500_000.0, 4_900, 311_870)
        })
        .spec(Spec {
            one_core: 0.62,
            ..hello("unix-tcp", 52_000.0)
        })
        .spec(Spec {
            transport: Transport::Unix,
            one_core: 0.42,
            ..hello("unix-socket", 60_100.0)
        })
        .spec(Spec {
            group: Some("unix-socket"),
            connection: ConnectionUse::PerCall,
            ..Spec::new("unix-tcp-per-call", 131_000.0)
        })
        .spec(Spec {
            client_share: 0.93,
            ..load("load-grpc", 410_000.0)
        })
        .spec(Spec {
            failing: Some((FailureKind::Deadline, HOSTILE, 50)),
            failed_connects: 2,
            never_begun: 5,
            retried: 1,
            bodies_late: 1,
            unsettled: true,
            spread: 0.3,
            ..load("load-rest-json", 780_000.0).rest()
        })
        .spec(load("load-grpc-cbor", 520_000.0))
        .spec(load("load-grpc-msgpack", 523_000.0))
        .spec(Spec {
            cannot_run: Some(
                "subject go: `go` is not on the PATH; install Go 1.24 or leave the variant out",
            ),
            ..load("load-go", 1.0)
        })
}

fn pairs(builder: Builder) -> Builder {
    use Metric::*;
    let several = "How much faster than a JSON API is gRPC for a large message?";
    let list = "How does the response's length change the winner?";
    let gzip = "When does compressing a response pay?";
    let unix = "Does a Unix domain socket beat loopback TCP?";
    let load = "How many calls per second can the server handle with 32 in flight?";
    builder
        .pair(several, "several-grpc", "several-rest-json", LatencyP50)
        .pair(several, "several-grpc", "several-rest-json", RequestTime)
        .pair(several, "several-grpc", "several-rest-json", ResponseTime)
        .pair(list, "list-grpc n=10", "list-rest-json n=10", LatencyP50)
        .pair(list, "list-grpc n=500", "list-rest-json n=500", LatencyP50)
        .pair(
            list,
            "list-grpc n=500",
            "list-rest-json n=500",
            ResponseBytes,
        )
        .pair(gzip, "gzip-one-gzip", "gzip-one-plain", LatencyP50)
        .pair(gzip, "gzip-all-gzip", "gzip-all-plain", LatencyP50)
        .pair(gzip, "gzip-all-gzip", "gzip-all-plain", CallBytes)
        .pair(unix, "unix-socket", "unix-tcp", LatencyP50)
        .pair(unix, "unix-tcp-per-call", "unix-tcp", LatencyP50)
        .pair(load, "load-grpc", "load-rest-json", Goodput)
        .pair(load, "load-grpc-cbor", "load-rest-json", Goodput)
        .pair(load, "load-grpc-msgpack", "load-grpc-cbor", LatencyP50)
        .pair(load, "load-go", "load-grpc", Goodput)
        .a_a("several-grpc-again", "several-grpc")
}

fn claims(builder: Builder) -> Builder {
    use Metric::*;
    let several = ("several-grpc", "several-rest-json");
    builder
        .claim("several-request", several, RequestTime, (2.92, 7.16, "ms"))
        .claim(
            "several-response",
            several,
            ResponseTime,
            (3.6, 12.78, "ms"),
        )
        .claim(
            "list-500",
            ("list-grpc n=500", "list-rest-json n=500"),
            LatencyMean,
            (177.0, 158.0, "ms"),
        )
        .claim(
            "list-500-bytes",
            ("list-grpc n=500", "list-rest-json n=500"),
            ResponseBytes,
            (40_561.0, 93_298.0, "bytes"),
        )
        .claim(
            "gzip-one",
            ("gzip-one-gzip", "gzip-one-plain"),
            LatencyMean,
            (0.5, 0.1, "ms"),
        )
        .claim(
            "unix-socket",
            ("unix-socket", "unix-tcp"),
            LatencyMean,
            (90.0, 115.0, "µs"),
        )
        .claim(
            "load",
            ("load-go", "load-grpc"),
            Goodput,
            (398.0, 298.0, "requests/s"),
        )
}
