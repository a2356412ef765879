use rpcgauge_study::settings::Placement;

use super::*;
use crate::fixture::quickstart::{self, HOSTILE};
use crate::fixture::{Builder, Sample, Spec, findings, linked, two};

/// Elements without an end tag.
const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];

/// Checks that all elements are closed in the right order, and returns their names.
fn elements(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut names = Vec::new();
    let (before_style, rest) = page.split_once("<style>").expect("there is a style");
    let (_, after_style) = rest.split_once("</style>").expect("it ends");
    for part in [before_style, after_style] {
        for tag in part.split('<').skip(1) {
            let (inside, _) = tag.split_once('>').expect("each tag ends");
            let name = inside
                .split([' ', '/'])
                .find(|n| !n.is_empty())
                .unwrap_or_default();
            if let Some(closed) = inside.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed), "in {inside}");
                continue;
            }
            names.push(name.to_owned());
            if !VOID.contains(&name) && !inside.ends_with('/') {
                open.push(name.to_owned());
            }
        }
    }
    assert_eq!(open, Vec::<String>::new());
    names
}

#[test]
fn the_page_is_whole_small_and_needs_nothing_else() {
    let page = render(quickstart::findings());
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    let names = elements(&page);
    for absent in ["script", "link", "img", "iframe", "object", "form"] {
        assert!(!names.iter().any(|n| n == absent), "<{absent}>");
    }
    for request in ["http://", "https://", "url(", "@import", "src="] {
        assert!(!page.contains(request), "{request}");
    }
    for id in ["verdicts", "claims", "failed", "environment", "reading"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
}

#[test]
fn what_a_server_sent_is_text() {
    let page = render(quickstart::findings());
    assert!(HOSTILE.contains("<script>"));
    assert!(!page.contains("<script"));
    assert!(
        page.contains("&lt;script&gt;alert(&#x27;pwned&#x27;)&lt;"),
        "the text itself is shown"
    );
    assert!(page.contains("&lt;b&gt;error&lt;"), "so is the log");
}

#[test]
fn names_and_reasons_are_text_everywhere() {
    let hostile = "x\"><img src=x onerror=alert(1)>";
    let builder = two(2.0).spec(Spec {
        cannot_run: Some(hostile),
        ..Spec::new("broken", 1.0)
    });
    let mut sample = builder.build();
    sample.plan.name = hostile.to_owned();
    sample.plan.question = hostile.to_owned();
    sample.plan.pairs[0].question = hostile.to_owned();
    sample.environment.processor = hostile.to_owned();
    for variant in &mut sample.plan.variants {
        variant.group = Some(hostile.to_owned());
    }
    let page = render(&findings(&sample));
    assert!(!elements(&page).iter().any(|name| name == "img"));
    assert!(!page.contains("\"><img"));
}

#[test]
fn no_text_of_others_reorders_the_page() {
    let reordering = "a\u{202e}b\u{200b}c";
    let builder = two(2.0).spec(Spec {
        cannot_run: Some(reordering),
        ..Spec::new("broken", 1.0)
    });
    let mut sample = builder.build();
    sample.environment.warnings = vec![reordering.to_owned()];
    let versions = [("go".to_owned(), reordering.to_owned())];
    let subjects = &mut sample.environment.subjects;
    subjects.insert("go".to_owned(), versions.into());
    let page = render(&findings(&sample));
    assert!(!page.contains(['\u{202e}', '\u{200b}']));
    let shown = r"a\u{202e}b\u{200b}c";
    let expected = page.matches(&format!("<bdi>{shown}</bdi>")).count();
    assert_eq!(expected, 2, "the warning, and why it did not run");
    assert!(page.contains(&format!("<bdi>go {shown}</bdi>")));
}

#[test]
fn the_environment_tells_how_far_the_machine_moved_a_floor() {
    let mut found = findings(&two(2.0).build());
    for variant in &mut found.variants {
        let floor = variant.cells[0].figures.as_mut().unwrap().floor.as_mut();
        let floor = floor.unwrap();
        floor.lowest_round_trip_ns = 10_000.0;
        floor.highest_round_trip_ns = if variant.name == "rest" {
            22_000.0
        } else {
            11_000.0
        };
    }
    let page = render(&found);
    let line = "10.0 µs to 22.0 µs (2.20×) over 12 blocks, for rest on two cores";
    assert!(page.contains(line), "{page}");
    for variant in &mut found.variants {
        variant.cells[0].figures.as_mut().unwrap().floor = None;
    }
    assert!(!render(&found).contains("Floor by block"));
}

#[test]
fn a_run_without_a_single_trial_has_a_page() {
    let sample = two(2.0).build();
    let page = render(&Findings::new(&sample.plan, None, &[], &[]).unwrap());
    elements(&page);
    assert!(page.contains("this run was interrupted"));
    assert!(page.contains("nothing was measured"));
    for empty in [
        "No variant was timed",
        "Where the time goes",
        "id=\"latency\"",
        "#timeline",
        "id=\"bytes\"",
        "class=\"key\"",
        "class=\"forest-axis\"",
        "All figures",
    ] {
        assert!(!page.contains(empty), "{empty}");
    }
}

#[test]
fn a_load_that_was_interrupted_is_not_to_be_resumed() {
    let mut sample = crate::fixture::live();
    let second = rpcgauge_study::plan::TrialSpec {
        index: 1,
        block: 1,
        ..sample.plan.trials[0].clone()
    };
    sample.plan.trials.push(second);
    let page = render(&findings(&sample));
    assert!(page.contains("this run was interrupted"));
    assert!(!page.contains("--resume"), "it refuses live services");
}

#[test]
fn how_often_variants_ran_is_at_most_where_some_ran_less_often() {
    let page = |builder: &Builder| render(&findings(&builder.build()));
    let mut builder = two(2.0);
    assert!(page(&builder).contains("once in each block; 3 blocks in each of 4 invocations"));
    builder.placements.push(Placement::OneCore);
    builder.specs[0].everywhere = true;
    let mut sample = builder.build();
    sample
        .plan
        .trials
        .retain(|t| t.placement == Placement::TwoCores || t.invocation < 2);
    for (index, trial) in (0..).zip(&mut sample.plan.trials) {
        trial.index = index;
    }
    sample.trials.clear();
    let page = render(&findings(&sample));
    assert!(page.contains("once in each block; at most 3 blocks in each of 4 invocations"));
}

#[test]
fn charts_have_their_numbers_beside_them() {
    let page = render(quickstart::findings());
    let charts = page.matches("role=\"img\"").count();
    assert_eq!(
        page.matches("aria-label=\"").count(),
        charts + 1,
        "each chart, and the sections"
    );
    assert!(page.contains("Mean (median) of each stage"));
    assert!(page.contains("plus handler marks, 76 B"));
}

#[test]
fn text_in_a_table_has_a_width_of_its_own_on_a_phone() {
    let page = render(&findings(&linked(3)));
    assert!(page.contains("<td><span>100Mbit/s 900us</span></td>"));
    let (_, phone) = page.split_once("@media (max-width:760px)").unwrap();
    let (phone, _) = phone.split_once("@media").unwrap();
    assert!(phone.contains(".figures td>span{display:inline-block;width:max-content;"));
}

/// A study with too many variants for all charts.
fn large() -> Sample {
    let mut builder = Builder {
        calls: 100,
        invocations: 1,
        blocks: 1,
        ..Builder::new("large")
    };
    builder.placements.push(Placement::OneCore);
    for n in 0..150_u32 {
        let name: &'static str = format!("variant-with-a-long-name n={n}").leak();
        builder = builder.spec(Spec {
            everywhere: true,
            ..Spec::new(name, 50_000.0 + f64::from(n))
        });
    }
    builder.build()
}

#[test]
fn a_large_study_leaves_plots_out_and_says_so() {
    let page = render(&findings(&large()));
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    assert!(page.contains("To keep this page small, it leaves out all plots"));
    assert!(page.contains("variant-with-a-long-name n=149"));
    elements(&page);
}

#[test]
fn a_load_shows_its_result_and_objectives_and_no_stages() {
    let page = render(&crate::fixture::findings(&crate::fixture::live()));
    for part in [
        "204 started: 200 succeeded, 4 failed",
        "p99.99&lt;1s",
        "was not verified",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in [
        "Where the time goes",
        "id=\"verdicts\"",
        "id=\"summary\"",
        "server, user",
        "a server adds to its headers",
        "1 blocks",
        ">Target<",
        "Each variant ran",
    ] {
        assert!(!page.contains(part), "{part}");
    }
}

/// The total width of the parts of each bar below a heading.
fn widths(page: &str, heading: &str) -> Vec<f64> {
    let (_, after) = page
        .split_once(&format!("<h3>{heading}</h3>"))
        .expect("it is there");
    let chart = after.split("<h3").next().unwrap();
    let row = |row: &str| {
        let parts = row.split("style=\"width:").skip(1);
        parts
            .map(|part| part.split_once('%').unwrap().0.parse::<f64>().unwrap())
            .sum()
    };
    chart.split("class=\"bar-row").skip(1).map(row).collect()
}

#[test]
fn a_bar_is_as_long_as_its_total_where_the_split_is_not_known() {
    let mut sample = two(2.0).build();
    for trial in &mut sample.trials {
        let rpcgauge_study::record::TrialOutcome::Measured(measured) = &mut trial.outcome else {
            continue;
        };
        let server = measured.cpu.server.as_mut().unwrap();
        // Old records have zeros for an unknown split.
        (server.user_ns, server.system_ns) = (Some(0), Some(0));
    }
    let findings = findings(&sample);
    let page = render(&findings);
    let total = |name: &str| {
        let cpu = findings.figures(name, Placement::TwoCores).unwrap().cpu;
        cpu.client.unwrap().total_ns + cpu.server.unwrap().total_ns
    };
    let drawn = widths(&page, "CPU per call");
    let longest = total("rest").max(total("grpc")).max(total("grpc-again"));
    for (name, width) in ["grpc", "rest", "grpc-again"].into_iter().zip(&drawn) {
        let wanted = 100.0 * total(name) / longest;
        assert!(
            (width - wanted).abs() < 0.5,
            "{name}: {width}% and not {wanted}%"
        );
    }
    assert!(page.contains("server, user or system"));
    assert!(!page.contains("server, system<"), "no bar has it");
}

#[test]
fn each_verdict_is_a_row_with_its_interval_and_what_the_a_a_pair_shows() {
    let found = quickstart::findings();
    let page = render(found);
    let rows = page.matches("<details class=\"row\">").count();
    assert_eq!(rows, found.comparisons.len() + found.claims.len());
    let unix = page.split("<details class=\"row\">").find(|row| {
        row.contains("unix-socket against unix-tcp") && row.contains("depends on placement")
    });
    let unix = unix.expect("its row");
    for (part, count) in [
        ("class=\"track ", 2),
        ("class=\"whisker\"", 2),
        ("class=\"control\"", 2),
        ("class=\"dot\"", 2),
        ("<p class=\"clause\">", 2),
    ] {
        assert_eq!(unix.matches(part).count(), count, "{part}");
    }
    let published = page.matches("class=\"published\"").count();
    let drawn = found.claims.iter().filter(|claim| {
        let first = claim.placements.first();
        first.is_some_and(|p| p.verdict.estimate.is_some())
    });
    assert_eq!(published, drawn.count(), "once a claim");
}

#[test]
fn nothing_that_is_folded_is_lost_to_a_printer() {
    let page = render(quickstart::findings());
    assert!(page.contains("details::details-content{display:block!important"));
    for heading in [
        "Where the time goes",
        "Latency",
        "Timeline",
        "Bytes per call",
        "CPU per call",
    ] {
        assert!(page.contains(&format!("<h3>{heading}</h3>")), "{heading}");
    }
}

#[test]
fn spans_have_other_colours_than_the_stages_that_they_overlap() {
    for scheme in STYLE.split("prefers-color-scheme").take(2) {
        let colour = |name: &str| {
            let (_, rest) = scheme.split_once(&format!("--{name}:")).expect(name);
            rest.split(';').next().unwrap().to_owned()
        };
        let names = [
            "encode", "decode", "send", "wait", "request", "handler", "response",
        ];
        let mut colours = names.map(colour).to_vec();
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), names.len());
    }
}
