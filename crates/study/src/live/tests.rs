//! What a load's options come to, and which of them contradict each other.

use rpcgauge_message::{Compression, Limits};

use super::*;
use crate::capacity::CapacityOptions;
use crate::settings::{
    Arrivals, AtEnd, ConnectionUse, Keepalive, Messages, RowOrder, RowsSource, Schedule,
    TemplateSource, Timing, TlsChoice,
};

fn options(target: &str) -> LoadOptions {
    LoadOptions {
        target: target.parse().unwrap(),
        versus: None,
        blocks: None,
        unix_socket: None,
        method: None,
        http_method: None,
        http: None,
        header_names: [vec!["authorization".to_owned()], Vec::new()],
        tls: TlsChoice::default(),
        messages: Messages::default(),
        at_end: AtEnd::Wait,
        keepalive: None,
        request_compression: Compression::None,
        response_compression: Compression::None,
        connections: None,
        connection: ConnectionUse::Reuse,
        schedule: Schedule::Closed { in_flight: 1 },
        stop: DEFAULT_STOP,
        warmup_ms: None,
        deadline_ms: None,
        objectives: vec!["p99<20ms".parse().unwrap()],
        capacity: None,
        seed: None,
        limits: Limits::DEFAULT,
    }
}

fn grpc() -> LoadOptions {
    options("grpc://localhost:50051/shop.Orders/Get")
}

fn http() -> LoadOptions {
    options("http://localhost/orders")
}

fn with_body(options: LoadOptions) -> LoadOptions {
    LoadOptions {
        messages: Messages {
            template: Some(TemplateSource::default()),
            ..Messages::default()
        },
        ..options
    }
}

#[test]
fn one_target_is_one_trial_that_is_compared_with_nothing() {
    let plan = plan(&grpc()).unwrap();
    assert_eq!((plan.variants.len(), plan.trials.len()), (1, 1));
    assert!(plan.pairs.is_empty() && plan.is_live());
    assert_eq!(plan.placements, [Placement::Free]);
    let settings = &plan.variants[0].settings;
    assert_eq!(
        settings.timing(),
        Timing::Load,
        "a live service marks nothing"
    );
    assert_eq!(settings.http, HttpVersion::Http2);
    assert_eq!(settings.stop, DEFAULT_STOP);
    assert_eq!(plan.objectives, grpc().objectives);
}

#[test]
fn two_targets_share_the_time_in_blocks_with_one_of_them_twice() {
    let plan = plan(&LoadOptions {
        versus: Some("grpc://localhost:50052/shop.Orders/Get".parse().unwrap()),
        stop: Stop {
            calls: Some(95),
            time_ms: Some(20_000),
        },
        ..grpc()
    })
    .unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "b-again"]);
    assert_eq!(plan.trials.len(), 3 * 10);
    assert_eq!(
        (plan.invocations, plan.blocks),
        (1, 10),
        "nothing starts afresh"
    );
    let block = Stop {
        calls: Some(10),
        time_ms: Some(2_000),
    };
    assert!(plan.variants.iter().all(|v| v.settings.stop == block));
    assert!(plan.pairs.iter().any(|pair| pair.a_a));
    assert_eq!(plan.warmup, block, "no longer than what it prepares for");
}

#[test]
fn each_target_has_as_many_connections_as_its_protocol_needs() {
    let rate = Schedule::Rate {
        per_second: 9.0,
        arrivals: Arrivals::Constant,
    };
    let closed = |in_flight| Schedule::Closed { in_flight };
    let planned = |schedule, connections| {
        let plan = plan(&LoadOptions {
            versus: Some(http().target),
            schedule,
            connections,
            ..grpc()
        })?;
        let variants = plan.variants.iter();
        Ok(variants.map(|v| v.settings.connections).collect::<Vec<_>>())
    };
    // gRPC, HTTP/1.1, and that again.
    assert_eq!(planned(rate.clone(), None), Ok(vec![1, 64, 64]));
    assert_eq!(planned(rate, Some(8)), Ok(vec![8; 3]));
    assert_eq!(planned(closed(1), None), Ok(vec![1; 3]));
    assert_eq!(planned(closed(8), None), Ok(vec![1, 8, 8]));
    assert_eq!(planned(closed(8), Some(8)), Ok(vec![8; 3]));
    let unequal: Result<_, LoadPlanError> = planned(closed(8), Some(2));
    insta::assert_snapshot!(unequal.unwrap_err(), @"--connections: one target carries many calls on a connection and the other one call, so that 8 calls would be in flight to one and 2 to the other; give --connections 8, or leave it out");
    let alone = |http: LoadOptions| plan(&http).unwrap().variants[0].settings.connections;
    assert_eq!(
        alone(LoadOptions {
            schedule: closed(8),
            ..http()
        }),
        8
    );
}

#[test]
fn a_warm_up_is_bounded_by_what_is_measured() {
    let warmup = |stop, warmup_ms| {
        plan(&LoadOptions {
            stop,
            warmup_ms,
            ..grpc()
        })
        .unwrap()
        .warmup
    };
    let stop = |calls, time_ms| Stop { calls, time_ms };
    assert_eq!(warmup(DEFAULT_STOP, None), stop(None, Some(5_000)));
    assert_eq!(
        warmup(stop(Some(7), None), None),
        stop(Some(7), Some(5_000))
    );
    assert_eq!(warmup(stop(None, Some(90)), None), stop(None, Some(90)));
    assert_eq!(warmup(DEFAULT_STOP, Some(0)), stop(None, Some(0)));
    assert_eq!(warmup(DEFAULT_STOP, Some(8_000)), stop(None, Some(8_000)));
}

#[test]
fn a_method_may_be_given_beside_the_address() {
    for given in ["shop.Orders/Get", "/shop.Orders/Get", "shop.Orders.Get"] {
        let plan = plan(&LoadOptions {
            method: Some(given.to_owned()),
            ..options("grpc://localhost:50051")
        })
        .unwrap();
        let live = plan.variants[0].settings.callee.live().unwrap();
        assert_eq!(live.target.method(), Some("shop.Orders/Get"), "{given}");
    }
}

#[test]
fn http_is_called_with_get_or_post_with_a_body_unless_something_else_is_said() {
    let method = |options: &LoadOptions| {
        let plan = plan(options).unwrap();
        let live = plan.variants[0].settings.callee.live().cloned();
        live.and_then(|live| live.http_method)
    };
    assert_eq!(method(&http()).as_deref(), Some("GET"));
    assert_eq!(method(&grpc()), None);
    assert_eq!(method(&with_body(http())).as_deref(), Some("POST"));
    let rows = LoadOptions {
        messages: Messages {
            rows: Some(RowsSource {
                path: "rows.csv".into(),
                order: RowOrder::InTurn,
            }),
            ..Messages::default()
        },
        ..http()
    };
    assert_eq!(method(&rows).as_deref(), Some("POST"));
    let put = LoadOptions {
        http_method: Some("PUT".to_owned()),
        ..with_body(http())
    };
    assert_eq!(method(&put).as_deref(), Some("PUT"));
}

#[test]
fn what_contradicts_is_refused_with_what_to_do() {
    let why = |options: LoadOptions| plan(&options).unwrap_err().to_string();
    insta::assert_snapshot!(why(options("grpc://h:1")), @"grpc://h:1/: which method? Write it behind the address, as in grpc://HOST:PORT/package.Service/Method, or give --method");
    insta::assert_snapshot!(why(LoadOptions { method: Some("a.B/C".into()), ..grpc() }), @"--method a.B/C: the target names shop.Orders/Get already; leave one of the two out");
    insta::assert_snapshot!(why(LoadOptions { method: Some("nothing".into()), ..options("grpc://h:1") }), @r#"--method: "nothing" is no gRPC method; write package.Service/Method"#);
    insta::assert_snapshot!(why(LoadOptions { method: Some("a.B/C".into()), ..http() }), @"--method: http://localhost/orders is called by HTTP; the path behind its host says what is called");
    insta::assert_snapshot!(why(options("http://h/orders/{{n}}?a=b")), @"http://h/orders/{{n}}?a=b: placeholders are filled in --data alone, and every call has the same path and query; write a value in place of {{…}}, or %7B%7B where braces are meant");
    let query = LoadOptions {
        versus: Some("http://h/?id={{uuid}}".parse().unwrap()),
        ..http()
    };
    assert!(why(query).starts_with("http://h/?id={{uuid}}: placeholders"));
    insta::assert_snapshot!(why(LoadOptions { http_method: Some("POST".into()), ..grpc() }), @"-X: grpc://localhost:50051/shop.Orders/Get is called by gRPC, which has its own; leave it out");
    insta::assert_snapshot!(why(LoadOptions { http: Some(HttpVersion::Http1), ..grpc() }), @"--http 1.1: grpc://localhost:50051/shop.Orders/Get is called by gRPC, which needs HTTP/2");
    insta::assert_snapshot!(why(LoadOptions { tls: TlsChoice { insecure: true, ..TlsChoice::default() }, ..http() }), @"--cacert, --cert, --key, --server-name, --insecure: http://localhost/orders is called without TLS; write grpcs:// or https://");
    let rate = |per_second| LoadOptions {
        schedule: Schedule::Rate {
            per_second,
            arrivals: Arrivals::Constant,
        },
        ..grpc()
    };
    insta::assert_snapshot!(why(rate(0.0)), @"--rate: must be more than 0 and at most 1e9 calls a second");
    assert_eq!(why(rate(f64::NAN)), why(rate(0.0)));
    insta::assert_snapshot!(why(LoadOptions { schedule: Schedule::Closed { in_flight: 0 }, ..grpc() }), @"--in-flight: must be at least 1");
    insta::assert_snapshot!(why(LoadOptions { connections: Some(8), ..grpc() }), @"--connections: 8 connections are more than the 1 calls in flight; give --in-flight 8 or more, or fewer connections");
    insta::assert_snapshot!(why(LoadOptions { schedule: Schedule::Closed { in_flight: 65_537 }, ..grpc() }), @"--in-flight: must be at most 65536");
    insta::assert_snapshot!(why(LoadOptions { connections: Some(65_537), ..rate(1.0) }), @"--connections: must be at most 65536");
    insta::assert_snapshot!(why(LoadOptions { connections: Some(0), ..grpc() }), @"--connections: must be at least 1");
    insta::assert_snapshot!(why(LoadOptions { connections: Some(0), schedule: Schedule::Closed { in_flight: 0 }, ..grpc() }), @"--connections: must be at least 1");
    insta::assert_snapshot!(why(LoadOptions { stop: Stop { calls: Some(0), time_ms: None }, ..grpc() }), @"--calls: must be at least 1");
    insta::assert_snapshot!(why(LoadOptions { at_end: AtEnd::Cancel, stop: Stop { calls: Some(9), time_ms: None }, ..grpc() }), @"--at-end cancel: is for an end by time, and --calls counts calls that may end; leave one of the two out");
    let keepalive = |time_ms, timeout_ms| {
        Some(Keepalive {
            time_ms,
            timeout_ms,
        })
    };
    insta::assert_snapshot!(why(LoadOptions { keepalive: keepalive(999, 1_000), ..grpc() }), @"--keepalive: must be at least 1s: the system's keep-alive of TCP counts whole seconds");
    insta::assert_snapshot!(why(LoadOptions { keepalive: keepalive(1_000, 999), ..grpc() }), @"--keepalive-timeout: must be at least 1s: the system's keep-alive of TCP counts whole seconds");
    insta::assert_snapshot!(why(LoadOptions { keepalive: keepalive(1_000, 1_000), unix_socket: Some("s".into()), ..http() }), @"--keepalive: http://localhost/orders is called by HTTP/1.1 over a Unix socket, where there is nothing to keep alive; leave it out");
    insta::assert_snapshot!(why(LoadOptions { blocks: Some(10), ..grpc() }), @"--blocks: there is nothing to compare; give --vs TARGET, or leave it out");
    let versus = |blocks, time_ms| LoadOptions {
        versus: Some(grpc().target),
        blocks: Some(blocks),
        stop: Stop {
            calls: None,
            time_ms: Some(time_ms),
        },
        ..grpc()
    };
    insta::assert_snapshot!(why(versus(2, 10_000)), @"--blocks: 2 is not from 5 to 1000");
    insta::assert_snapshot!(why(versus(10, 100)), @"--duration: 100ms is too short for 10 blocks; give at least 500ms");
    let mixed = LoadOptions {
        versus: Some(http().target),
        ..grpc()
    };
    assert!(plan(&mixed).is_ok(), "the same service by two protocols");
}

#[test]
fn a_ramp_lasts_as_long_as_its_parts_and_has_no_warm_up() {
    let ramp = |text: &str| LoadOptions {
        schedule: Schedule::Ramp {
            parts: text.parse::<crate::ramp::Ramp>().unwrap().0,
            arrivals: Arrivals::Poisson,
        },
        stop: Stop {
            calls: Some(7),
            time_ms: None,
        },
        ..grpc()
    };
    let planned = plan(&ramp("10,20:5s,20..0:1m")).unwrap();
    let stop = planned.variants[0].settings.stop;
    assert_eq!((stop.calls, stop.time_ms), (Some(7), Some(70_000)));
    assert_eq!(
        (planned.warmup.calls, planned.warmup.time_ms),
        (None, Some(0))
    );
    let text = serde_json::to_string(&planned).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), planned);
    let why = |options: LoadOptions| plan(&options).unwrap_err().to_string();
    insta::assert_snapshot!(why(LoadOptions { versus: Some(grpc().target), ..ramp("1:1s") }), @"--ramp: two targets are compared at one rate or in a closed loop; give --rate, or leave --vs out");
    insta::assert_snapshot!(why(LoadOptions { warmup_ms: Some(5), ..ramp("1:1s") }), @"--warmup: a ramp has none; begin the ramp with it, as in --ramp 100:5s,100..1000:30s");
}

#[test]
fn a_search_is_planned_with_trials_that_tell_of_its_objectives() {
    let search = |asked: CapacityOptions, objectives: &[&str]| LoadOptions {
        schedule: Schedule::Rate {
            per_second: 1.0,
            arrivals: Arrivals::Constant,
        },
        objectives: objectives
            .iter()
            .map(|text| text.parse().unwrap())
            .collect(),
        capacity: Some(asked),
        ..grpc()
    };
    let asked = CapacityOptions::default();
    let planned = plan(&search(asked, &["p99<20ms", "p50<1s"])).unwrap();
    let capacity = planned.capacity.unwrap();
    // Ten calls beyond the 99th percentile in the 5 s of a trial.
    assert_eq!((capacity.calls, capacity.time_ms), (1_000, 5_000));
    assert_eq!((capacity.start, capacity.precision), (200.0, 0.05));
    assert_eq!(
        (capacity.trial_ms(200.0), capacity.trial_ms(100.0)),
        (5_000, 10_000)
    );
    assert_eq!(capacity.trial_ms(capacity.lowest), 60_000);
    assert_eq!(planned.trials.len(), 60);
    assert_eq!(planned.warmup.time_ms, Some(2_000));
    let stop = planned.variants[0].settings.stop;
    assert_eq!((stop.calls, stop.time_ms), (None, Some(5_000)));
    let text = serde_json::to_string(&planned).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), planned);
    let low = CapacityOptions {
        highest: Some(50.0),
        ..asked
    };
    let capacity = plan(&search(low, &["p99<20ms"])).unwrap().capacity.unwrap();
    assert_eq!((capacity.start, capacity.highest), (50.0, Some(50.0)));
    let why = |options: LoadOptions| plan(&options).unwrap_err().to_string();
    insta::assert_snapshot!(why(search(asked, &[])), @"--find-capacity: what must hold? Give an objective of latency or errors, as in --slo 'p99<20ms'");
    insta::assert_snapshot!(why(search(asked, &["p99<1s", "goodput>5"])), @"--slo: a search needs objectives that are harder to hold at a higher rate: latency and errors, not goodput");
    insta::assert_snapshot!(why(LoadOptions { versus: Some(grpc().target), ..search(asked, &["p99<1s"]) }), @"--find-capacity: it searches one target at a time; leave --vs out");
    insta::assert_snapshot!(why(search(CapacityOptions { start: Some(0.0), ..asked }, &["p99<1s"])), @"--start-rate: must be more than 0 and at most 1e9 calls a second");
    insta::assert_snapshot!(why(search(CapacityOptions { start: Some(60.0), ..low }, &["p99<1s"])), @"--start-rate: is above --max-rate");
    insta::assert_snapshot!(why(search(CapacityOptions { precision: Some(f64::NAN), ..asked }, &["p99<1s"])), @"--precision: must be from 0.1% to 100%");
}

#[test]
fn a_plan_comes_back_from_disk_as_it_was() {
    let plan = plan(&LoadOptions {
        tls: TlsChoice {
            ca: Some("ca.pem".into()),
            ..TlsChoice::default()
        },
        ..with_body(options("grpcs://localhost/shop.Orders/Get"))
    })
    .unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn a_template_of_an_earlier_plan_is_read_without_its_text() {
    for earlier in [
        r#"{"from":"text","text":"{}"}"#,
        r#"{"from":"file","path":"x"}"#,
    ] {
        let read: TemplateSource = serde_json::from_str(earlier).unwrap();
        assert_eq!(read.path.is_some(), earlier.contains("path"));
    }
}

#[test]
fn a_keepalive_stands_in_the_plan_and_comes_back_from_it() {
    let kept = LoadOptions {
        keepalive: Some(Keepalive {
            time_ms: 30_000,
            timeout_ms: Keepalive::TIMEOUT_MS,
        }),
        ..grpc()
    };
    let plan = plan(&kept).unwrap();
    let written = serde_json::to_value(&plan).unwrap();
    let service = |value: &serde_json::Value| {
        let service = value.pointer("/variants/0/settings/service");
        service.cloned().unwrap()
    };
    assert_eq!(
        service(&written)["keepalive"],
        serde_json::json!({"time-ms": 30_000, "timeout-ms": 20_000})
    );
    let read: Plan = serde_json::from_value(written).unwrap();
    assert_eq!(read, plan);
    let without = serde_json::to_value(super::plan(&grpc()).unwrap()).unwrap();
    assert!(service(&without).get("keepalive").is_none());
}
