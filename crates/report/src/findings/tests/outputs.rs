//! Tests of what every output must state.

use rpcgauge_study::plan::Metric;

use super::*;

#[test]
fn limits_that_are_not_the_defaults_are_shown() {
    let style = crate::Style {
        color: false,
        width: 200,
        verbose: true,
    };
    let mut sample = two(2.0).build();
    let outputs = |sample: &Sample| {
        let findings = findings(sample);
        [
            crate::terminal::render(&findings, style),
            crate::markdown::render(&findings).replace('\\', ""),
            crate::html::render(&findings),
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
fn every_output_says_how_a_verdict_stands_to_a_failing_a_a_pair() {
    for (ratio, expected) in [
        (
            1.2,
            "This does not exceed the difference of the A/A pair (1.",
        ),
        (1.6, "This exceeds the difference of the A/A pair (1."),
    ] {
        let mut builder = two(ratio);
        builder.specs[2].latency_ns *= 1.2;
        for text in outputs(&findings(&builder.build())) {
            let (_, rest) = text.split_once(expected).expect(&text);
            assert!(rest.contains("]; grpc measured twice)"), "{rest}");
        }
    }
}

#[test]
fn a_verdict_on_dynamic_code_says_so_in_its_own_line_in_every_output() {
    let code = rpcgauge_study::record::CodeKind::Dynamic;
    let text_of = |dynamic: &[usize], metric| {
        let mut builder = two(2.0);
        for spec in dynamic {
            builder.specs[*spec].code = code;
        }
        builder.pairs[0].metric = metric;
        let builder = builder.claim("old", ("grpc", "rest"), metric, (1.0, 2.0, "ms"));
        outputs(&findings(&builder.build()))
    };
    let one = "Only the messages of rest go through dynamic code in rpcgauge, so the difference may be due to that.";
    let both = "Messages go through dynamic code in rpcgauge, and generated code may differ.";
    for (dynamic, expected) in [(&[1][..], one), (&[0, 1, 2], both)] {
        for text in text_of(dynamic, Metric::LatencyP50) {
            assert_eq!(text.matches(expected).count(), 1, "{text}");
            // It is in the summary, if there is one, and with the published figure.
            assert!(text.contains("] (dynamic code)"), "{text}");
            let is_json = text.starts_with('{');
            assert!(
                is_json || text.contains("Which is faster? (dynamic code)"),
                "{text}"
            );
        }
        for text in text_of(dynamic, Metric::CallBytes) {
            assert!(
                !text.contains("(dynamic code)"),
                "bytes do not depend on it"
            );
        }
    }
    for text in text_of(&[], Metric::LatencyP50) {
        assert!(!text.contains("(dynamic code)"), "{text}");
    }
}

/// Every output that has verdicts in words, with the escapes within them removed.
fn outputs(findings: &Findings) -> [String; 4] {
    let style = crate::Style {
        color: false,
        width: 200,
        verbose: true,
    };
    [
        crate::terminal::render(findings, style),
        crate::markdown::render(findings).replace('\\', ""),
        crate::html::render(findings).replace("&#x2f;", "/"),
        crate::json::render(findings).unwrap(),
    ]
}

#[test]
fn every_output_says_what_the_figures_under_load_leave_out() {
    let style = crate::Style {
        color: false,
        width: 200,
        verbose: true,
    };
    let outputs = |findings: &Findings| {
        [
            crate::terminal::render(findings, style),
            crate::markdown::render(findings),
            crate::html::render(findings),
        ]
    };
    let said = "encoding of requests and decoding of responses";
    let live = findings(&crate::fixture::live());
    for findings in [quickstart::findings(), &live] {
        for text in outputs(findings) {
            assert!(text.contains(said), "{text}");
        }
    }
    for text in outputs(&findings(&two(2.0).build())) {
        assert!(!text.contains(said), "only stages are timed: {text}");
    }
}

#[test]
fn idle_states_that_were_not_held_off_are_a_caution() {
    let mut sample = two(2.0).build();
    sample.environment.idle.got = Idle::AsIs;
    sample.environment.idle.reason = Some("/dev/cpu_dma_latency: permission denied".to_owned());
    let cautions = crate::document::cautions(&findings(&sample));
    assert!(cautions[0].contains("disabled (/dev/cpu_dma_latency: permission denied)"));
}

#[test]
fn every_output_has_each_warning_once_and_the_idle_state() {
    let mut sample = two(2.0).build();
    let environment = &mut sample.environment;
    let reason = "idle states were not disabled: no device";
    environment.idle.got = Idle::AsIs;
    environment.idle.reason = Some(reason.to_owned());
    let busy = "other programs are busy: make (90% of a core)";
    environment.warnings = [reason, busy, busy].map(str::to_owned).to_vec();
    let findings = findings(&sample);
    assert_eq!(findings.warnings, [busy]);
    let style = crate::Style {
        color: false,
        width: 200,
        verbose: true,
    };
    for text in [
        crate::terminal::render(&findings, style),
        crate::markdown::render(&findings),
        crate::html::render(&findings),
    ] {
        for once in [busy, "idle states could not be disabled"] {
            assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
        }
        assert!(text.contains("idle states unchanged"), "{text}");
    }
}
