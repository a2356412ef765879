//! Repetitions and lengths of trials that fit a budget.

use super::*;

/// A study of three variants with a budget.
fn within(budget: &str) -> String {
    format!(
        "# Is it fast?\nbudget = \"{budget}\"\nworkload = {{ name = \"hello\" }}\n[factors]\n\
         encoding = [\"protobuf\", \"json\", \"msgpack\"]\n[base]\nprotocol = \"grpc\"\n"
    )
}

#[test]
fn a_plan_fills_its_budget() {
    for seconds in [20, 30, 60, 180, 600] {
        let plan = resolve(&within(&format!("{seconds}s"))).unwrap();
        let (time, budget) = (plan.estimate().as_secs_f64(), f64::from(seconds));
        assert!(time <= budget && time >= 0.9 * budget, "{time} of {budget}");
        assert_eq!(plan.placements, [Placement::TwoCores, Placement::OneCore]);
        let stop = plan.variants[0].settings.stop;
        assert!(plan.variants.iter().all(|v| v.settings.stop == stop));
        assert_eq!(plan.warmup, stop);
    }
}

#[test]
fn a_longer_budget_gives_no_fewer_trials() {
    let trials = |seconds| {
        resolve(&within(&format!("{seconds}s")))
            .unwrap()
            .trials
            .len()
    };
    let counts = [20, 50, 100, 200, 400].map(trials);
    assert!(counts.is_sorted() && counts[0] < counts[4], "{counts:?}");
}

#[test]
fn a_budget_decides_alone_and_must_be_long_enough() {
    let tiny = refused(&within("1ms"));
    let start = "my.toml:2:10: 1ms is too short for 3 variants; give at least ";
    assert!(tiny.starts_with(start), "{tiny}");
    let refused = |more: &str| refused(&format!("{}{more}", within("1m")));
    insta::assert_snapshot!(refused("time = \"1s\"\n"), @r#"my.toml:8:8: "budget" decides how long trials are; keep one of the two"#);
    let blocks = within("1m").replace("workload", "blocks = 3\nworkload");
    insta::assert_snapshot!(super::refused(&blocks), @r#"my.toml:3:10: "budget" decides how many invocations and blocks there are; keep one of the two"#);
    let checks = within("1m").replace(
        "workload",
        "placement = { main = \"free\", blocks = 1 }\nworkload",
    );
    insta::assert_snapshot!(super::refused(&checks), @r#"my.toml:3:39: "budget" decides how many invocations and blocks there are; keep one of the two"#);
    let warm_up = within("1m").replace("workload", "warm-up = { time = \"1s\" }\nworkload");
    insta::assert_snapshot!(super::refused(&warm_up), @r#"my.toml:3:11: "budget" decides how long warm-ups are; keep one of the two"#);
}

#[test]
fn a_codec_that_is_a_part_of_calls_takes_little_of_a_budget() {
    let text = "# Is it fast?\nbudget = \"1m\"\nworkload = { name = \"hello\" }\n\
        [[variants]]\nname = \"python\"\nserver = \"python/http\"\nprotocol = \"rest\"\n\
        [[variants]]\nname = \"reference\"\nprotocol = \"rest\"\n\
        [[variants]]\nname = \"decode\"\ncodec = \"python/json\"\noperation = \"decode\"\n\
        [[pairs]]\nof = \"python\"\nagainst = \"reference\"\n";
    let plan = resolve(text).unwrap();
    let trials = |name: &str| {
        let is_of = |variant: u32| plan.variants[variant as usize].name == name;
        plan.trials
            .iter()
            .filter(|trial| is_of(trial.variant))
            .count()
    };
    assert_eq!(trials("decode"), 5);
    assert!(trials("python") > 20, "{}", trials("python"));
    let stop = |name: &str| plan.variant(name).unwrap().settings.stop.time_ms;
    assert!(stop("decode") < stop("python"));
    // The report looks up a call's codec among the codecs that its stack declares.
    let declared = [(Encoding::Json, "python/json".to_owned())].into();
    assert_eq!(plan.codecs, [("python/http".to_owned(), declared)].into());
    // A codec that is itself compared is measured like all other variants.
    let other = "[[variants]]\nname = \"encode\"\ncodec = \"python/json\"\noperation = \"encode\"\n\
        [[pairs]]\nof = \"decode\"\nagainst = \"encode\"\n";
    let compared = format!("{text}{other}");
    let plan = resolve(&compared).unwrap();
    assert!(plan.variants.iter().all(|v| v.settings.stop == plan.warmup));
}

#[test]
fn an_estimate_counts_what_a_stack_needs() {
    let text = "# Is it fast?\ninvocations = 5\nblocks = 1\n\
        workload = { name = \"hello\" }\n[[variants]]\nname = \"python\"\n\
        server = \"python/http\"\nprotocol = \"rest\"\n";
    let needing = |start_up_ms, warm_up_calls| {
        let mut plan = resolve(text).unwrap();
        let needs = plan.stack_needs.get_mut("python/http").unwrap();
        (needs.start_up_ms, needs.warm_up_calls) = (start_up_ms, warm_up_calls);
        let starts = plan.trials.len();
        plan.estimate().as_secs_f64() / starts as f64
    };
    let (started, slow) = (needing(1_000, 0), needing(7_000, 0));
    assert!((slow - started - 6.0).abs() < 0.01, "{started} and {slow}");
    // The warm-up of 3 s waits for its calls for at most half of its time.
    let (few, many) = (needing(1_000, 5_000), needing(1_000, 1_000_000));
    assert!(started < few && few < many, "{started}, {few}, {many}");
    assert!(many - started < 1.6, "{started} and {many}");
}

/// The estimated seconds per trial of a plan over this link, with additional lines of `[base]`. Two trials share a
/// calibration.
fn over(link: &str, size: u32, base: &str) -> f64 {
    let text = format!(
        "# Is it?\ninvocations = 1\nblocks = 1\nworkload = {{ name = \"list\", n = {size} }}\n[base]\n\
         protocol = \"grpc\"\nlink = {link}\n{base}\n"
    );
    let plan = resolve(&text).unwrap();
    plan.estimate().as_secs_f64() / plan.trials.len() as f64
}

#[test]
fn an_estimate_counts_what_links_cost() {
    let is_in = |seconds: f64, range: std::ops::Range<f64>| {
        assert!(range.contains(&seconds), "{seconds} is not in {range:?}");
    };
    let second = "time = \"1s\"";
    let loopback = over("\"loopback\"", 1, second);
    is_in(over("\"wlan\"", 1, second) - loopback, 0.6..1.5);
    // Slices of a floor for two trials, each of four round trips of 90 ms.
    is_in(over("\"wan-eu-us\"", 1, second) - loopback, 1.0..10.0);
    let calls = |size, more: &str| over("{ rate = \"1Gbit/s\", delay = \"50ms\" }", size, more);
    // A new connection: a handshake, and three waits until the window, initially 10 segments, fits 190 kB.
    let kept = calls(1_000, "calls = 100");
    let each = calls(1_000, "calls = 100\nconnection = \"per-call\"");
    is_in((each - kept) / 100.0, 0.35..1.5);
    // 64 calls of 19 kB share 10 Mbit/s, which sends 66 of them per second.
    let rate = "{ rate = \"10Mbit/s\", delay = \"50ms\" }";
    let [many, fewer] = ["2000", "1000"].map(|calls| format!("calls = {calls}\nin-flight = 64"));
    is_in(over(rate, 100, &many) - over(rate, 100, &fewer), 15.0..40.0);
}

#[test]
fn an_estimate_counts_connections_and_all_calls_in_flight() {
    let estimate = |connections: u32| {
        let text = format!(
            "# Is it?\ninvocations = 1\nblocks = 1\nworkload = {{ name = \"hello\" }}\n[base]\n\
             protocol = \"grpc\"\ncalls = 1000\nin-flight = 65536\nconnections = {connections}\n"
        );
        let plan = resolve(&text).unwrap();
        plan.estimate().as_secs_f64() / plan.trials.len() as f64
    };
    // A slice has 20 calls for each one in flight, however few are requested, and two run at a time.
    let calls = 65_536.0 * 20.0 / 2.0 * 40e-6;
    assert!(estimate(1) > calls, "{} s", estimate(1));
    let opening = estimate(65_536) - estimate(1);
    assert!((opening - 65_535.0 * 120e-6).abs() < 0.01, "{opening} s");
}
