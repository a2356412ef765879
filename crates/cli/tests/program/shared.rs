//! Variants that share a process.

use crate::common::{Place, report};

const STUDY: &str = "# Is gRPC faster?
processes = \"shared\"
invocations = 2
blocks = 1
placement = { main = \"free\" }
warm-up = { calls = 5 }
[workload]
name = \"hello\"
[base]
calls = 50
[[variants]]
name = \"rest\"
protocol = \"rest\"
[[variants]]
name = \"grpc\"
protocol = \"grpc\"
[[variants]]
name = \"threads\"
protocol = \"grpc\"
threads = 2
";

#[test]
fn the_plan_and_the_report_say_which_variants_share_a_process() {
    let place = Place::new();
    place.file("study.toml", STUDY);
    let together = "rest, grpc and rest-again share a server process (reference)";
    let own =
        "threads has its own processes: the threads of a process would serve all of its variants";
    let plan = place.run(&["plan", "study.toml"]).well();
    for words in [together, own] {
        assert!(plan.contains(words), "{plan}");
    }
    let shown = place.run(&["run", "study.toml", "--out", "run"]).well();
    let table = shown.split("Processes\n").nth(1).expect(&shown);
    let row = table.lines().nth(1).expect(table);
    assert!(
        row.contains("reference  server") && row.contains("rest, grpc and rest-again"),
        "{row}"
    );
    assert!(
        table.contains("Own processes: threads (the threads of a process"),
        "{table}"
    );
    let run = place.path().join("run");
    let report = report(&run);
    let process = &report["processes"][0];
    assert_eq!(process["program"], "reference");
    assert!(process["memory_peak"].as_u64() > Some(1 << 20), "{process}");
    assert!(process["startup_ns"].as_u64() > Some(0), "{process}");
    let comparisons = report["comparisons"].as_array().expect("comparisons");
    let shares = |of: &str| {
        let mut found = comparisons.iter().filter(|one| one["of"] == of);
        found.next().expect(of)["one_process"].as_bool()
    };
    assert_eq!(shares("grpc"), Some(true));
    assert_eq!(shares("rest-again"), Some(true));
    assert_eq!(shares("threads"), None);
    let page = std::fs::read_to_string(run.join("report.html")).expect("the page");
    assert!(page.contains("the same thing measured twice in one process"));
}
