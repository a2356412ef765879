//! Tests of cautions beside a verdict: client-bound, failed calls, unsettled, not as requested.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::FailureKind;

use super::super::caution::{Caution, CautionKind as Kind};
use super::super::verdict::{Combined, Withheld};
use super::*;
use crate::fixture::Spec;

fn about(kind: Kind, variant: &str, counts: [u64; 2]) -> Caution {
    Caution::about(kind, variant, counts).under(Placement::TwoCores)
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
    // Bytes do not depend on a saturated client.
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
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.client_share = Some(0.9);
        }
    }
    let findings = findings(&sample);
    let verdict = &findings.comparisons[2].placements[0];
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    assert_eq!((verdict.blocks.used, verdict.blocks.client_bound), (9, 3));
    let left_out = Caution {
        count: 3,
        of: 12,
        ..Caution::plain(Kind::BlocksLeftOut, Some(Placement::TwoCores))
    };
    assert!(verdict.cautions.contains(&left_out));
}

#[test]
fn blocks_that_are_unfit_for_two_reasons_leave_no_verdict() {
    let mut sample = load_pair(0.5).build();
    let fast = sample.trials.iter_mut().filter(|t| t.variant == "fast");
    for (place, trial) in fast.take(8).enumerate() {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            let late = rpcgauge_study::record::Lateness {
                p99_ns: 200_000,
                ..Default::default()
            };
            match place % 2 {
                0 => measured.client_share = Some(0.9),
                _ => measured.link = Some(Default::default()),
            }
            measured
                .link
                .iter_mut()
                .for_each(|link| link.lateness = late);
        }
    }
    let findings = findings(&sample);
    let verdict = &findings.comparisons[2].placements[0];
    let blocks = verdict.blocks;
    assert_eq!((blocks.client_bound, blocks.link_not_held), (4, 4));
    let reason = Withheld::ClientBound;
    assert_eq!(verdict.outcome, verdict::Outcome::NoVerdict { reason });
}

#[test]
fn a_client_bound_load_gives_no_verdict_whichever_variant_stands_first() {
    let builder = load_pair(0.9)
        .pair("Faster alone?", "grpc", "fast", Metric::LatencyP50)
        .pair("Faster among others?", "fast", "grpc", Metric::LatencyP50);
    let findings = findings(&builder.build());
    let bound = verdict::Outcome::NoVerdict {
        reason: Withheld::ClientBound,
    };
    for pair in [4, 5] {
        assert_eq!(outcome(&findings, pair), bound, "pair {pair}");
        let blocks = findings.comparisons[pair].placements[0].blocks;
        assert_eq!(blocks.client_bound, 12, "pair {pair}");
    }
}

#[test]
fn a_client_bound_stage_trial_is_marked_and_keeps_its_verdict() {
    let mut builder = two(2.0);
    builder.specs[0].client_share = 0.95;
    let findings = findings(&builder.build());
    let verdict = &findings.comparisons[0].placements[0];
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    let bound = about(Kind::ClientBound, "grpc", [12, 12]);
    assert!(verdict.cautions.contains(&bound), "{:?}", verdict.cautions);
}

#[test]
fn failed_calls_and_drift_stand_beside_the_verdict() {
    let mut builder = two(2.0);
    builder.specs[1].failing = Some((FailureKind::ConnectionReset, "connection reset by peer", 20));
    builder.specs[1].unsettled = true;
    let findings = findings(&builder.build());
    let cautions = &findings.comparisons[0].placements[0].cautions;
    let expected = [
        about(Kind::FailedCalls, "rest", [120, 2_400]),
        about(Kind::Unsettled, "rest", [12, 12]),
    ];
    assert_eq!(cautions[..], expected);
    let figures = findings.figures("rest", Placement::TwoCores).unwrap();
    assert_eq!(figures.calls.failed[&FailureKind::ConnectionReset], 120);
    assert_eq!(figures.calls.ended(), figures.calls.started);
    assert_eq!(figures.failed_latency.as_ref().unwrap().count, 120);
    assert_eq!(figures.errors[0].count, 120);
}

#[test]
fn what_the_client_could_not_do_as_asked_is_in_cells_rows_and_verdicts() {
    let mut builder = two(2.0);
    builder.specs[1].uncompressed = 50;
    builder.specs[1].failed_connects = 2;
    builder.specs[1].never_begun = 4;
    builder.specs[1].retried = 3;
    builder.specs[1].bodies_late = 1;
    let findings = findings(&builder.build());
    let cautions = &findings.comparisons[0].placements[0].cautions;
    let expected = [
        (Kind::Uncompressed, [600, 2_400]),
        (Kind::FailedConnects, [24, 0]),
        (Kind::NeverBegun, [48, 2_448]),
        (Kind::Retried, [36, 0]),
        (Kind::BodiesLate, [12, 2_448]),
    ];
    let expected = expected.map(|(kind, counts)| about(kind, "rest", counts));
    assert_eq!(cautions[..], expected);
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
        (Some(1), Some(0))
    );
    assert_eq!(cell.cautions[..], expected);
    let row = findings.trials.iter().find(|row| row.variant == "rest");
    let row = row.unwrap();
    assert_eq!(
        [
            row.uncompressed_responses,
            row.connects_failed,
            row.never_begun,
            row.retried,
            row.bodies_late
        ],
        [50, 2, 4, 3, 1]
    );
}
