//! Studies of live services.

use super::*;
use crate::settings::{CallOptions, LbStrategy, LiveCall, LiveService, LiveWire, Timing};

const GRPC: &str = "grpc://localhost:50051/shop.Orders/Get";
const HTTP: &str = "http://localhost/orders";

/// A study of one service, with keys of `[service]`, settings, and top-level keys.
fn service(target: &str, keys: &str, settings: &str, top: &str) -> String {
    format!("# Is it fast?\n{top}\n[service]\ntarget = \"{target}\"\n{keys}\n[base]\n{settings}\n")
}

fn grpc(keys: &str) -> String {
    service(GRPC, keys, "", "")
}

fn two(settings: &str, targets: [&str; 2]) -> String {
    let [a, b] = targets;
    format!(
        "# Which is faster?\n[base]\n{settings}\n[[variants]]\nname = \"a\"\nservice.target = \"{a}\"\n\
         [[variants]]\nname = \"b\"\nservice.target = \"{b}\"\n"
    )
}

fn live(text: &str) -> LiveService {
    calls(&resolve(text).unwrap())[0].service.clone()
}

/// The calls of a plan's variants.
fn calls(plan: &Plan) -> Vec<&LiveCall> {
    let targets = plan.variants.iter().map(|variant| &variant.settings.target);
    let calls = targets.map(|target| match target {
        Target::Live(live) => &**live,
        other => panic!("{other:?}"),
    });
    calls.collect()
}

fn options(plan: &Plan) -> Vec<&CallOptions> {
    calls(plan).into_iter().map(|live| &live.options).collect()
}

fn connections(plan: &Plan) -> Vec<u32> {
    options(plan)
        .iter()
        .map(|options| options.connections)
        .collect()
}

#[test]
fn one_target_is_one_trial_that_is_compared_with_nothing() {
    let plan = resolve(&service(GRPC, "", "", "objectives = [\"p99<20ms\"]")).unwrap();
    assert_eq!((plan.variants.len(), plan.trials.len()), (1, 1));
    assert!(plan.pairs.is_empty() && plan.is_live());
    assert_eq!(
        (&plan.placements[..], plan.idle),
        (&[Placement::Free][..], Idle::AsIs)
    );
    let settings = &plan.variants[0].settings;
    assert_eq!(
        settings.timing(),
        Timing::Load,
        "a live service sends no marks"
    );
    assert_eq!(calls(&plan)[0].wire, LiveWire::Grpc);
    assert_eq!(settings.target.encoding(), Some(Encoding::Protobuf));
    assert_eq!(settings.stop.time_ms, Some(10_000));
    assert_eq!(plan.objectives, ["p99<20ms".parse().unwrap()]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn two_targets_are_measured_in_blocks_with_one_of_them_twice() {
    let plan = resolve(&two("calls = 10\ntime = \"2s\"", [GRPC, HTTP])).unwrap();
    assert_eq!(names(&plan), ["a", "b", "a-again"]);
    assert_eq!(
        (plan.trials.len(), plan.invocations, plan.blocks),
        (30, 1, 10)
    );
    assert_eq!(
        (plan.warmup.calls, plan.warmup.time_ms),
        (Some(10), Some(2_000))
    );
}

/// A study of two commands, with more keys for each and at the top.
fn started(top: &str, of_each: [&str; 2]) -> String {
    let [new, old] = of_each;
    let target = "service.target = \"http://127.0.0.1:{port}/orders\"";
    format!(
        "# Is it slower?\n{top}\n[base]\ntime = \"1s\"\n[[variants]]\nname = \"new\"\n{target}\n{new}\n\
         [[variants]]\nname = \"old\"\n{target}\n{old}\n[[pairs]]\nof = \"new\"\nagainst = \"old\"\n\
         metric = \"server-memory\"\n"
    )
}

const COMMANDS: [&str; 2] = [
    "service.command = \"./new --port {port}\"",
    "service.command = \"./old\"",
];

#[test]
fn services_with_commands_are_measured_over_fresh_starts() {
    let plan = resolve(&started("invocations = 6\nblocks = 1", COMMANDS)).unwrap();
    assert_eq!(names(&plan), ["new", "old", "old-again"]);
    assert_eq!(
        (plan.invocations, plan.blocks, plan.trials.len()),
        (6, 1, 18)
    );
    assert_eq!(
        (&plan.placements[..], plan.idle),
        (&[Placement::TwoCores][..], Idle::Held)
    );
    assert!(plan.is_live() && plan.has_fresh_starts());
    let start = calls(&plan)[0].service.start.clone().unwrap();
    assert_eq!(
        (&*start.command, start.ready_within_ms),
        ("./new --port {port}", 60_000)
    );
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let running = resolve(&two("", [GRPC, HTTP])).unwrap();
    assert!(running.is_live() && !running.has_fresh_starts());
}

#[test]
fn a_command_and_a_chosen_port_need_each_other() {
    let [new, old] = COMMANDS;
    insta::assert_snapshot!(refused(&service("http://h:{port}/", "", "", "")), @r#"my.toml:4:10: http://h:{port}/: {port} is for a service that a "command" starts; write its port"#);
    insta::assert_snapshot!(refused(&service(HTTP, "command = \"./a\"", "", "")), @"my.toml:5:11: the service is started on a free port, so its target must contain {port}, as in http://127.0.0.1:{port}/path, not http://localhost/orders");
    insta::assert_snapshot!(refused(&service(HTTP, "ready-within = \"1s\"", "", "")), @r#"my.toml:5:16: "ready-within" needs a "command"; leave it out for a running service"#);
    let running = "service.target = \"http://localhost:1/\"";
    insta::assert_snapshot!(refused(&started("", [new, old]).replace("service.target = \"http://127.0.0.1:{port}/orders\"\nservice.command = \"./old\"", running)), @r#"my.toml:10:8: variant "old" is already running, but a command starts others, which are measured over fresh starts; give it a "command" too"#);
    insta::assert_snapshot!(refused(&started("budget = \"1m\"", COMMANDS)), @r#"my.toml:2:10: "budget" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(refused(&service("http://h:{port}/", "command = \"./a\"", "", "objectives = [\"p99<1s\"]\ncapacity = {}")), @r#"my.toml:3:12: a search needs a service that is already running; remove "command" or "capacity""#);
}

#[test]
fn factors_vary_what_a_service_gets() {
    let text = format!(
        "{}[factors]\nin-flight = [1, 16]\n",
        service(HTTP, "", "", "")
    );
    let plan = resolve(&text).unwrap();
    assert_eq!(names(&plan)[..2], ["in-flight=1", "in-flight=16"]);
    let connections = connections(&plan);
    assert_eq!(connections, [1, 16, 1], "HTTP/1.1 carries one call on each");
}

#[test]
fn each_target_has_as_many_connections_as_its_protocol_needs() {
    let of = |settings: &str| connections(&resolve(&two(settings, [GRPC, HTTP])).unwrap());
    assert_eq!(of("rate = 9"), [1, 64, 1]);
    assert_eq!(of("rate = 9\nconnections = 8"), [8; 3]);
    assert_eq!(of("in-flight = 8"), [1, 8, 1]);
    let fewer = service(HTTP, "", "in-flight = 8\nconnections = 2", "");
    assert_eq!(connections(&resolve(&fewer).unwrap()), [2]);
}

#[test]
fn a_warm_up_is_bounded_by_what_is_measured() {
    let warmup = |settings: &str, top: &str| {
        let plan = resolve(&service(GRPC, "", settings, top)).unwrap();
        (plan.warmup.calls, plan.warmup.time_ms)
    };
    assert_eq!(warmup("", ""), (None, Some(5_000)));
    assert_eq!(warmup("calls = 7", ""), (Some(7), Some(5_000)));
    assert_eq!(warmup("time = \"90ms\"", ""), (None, Some(90)));
    assert_eq!(warmup("", "warm-up = { time = \"0s\" }"), (None, Some(0)));
    assert_eq!(
        warmup("", "warm-up = { time = \"8s\" }"),
        (None, Some(8_000))
    );
}

#[test]
fn a_method_may_be_given_beside_the_address() {
    for given in ["shop.Orders/Get", "/shop.Orders/Get", "shop.Orders.Get"] {
        let keys = format!("method = \"{given}\"");
        let live = live(&service("grpc://localhost:50051", &keys, "", ""));
        assert_eq!(live.url.method(), Some("shop.Orders/Get"), "{given}");
    }
}

#[test]
fn http_is_called_with_get_or_post_with_a_body_unless_something_else_is_said() {
    let method = |target: &str, keys: &str| live(&service(target, keys, "", "")).http_method;
    assert_eq!(method(HTTP, "").as_deref(), Some("GET"));
    assert_eq!(method(GRPC, ""), None);
    assert_eq!(method(HTTP, "data = \"{}\"").as_deref(), Some("POST"));
    assert_eq!(method(HTTP, "rows = \"rows.csv\"").as_deref(), Some("POST"));
    assert_eq!(
        method(HTTP, "data = \"{}\"\nhttp-method = \"PUT\"").as_deref(),
        Some("PUT")
    );
}

#[test]
fn secrets_stand_beside_the_plan_and_never_in_it() {
    let keys = "headers = [\"authorization: Bearer $TOKEN-$TOKEN\", \"accept: x$\"]\ndata = \"{\\\"pin\\\":1234}\"";
    let resolved = resolve_all(&grpc(keys), 2, &Overrides::default()).unwrap();
    let inputs = &resolved.services["base"][0];
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        inputs.headers,
        [
            field("authorization", "Bearer secret-secret"),
            field("accept", "x$")
        ]
    );
    assert_eq!(inputs.template.as_ref().unwrap().text, "{\"pin\":1234}");
    let plan = serde_json::to_string(&resolved.plan).unwrap();
    for secret in ["secret", "pin", "1234"] {
        assert!(!plan.contains(secret), "{secret} in {plan}");
    }
    assert!(
        plan.contains("authorization") && plan.contains("sha256"),
        "{plan}"
    );
    let debug = format!("{resolved:?}");
    assert!(!debug.contains("1234"), "{debug}");
}

#[test]
fn keys_of_a_variant_stand_over_those_of_the_study() {
    let text = grpc("insecure = true\nheaders = [\"a: 1\"]").replace(GRPC, "https://h/a")
        + "[[variants]]\nname = \"one\"\n[[variants]]\nname = \"two\"\nservice.target = \"https://h/b\"\nservice.headers = []\n";
    let plan = resolve(&text).unwrap();
    let calls = calls(&plan).into_iter();
    let services: Vec<&LiveService> = calls.map(|live| &live.service).collect();
    assert_eq!(
        (&*services[0].url.path, services[0].header_names.len()),
        ("/a", 1)
    );
    assert_eq!(
        (&*services[1].url.path, services[1].header_names.len()),
        ("/b", 0)
    );
    assert!(services.iter().all(|s| s.tls.as_ref().unwrap().insecure));
}

#[test]
fn addresses_of_a_name_are_not_known_before_the_run() {
    let service = live(&grpc("lb-strategy = \"round-robin\""));
    assert_eq!(service.lb_strategy, LbStrategy::RoundRobin);
    assert!(service.addresses.is_empty());
    let refused = |keys: &str| refused(&grpc(keys));
    insta::assert_snapshot!(refused("lb-strategy = \"random\""), @r#"my.toml:5:15: unknown value "random"; expected one of pick-first, round-robin"#);
    insta::assert_snapshot!(refused("lb-strategy = \"round-robin\"\nunix-socket = \"s\""), @r#"my.toml:5:15: "lb-strategy" is for a running service with a host name; leave it out"#);
}

#[test]
fn a_keepalive_stands_in_the_plan() {
    let keepalive = live(&grpc("keepalive = \"30s\"")).keepalive.unwrap();
    assert_eq!((keepalive.time_ms, keepalive.timeout_ms), (30_000, 20_000));
    assert_eq!(live(&grpc("")).keepalive, None);
}

#[test]
fn what_contradicts_is_refused_with_what_to_do() {
    let keys = |keys: &str| refused(&grpc(keys));
    let at = |target: &str, keys: &str| refused(&service(target, keys, "", ""));
    insta::assert_snapshot!(at("grpc://h:1", ""), @r#"my.toml:4:10: grpc://h:1/ names no method; append one, as in grpc://HOST:PORT/package.Service/Method, or give "method" (--method)"#);
    insta::assert_snapshot!(keys("method = \"a.B/C\""), @"my.toml:5:10: the target already names shop.Orders/Get; leave one of the two out");
    insta::assert_snapshot!(at("grpc://h:1", "method = \"nothing\""), @r#"my.toml:5:10: "nothing" is not a gRPC method; write package.Service/Method"#);
    insta::assert_snapshot!(at(HTTP, "method = \"a.B/C\""), @"my.toml:5:10: http://localhost/orders is called over HTTP; the path after its host selects what is called");
    insta::assert_snapshot!(at("http://h/orders/{{n}}?a=b", ""), @r#"my.toml:4:10: http://h/orders/{{n}}?a=b: placeholders are filled in "data" and "headers" only, and every call has the same path and query; write a value in place of {{…}}, or %7B%7B where braces are meant"#);
    insta::assert_snapshot!(keys("http-method = \"POST\""), @"my.toml:5:15: grpc://localhost:50051/shop.Orders/Get is called over gRPC, which sets the HTTP method itself; leave it out");
    insta::assert_snapshot!(at("ws://h/chat", "http-method = \"POST\""), @"my.toml:5:15: ws://h/chat is a WebSocket, which is opened by GET; leave the HTTP method out");
    insta::assert_snapshot!(at("ws://h/chat", "stream = { form = \"sse\" }"), @r#"my.toml:5:19: a WebSocket is "bidirectional"; leave the form out"#);
    insta::assert_snapshot!(at("ws://h/chat", "expect = [\"status = 200\"]"), @"my.toml:5:11: the status of a WebSocket's handshake must be 101; leave it out");
    insta::assert_snapshot!(at(HTTP, "stream = { form = \"bidirectional\" }"), @r#"my.toml:5:19: over HTTP, a stream is "ndjson" or "sse"; for a WebSocket, write ws:// or wss://"#);
    insta::assert_snapshot!(at(HTTP, "insecure = true"), @"my.toml:5:12: http://localhost/orders is called without TLS; write grpcs://, https:// or wss://");
    insta::assert_snapshot!(at(HTTP, "allow-missing-alpn = true"), @"my.toml:5:22: http://localhost/orders is called without TLS; write grpcs://, https:// or wss://");
    insta::assert_snapshot!(at(HTTP, "proto = \"x.proto\""), @"my.toml:5:9: http://localhost/orders is called over HTTP, where bodies are sent as they are given; leave the description of messages out");
    insta::assert_snapshot!(keys("keepalive = \"999ms\""), @"my.toml:5:13: the time must be at least 1s: the system's TCP keep-alive counts whole seconds");
    insta::assert_snapshot!(keys("keepalive-timeout = \"2s\""), @r#"my.toml:5:21: "keepalive-timeout" needs "keepalive" as well"#);
    insta::assert_snapshot!(at(HTTP, "keepalive = \"1s\"\nunix-socket = \"s\""), @"my.toml:5:13: http://localhost/orders over s is called over HTTP/1.1 on a Unix socket, where there is nothing to keep alive; leave it out");
    insta::assert_snapshot!(keys("order = \"random\""), @r#"my.toml:5:9: "order" applies to "rows", and there are none; write rows = "rows.csv""#);
    insta::assert_snapshot!(keys("cert = \"c.pem\""), @r#"my.toml:5:8: "cert" needs "key" as well"#);
    insta::assert_snapshot!(keys("data = \"@\""), @"my.toml:5:8: @ names no file; write @FILE, or @- for standard input");
    insta::assert_snapshot!(keys("data = \"@-\"\nrows = \"-\""), @r#"my.toml:5:8: "data" and "rows" cannot both read standard input; give one of them a file"#);
    insta::assert_snapshot!(keys("headers = [\"authorization: $NOT_SET\"]"), @r#"my.toml:5:12: the environment variable "NOT_SET" is not set"#);
    insta::assert_snapshot!(keys("headers = [\"password\"]"), @"my.toml:5:12: a header field is written as 'name: value'");
    insta::assert_snapshot!(refused("# Is it fast?\n[service]\ninsecure = true\n"), @r#"my.toml:1:1: [service] needs a "target"; write target = "grpc://HOST:PORT/package.Service/Method" or "http://HOST:PORT/path""#);
    insta::assert_snapshot!(at("ftp://h/", ""), @r#"my.toml:4:10: "ftp://h/" is not a target: there is no scheme "ftp"; expected one of grpc, grpcs, http, https, ws, wss; write it like grpc://localhost:50051/shop.Orders/Get or http://localhost:8080/orders"#);
    let said = |settings: &str| refused(&service(GRPC, "", settings, ""));
    insta::assert_snapshot!(said("http = \"1.1\""), @r#"my.toml:7:8: variant "base": gRPC needs HTTP/2; write http = "2", or leave it out"#);
    insta::assert_snapshot!(said("rate = 0.001\ntime = \"10s\""), @r#"my.toml:7:8: variant "base": a rate of 0.001 per second makes no call in the 10s of a trial; give a higher rate or more time"#);
    insta::assert_snapshot!(said("rate = 0"), @r#"my.toml:7:8: "rate" must be more than 0 and at most 1e9 calls per second, not 0"#);
    insta::assert_snapshot!(said("connections = 8"), @r#"my.toml:7:15: variant "base": in-flight = 1 cannot use 8 connections; write fewer, or a larger in-flight"#);
    insta::assert_snapshot!(said("encoding = \"json\""), @r#"my.toml:7:12: variant "base": "encoding" is for subjects, but a live service is called here; leave it out"#);
    insta::assert_snapshot!(said("rate = \"10:x\""), @r#"my.toml:7:8: "10:x" is not a ramp: "x" is not a time; write it as 150ms, 10s or 1m30s; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
    insta::assert_snapshot!(refused(&service(GRPC, "at-end = \"cancel\"", "calls = 9", "")), @r#"my.toml:5:10: at-end = "cancel" needs a trial that ends by time, and "calls" ends it by count; leave one of the two out"#);
    insta::assert_snapshot!(refused(&two("in-flight = 8\nconnections = 2", [GRPC, HTTP])), @"my.toml:4:15: one service carries many calls on a connection and another only one, so 8 calls would be in flight to one and 2 to the other; write 8, or leave it out");
    insta::assert_snapshot!(refused(&service(GRPC, "", "", "placement = \"free\"")), @r#"my.toml:2:13: "placement" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(refused(&service(GRPC, "", "", "invocations = 2")), @r#"my.toml:2:15: "invocations" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(refused(&service(GRPC, "", "", "workload = { name = \"hello\" }")), @r#"my.toml:1:1: variant "base": [workload] is for subjects, and a live service gets its messages from [service]; keep one of the two"#);
    let mixed = format!(
        "{}[[variants]]\nname = \"c\"\nprotocol = \"grpc\"\nworkload.name = \"hello\"\n",
        two("", [GRPC, HTTP])
    );
    insta::assert_snapshot!(refused(&mixed), @r#"my.toml:11:8: variant "c" calls a subject, and others call live services; split them into two studies"#);
    insta::assert_snapshot!(one_with("protocol = \"grpc\"\nrate = \"1..9:5s\"\n"), @r#"my.toml:6:8: variant "base": a ramp is for a live service; give a subject one rate"#);
    insta::assert_snapshot!(refused("# Is it fast?\nobjectives = [\"p99<1s\"]\nworkload.name = \"hello\"\nbase.protocol = \"grpc\"\n"), @r#"my.toml:2:14: "objectives" is for live services; write [service], or leave it out"#);
}

#[test]
fn a_bound_of_requests_is_shared_out_or_refused_where_it_is_written() {
    let bounded = |most: u64, settings: &str| {
        let keys = format!("blocks = 5\n[service]\nmax-requests = {most}\n[base]");
        two(settings, [HTTP, "http://localhost/others"]).replacen("[base]", &keys, 1)
    };
    // Five trials of the variant and five of its control, each with a slice after its warm-up.
    for (most, share) in [(421, 42), (430, 42), (431, 43)] {
        assert_eq!(live(&bounded(most, "")).max_requests, Some(share));
    }
    assert_eq!(
        refused(&bounded(420, "")),
        "my.toml:4:16: \"max-requests\" 420 is too few for 10 trials of http://localhost/orders, each with at least \
         42 requests, and 1 first call; allow at least 421"
    );
    assert!(refused(&bounded(421, "in-flight = 2")).ends_with("allow at least 841"));
    // Calls at a rate are not cut into slices.
    assert_eq!(live(&bounded(11, "rate = 5.0")).max_requests, Some(1));
    assert!(refused(&bounded(10, "rate = 5.0")).ends_with("and 1 first call; allow at least 11"));
    let search = service(
        HTTP,
        "max-requests = 9",
        "",
        "objectives = [\"p99<1s\"]\ncapacity = {}",
    );
    assert!(refused(&search).contains("leave \"max-requests\" out"));
}

#[test]
fn a_ramp_lasts_as_long_as_its_parts_and_has_no_warm_up() {
    let ramp = "rate = \"10,20:5s,20..0:1m\"\ncalls = 7";
    let plan = resolve(&service(GRPC, "", ramp, "")).unwrap();
    let stop = plan.variants[0].settings.stop;
    assert_eq!((stop.calls, stop.time_ms), (Some(7), Some(70_000)));
    assert_eq!((plan.warmup.calls, plan.warmup.time_ms), (None, Some(0)));
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    for bounds in ["time = \"5s\"", "calls = 10"] {
        let top = format!("warm-up = {{ {bounds} }}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused(&service(GRPC, "", ramp, &top)), @"my.toml:2:11: a ramp has no separate warm-up; begin the ramp with one, as in 100:5s,100..1000:30s, and leave this out");
        }
    }
    let shown = plan.to_string();
    assert!(
        shown.contains("  warm-up    none\n") && !shown.contains("deadline 10s"),
        "{shown}"
    );
    insta::assert_snapshot!(refused(&service(GRPC, "", &format!("{ramp}\ntime = \"1s\""), "")), @r#"my.toml:9:8: variant "base": "time" does not apply to a ramp, which ends with its last part; leave it out"#);
}

#[test]
fn an_abstract_socket_is_not_in_the_folder_of_the_study() {
    let at = |socket: &str| {
        let study =
            format!("# Is it fast?\n[service]\ntarget = \"{HTTP}\"\nunix-socket = \"{socket}\"\n");
        let context = ResolveContext {
            subjects: &BTreeMap::new(),
            loader: &FileLoader {
                folder: "studies".into(),
                ..FileLoader::default()
            },
            cores: 2,
            overrides: &Overrides::default(),
        };
        let plan = StudyFile::parse(&study, "my.toml")
            .unwrap()
            .resolve(&context)
            .unwrap();
        calls(&plan)[0].service.url.to_string()
    };
    assert_eq!(at("@name"), format!("{HTTP} over @name"));
    assert_eq!(at("./@name"), format!("{HTTP} over studies/./@name"));
}

#[test]
fn a_ramp_of_two_services_runs_whole_in_each_block() {
    let ramp = "rate = \"10,20:5s\"";
    let plan = resolve(&two(ramp, [GRPC, HTTP])).unwrap();
    assert_eq!(names(&plan), ["a", "b", "a-again"]);
    assert_eq!((plan.trials.len(), plan.blocks), (9, 3));
    let stops = plan.variants.iter().map(|it| it.settings.stop.time_ms);
    assert_eq!(stops.collect::<Vec<_>>(), [Some(10_000); 3]);
    assert_eq!(plan.warmup.time_ms, Some(0));
    let other = two(ramp, [GRPC, HTTP]) + "rate = \"10,30:5s\"\n";
    insta::assert_snapshot!(refused(&other), @r#"my.toml:10:8: a ramp is compared step by step, so all variants must have the same one; write it in [base]"#);
}

#[test]
fn a_search_is_planned_with_trials_that_decide_its_objectives() {
    let search = |capacity: &str, objectives: &str, settings: &str| {
        service(
            HTTP,
            "",
            settings,
            &format!("objectives = {objectives}\ncapacity = {{ {capacity} }}"),
        )
    };
    let plan = resolve(&search("", "[\"p99<20ms\", \"p50<1s\"]", "")).unwrap();
    let capacity = plan.capacity.unwrap();
    // Ten calls beyond the 99th percentile in the 5 s of a trial.
    assert_eq!((capacity.calls, capacity.time_ms), (1_000, 5_000));
    assert_eq!((capacity.start, capacity.precision), (200.0, 0.05));
    assert_eq!(
        (capacity.trial_ms(200.0), capacity.trial_ms(100.0)),
        (5_000, 10_000)
    );
    assert_eq!(capacity.trial_ms(capacity.lowest), 60_000);
    assert_eq!((plan.trials.len(), plan.warmup.time_ms), (60, Some(2_000)));
    let settings = &plan.variants[0].settings;
    assert_eq!(
        (settings.stop.calls, settings.stop.time_ms),
        (None, Some(5_000))
    );
    assert_eq!(connections(&plan), [64]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let p99 = "[\"p99<20ms\"]";
    let low = resolve(&search("max-rate = 50.0", p99, ""))
        .unwrap()
        .capacity
        .unwrap();
    assert_eq!((low.start, low.highest), (50.0, Some(50.0)));
    let why = |capacity: &str, objectives: &str, settings: &str| {
        refused(&search(capacity, objectives, settings))
    };
    insta::assert_snapshot!(why("", "[]", ""), @r#"my.toml:3:12: a search needs objectives for latency or errors; write objectives = ["p99<20ms"]"#);
    insta::assert_snapshot!(why("", "[\"p99<1s\", \"goodput>5\"]", ""), @"my.toml:2:14: a search needs objectives that are harder to meet at a higher rate: latency and errors, not goodput");
    insta::assert_snapshot!(why("", p99, "in-flight = 2"), @r#"my.toml:8:13: "in-flight": the search chooses the rate of each trial, and how many calls it has; leave it out"#);
    insta::assert_snapshot!(why("start-rate = 0.0", p99, ""), @"my.toml:3:27: the rate must be more than 0 and at most 1e9 calls per second");
    insta::assert_snapshot!(why("start-rate = 60.0, max-rate = 50.0", p99, ""), @"my.toml:3:27: the first rate is above the highest, 50 calls/s");
    insta::assert_snapshot!(why("start-rate = 1e-3", p99, ""), @"my.toml:3:27: the rate makes no call in the 1m of the longest trial; give a higher rate");
    insta::assert_snapshot!(why("precision = 2.0", p99, ""), @"my.toml:3:26: the precision must be from 0.001 to 1, which is 0.1% to 100%");
    let two =
        two("", [GRPC, HTTP]).replacen('\n', "\nobjectives = [\"p99<1s\"]\ncapacity = {}\n", 1);
    insta::assert_snapshot!(refused(&two), @"my.toml:3:12: [capacity] searches one variant of a live service at a time; leave the others out");
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let top = |top: &str| refused(&service(GRPC, "", "", top));
    let search = |more: &str| {
        top(&format!(
            "{more}\nobjectives = [\"p99<1s\"]\ncapacity = {{}}"
        ))
    };
    insta::assert_snapshot!(top("placement = { invocations = 2 }"), @r#"my.toml:2:13: "placement" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(top("idle = \"held\""), @r#"my.toml:2:8: "idle" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(top("budget = \"1m\""), @r#"my.toml:2:10: "budget" is for subjects, but live services are called here; leave it out"#);
    insta::assert_snapshot!(search("blocks = 3"), @r#"my.toml:2:10: a search has as many trials as it needs; leave "blocks" out"#);
    insta::assert_snapshot!(search("a-a = \"base\""), @r#"my.toml:2:7: a search is compared with nothing, not even with itself; leave "a-a" out"#);
    insta::assert_snapshot!(refused(&service(HTTP, "include = \"p\"", "", "")), @r#"my.toml:5:11: "include" is for the imports of "proto", and there is no "proto"; leave it out"#);
    insta::assert_snapshot!(refused(&grpc("include = \"p\"\ndescriptor-set = \"s\"")), @r#"my.toml:5:11: "include" is for "proto"; a descriptor set already contains its imports"#);
    let pair = "[[pairs]]\nof = \"a\"\nagainst = \"b\"\nmetric = \"server-cpu\"\n";
    insta::assert_snapshot!(refused(&(two("", [GRPC, HTTP]) + pair)), @r#"my.toml:11:6: server-cpu is measured inside the server, and "a" is a live service; use another metric"#);
    let groups =
        grpc("") + "[[groups]]\nname = \"g\"\ninvocations = 2\n[[groups.variants]]\nname = \"a\"\n";
    insta::assert_snapshot!(refused(&groups), @r#"my.toml:10:15: "invocations" is for subjects, but live services are called here; leave it out"#);
}

#[test]
fn threads_divide_the_connections_of_one_running_service() {
    let threads = |settings: &str| {
        let plan = resolve(&service(HTTP, "", settings, "")).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        let call = calls(&plan)[0];
        (
            call.threads,
            call.options.connections,
            plan.variants[0].settings.how(),
        )
    };
    let how = "HTTP/1.1, 2 threads, TCP connection reused × 4, 4 calls in flight, deadline 10s";
    assert_eq!(
        threads("in-flight = 4\nthreads = 2"),
        (2, 4, how.to_owned())
    );
    assert_eq!(
        threads("rate = 10\nthreads = 64").0,
        64,
        "the default connections"
    );
    assert_eq!(threads("").0, 1);
    let refused = |settings: &str| refused(&service(GRPC, "", settings, ""));
    insta::assert_snapshot!(refused("threads = 2"), @r#"my.toml:7:11: variant "base": each thread makes calls on connections of its own, so threads = 2 needs connections = 2 or more, not 1"#);
    insta::assert_snapshot!(refused("threads = 2\nin-flight = 64"), @r#"my.toml:7:11: variant "base": each thread makes calls on connections of its own, so threads = 2 needs connections = 2 or more, not 1"#);
    insta::assert_snapshot!(refused("threads = 0"), @r#"my.toml:7:11: "threads" must be a whole number from 1 to 1024, not 0"#);
    let both = two("threads = 2\nrate = 10\nconnections = 2", [GRPC, HTTP]);
    insta::assert_snapshot!(self::refused(&both), @r#"my.toml:3:11: several threads are for one service that is already running: variants that are compared take turns on one thread; leave "threads" out"#);
}

#[test]
fn a_group_has_its_own_blocks() {
    let group = |name: &str, blocks: &str| {
        format!("[[groups]]\nname = \"{name}\"\n{blocks}\n[[groups.variants]]\nname = \"a\"\n")
    };
    let text =
        service(GRPC, "", "", "blocks = 4") + &group("few", "blocks = 2") + &group("all", "");
    let plan = resolve(&text).unwrap();
    let blocks = |index: u32| plan.trials.iter().filter(|t| t.variant == index).count();
    assert_eq!(names(&plan)[..2], ["few-a", "all-a"]);
    assert_eq!((blocks(0), blocks(1)), (2, 4));
}

#[test]
fn one_of_two_variants_alone_is_one_trial() {
    let only = Overrides {
        only: vec!["a".to_owned()],
        ..Overrides::default()
    };
    let plan = resolve_with(&two("", [GRPC, HTTP]), 2, &only).unwrap();
    assert_eq!((names(&plan), plan.trials.len()), (vec!["a"], 1));
}

#[test]
fn numbers_are_taken_and_shown_as_they_are_written() {
    let with = |keys: &str| resolve(&service(GRPC, "", keys, "")).unwrap();
    for (written, shown) in [
        ("0x64", " 100 calls/s"),
        ("0.0001", " 0.0001 calls/s"),
        ("0.5", " 0.5 calls/s"),
        ("333.33333", " 333.333 calls/s"),
    ] {
        let text = with(&format!("rate = {written}\ntime = \"10h\"")).to_string();
        assert!(text.contains(shown), "{written}: {text}");
    }
    let stop = with("calls = 5_000_000_000").variants[0].settings.stop;
    assert_eq!(stop.calls, Some(5_000_000_000));
}

#[test]
fn a_plan_that_is_only_looked_at_needs_no_secrets() {
    let look = Overrides {
        calls_nothing: true,
        ..Overrides::default()
    };
    let text = grpc("headers = [\"authorization: $NOT_SET\"]\ndata = \"@-\"");
    let plan = resolve_with(&text, 2, &look).unwrap();
    assert_eq!(calls(&plan)[0].service.header_names, ["authorization"]);
}
