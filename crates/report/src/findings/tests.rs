use proptest::prelude::*;
use rpcgauge_stats::SplitMix64;
use rpcgauge_study::plan::{Metric, TrialSpec};
use rpcgauge_study::record::Stage;

use super::verdict::{ClaimOutcome, Combined, Note, Unresolved, Withheld};
use super::*;
use crate::fixture::{Builder, Sample, Spec, findings, quickstart, two};

fn outcome(findings: &Findings, pair: usize) -> verdict::Outcome {
    findings.comparisons[pair].placements[0].outcome
}

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut rng = SplitMix64::new(seed);
    let mut items = items.to_vec();
    for last in (1..items.len()).rev() {
        items.swap(last, rng.index(last + 1));
    }
    items
}

#[test]
fn every_kind_of_sentence() {
    let findings = quickstart::findings();
    let verdicts = findings.comparisons.iter().map(|c| &c.sentence);
    let claims = findings.claims.iter().map(|c| &c.sentence);
    let sentences: Vec<&str> = verdicts.chain(claims).map(String::as_str).collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn a_known_ratio_lies_in_its_interval() {
    let findings = findings(&two(2.3).build());
    let verdict = &findings.comparisons[0].placements[0];
    let estimate = verdict.estimate.unwrap();
    let [low, high] = estimate.interval.unwrap();
    assert!(low < 1.0 / 2.3 && 1.0 / 2.3 < high, "{estimate:?}");
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    assert_eq!((estimate.invocations, estimate.blocks), (4, 12));
    assert!(verdict.guard.is_some() && verdict.smallest_difference.unwrap() > 1.0);
}

#[test]
fn percentiles_come_from_the_merged_histogram() {
    // A calm and a wild half: the median of all is neither's, nor the mean of both medians.
    let builder = Builder {
        invocations: 2,
        blocks: 1,
        noise: (0.4, 0.0),
        ..two(1.0)
    };
    let sample = builder.build();
    let findings = findings(&sample);
    let mut all = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    for trial in sample.trials.iter().filter(|t| t.variant == "grpc") {
        let Outcome::Measured(measured) = &trial.outcome else {
            panic!("it was measured")
        };
        all.add(measured.latency.unpack()).unwrap();
    }
    let latency = findings.variant("grpc").unwrap().cells[0]
        .figures
        .as_ref()
        .unwrap();
    let latency = latency.latency.as_ref().unwrap();
    assert_eq!(latency.count, 400);
    assert_eq!(latency.p50_ns, all.value_at_quantile(0.5));
    assert_eq!(latency.p99_ns, Some(all.value_at_quantile(0.99)));
    assert_eq!(latency.p999_ns, None, "400 calls have no 99.9th percentile");
    assert_eq!(latency.max_ns, all.max());
}

#[test]
fn stages_floor_and_share_belong_together() {
    let findings = findings(&two(2.0).build());
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let call = figures.latency.as_ref().unwrap();
    let own: f64 = figures
        .stages
        .iter()
        .filter(|s| s.share < 0.99)
        .map(|s| s.mean_ns)
        .sum();
    assert!(own > call.mean_ns, "client stages and spans overlap");
    let between = figures.between_stages_ns.unwrap();
    assert!(between > 0.0 && between < 0.03 * call.mean_ns, "{between}");
    let floor = figures.floor.as_ref().unwrap();
    let share = floor.share.unwrap();
    assert!((share - floor.round_trip_ns as f64 / call.p50_ns as f64).abs() < 1e-12);
    assert_eq!(floor.stack_ns, Some(call.p50_ns - floor.round_trip_ns));
    assert_eq!((floor.windows, floor.count), (4, 4 * 200));
    assert!(floor.round_trip_ns <= floor.highest_round_trip_ns);
}

#[test]
fn a_stage_that_few_calls_had_is_a_small_part_of_the_mean_call() {
    let mut sample = two(2.0).build();
    let mut connect = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
    connect.record(90_000).unwrap();
    let connect = rpcgauge_study::record::Histogram::from(connect);
    for trial in &mut sample.trials {
        if let Outcome::Measured(measured) = &mut trial.outcome {
            measured.stages.insert(Stage::Connect, connect.clone());
        }
    }
    let findings = findings(&sample);
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let call = figures.latency.as_ref().unwrap();
    let connect = figures.stages[0];
    assert_eq!(connect.stage, Stage::Connect);
    assert!(connect.mean_ns > 0.8 * call.mean_ns, "{connect:?}");
    // One of the 200 calls of each trial had it.
    assert!((connect.per_call_ns - connect.mean_ns / 200.0).abs() < 1e-6);
    assert!((connect.share - connect.per_call_ns / call.mean_ns).abs() < 1e-12);
    let of_client = |s: &&StageFindings| Stage::CLIENT.contains(&s.stage);
    let staged = figures.stages.iter().filter(of_client);
    let whole: f64 = staged.map(|s| s.per_call_ns).sum();
    let between = figures.between_stages_ns.unwrap();
    assert!(between > 0.0 && (whole + between - call.mean_ns).abs() < 1e-6);
}

#[test]
fn the_floor_is_the_lowest_window() {
    let mut sample = two(2.0).build();
    let window = |name: &str, centre: u64| {
        let mut latency = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
        latency.record_n(centre, 5).unwrap();
        let mut window = sample
            .floors
            .iter()
            .find(|f| f.placement == Placement::TwoCores && f.variants.iter().any(|v| v == name))
            .unwrap()
            .clone();
        window.latency = rpcgauge_study::record::Histogram::from(latency);
        window.client_cpu_ns = centre as f64 / 2.0;
        window
    };
    let windows = [18_000, 12_000, 22_000].map(|centre| window("grpc", centre));
    let empty = FloorRecord {
        latency: rpcgauge_study::record::Histogram::from(
            rpcgauge_study::histogram::Unpacked::new(3).unwrap(),
        ),
        ..windows[0].clone()
    };
    sample.floors = windows.into_iter().chain([empty]).collect();
    let findings = findings(&sample);
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let floor = figures.floor.as_ref().unwrap();
    assert!(floor.round_trip_ns.abs_diff(12_000) < 20, "{floor:?}");
    assert!(
        floor.highest_round_trip_ns.abs_diff(22_000) < 40,
        "{floor:?}"
    );
    assert_eq!((floor.windows, floor.count), (3, 15));
    assert_eq!(floor.client_cpu_ns, 6_000.0);
    let other = findings.figures("rest", Placement::TwoCores);
    assert!(other.is_none_or(|figures| figures.floor.is_none()));
}

#[test]
fn calls_under_load_have_no_kernel_share() {
    let builder = two(1.0).spec(Spec {
        in_flight: 32,
        ..Spec::new("load", 400_000.0)
    });
    let findings = findings(&builder.build());
    let floor = findings
        .figures("load", Placement::TwoCores)
        .unwrap()
        .floor
        .as_ref()
        .unwrap();
    assert_eq!((floor.share, floor.stack_ns), (None, None));
}

#[test]
fn the_bytes_of_a_call_are_the_same_with_marks_and_without() {
    let builder = two(1.0)
        .spec(Spec {
            in_flight: 32,
            ..Spec::new("load", 400_000.0)
        })
        .spec(Spec::new("stages", 400_000.0))
        .pair("More bytes?", "stages", "load", Metric::CallBytes);
    let findings = findings(&builder.build());
    let bytes = |name| findings.figures(name, Placement::TwoCores).unwrap().bytes;
    let (load, stages) = (bytes("load"), bytes("stages"));
    assert_eq!((load.received.marks, stages.received.marks), (0.0, 76.0));
    assert_eq!(load.total(), stages.total());
    let estimate = findings.comparisons[2].placements[0].estimate.unwrap();
    assert_eq!(estimate.interval, Some([1.0, 1.0]));
}

fn load_pair(share: f64) -> Builder {
    let load = |name, ns| Spec {
        in_flight: 32,
        ..Spec::new(name, ns)
    };
    two(1.0)
        .spec(Spec {
            client_share: share,
            ..load("fast", 200_000.0)
        })
        .spec(load("slow", 400_000.0))
        .pair("Which carries more?", "fast", "slow", Metric::Goodput)
        .pair(
            "Which moves fewer bytes?",
            "fast",
            "slow",
            Metric::CallBytes,
        )
}

#[test]
fn a_client_bound_load_trial_gives_no_verdict_about_the_server() {
    let findings = findings(&load_pair(0.81).build());
    let bound = verdict::Outcome::NoVerdict {
        reason: Withheld::ClientBound,
    };
    assert_eq!(outcome(&findings, 2), bound);
    assert_eq!(
        findings.comparisons[2].placements[0].blocks.client_bound,
        12
    );
    assert_eq!(findings.comparisons[2].combined, Combined::NotResolved);
    // Bytes are what they are, whatever the client could do.
    assert_eq!(outcome(&findings, 3), verdict::Outcome::NoDifference);
    assert!(
        findings.variant("fast").unwrap().cells[0]
            .trials
            .is_client_bound
    );
}

#[test]
fn some_client_bound_blocks_are_left_out_and_counted() {
    let mut sample = load_pair(0.5).build();
    let fast = sample.trials.iter_mut().filter(|t| t.variant == "fast");
    for trial in fast.take(3) {
        if let Outcome::Measured(measured) = &mut trial.outcome {
            measured.client_share = 0.9;
        }
    }
    let findings = findings(&sample);
    let verdict = &findings.comparisons[2].placements[0];
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    assert_eq!((verdict.blocks.used, verdict.blocks.client_bound), (9, 3));
    assert!(verdict.notes.contains(&Note::BlocksLeftOut {
        left_out: 3,
        planned: 12
    }));
}

#[test]
fn a_client_bound_stage_trial_is_marked_and_keeps_its_verdict() {
    let mut builder = two(2.0);
    builder.specs[0].client_share = 0.95;
    let findings = findings(&builder.build());
    let verdict = &findings.comparisons[0].placements[0];
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    let note = Note::ClientBound {
        variant: "grpc".to_owned(),
        trials: 12,
        of: 12,
    };
    assert!(verdict.notes.contains(&note), "{:?}", verdict.notes);
}

#[test]
fn failed_calls_and_drift_stand_beside_the_verdict() {
    let mut builder = two(2.0);
    builder.specs[1].failing = Some(("reset", "connection reset by peer", 20));
    builder.specs[1].unsettled = true;
    let findings = findings(&builder.build());
    let notes = &findings.comparisons[0].placements[0].notes;
    assert!(notes.contains(&Note::FailedCalls {
        variant: "rest".to_owned(),
        share: 0.05
    }));
    assert!(notes.contains(&Note::Unsettled {
        variant: "rest".to_owned(),
        trials: 12,
        of: 12
    }));
    let figures = findings.figures("rest", Placement::TwoCores).unwrap();
    assert_eq!(figures.calls.failed["reset"], 120);
    assert_eq!(figures.calls.ended(), figures.calls.started);
    assert_eq!(figures.failed_latency.as_ref().unwrap().count, 120);
    assert_eq!(figures.errors[0].count, 120);
}

#[test]
fn what_the_client_could_not_do_as_asked_is_in_cells_rows_and_notes() {
    let mut builder = two(2.0);
    builder.specs[1].uncompressed = 50;
    builder.specs[1].failed_connects = 2;
    builder.specs[1].never_begun = 4;
    builder.specs[1].retried = 3;
    builder.specs[1].bodies_late = 1;
    let findings = findings(&builder.build());
    let variant = || "rest".to_owned();
    let notes = &findings.comparisons[0].placements[0].notes;
    let expected = [
        Note::Uncompressed {
            variant: variant(),
            answers: 600,
            of: 2_400,
        },
        Note::FailedConnects {
            variant: variant(),
            attempts: 24,
        },
        Note::NeverBegun {
            variant: variant(),
            calls: 48,
            of: 2_448,
        },
        Note::Retried {
            variant: variant(),
            sends: 36,
        },
        Note::BodiesLate {
            variant: variant(),
            calls: 12,
            of: 2_448,
        },
    ];
    assert_eq!(notes[..], expected);
    let cell = &findings.variant("rest").unwrap().cells[0];
    let counts = &cell.trials;
    assert_eq!(
        [
            counts.uncompressed,
            counts.connects_failed,
            counts.never_begun
        ],
        [12; 3]
    );
    let connections = cell.figures.as_ref().unwrap().connections;
    assert_eq!(
        (connections.fewest_at_start, connections.opened),
        (Some(1), 0)
    );
    let mishaps = crate::words::mishaps(cell.figures.as_ref().unwrap());
    assert_eq!(
        mishaps.unwrap(),
        "48 due but never begun of 2,448 calls; 24 attempts to open a connection failed; calls \
         were sent again 36 times; 12 calls begun late for want of a body"
    );
    let row = findings.trials.iter().find(|row| row.variant == "rest");
    let row = row.unwrap();
    assert_eq!(
        [
            row.uncompressed_answers,
            row.connects_failed,
            row.never_begun,
            row.retried,
            row.bodies_late
        ],
        [50, 2, 4, 3, 1]
    );
}

#[test]
fn limits_that_are_not_the_defaults_are_told() {
    let style = crate::Style {
        color: false,
        width: 200,
    };
    let mut sample = two(2.0).build();
    let outputs = |sample: &Sample| {
        let findings = findings(sample);
        [
            crate::terminal::render(&findings, style),
            crate::markdown::render(&findings).replace('\\', ""),
            crate::html::render(&findings).unwrap(),
        ]
    };
    for text in outputs(&sample) {
        assert!(!text.contains("--max-"), "{text}");
    }
    sample.plan.limits.max_depth = 50;
    for text in outputs(&sample) {
        assert!(text.contains("limits --max-depth 50"), "{text}");
    }
}

#[test]
fn counted_bytes_are_guarded_by_an_a_a_interval_of_1_alone() {
    let builder = two(2.0).pair("Which is smaller?", "rest", "grpc", Metric::CallBytes);
    let findings = findings(&builder.build());
    let verdict = &findings.comparisons[2].placements[0];
    let guard = verdict.guard.as_ref().unwrap();
    assert_eq!(guard.estimate.interval, Some([1.0, 1.0]));
    assert_eq!(verdict.outcome, verdict::Outcome::Slower);
}

#[test]
fn every_output_says_why_a_failing_a_a_pair_leaves_a_difference_open() {
    let mut builder = two(1.2);
    builder.specs[2].latency_ns *= 1.2;
    let findings = findings(&builder.build());
    let style = crate::Style {
        color: false,
        width: 200,
    };
    let outputs = [
        crate::terminal::render(&findings, style),
        crate::markdown::render(&findings).replace('\\', ""),
        crate::html::render(&findings).unwrap(),
        crate::json::render(&findings).unwrap(),
    ];
    for text in outputs {
        let (_, reason) = text
            .split_once("The A&#x2f;A pair differs, ")
            .or_else(|| text.split_once("The A/A pair differs, "))
            .expect(&text);
        assert!(reason.starts_with("1."), "{reason}");
        assert!(
            reason.contains("], although it is one and the same"),
            "{reason}"
        );
    }
}

#[test]
fn an_a_a_pair_that_differs_forbids_every_difference() {
    let mut builder = two(1.2);
    builder.specs[2].latency_ns *= 1.2;
    let findings = findings(&builder.build());
    let reason = Unresolved::AaNotOne;
    assert_eq!(
        outcome(&findings, 0),
        verdict::Outcome::NotResolved { reason, more: None }
    );
    let sentence = &findings.comparisons[1].sentence;
    assert!(
        sentence.starts_with("A/A check fails: grpc-again and grpc"),
        "{sentence}"
    );
}

#[test]
fn a_verdict_without_an_a_a_pair_says_so() {
    let mut builder = two(2.0);
    builder.specs.truncate(2);
    builder.pairs.truncate(1);
    let findings = findings(&builder.build());
    assert_eq!(
        findings.comparisons[0].placements[0].notes,
        [Note::Unguarded]
    );
}

#[test]
fn one_invocation_gives_no_interval_and_says_what_would() {
    let findings = findings(
        &Builder {
            invocations: 1,
            ..two(2.0)
        }
        .build(),
    );
    let verdict = &findings.comparisons[0].placements[0];
    assert_eq!(verdict.estimate.unwrap().interval, None);
    assert!(
        findings.comparisons[0]
            .sentence
            .contains("more invocations")
    );
}

#[test]
fn a_verdict_that_flips_depends_on_placement() {
    let findings = quickstart::findings();
    let flips = findings
        .comparisons
        .iter()
        .find(|c| c.of == "unix-socket")
        .unwrap();
    assert_eq!(flips.combined, Combined::DependsOnPlacement);
    assert!(
        flips
            .sentence
            .starts_with("Depends on placement. On two cores: ")
    );
    let claim = findings
        .claims
        .iter()
        .find(|c| c.name == "unix-socket")
        .unwrap();
    assert!(claim.depends_on_placement);
    assert_eq!(claim.outcome, ClaimOutcome::NotResolved);
}

#[test]
fn a_variant_whose_calls_all_fail_has_no_verdict() {
    let mut builder = two(2.0);
    builder.specs[1].failing = Some(("refused", "connection refused", 1));
    let findings = findings(&builder.build());
    let reason = Withheld::NotMeasured;
    assert_eq!(
        outcome(&findings, 0),
        verdict::Outcome::NoVerdict { reason }
    );
    assert_eq!(findings.comparisons[0].placements[0].blocks.no_value, 12);
    let figures = findings.figures("rest", Placement::TwoCores).unwrap();
    assert!(figures.latency.is_none() && figures.goodput == 0.0);
}

#[test]
fn a_variant_that_cannot_run_is_listed_with_its_reason() {
    let go = quickstart::findings().variant("load-go").unwrap();
    assert_eq!(go.not_run.len(), 1);
    assert!(go.not_run[0].contains("`go` is not on the PATH"));
    assert_eq!(quickstart::findings().failures.len(), 12);
}

#[test]
fn a_trial_that_failed_and_was_run_again_counts_as_measured() {
    let sample = two(2.0).build();
    let mut trials = sample.trials.clone();
    let mut failed = trials[0].clone();
    failed.started_at_ms += 1;
    failed.outcome = Outcome::Failed {
        reason: "the port was in use".to_owned(),
        fault: rpcgauge_study::record::Fault::Machine,
        log: String::new(),
    };
    trials.push(failed);
    assert_eq!(
        findings(&Sample {
            trials,
            ..sample.clone()
        }),
        findings(&sample)
    );
}

#[test]
fn records_that_do_not_fit_the_plan_are_refused() {
    let sample = two(2.0).build();
    let new = |sample: &Sample| {
        Findings::new(&sample.plan, None, &sample.trials, &sample.floors)
            .unwrap_err()
            .to_string()
    };
    let mut foreign = sample.clone();
    foreign.trials[0].trial.index = 999;
    assert!(
        new(&foreign).starts_with("trial 999 ("),
        "{}",
        new(&foreign)
    );
    let mut unknown = sample.clone();
    unknown.plan.pairs[0].against = "nobody".to_owned();
    assert!(
        new(&unknown).contains("names the variant \"nobody\""),
        "{}",
        new(&unknown)
    );
    let mut twice = sample;
    twice.plan.trials[1] = TrialSpec {
        index: 1,
        ..twice.plan.trials[0].clone()
    };
    twice.trials.clear();
    assert!(new(&twice).contains("in the same block"), "{}", new(&twice));
}

#[test]
fn an_empty_run_says_that_nothing_was_measured() {
    let sample = two(2.0).build();
    let findings = Findings::new(&sample.plan, None, &[], &[]).unwrap();
    assert_eq!(findings.progress.missing, findings.progress.planned);
    assert!(
        findings.comparisons[0]
            .sentence
            .starts_with("No verdict on grpc against rest")
    );
    assert_eq!(
        findings.variants[0].not_run,
        ["the run was interrupted before its first trial"]
    );
}

#[test]
fn idle_states_that_were_not_held_off_are_told() {
    let mut sample = two(2.0).build();
    sample.environment.idle.got = Idle::AsIs;
    sample.environment.idle.reason = Some("/dev/cpu_dma_latency: permission denied".to_owned());
    let warnings = findings(&sample).warnings;
    assert!(warnings[0].contains("held off (/dev/cpu_dma_latency: permission denied)"));
}

#[test]
fn every_output_has_each_warning_once_and_the_idle_state() {
    let mut sample = two(2.0).build();
    let environment = &mut sample.environment;
    let reason = "idle states were not held off: no device";
    environment.idle.got = Idle::AsIs;
    environment.idle.reason = Some(reason.to_owned());
    let busy = "other programs are busy: make (90% of a core)";
    environment.warnings = [reason, busy, busy].map(str::to_owned).to_vec();
    let findings = findings(&sample);
    assert_eq!(findings.warnings.len(), 2, "{:?}", findings.warnings);
    let style = crate::Style {
        color: false,
        width: 200,
    };
    for text in [
        crate::terminal::render(&findings, style),
        crate::markdown::render(&findings),
        crate::html::render(&findings).unwrap(),
    ] {
        for once in [busy, "idle states could not be held off"] {
            assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
        }
        assert!(text.contains("idle as is"), "{text}");
    }
}

#[test]
fn many_reasons_of_one_variant_are_counted() {
    let mut builder = two(2.0);
    builder.specs[1].cannot_run = Some("no");
    let mut sample = builder.build();
    for trial in &mut sample.trials {
        if let Outcome::Failed { reason, .. } = &mut trial.outcome {
            *reason = format!("port {} was in use", trial.trial.index);
        }
    }
    let findings = findings(&sample);
    let not_run = &findings.variant("rest").unwrap().not_run;
    assert_eq!(not_run.len(), MOST_REASONS + 1);
    assert_eq!(not_run[MOST_REASONS], "and 2 other reasons");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_order_of_records_does_not_matter(seed: u64) {
        let sample = Builder { calls: 60, invocations: 2, ..two(1.5) }.build();
        let other = Sample {
            trials: shuffled(&sample.trials, seed),
            floors: shuffled(&sample.floors, seed ^ 1),
            ..sample.clone()
        };
        prop_assert_eq!(findings(&sample), findings(&other));
    }

    #[test]
    fn any_part_of_a_run_has_findings_that_add_up(seed: u64, part in 0.0..1.0_f64) {
        let mut sample = Builder { calls: 60, invocations: 3, ..two(1.5) }.build();
        sample.trials = shuffled(&sample.trials, seed);
        sample.trials.truncate((sample.trials.len() as f64 * part) as usize);
        let findings = findings(&sample);
        let progress = &findings.progress;
        prop_assert_eq!(progress.measured as usize, sample.trials.len());
        prop_assert_eq!(progress.planned, progress.measured + progress.failed + progress.missing);
        for comparison in &findings.comparisons {
            let blocks = &comparison.placements[0].blocks;
            let gone = blocks.missing + blocks.no_value + blocks.client_bound;
            prop_assert_eq!(blocks.planned, blocks.used + gone);
        }
        let text = crate::json::render(&findings).unwrap();
        prop_assert_eq!(crate::json::parse(&text).unwrap(), findings);
    }
}
