//! Studies of an application: interleaved configurations, and failures during a run.

use std::fs;

use serde_json::Value;

use crate::app::{STORE, command, nothing_is_left, run, shop, shop_with, with_store};
use crate::app_load::SHORT_LOAD;
use crate::common::{Place, interrupt, json, report, wait_until};

/// Compares the shop with a catalogue that sleeps for 5 ms to one with a catalogue that does not.
const STUDY: &str = r#"
question = "What does a slow catalogue cost the shop's users?"
invocations = 2
blocks = 2

[app]
path = "shop"
users = 3
slice = "700ms"
settle = "100ms"
warm-up = "300ms"

[[variants]]
name = "quick"

[[variants]]
name = "slow"
delay = "5"

[[pairs]]
of = "slow"
against = "quick"

[[claims]]
of = "slow"
against = "quick"
metric = "catalogue-handler"
ratio = 2.0
source = "the catalogue's own source"
"#;

fn place(study: &str) -> Place {
    let place = shop();
    place.file("study.toml", study);
    place
}

/// The verdict on a metric over all requests.
fn verdict<'r>(report: &'r Value, metric: &str) -> &'r Value {
    let comparisons = report["comparisons"].as_array().expect("comparisons");
    let is_it =
        |one: &&Value| one["metric"] == metric && one["request"].is_null() && one["a_a"] == false;
    let found = comparisons.iter().find(is_it);
    &found.unwrap_or_else(|| panic!("no {metric}"))["verdict"]
}

fn slices(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join("run/trials.jsonl")).expect("records");
    let records = text.lines().map(json);
    records
        .filter(|record| record["record"] == "slice")
        .collect()
}

#[test]
fn a_slow_inner_call_is_found_where_it_is() {
    let place = place(STUDY);
    let one = place.run(&["plan", "study.toml", "--only", "slow"]).well();
    assert!(one.contains("  slow: connections=kept, delay=5"), "{one}");
    assert!(!one.contains("quick") && one.contains("4 slices"), "{one}");
    let plan = place.run(&["plan", "study.toml"]).well();
    assert!(plan.contains("quick-again: connections=kept, delay=0  (A/A: a second set of quick)"));
    assert!(
        plan.contains("12 slices of 0.7 s after 0.1 s of settling"),
        "{plan}"
    );
    let printed = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]).well();
    let run_directory = place.path().join("run");
    let report = report(&run_directory);
    assert_eq!(report["measured"], 12);
    let handler = verdict(&report, "catalogue-handler");
    // The catalogue sleeps for at least 5 ms.
    assert!(
        handler["of_value"].as_f64().expect("a mean") >= 5e6,
        "{handler}"
    );
    for metric in ["catalogue-handler", "page-call"] {
        let found = verdict(&report, metric);
        assert_eq!(found["blocks"]["used"], 4, "{found}");
        assert!(
            found["estimate"]["ratio"].as_f64().expect("a ratio") > 1.0,
            "{found}"
        );
    }
    // Services are ready before the three sets are warmed up for 300 ms each.
    let ready_at = report["starts"][0]["ready_at_ms"].as_u64();
    let begun_at = slices(&place)[0]["started_at_ms"].as_u64();
    assert!(
        begun_at.expect("a time") >= ready_at.expect("a time") + 3 * 300,
        "{begun_at:?} {ready_at:?}"
    );
    // Each page makes five calls in its handler, whose time is part of the response time.
    let variants = report["variants"].as_array().expect("variants");
    let slow = variants
        .iter()
        .find(|one| one["name"] == "slow")
        .expect("slow");
    let page = slow["bars"]
        .as_array()
        .expect("bars")
        .iter()
        .find(|bar| bar["request"] == "page");
    let page = page.expect("a page");
    let ns = |title: &str| {
        let parts = page["parts"].as_array().expect("parts");
        let part = parts.iter().find(|part| part["metric"] == title);
        part.expect("the part")["ns"].as_f64().expect("a time")
    };
    let whole = page["mean_ns"].as_f64().expect("a mean");
    assert!(whole > ns("page-handler"), "{page}");
    assert!(whole > ns("page-call"), "{page}");
    assert!(ns("page-call") > 5.0 * 4e6, "{page}");
    let claims = report["claims"].as_array().expect("claims");
    assert_ne!(claims[0]["claim"], "contradicted");
    for part in [
        "Where a request's time goes",
        "What users saw",
        "Published figures",
    ] {
        assert!(printed.contains(part), "{part} is not in:\n{printed}");
    }
    // Regenerating the report from the directory gives the same text.
    let again = place.run(&["report", "run"]).well();
    assert_eq!(
        again,
        printed
            .split("\nReport: ")
            .next()
            .expect("the report")
            .to_owned()
    );
    let markdown = place.run(&["report", "run", "--format", "markdown"]).well();
    assert!(
        markdown.contains("### Where a request's time goes"),
        "{markdown}"
    );
    // A run does not differ from itself.
    for format in ["text", "markdown", "html"] {
        let same = place
            .run(&["diff", "run", "run", "--format", format])
            .well();
        for part in [
            "ratio changed by more than these two runs can resolve",
            "slow against quick",
            "What users saw, after over before",
        ] {
            assert!(same.contains(part), "{part} is not in:\n{same}");
        }
        assert!(!same.contains("What else differs"), "{same}");
    }
    let same = json(&place.run(&["diff", "run", "run", "--json"]).well());
    let figures = same["figures"].as_array().expect("figures");
    assert!(!figures.is_empty() && figures.iter().all(|one| one["ratio"] == 1.0));
    place
        .run(&["diff", "run", "run", "--fail-if-slower"])
        .refused(&["an application has no floor"]);
}

#[test]
fn a_run_that_was_interrupted_and_killed_goes_on_with_the_invocations_that_are_not_complete() {
    let place = place(STUDY);
    let records = place.path().join("run/trials.jsonl");
    let text = || fs::read_to_string(&records).unwrap_or_default();
    let measured = || text().matches("\"slice\"").count();
    let begin = |args: &[&str]| command(&place, args).spawn().expect("it starts");
    let resume = ["run", "--resume", "run", "--quiet"];
    // Locust may have to be installed first, which can take longer than the test's timeout.
    run(&place, &SHORT_LOAD).well();
    // Ctrl-C keeps the measured slices and leaves nothing else behind.
    let mut child = begin(&["run", "study.toml", "--out", "run", "--only", "slow,quick"]);
    wait_until("a slice", || measured() > 1);
    let shown = place.run(&["report", "run"]).well();
    assert!(shown.contains("\n! this run is still running"), "{shown}");
    assert!(!shown.contains("did not run"), "{shown}");
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let kept = report(&place.path().join("run"));
    assert!(kept["measured"].as_u64().expect("a count") >= 2);
    nothing_is_left(&place);
    // The resumed run repeats its first invocation, and is killed in the second.
    let mut child = begin(&resume);
    wait_until("the second invocation", || {
        text().contains("\"slice\",\"invocation\":1")
    });
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    // Slices that would not be comparable with the first invocation are not measured.
    let sources = place.path().join("shop/catalogue.py");
    let sources = fs::read_to_string(sources).expect("the catalogue");
    place.file("shop/catalogue.py", &format!("{sources}\n# faster\n"));
    let before = measured();
    run(&place, &resume).refused(&[
        "cannot resume run: the digest of the sources and toolchain of the application shop was ",
        "start a new run, and compare both with `rpcgauge diff`",
    ]);
    assert_eq!(measured(), before);
    place.file("shop/catalogue.py", &sources);
    run(&place, &resume).well();
    let whole = report(&place.path().join("run"));
    assert_eq!(
        (&whole["measured"], &whole["failures"]),
        (&12.into(), &Value::Array(Vec::new()))
    );
    assert_eq!(verdict(&whole, "catalogue-handler")["blocks"]["used"], 4);
    let starts = whole["starts"].as_array().expect("starts");
    assert_eq!(starts.len(), 2);
    assert!(
        whole["plan"]["folder"].is_null(),
        "a report names no folder"
    );
    // Nothing is left to do.
    let before = text();
    run(&place, &resume).well();
    assert_eq!(text(), before);
}

#[test]
fn a_service_that_dies_in_a_slice_ends_its_invocation_and_no_more() {
    let place = shop();
    // The service dies only in the first invocation, after some load.
    let died = place.path().join("died").display().to_string();
    let dies = format!(
        "    import os\n    served = service.METRICS.values.get(('handler_seconds', '{{path=\"products\"}}'), (0, 0))[1]\n    \
         if DELAY_S and served > 25 and not os.path.exists('{died}'):\n        open('{died}', 'w').close()\n        \
         os._exit(7)\n    if DELAY_S:"
    );
    let name = place.path().join("shop/catalogue.py");
    let text = fs::read_to_string(&name).expect("the catalogue");
    assert!(text.contains("    if DELAY_S:"));
    place.file(
        "shop/catalogue.py",
        &text.replacen("    if DELAY_S:", &dies, 1),
    );
    place.file(
        "study.toml",
        &STUDY.replace("warm-up = \"300ms\"", "warm-up = \"1ms\""),
    );
    let ended = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("some slices failed and ended their invocations; once that is fixed, continue with: rpcgauge run --resume run"),
        "{ended:?}"
    );
    let failed: Vec<Value> = slices(&place)
        .into_iter()
        .filter(|slice| slice["outcome"]["outcome"] == "failed")
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(
        (&failed[0]["variant"], &failed[0]["invocation"]),
        (&"slow".into(), &0.into())
    );
    let reason = failed[0]["outcome"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("catalogue (slow) exited on its own (exit code 7)"),
        "{reason}"
    );
    nothing_is_left(&place);
    // The second invocation is complete.
    let whole = slices(&place)
        .into_iter()
        .filter(|slice| slice["invocation"] == 1);
    assert_eq!(whole.count(), 6);
    assert!(ended.stdout.contains("Failed slices"), "{ended:?}");
    // Failed slices are not repeated unless `--retry-failed` is given.
    let resume = ["run", "--resume", "run", "--quiet"];
    assert_eq!(run(&place, &resume).code, Some(1));
    run(&place, &[&resume[..], &["--retry-failed"]].concat()).well();
    let report = report(&place.path().join("run"));
    assert_eq!(
        (
            &report["measured"],
            report["starts"].as_array().map(Vec::len)
        ),
        (&12.into(), Some(2))
    );
}

#[test]
fn a_service_is_not_ready_by_what_an_earlier_start_of_it_logged() {
    let place = shop();
    // The service logs "up" only in the first invocation, which has three sets.
    let starts = place.path().join("starts").display().to_string();
    let says = format!(
        "with open('{starts}', 'a') as starts:\n    starts.write('x')\n    if starts.tell() <= 3:\n        \
         print('up', flush=True)\nservice.serve("
    );
    let name = place.path().join("shop/catalogue.py");
    let text = fs::read_to_string(&name).expect("the catalogue");
    assert!(text.contains("service.serve("));
    place.file(
        "shop/catalogue.py",
        &text.replacen("service.serve(", &says, 1),
    );
    let name = place.path().join("shop/app.toml");
    let text = fs::read_to_string(&name).expect("the example's app.toml");
    let by_log = text.replacen(
        "ready = { http = \"http\", path = \"/health\" }",
        "ready = { log = \"up\" }\nready-within = \"3s\"",
        1,
    );
    assert_ne!(by_log, text);
    place.file("shop/app.toml", &by_log);
    place.file("study.toml", STUDY);
    let ended = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("was not ready after 3 s: no line of ")
            && ended.stderr.contains("log contains \"up\""),
        "{ended:?}"
    );
    // Earlier measurements are kept.
    assert_eq!(slices(&place).len(), 6);
    let kept = "; the slices measured so far are in run; continue with `rpcgauge run --resume run`";
    assert!(ended.stderr.contains(kept), "{ended:?}");
    nothing_is_left(&place);
}

#[test]
fn what_ends_in_a_slice_is_named_though_it_is_no_service() {
    // Whether the second block has begun, which is when the first block's slice has been recorded.
    let is_second = |place: &Place| {
        let trials = place.path().join("run/trials.jsonl");
        format!("'\"slice\"' in open('{}').read()", trials.display())
    };
    let locust = shop();
    let ends = format!(
        "import os\nfrom locust import HttpUser, constant, task\nclass Visitor(HttpUser):\n    \
         wait_time = constant(0.02)\n    @task\n    def offer(self):\n        if {}: os._exit(9)\n        \
         self.client.get('/offers/7', name='offer')\n",
        is_second(&locust)
    );
    locust.file("shop/locustfile.py", &ends);
    let store = with_store(
        &format!("echo $$ > ${{build}}/store.pid; {STORE}"),
        "echo 1000 > ${data}/stock",
    );
    let shop = fs::read_to_string(store.path().join("shop/shop.py")).expect("the shop");
    let kills = format!(
        "def offers(product):\n    if {}: os.kill(int(open('store.pid').read()), 9)\n",
        is_second(&store)
    );
    store.file(
        "shop/shop.py",
        &shop.replacen("def offers(product):\n", &kills, 1),
    );
    let cases = [
        (
            locust,
            "1",
            1,
            "the load generator (quick): exited on its own (exit code 9); check locustfile.py",
        ),
        // Without the database the second invocation does not begin.
        (
            store,
            "2",
            3,
            "store exited on its own (killed by signal 9)",
        ),
    ];
    for (place, invocations, code, told) in cases {
        place.file("study.toml", STUDY);
        let args = [
            "run",
            "study.toml",
            "--out",
            "run",
            "--quiet",
            "--only",
            "quick",
            "--invocations",
            invocations,
        ];
        let ended = run(&place, &args);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let slices = slices(&place);
        let [measured, failed] = &slices[..] else {
            panic!("{slices:?}")
        };
        assert_eq!(measured["outcome"]["outcome"], "measured");
        let reason = failed["outcome"]["reason"].as_str().expect("a reason");
        assert!(reason.contains(told), "{reason}");
        let last = ended.stderr.lines().last().unwrap_or_default();
        assert!(code == 1 || last.contains(told), "{ended:?}");
        nothing_is_left(&place);
    }
}

#[test]
fn sets_that_memory_does_not_carry_at_once_are_measured_one_by_one() {
    let free = fs::read_to_string("/proc/meminfo").expect("the kernel's table");
    let free = free
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = free
        .and_then(|free| free.trim().strip_suffix(" kB"))
        .expect("free memory");
    // The first service of each set may use two thirds of the free memory, so only one set fits at
    // a time.
    let memory = format!(
        "memory = \"{}KiB\"",
        kib.parse::<u64>().expect("a number") / 3 * 2
    );
    let place = shop_with("app.toml", "memory = \"128MiB\"", &memory);
    place.file(
        "study.toml",
        &STUDY.replace("invocations = 2", "invocations = 1"),
    );
    let printed = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]).well();
    assert!(
        printed.contains("! memory was not sufficient for all sets of services at the same time"),
        "{printed}"
    );
    let names = slices(&place)
        .into_iter()
        .map(|slice| slice["variant"].clone());
    let names: Vec<Value> = names.collect();
    assert_eq!(names.len(), 6);
    assert!(
        names.chunks(2).all(|of_one| of_one[0] == of_one[1]),
        "{names:?}"
    );
}

#[test]
fn what_is_not_right_is_never_timed() {
    let cases = [
        (
            "shop.py",
            "found[\"stock\"] > 0",
            "CATALOGUE",
            "the check \"offer\": with ",
        ),
        (
            "app.toml",
            "metric = \"catalogue_payload_bytes\"",
            "metric = \"payload_bytes\"",
            "the metric \"catalogue-bytes\": shop with connections=kept, delay=0 exposes no payload_bytes_sum and _count",
        ),
        (
            "locustfile.py",
            "class Visitor(HttpUser):",
            "class Visitor:",
            "it has no user class",
        ),
    ];
    for (file, from, to, expected) in cases {
        let place = shop_with(file, from, to);
        place.file("study.toml", STUDY);
        let ended = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]);
        assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
        assert!(
            ended.stderr.contains(expected),
            "{expected} is not in:\n{}",
            ended.stderr
        );
        assert_eq!(slices(&place).len(), 0);
        assert_eq!(ended.stdout, "");
        nothing_is_left(&place);
    }
}

#[test]
fn a_study_that_does_not_fit_is_refused_with_its_place() {
    let cases = [
        (
            "delay = \"5\"",
            "delay = \"6\"",
            "study.toml:18:9: delay cannot be \"6\"",
        ),
        (
            "delay = \"5\"",
            "dely = \"5\"",
            "study.toml:18:1: shop has no setting \"dely\"",
        ),
        (
            "delay = \"5\"",
            "",
            "\"slow\" has the same settings as \"quick\"",
        ),
        (
            "of = \"slow\"",
            "of = \"slo\"",
            "there is no variant \"slo\"; did you mean \"slow\"?",
        ),
        (
            "\"catalogue-handler\"",
            "\"catalog\"",
            "there is no metric \"catalog\"",
        ),
        (
            "path = \"shop\"",
            "path = \"shp\"",
            "there is no app.toml in this folder",
        ),
        (
            "path = \"shop\"",
            "name = \"shop\"",
            "there is no application \"shop\"",
        ),
        ("path = \"shop\"", "", "[app] needs either the name"),
        (
            "slice = \"700ms\"",
            "slce = \"700ms\"",
            "[app] has no key \"slce\"; did you mean \"slice\"?",
        ),
    ];
    for (from, to, expected) in cases {
        let changed = STUDY.replacen(from, to, 1);
        assert_ne!(changed, STUDY, "{from}");
        place(&changed)
            .run(&["run", "study.toml"])
            .refused(&[expected]);
    }
    place(STUDY)
        .run(&["run", "study.toml", "quickstart"])
        .refused(&["study.toml is a study of an application; run it alone"]);
}

#[test]
fn configurations_are_compared_at_a_rate() {
    let at_rate = "call = \"page\"\nrate = 32";
    let place = place(&STUDY.replace("users = 3", at_rate));
    let plan = place.run(&["plan", "study.toml"]).well();
    let said = "32 requests \"page\" per second (open loop) each";
    assert!(plan.contains(said), "{plan}");
    let printed = run(&place, &["run", "study.toml", "--out", "run", "--quiet"]).well();
    let report = report(&place.path().join("run"));
    assert_eq!(report["measured"], 12);
    // In 0.7 s, 23 requests are due. In the slow configuration, each makes five calls of 5 ms.
    for slice in slices(&place) {
        let (request, at_rate) = (
            &slice["outcome"]["requests"][0],
            &slice["outcome"]["at_rate"],
        );
        assert_eq!(
            (&request["name"], &request["failures"]),
            (&"page".into(), &0.into())
        );
        assert!(at_rate["answered"].as_u64() >= Some(1), "{slice}");
    }
    let stalled = slices(&place).into_iter();
    let stalled: u64 = stalled
        .filter_map(|slice| slice["outcome"]["at_rate"]["stalled"].as_u64())
        .sum();
    let variants = report["variants"].as_array().expect("variants");
    let succeeded = variants
        .iter()
        .filter_map(|one| one["requests"][0]["succeeded"].as_u64());
    assert_eq!(succeeded.sum::<u64>() + stalled, 12 * 23);
    assert_eq!(variants[0]["bars"][0]["request"], "page");
    let mean = verdict(&report, "response-mean");
    assert!(mean["of_value"].as_f64().expect("a mean") >= 25e6, "{mean}");
    assert!(mean["estimate"]["ratio"].as_f64().expect("a ratio") > 1.0);
    assert!(printed.contains("per second (open loop)"), "{printed}");
}
