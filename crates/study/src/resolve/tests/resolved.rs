//! Studies that resolve: defaults, layers, combinations, pairs, order.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::settings::{Schedule, Transport};

#[test]
fn defaults_are_filled_in() {
    let plan = resolve(TWO).unwrap();
    let (grpc, rest) = (call(&plan, "grpc"), call(&plan, "rest-json"));
    assert_eq!(grpc.wire.encoding().name(), "protobuf");
    assert_eq!(rest.wire.encoding().name(), "json");
    assert_eq!(grpc.options.schedule, Schedule::Closed { in_flight: 1 });
    assert_eq!(plan.variant("grpc").unwrap().settings.stop, DEFAULT_STOP);
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
    // As in most built-in studies, the only other placement is the main one on this machine.
    let text = format!("question = \"Is it?\"\nplacement = {{ others = [\"one-core\"] }}\n{TWO}");
    let plan = resolve_with(&text, 1, &Overrides::default()).unwrap();
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
fn what_the_command_line_leaves_is_compared() {
    let third = "[[variants]]\nname = \"rest-cbor\"\nprotocol = \"rest\"\nencoding = \"cbor\"\n";
    let pair = "[[pairs]]\nof = \"grpc\"\nagainst = \"rest-json\"\n";
    let overrides = Overrides {
        only: vec!["rest".to_owned()],
        ..Overrides::default()
    };
    for text in [format!("{TWO}{third}"), format!("{TWO}{third}{pair}")] {
        let plan = resolve_with(&text, 2, &overrides).unwrap();
        let pairs: Vec<&str> = plan.pairs.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(pairs, ["rest-cbor-vs-rest-json", "rest-json-a-a"]);
        assert!(plan.pairs[0].headline);
    }
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
    let (grpc, rest) = (call(&plan, "grpc"), call(&plan, "rest-json"));
    let stop = |name: &str| plan.variant(name).unwrap().settings.stop;
    assert_eq!(grpc.options.schedule, Schedule::Closed { in_flight: 3 });
    assert!(matches!(
        rest.options.schedule,
        Schedule::Rate {
            per_second: 50.0,
            ..
        }
    ));
    assert_eq!(
        stop("rest-json"),
        Stop {
            calls: Some(10),
            time_ms: None
        }
    );
    assert_eq!(
        stop("grpc"),
        Stop {
            calls: None,
            time_ms: Some(1_000)
        }
    );
    assert_eq!(rest.transport, Transport::Unix);
    assert_eq!(rest.options.response_compression.to_string(), "gzip");
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
fn limits_are_the_plans() {
    let mut overrides = Overrides::default();
    overrides.limits.max_depth = 50;
    let plan = resolve_with(TWO, 2, &overrides).unwrap();
    assert_eq!(plan.limits.max_depth, 50);
    assert!(plan.to_string().contains("limits     --max-depth 50"));
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
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        serde_json::from_str::<serde_json::Value>(&json).unwrap()
    );
}

#[test]
fn a_plan_as_text() {
    let text = format!(
        "question = \"Is it?\"\ninvocations = 2\nblocks = 1\n{TWO}[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"latency-mean\"\nsource = \"A talk, 2018\"\nsays = \"t\"\npublished = {{ of = 1, against = 2.5, unit = \"ms\" }}\n"
    );
    assert_snapshot!(resolve(&text).unwrap(), @r"
    my: Is it?

      time       about 21s
      trials     12 in 2 invocations × 1 block
      placement  two cores; headline pairs also on one core; idle states off
      warm-up    until it settles, at most 500ms
      measured   in turn, in slices of 2 ms, where variants are compared
      verdicts   within ±3% counts as no difference, 95% intervals
      seed       1

    Variants
      name              calls      protocol          encoding  over                   sent                until  trials
      grpc              echo n=10  gRPC on HTTP/2    protobuf  TCP connection reused  one call at a time  1s     4
      rest-json         echo n=10  REST on HTTP/1.1  json      TCP connection reused  one call at a time  1s     4
      grpc-again (A/A)  echo n=10  gRPC on HTTP/2    protobuf  TCP connection reused  one call at a time  1s     4

    Pairs (* headline: under every placement)
         of          against  metric       question
      *  rest-json   grpc     latency-p50  Is a call faster with rest-json than with grpc?
      *  grpc-again  grpc     latency-p50  Is grpc as fast as itself?

    Claims
      of    against    metric        published         source
      grpc  rest-json  latency-mean  1 against 2.5 ms  A talk, 2018
    ");
}

#[test]
fn known_latencies_make_the_estimate_follow() {
    let text = format!("question = \"Is it?\"\n{TWO}[base]\ncalls = 100\n");
    let plan = resolve(&text).unwrap();
    let at = |ms| plan.estimate_of(|_| std::time::Duration::from_millis(ms));
    assert!(at(10) > at(1));
    assert!(at(1) > std::time::Duration::from_millis(100 * plan.trials.len() as u64));
}

#[test]
fn a_slice_has_its_calls_however_short_a_trial_is_asked_to_be() {
    let text = "question = \"Is it?\"\nworkload = { name = \"hello\" }\n\
                [base]\ntime = \"1ms\"\n\
                [[variants]]\nname = \"grpc\"\nprotocol = \"grpc\"\n";
    let plan = resolve(text).unwrap();
    let trials = plan.trials.len() as u32;
    let estimate = plan.estimate_of(|_| std::time::Duration::from_secs(1));
    assert!(
        estimate >= std::time::Duration::from_secs(5) * trials,
        "{estimate:?}"
    );
}

#[test]
fn a_trial_that_would_never_end_has_an_estimate() {
    let text =
        format!("question = \"Is it?\"\n{TWO}rate = 1e-300\nconnections = 1\ncalls = 4000000000\n");
    assert!(resolve(&text).unwrap().estimate() > std::time::Duration::from_secs(1 << 30));
}

proptest! {
    /// A study that parses either resolves into a consistent plan or is refused with one line.
    #[test]
    fn study_like_text_never_panics(
        lines in proptest::collection::vec(
            "(\\[(base|factors)\\]|\\[\\[(exclude|variants|pairs|groups)\\]\\]|\\[\\[groups\\.(variants|pairs)\\]\\]|name = \"[a-c]\"|protocol = \"(grpc|rest)\"|http = \"(1\\.1|2)\"|rate = (1|9e300)|in-flight = [1-3]|connections = [1-3]|of = \"[a-c]\"|against = \"[a-c]\"|n = \\[[1-9], 1[0-9]\\]|n = [1-9]|transport = \\[\"tcp\", \"unix\"\\]|a-a = \"a\"|workload = \\{ name = \"(echo|hello|list)\" \\})",
            0..14,
        ),
    ) {
        let text = format!("# Is it?\nblocks = 1\nworkload = {{ name = \"echo\", n = 2 }}\n{}", lines.join("\n"));
        match resolve(&text) {
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
            Ok(plan) => {
                prop_assert!(plan.pairs.iter().any(|pair| pair.a_a));
                for pair in &plan.pairs {
                    prop_assert!(plan.variant(&pair.of).is_some() && plan.variant(&pair.against).is_some());
                }
                prop_assert!(plan.estimate() > std::time::Duration::ZERO);
                prop_assert!(!plan.to_string().is_empty());
            }
        }
    }

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

    /// The order of a factor's values does not change the set of variants.
    #[test]
    fn values_in_any_order_give_the_same_set(values in Just(vec![1, 5, 10, 50]).prop_shuffle()) {
        let text = format!("# Is it?\n[workload]\nname = \"echo\"\n[base]\nprotocol = \"grpc\"\na-a = 1\n[factors]\nn = {values:?}\n").replace("a-a = 1\n", "");
        let plan = resolve(&text).unwrap();
        let names: BTreeSet<&str> = plan
            .variants.iter().filter(|v| v.repeats.is_none()).map(|v| v.name.as_str()).collect();
        prop_assert_eq!(names, BTreeSet::from(["n=1", "n=5", "n=10", "n=50"]));
    }

    /// A plan that is written to a file reads back the same, whatever its numbers.
    #[test]
    fn a_plan_is_itself_after_a_file(margin in 0.0001_f64..0.9999, rate in 1e-9_f64..1e9, seed: u32) {
        let text = format!(
            "question = \"Is it?\"\nmargin = {margin}\nseed = {seed}\n{TWO}rate = {rate}\nconnections = 4\n"
        );
        let plan = resolve(&text).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        let read: Plan = serde_json::from_str(&json).unwrap();
        let written: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(serde_json::to_value(&read).unwrap(), written);
        prop_assert_eq!(plan.trials, read.trials);
    }

    #[test]
    fn in_each_block_each_variant_stands_once_a_placement(
        seed in 0..=i64::MAX as u64, invocations in 1_u32..4, blocks in 1_u32..4,
    ) {
        let overrides = Overrides {
            seed: Some(seed), invocations: Some(invocations), blocks: Some(blocks),
            ..Overrides::default()
        };
        let plan = resolve_with(TWO, 2, &overrides).unwrap();
        let distinct: BTreeSet<_> = plan
            .trials.iter().map(|t| (t.invocation, t.block, t.placement, t.variant)).collect();
        prop_assert_eq!(distinct.len(), plan.trials.len());
        prop_assert_eq!(distinct.len() as u32, invocations * blocks * 3 * 2);
        prop_assert_eq!(plan.seed, seed);
    }
}

#[test]
fn stacks_of_other_subjects_take_their_roles() {
    let plan = resolve(
        r#"# Which client?
[workload]
name = "hello"
[base]
protocol = "rest"
[[variants]]
name = "engine"
[[variants]]
name = "python"
server = "python/http"
client = "python/http"
[[variants]]
name = "futures"
client = "python/http"
style = "future"
in-flight = 4
[[variants]]
name = "codec"
codec = "python/json"
operation = "encode"
sample = "request"
compression = "gzip"
"#,
    )
    .unwrap();
    let text = plan.to_string();
    let table: Vec<&str> = text.lines().filter(|line| line.contains("hello")).collect();
    assert_snapshot!(table.join("\n"), @r"
    engine              hello                                         REST on HTTP/1.1  json      -            TCP connection reused      one call at a time  1s     48
    python              hello of python/http by python/http blocking  REST on HTTP/1.1  json      -            TCP connection reused      one call at a time  1s     48
    futures             hello by python/http future                   REST on HTTP/1.1  json      -            TCP connection reused × 4  4 calls in flight   1s     24
    codec               hello by python/json to encode the request    -                 json      gzip         -                          -                   1s     24
    engine-again (A/A)  hello                                         REST on HTTP/1.1  json      -            TCP connection reused      one call at a time  1s     48
    ");
    let written = |name: &str| {
        let mut all = plan.variants.iter();
        let one = all.find(|variant| variant.name == name).unwrap();
        serde_json::to_string(&one.settings).unwrap()
    };
    assert_snapshot!(written("engine"), @r#"{"server":"reference","workload":{"name":"hello"},"protocol":"rest","http":"1.1","encoding":"json","request_compression":"none","response_compression":"none","transport":"tcp","connection":"reuse","connections":1,"schedule":{"kind":"closed","in_flight":1},"stop":{"time_ms":1000},"deadline_ms":10000}"#);
    assert_snapshot!(written("futures"), @r#"{"server":"reference","client":{"stack":"python/http","style":"future"},"workload":{"name":"hello"},"protocol":"rest","http":"1.1","encoding":"json","request_compression":"none","response_compression":"none","transport":"tcp","connection":"reuse","connections":4,"schedule":{"kind":"closed","in_flight":4},"stop":{"time_ms":1000},"deadline_ms":10000}"#);
    assert_snapshot!(written("codec"), @r#"{"codec":"python/json","operation":"encode","sample":"request","workload":{"name":"hello"},"protocol":"rest","http":"1.1","encoding":"json","request_compression":"gzip","response_compression":"gzip","transport":"tcp","connection":"reuse","connections":1,"schedule":{"kind":"closed","in_flight":1},"stop":{"time_ms":1000},"deadline_ms":10000}"#);
    // A codec is not compared with calls.
    assert!(plan.pairs.iter().all(|pair| pair.a_a || pair.of != "codec"));
    // The plan reads back from what was written.
    let kept = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&kept).unwrap(), plan);
}

#[test]
fn a_client_has_a_channel_for_each_connection_that_carries_many_calls() {
    let channels = |settings: &str| {
        let text = format!(
            "# Is it?\n[workload]\nname = \"hello\"\n[base]\nencoding = \"json\"\nin-flight = 8\n{settings}"
        );
        call(&resolve(&text).unwrap(), "base").channels()
    };
    let by_grpc = "protocol = \"grpc\"\nclient = \"go/channels\"\n";
    assert_eq!(channels(&format!("{by_grpc}connections = 4")), 4);
    assert_eq!(channels(by_grpc), 1);
    let by_rest = "protocol = \"rest\"\nclient = \"python/http\"\n";
    assert_eq!(channels(&format!("{by_rest}connections = 8")), 1);
}

#[test]
fn a_stack_that_is_a_factor_is_part_of_the_names() {
    let plan = resolve(
        "# Which?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\n\
         [factors]\nserver = [\"reference\", \"python/http\"]\nclient = [\"engine\", \"python/http\"]\n\
         [[exclude]]\nserver = \"reference\"\nclient = \"python/http\"",
    )
    .unwrap();
    let plain: Vec<&str> = plan
        .variants
        .iter()
        .filter(|variant| variant.repeats.is_none())
        .map(|variant| variant.name.as_str())
        .collect();
    assert_eq!(
        plain,
        [
            "reference-client=engine",
            "python/http-client=engine",
            "python/http-client=python/http"
        ]
    );
}

#[test]
fn a_stack_that_needs_a_longer_warm_up_gets_it() {
    let study = |warm_up: &str| {
        resolve(&format!(
            "# Is it fast?\nwarm-up = {warm_up}\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\n\
             [[variants]]\nname = \"own\"\n[[variants]]\nname = \"python\"\nserver = \"python/http\"\n"
        ))
        .unwrap()
    };
    let bounds = |warm_up: &str| {
        let plan = study(warm_up);
        ["own", "python"].map(|name| {
            let variant = plan.variant(name).unwrap();
            let time_ms = plan.warmup(variant).time_ms;
            (time_ms, plan.warmup_least_calls(variant))
        })
    };
    let of_time = |own, python| [(Some(own), 0), (Some(python), 500)];
    assert_eq!(bounds("{ time = \"100ms\" }"), of_time(100, 3_000));
    assert_eq!(bounds("{ time = \"5s\" }"), of_time(5_000, 5_000));
    assert_eq!(bounds("{ time = \"0s\" }"), [(Some(0), 0); 2]);
    assert_eq!(bounds("{ calls = 10 }"), [(None, 0); 2]);
}

#[test]
fn a_group_can_bound_its_own_warm_up() {
    let group = |name: &str, more: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\nquestion = \"Is it?\"\n{more}\n\
             [[groups.variants]]\nname = \"python\"\nserver = \"python/http\"\n"
        )
    };
    let text = format!(
        "# Is it fast?\nwarm-up = {{ time = \"1s\" }}\n[workload]\nname = \"hello\"\n\
         [base]\nprotocol = \"rest\"\n{}{}",
        group("one", ""),
        group("two", "warm-up = { calls = 10 }")
    );
    let plan = resolve(&text).unwrap();
    let warm_up = |name| {
        let stop = plan.warmup(plan.variant(name).unwrap());
        (stop.calls, stop.time_ms)
    };
    assert_eq!(warm_up("one-python"), (None, Some(3_000)));
    assert_eq!(warm_up("two-python"), (Some(10), None));
}

#[test]
fn what_is_set_of_runtimes_holds_for_the_stacks_that_have_it() {
    let study = |settings: &str| {
        format!("# Fast?\nworkload.name = \"hello\"\n[base]\nprotocol = \"rest\"\n{settings}\n")
    };
    let runtime = |settings: &str| {
        call(&resolve(&study(settings)).unwrap(), "base")
            .runtime
            .clone()
    };
    let set = runtime("client = \"python/http\"\ngc = \"zgc\"\nheap = \"256MiB\"");
    assert_eq!(
        (set.gc.as_deref(), set.heap_bytes),
        (Some("zgc"), Some(256 << 20))
    );
    assert!(runtime("client = \"python/http\"\naot-cache = true").aot_cache);
    assert!(runtime("events = true").events, "of any stack");
    assert!(!runtime("events = false").events);
    let says = |settings: &str, says: &str| {
        let refused = refused(&study(settings));
        assert!(refused.contains(says), "{refused}");
    };
    says(
        "gc = \"g1\"",
        "the garbage collector cannot be set for reference; stacks that support it: go/channels, python/http",
    );
    says(
        "heap = \"1GiB\"",
        "the heap's size cannot be set for reference",
    );
    says(
        "aot-cache = true",
        "an ahead-of-time cache cannot be set for reference; stacks that support it: go/channels, python/http",
    );
    says(
        "client = \"python/http\"\naot-cache = true\nevents = true",
        "set only one of \"aot-cache\" and \"events\"",
    );
    says(
        "client = \"python/http\"\ngc = \"shenandoah\"",
        "the client \"python/http\" has no garbage collector \"shenandoah\" (it has: g1, zgc)",
    );
    says(
        "heap = \"256MB\"",
        "\"256MB\" is not a size; write it as 256MiB",
    );
    says(
        "gc = \"G1!\"",
        "\"gc\" must be a word of lower-case letters",
    );
    says("events = 1", "\"events\" must be true or false, not 1");
}
