use proptest::prelude::*;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::TrialOutcome;
use rpcgauge_study::settings::{Arrivals, Schedule};

use super::*;
use crate::fixture::{
    Spec, call, capacity, findings, live, live_schedule, mixed, quickstart, ramp, stacks, two,
    versus_ramp,
};

fn plain(width: usize) -> Style {
    Style {
        color: false,
        width,
        verbose: false,
    }
}

fn whole(width: usize) -> Style {
    Style {
        verbose: true,
        ..plain(width)
    }
}

#[test]
fn wide_and_in_colour() {
    let style = Style {
        color: true,
        ..whole(200)
    };
    let text = render(quickstart::findings(), style).replace('\u{1b}', "␛");
    insta::assert_snapshot!(text);
}

#[test]
fn narrow_and_plain() {
    insta::assert_snapshot!(render(quickstart::findings(), plain(80)));
}

#[test]
fn a_run_without_a_single_trial() {
    let sample = two(2.0).build();
    let empty = Findings::new(&sample.plan, None, &[], &[]).unwrap();
    insta::assert_snapshot!(render(&empty, plain(80)));
}

#[test]
fn a_caution_on_several_questions_is_printed_once() {
    let mut builder = two(2.0).spec(Spec::new("other", 300_000.0)).pair(
        "And than the other?",
        "grpc",
        "other",
        Metric::LatencyP50,
    );
    builder.specs[0].unsettled = true;
    builder.specs[3].unsettled = true;
    let text = render(&findings(&builder.build()), plain(200));
    let (_, cautions) = text.split_once("Cautions\n").unwrap();
    let of_both = "The warm-up of each of grpc and other reached";
    assert!(cautions.contains(of_both), "{text}");
    assert_eq!(cautions.matches("The warm-up of").count(), 1, "{text}");
}

#[test]
fn a_load_reads_as_a_result_with_its_objectives_first() {
    insta::assert_snapshot!(render(&findings(&live()), plain(100)));
}

#[test]
fn a_ramp_is_shown_step_by_step() {
    insta::assert_snapshot!(render(&findings(&ramp()), plain(100)));
}

#[test]
fn a_ramp_of_two_services_is_shown_side_by_side() {
    insta::assert_snapshot!(render(&findings(&versus_ramp()), plain(100)));
}

#[test]
fn each_call_of_a_mix_has_a_row() {
    let text = render(&findings(&mixed()), plain(100));
    let (_, section) = text.split_once("\nMix of calls\n").unwrap();
    insta::assert_snapshot!(section, @r"
    call   weight  calls  failed      p50      p90      p99      max
    read        4    164       4  9.00 ms  9.00 ms  9.00 ms  9.00 ms
    write       1     40       0  9.00 ms  9.00 ms        –  9.00 ms
    Calls: all that were due. Those that were never sent are divided by weight. Latency is that of the
    calls that succeeded.
      read         grpcs://localhost:50051/shop.Orders/Get with an empty message, expected: $.paid =
                   true
      write        grpcs://localhost:50051/shop.Orders/Put with an empty message, expected: $.paid =
                   true
    ");
    assert!(
        text.contains("grpcs://localhost:50051/ with a mix of calls"),
        "{text}"
    );
}

#[test]
fn stacks_stand_beside_each_other() {
    let text = render(&findings(&stacks()), plain(120));
    let (_, section) = text
        .split_once("Servers, called by rpcgauge's engine: hello\n")
        .unwrap();
    let row = |stack: &str| {
        section
            .lines()
            .find(|line| line.starts_with(stack))
            .unwrap()
    };
    for (stack, parts) in [
        (
            "stack ",
            &["p50", "calls/s", "CPU per call", "start-up", "on disk"][..],
        ),
        ("reference rest ", &["20.0 ms ±1%", "12.4 MB"][..]),
        ("go/grpc-go ", &["18.2 MB", "16.3 MB"][..]),
        // Measured only with one call in flight, and of unknown size.
        ("python/http ", &["20.0 ms ±1%", crate::units::NONE][..]),
    ] {
        let row = row(stack);
        assert!(parts.iter().all(|part| row.contains(*part)), "{row}");
    }
    assert!(section.contains("calls/s and CPU, the stack's own, with 64 calls in flight"));
}

#[test]
fn a_search_answers_first() {
    insta::assert_snapshot!(render(&findings(&capacity()), plain(110)));
}

#[test]
fn an_interrupted_run_says_how_much_is_missing() {
    let mut sample = two(2.0).build();
    sample.trials.truncate(20);
    let text = render(&findings(&sample), plain(100));
    assert!(
        text.contains("20 of 36 trials measured, 16 not run (interrupted)"),
        "{text}"
    );
}

#[test]
fn colour_is_for_terminals_without_no_color() {
    assert!(Style::new(true, None, None).color);
    assert!(
        Style::new(true, Some(""), None).color,
        "an empty NO_COLOR counts as unset"
    );
    assert!(!Style::new(true, Some("1"), None).color);
    assert!(!Style::new(false, None, None).color);
    assert!(!render(quickstart::findings(), Style::new(false, None, None)).contains('\u{1b}'));
}

#[test]
fn a_server_cannot_steer_the_terminal() {
    let text = render(quickstart::findings(), whole(100));
    assert!(text.contains("<script>alert('pwned')</script>"));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn how_late_calls_were_sent_is_said_at_any_width() {
    let mut sample = two(2.0).build();
    let header = |sample: &crate::fixture::Sample| {
        let text = render(&findings(sample), plain(80));
        assert!(text.contains(" of its core ("), "{text}");
        assert!(text.contains("of when they were due ("), "{text}");
        let header = text.lines().find(|line| line.starts_with("variant "));
        header.unwrap().to_owned()
    };
    assert!(!header(&sample).contains("delay p99"));
    call(&mut sample.plan.variants[1]).options.schedule = Schedule::Rate {
        per_second: 5_000.0,
        arrivals: Arrivals::Poisson,
    };
    // For calls due at a rate, the column is not dropped, since their latency includes the delay.
    assert!(header(&sample).contains("delay p99"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn every_line_fits(width in 80..=200_usize) {
        for line in render(quickstart::findings(), whole(width)).lines() {
            prop_assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn messages_that_were_not_made_in_time_are_said_of_a_live_service() {
    let mut sample = live();
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        measured.bodies_late = 3;
    }
    let page = render(&findings(&sample), plain(100));
    let words: Vec<&str> = page.split_whitespace().collect();
    let said = "3 of 204 calls started late because their messages were not built in time.";
    assert!(words.join(" ").to_lowercase().contains(said), "{page}");
}

#[test]
fn calls_in_flight_that_were_not_reached_are_said_of_a_live_service() {
    let mut sample = live();
    *live_schedule(&mut sample.plan.variants[0]) = Schedule::Closed { in_flight: 64 };
    let said = |sample: &crate::fixture::Sample| {
        let page = render(&findings(sample), plain(200));
        page.contains("A trial had at most 10 calls in flight, not the requested 64.")
    };
    let reach = |sample: &mut crate::fixture::Sample, most| {
        if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
            measured.most_in_flight = Some(most);
        }
    };
    reach(&mut sample, 64);
    assert!(!said(&sample));
    reach(&mut sample, 10);
    assert!(said(&sample), "{}", render(&findings(&sample), plain(200)));
}

#[test]
fn sends_beyond_a_calls_first_are_said_of_a_live_service() {
    let mut sample = live();
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        measured.calls.retried = 90;
        measured.calls.answered_after_retry = 88;
    }
    let page = render(&findings(&sample), plain(100));
    let words: Vec<&str> = page.split_whitespace().collect();
    let page = words.join(" ");
    assert!(page.contains("Calls were sent again 90 times."), "{page}");
    assert!(page.contains("; 88 succeeded after a retry"), "{page}");
}
