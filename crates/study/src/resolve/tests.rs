//! What only the whole study, or the machine, can show to be wrong; and what comes out right.

use std::cell::Cell;
use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;
use rpcgauge_message::workload::OwnWorkload;
use serde_json::json;

use super::own::{OwnError, OwnLoader, OwnSource};
use super::*;
use crate::features::{CompressionKind, embedded_only};
use crate::plan::Metric;
use crate::settings::{Protocol, Schedule, Transport};

/// A loader without files: knows one method, and counts how often it was asked.
#[derive(Default)]
struct Known(Cell<u32>);

impl OwnLoader for Known {
    fn load(&self, source: &OwnSource) -> Result<OwnWorkload, OwnError> {
        self.0.set(self.0.get() + 1);
        if source.method == "shop.Orders/Get" {
            return Ok(OwnWorkload {
                descriptor_set: String::new(),
                method: source.method.clone(),
                request: json!({}),
                response: json!({}),
            });
        }
        let message = format!(
            "there is no method {}; did you mean shop.Orders/Get?",
            source.method
        );
        Err(OwnError {
            key: "method",
            message,
        })
    }
}

fn resolve_with(text: &str, cores: u32, overrides: &Overrides) -> Result<Plan, StudyError> {
    let mut subjects = embedded_only();
    let mut plain = Features::everything();
    plain.compressions = vec![CompressionKind::None];
    plain.protocols.remove(&Protocol::Rest);
    subjects.insert("go-grpc".to_owned(), plain);
    let context = ResolveContext {
        subjects: &subjects,
        loader: &Known::default(),
        cores,
        overrides,
    };
    StudyFile::parse(text, "my.toml").and_then(|file| file.resolve(&context))
}

fn resolve(text: &str) -> Result<Plan, StudyError> {
    resolve_with(text, 2, &Overrides::default())
}

/// A study of two variants in eleven lines; `rest` stands from line 12 on.
const TWO: &str = r#"# Is gRPC faster?
[workload]
name = "echo"
n = 10
[[variants]]
name = "grpc"
protocol = "grpc"
[[variants]]
name = "rest-json"
protocol = "rest"

"#;

fn two_and(rest: &str) -> String {
    refused(&format!("{TWO}{rest}"))
}

fn refused(text: &str) -> String {
    match resolve(text) {
        Ok(plan) => panic!("it should be refused, not become {:?}", names(&plan)),
        Err(error) => error.to_string(),
    }
}

/// One variant with these settings in line 5 and on.
fn one_with(settings: &str) -> String {
    refused(&format!(
        "# Is it fast?\n[workload]\nname = \"hello\"\n[base]\n{settings}"
    ))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.variants
        .iter()
        .map(|variant| variant.name.as_str())
        .collect()
}

#[test]
fn contradictory_settings() {
    assert_snapshot!(one_with("protocol = \"grpc\"\nhttp = \"1.1\""), @r#"my.toml:6:8: variant "base": gRPC needs HTTP/2; write http = "2", or exclude it by [[exclude]] with protocol = "grpc" and http = "1.1""#);
    assert_snapshot!(one_with("transport = \"tcp\""), @r#"my.toml:1:1: variant "base": it has no protocol; write protocol = "grpc" or "rest""#);
    assert_snapshot!(one_with("protocol = \"rest\"\nin-flight = 4\nconnections = 2"), @r#"my.toml:7:15: variant "base": HTTP/1.1 carries one call at a time on a connection, so 4 in flight need 4 connections, not 2; leave "connections" out"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nconnections = 2"), @r#"my.toml:6:15: variant "base": 1 in flight cannot use 2 connections; write fewer, or a larger in-flight"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nconnection = \"per-call\"\nin-flight = 4\nconnections = 2"), @r#"my.toml:8:15: variant "base": a connection made for one call carries one call, so 4 in flight need 4 connections, not 2; leave "connections" out"#);
    assert_snapshot!(one_with("protocol = \"rest\"\nrate = 100"), @r#"my.toml:6:8: variant "base": HTTP/1.1 carries one call at a time on a connection, so a rate needs their number; write connections = 8"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\narrivals = \"poisson\""), @r#"my.toml:6:12: variant "base": "arrivals" spaces calls at a "rate", and there is none; write rate = 1000"#);
}

#[test]
fn workloads_that_do_not_fit() {
    assert_snapshot!(refused("# ?!\n[base]\nprotocol = \"grpc\""), @r#"my.toml:1:1: variant "base": it calls nothing; write [workload] with name = "echo" and n = 10"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nn = 3"), @r#"my.toml:6:5: the workload "hello" has one size; leave "n" out"#);
    assert_snapshot!(two_and("[factors]\nn = [10, 4294967295]"), @"my.toml:13:10: the workload `echo` has 100000 items at most, not 4294967295");
    assert_snapshot!(one_with("protocol = \"grpc\"\nscale = 3"), @r#"my.toml:6:9: "scale" is for a method of your own; built-in workloads have "n""#);
    assert_snapshot!(refused("# Is it?\n[workload]\nname = \"list\"\n[base]\nprotocol = \"grpc\""), @r#"my.toml:3:8: the workload "list" needs its size; write n = 10"#);
}

#[test]
fn names_that_are_not_there() {
    assert_snapshot!(two_and("[[pairs]]\nof = \"grcp\"\nagainst = \"rest-json\""), @r#"my.toml:13:6: there is no variant "grcp"; did you mean "grpc"?"#);
    assert_snapshot!(two_and("[[claims]]\nof = \"grpc\"\nagainst = \"soap\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }"), @r#"my.toml:14:11: there is no variant "soap"; known are grpc, rest-json"#);
    assert_snapshot!(refused(&format!("question = \"Is it?\"\na-a = \"rest\"\n{TWO}")), @r#"my.toml:2:7: there is no variant "rest"; did you mean "rest-json"?"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nsubject = \"refrence\""), @r#"my.toml:6:11: variant "base": there is no subject "refrence"; did you mean "reference"?"#);
}

#[test]
fn names_that_are_there_twice() {
    assert_snapshot!(two_and("[[variants]]\nname = \"grpc\"\nprotocol = \"grpc\""), @r#"my.toml:13:8: the variant "grpc" is there twice; give one another name"#);
    let claim = "[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }\n";
    assert_snapshot!(two_and(&format!("{claim}{claim}")), @r#"my.toml:19:1: the claim "grpc-vs-rest-json-goodput" is there twice; give one another name"#);
    assert_snapshot!(two_and("[[variants]]\nname = \"grpc-again\"\nprotocol = \"rest\""), @r#"my.toml:13:8: the name "grpc-again" is taken by the A/A pair; give this variant another one"#);
}

#[test]
fn exclusions_that_do_wrong() {
    assert_snapshot!(two_and("[[exclude]]\ntransport = \"tcp\""), @"my.toml:12:1: nothing is left: the exclusions up to this one exclude every variant");
    assert_snapshot!(two_and("[[exclude]]\ntransport = \"unix\""), @"my.toml:12:1: this exclusion meets no variant; remove it, or put its values right");
}

#[test]
fn a_claim_is_about_one_variant() {
    assert_snapshot!(two_and("[factors]\nn = [10, 20]\n[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }"), @r#"my.toml:15:6: "grpc" stands for 2 variants here; name one of them, such as "grpc-n=10""#);
}

#[test]
fn what_a_subject_lacks() {
    assert_snapshot!(one_with("subject = \"go-grpc\"\nprotocol = \"rest\""), @r#"my.toml:6:12: variant "base": the subject "go-grpc" has no protocol "rest" (it has: grpc)"#);
    assert_snapshot!(one_with("subject = \"go-grpc\"\nprotocol = \"grpc\"\nresponse-compression = \"zstd\""), @r#"my.toml:7:24: variant "base": the subject "go-grpc" has no compression "zstd" (it has: none)"#);
}

#[test]
fn more_than_a_machine_or_a_plan_holds() {
    let text = format!("question = \"Is it?\"\nplacement = \"two-cores\"\n{TWO}");
    assert_snapshot!(resolve_with(&text, 1, &Overrides::default()).unwrap_err(), @r#"my.toml:2:13: two-cores needs 2 cores, and this program may use 1; write "one-core" or "free""#);
    let many: Vec<String> = (1..=600).map(|n| n.to_string()).collect();
    assert_snapshot!(two_and(&format!("[factors]\nn = [{}]", many.join(", "))), @"my.toml:13:6: the factors make more than 1000 variants; take fewer values");
    assert_snapshot!(refused(&format!("question = \"Is it?\"\ninvocations = 1000000\n{TWO}")), @"my.toml: the plan has 12000000 trials, more than 200000: take fewer values of the factors, invocations or blocks");
}

#[test]
fn the_command_line_names_no_variant() {
    let overrides = Overrides {
        only: vec!["grcp".to_owned()],
        ..Overrides::default()
    };
    assert_snapshot!(resolve_with(TWO, 2, &overrides).unwrap_err(), @r#"my.toml: --only: no variant's name contains "grcp"; did you mean "grpc"?"#);
}

#[test]
fn an_own_method_that_is_not_there_is_told_at_its_line() {
    let own = |method: &str| {
        format!(
            "# Is it fast?\n[workload]\nproto = \"shop.proto\"\nmethod = \"{method}\"\nrequest = \"q.json\"\nresponse = \"p.json\"\n[base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n"
        )
    };
    assert_snapshot!(refused(&own("shop.Orders/Gte")), @"my.toml:4:10: there is no method shop.Orders/Gte; did you mean shop.Orders/Get?");
    let plan = resolve(&own("shop.Orders/Get")).unwrap();
    assert_eq!(names(&plan), ["tcp", "unix", "tcp-again"]);
}

#[test]
fn an_own_method_is_loaded_once() {
    let text = "# Is it fast?\n[workload]\nproto = \"shop.proto\"\nmethod = \"shop.Orders/Get\"\nrequest = \"q.json\"\nresponse = \"p.json\"\n[base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n";
    let loader = Known::default();
    let context = ResolveContext {
        subjects: &embedded_only(),
        loader: &loader,
        cores: 2,
        overrides: &Overrides::default(),
    };
    StudyFile::parse(text, "my.toml")
        .unwrap()
        .resolve(&context)
        .unwrap();
    assert_eq!(loader.0.get(), 1);
}

#[test]
fn defaults_are_filled_in() {
    let plan = resolve(TWO).unwrap();
    let settings = |name: &str| &plan.variant(name).unwrap().settings;
    assert_eq!(settings("grpc").encoding.name(), "protobuf");
    assert_eq!(settings("rest-json").encoding.name(), "json");
    assert_eq!(settings("grpc").schedule, Schedule::Closed { in_flight: 1 });
    assert_eq!(settings("grpc").stop, DEFAULT_STOP);
    assert_eq!(plan.placements, [Placement::TwoCores, Placement::OneCore]);
    assert_eq!(
        (plan.invocations, plan.blocks),
        (DEFAULT_INVOCATIONS, DEFAULT_BLOCKS)
    );
    assert_eq!(plan.warmup, DEFAULT_WARMUP);
}

#[test]
fn a_machine_with_one_core_gets_other_placements() {
    let plan = resolve_with(TWO, 1, &Overrides::default()).unwrap();
    assert_eq!(plan.placements, [Placement::OneCore, Placement::Free]);
}

#[test]
fn without_pairs_all_are_held_against_the_first() {
    let plan = resolve(TWO).unwrap();
    let pairs: Vec<_> = plan
        .pairs
        .iter()
        .map(|p| (p.name.as_str(), p.headline, p.a_a))
        .collect();
    assert_eq!(
        pairs,
        [("rest-json-vs-grpc", true, false), ("grpc-a-a", true, true)]
    );
}

#[test]
fn there_is_always_an_a_a_pair() {
    let plan = resolve(&format!(
        "{TWO}[[pairs]]\nof = \"grpc\"\nagainst = \"rest-json\"\n"
    ))
    .unwrap();
    let again = plan.variant("rest-json-again").unwrap();
    assert_eq!(again.repeats.as_deref(), Some("rest-json"));
    assert_eq!(again.settings, plan.variant("rest-json").unwrap().settings);
    let chosen = resolve(&format!("a-a = \"grpc\"\n{TWO}")).unwrap_err();
    assert!(chosen.to_string().contains("question"), "{chosen}");
    let chosen = resolve(&format!("question = \"Is it?\"\na-a = \"grpc\"\n{TWO}")).unwrap();
    assert!(chosen.variant("grpc-again").is_some());
}

#[test]
fn later_layers_push_out_what_they_stand_against() {
    let text = format!(
        "{TWO}transport = \"unix\"\nrate = 50\nconnections = 2\ncalls = 10\n[base]\nin-flight = 3\ntime = \"1s\"\ncompression = \"gzip\"\n"
    );
    let plan = resolve(&text).unwrap();
    let [grpc, rest] = ["grpc", "rest-json"].map(|name| &plan.variant(name).unwrap().settings);
    assert_eq!(grpc.schedule, Schedule::Closed { in_flight: 3 });
    assert!(matches!(
        rest.schedule,
        Schedule::Rate {
            per_second: 50.0,
            ..
        }
    ));
    assert_eq!(
        rest.stop,
        Stop {
            calls: Some(10),
            time_ms: None
        }
    );
    assert_eq!(
        grpc.stop,
        Stop {
            calls: None,
            time_ms: Some(1_000)
        }
    );
    assert_eq!(rest.transport, Transport::Unix);
    assert_eq!(rest.response_compression.to_string(), "gzip");
}

#[test]
fn pairs_of_listed_variants_go_through_the_factors() {
    let plan = resolve(&format!(
        "{TWO}[factors]\nn = [10, 20]\n[[pairs]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = [\"latency-p50\", \"response-bytes\"]\nquestion = \"Is it faster?\"\n"
    ))
    .unwrap();
    let pairs: Vec<_> = plan
        .pairs
        .iter()
        .map(|p| format!("{} {}", p.name, p.question))
        .collect();
    assert_snapshot!(pairs.join("\n"), @r#"
grpc-n=10-vs-rest-json-n=10 Is it faster? (n=10)
grpc-n=10-vs-rest-json-n=10-response-bytes Is it faster? (n=10)
grpc-n=20-vs-rest-json-n=20 Is it faster? (n=20)
grpc-n=20-vs-rest-json-n=20-response-bytes Is it faster? (n=20)
rest-json-n=10-a-a Is rest-json-n=10 as fast as itself?
"#);
}

#[test]
fn groups_have_their_own_repetitions_and_names() {
    let text = r#"
question = "Is it fast?"
invocations = 3
blocks = 2
[base]
protocol = "grpc"
[[groups]]
name = "short"
workload = { name = "hello" }
[groups.factors]
transport = ["tcp", "unix"]
[[groups.pairs]]
of = "unix"
against = "tcp"
[[groups]]
name = "long"
workload = { name = "echo", n = 5 }
invocations = 1
blocks = 1
base = { calls = 30000 }
"#;
    let plan = resolve(text).unwrap();
    assert_eq!(
        names(&plan),
        ["short-tcp", "short-unix", "long-base", "short-tcp-again"]
    );
    assert_eq!(plan.groups(), ["short", "long"]);
    let count = |name: &str| {
        let of = |t: &&crate::plan::TrialSpec| plan.variants[t.variant as usize].name == name;
        plan.trials.iter().filter(of).count()
    };
    assert_eq!(count("long-base"), 1);
    assert_eq!(count("short-tcp"), 2 * 3 * 2, "both placements");
    let less = Overrides {
        invocations: Some(2),
        blocks: Some(5),
        ..Overrides::default()
    };
    let plan = resolve_with(text, 2, &less).unwrap();
    assert_eq!((plan.invocations, plan.blocks), (2, 5));
}

#[test]
fn only_some_variants() {
    let text = format!("{TWO}[factors]\nn = [10, 20]\n");
    let overrides = Overrides {
        only: vec!["n=20".to_owned()],
        ..Overrides::default()
    };
    let plan = resolve_with(&text, 2, &overrides).unwrap();
    assert_eq!(
        names(&plan),
        ["grpc-n=20", "rest-json-n=20", "grpc-n=20-again"]
    );
    let overrides = Overrides {
        only: vec!["grpc-n=20".to_owned()],
        ..Overrides::default()
    };
    let plan = resolve_with(&text, 2, &overrides).unwrap();
    assert_eq!(names(&plan), ["grpc-n=20", "grpc-n=20-again"]);
    assert_eq!(plan.pairs.len(), 1);
}

#[test]
fn exclusions_take_lists_and_defaults() {
    let text = "# Is it?\n[workload]\nname = \"hello\"\n[factors]\nprotocol = [\"grpc\", \"rest\"]\nencoding = [\"protobuf\", \"json\", \"cbor\"]\n[[exclude]]\nhttp = \"1.1\"\nencoding = [\"protobuf\", \"cbor\"]\n";
    let plan = resolve(text).unwrap();
    assert_eq!(
        names(&plan),
        [
            "grpc-protobuf",
            "grpc-json",
            "grpc-cbor",
            "rest-json",
            "grpc-protobuf-again"
        ]
    );
}

#[test]
fn a_plan_reads_back_from_json() {
    let text = format!("question = \"Is it?\"\nmargin = 0.07\n{TWO}rate = 33.3\nconnections = 4\n");
    let plan = resolve(&text).unwrap();
    let json = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&json).unwrap();
    assert_eq!(plan.difference_from(&read), None);
    let mut other = read.clone();
    other.pairs[0].metric = Metric::Goodput;
    assert_eq!(
        plan.difference_from(&other).as_deref(),
        Some("its list of pairs differs")
    );
    let mut other = read;
    other.variants[0].settings.deadline_ms += 1;
    assert_eq!(
        plan.difference_from(&other).as_deref(),
        Some("the variant \"grpc\" has other settings now")
    );
}

#[test]
fn a_plan_as_text() {
    let text = format!(
        "question = \"Is it?\"\ninvocations = 2\nblocks = 1\n{TWO}[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"latency-mean\"\nsource = \"A talk, 2018\"\nsays = \"t\"\npublished = {{ of = 1, against = 2.5, unit = \"ms\" }}\n"
    );
    assert_snapshot!(resolve(&text).unwrap(), @r#"
my: Is it?

  time       at most about 18s
  trials     12 in 2 invocations × 1 block
  placement  two cores; headline pairs also on one core; idle held
  warm-up    until it settles, at most 500ms
  verdicts   within ±3% is no difference, 95% intervals
  seed       1

Variants
  name              calls      protocol          encoding  compression  over  sent         until  trials
  grpc              echo n=10  gRPC on HTTP/2    protobuf  none         tcp   1 in flight  1s     4
  rest-json         echo n=10  REST on HTTP/1.1  json      none         tcp   1 in flight  1s     4
  grpc-again (A/A)  echo n=10  gRPC on HTTP/2    protobuf  none         tcp   1 in flight  1s     4

Pairs (* headline: under every placement)
     of          against  metric       question
  *  rest-json   grpc     latency-p50  Is a call faster with rest-json than with grpc?
  *  grpc-again  grpc     latency-p50  Is grpc as fast as itself?

Claims
  of    against    metric        published         source
  grpc  rest-json  latency-mean  1 against 2.5 ms  A talk, 2018
"#);
}

#[test]
fn known_latencies_make_the_estimate_follow() {
    let text = format!("question = \"Is it?\"\n{TWO}[base]\ncalls = 100\n");
    let plan = resolve(&text).unwrap();
    let at = |ms| plan.estimate_with(|_| Some(std::time::Duration::from_millis(ms)));
    assert!(at(10) > at(1));
    assert!(at(1) > std::time::Duration::from_millis(100 * plan.trials.len() as u64));
}

proptest! {
    /// The order in which factors are written does not matter.
    #[test]
    fn factors_in_any_order_give_the_same_variants(order in Just([
        "n = [1, 2]", "transport = [\"tcp\", \"unix\"]", "encoding = [\"json\", \"cbor\"]",
        "in-flight = [1, 4]", "compression = [\"none\", \"gzip\"]",
    ]).prop_shuffle()) {
        let text = |factors: &[&str]| format!(
            "# Is it?\n[workload]\nname = \"echo\"\n[base]\nprotocol = \"grpc\"\n[factors]\n{}\n",
            factors.join("\n")
        );
        let sorted = { let mut sorted = order; sorted.sort_unstable(); sorted };
        let plan = resolve(&text(&order)).unwrap();
        prop_assert_eq!(plan.variants.len(), 32 + 1);
        prop_assert_eq!(plan, resolve(&text(&sorted)).unwrap());
    }

    /// Nor does the order of a factor's values, for which variants there are.
    #[test]
    fn values_in_any_order_give_the_same_set(values in Just(vec![1, 5, 10, 50]).prop_shuffle()) {
        let text = format!("# Is it?\n[workload]\nname = \"echo\"\n[base]\nprotocol = \"grpc\"\na-a = 1\n[factors]\nn = {values:?}\n").replace("a-a = 1\n", "");
        let plan = resolve(&text).unwrap();
        let names: BTreeSet<&str> = plan
            .variants.iter().filter(|v| v.repeats.is_none()).map(|v| v.name.as_str()).collect();
        prop_assert_eq!(names, BTreeSet::from(["n=1", "n=5", "n=10", "n=50"]));
    }

    /// Whatever the numbers, a plan that went through a file is the same plan.
    #[test]
    fn a_plan_is_itself_after_a_file(margin in 0.0001_f64..0.9999, rate in 1e-9_f64..1e9, seed: u32) {
        let text = format!(
            "question = \"Is it?\"\nmargin = {margin}\nseed = {seed}\n{TWO}rate = {rate}\nconnections = 4\n"
        );
        let plan = resolve(&text).unwrap();
        let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(plan.difference_from(&read), None);
        prop_assert_eq!(plan.trials, read.trials);
    }

    #[test]
    fn in_each_block_each_variant_stands_once_a_placement(
        seed in 0..=i64::MAX as u64, invocations in 1_u32..4, blocks in 1_u32..4,
    ) {
        let overrides = Overrides {
            seed: Some(seed), invocations: Some(invocations), blocks: Some(blocks),
            only: Vec::new(),
        };
        let plan = resolve_with(TWO, 2, &overrides).unwrap();
        let distinct: BTreeSet<_> = plan
            .trials.iter().map(|t| (t.invocation, t.block, t.placement, t.variant)).collect();
        prop_assert_eq!(distinct.len(), plan.trials.len());
        prop_assert_eq!(distinct.len() as u32, invocations * blocks * 3 * 2);
        prop_assert_eq!(plan.seed, seed);
    }
}
