//! What every rendering of the findings has to tell.

use super::*;

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
