//! The decisions: what to use, at the head of a report.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_study::plan::Metric;
use rpcgauge_study::subject::version_of;

use super::{Block, Column, Figure, Item, Section, Shown, Table, Text, number, row};
use crate::findings::decision::Decision;
use crate::findings::{Figures, Findings};
use crate::units;
use crate::words::{self, decision as said};

/// With more decisions than this, a terminal does not show them.
const MAX_ON_TERMINAL: usize = 6;

/// The columns of a decision whose bytes are those of this metric.
fn figures(bytes: Option<Metric>) -> [Figure<Figures>; 6] {
    let [size, rate]: [Figure<Figures>; 2] = match bytes {
        Some(Metric::ResponseBytes) => [
            number("response", 2, |figures| {
                Some(units::size(figures.payload.response_compressed?))
            }),
            number("Mbit/s", 5, |figures| {
                Some(said::mbit(figures.payload.response_compressed?))
            }),
        ],
        _ => [
            number("bytes/call", 2, |figures| {
                Some(units::size(figures.bytes?.total()))
            }),
            number("Mbit/s", 5, |figures| {
                Some(said::mbit(figures.bytes?.total()))
            }),
        ],
    };
    [
        number("p50", 0, |figures| {
            Some(units::time(figures.latency.as_ref()?.p50_ns))
        }),
        size,
        number("client CPU", 4, |figures| {
            Some(units::time(figures.cpu.client?.total_ns))
        }),
        number("server CPU", 3, |figures| {
            Some(units::time(figures.cpu.server?.total_ns))
        }),
        number("cores", 1, |figures| {
            Some(said::cores(figures.cpu.both_ns()?))
        }),
        rate,
    ]
}

/// The only decision in full. Of several, the study's headlines, and then the others in files.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let decisions: Vec<&Decision> = findings.decisions.iter().collect();
    let list = |title: &str, shown, decisions: &[&Decision]| {
        let items = decisions.iter().map(|one| item(findings, one));
        Section::new("decisions", title, shown, Block::list(items))
    };
    match &decisions[..] {
        [one] => vec![Section::new(
            "decision",
            title(findings, one),
            Shown::Always,
            in_full(findings, one),
        )],
        all if all.len() <= MAX_ON_TERMINAL => vec![list("Decisions", Shown::Always, all)],
        _ => {
            let (headlines, others): (Vec<&Decision>, Vec<&Decision>) =
                decisions.into_iter().partition(|one| one.headline);
            let shown = if headlines.len() > MAX_ON_TERMINAL {
                Shown::InFiles
            } else {
                Shown::Always
            };
            vec![
                list("Decisions", shown, &headlines),
                list("Further decisions", Shown::Folded, &others),
            ]
        }
    }
}

/// `Decision for shop.Orders/Get (two cores)`.
fn title(findings: &Findings, decision: &Decision) -> String {
    let called = format!("Decision for {}", decision.called);
    match &findings.study.placements[..] {
        [] | [_] => called,
        [own, ..] => format!("{called} ({})", words::place(*own)),
    }
}

fn in_full(findings: &Findings, decision: &Decision) -> Vec<Block> {
    let own = decision.placements.first();
    let bytes = own.and_then(|own| own.best.last());
    let columns = figures(bytes.map(|best| best.metric));
    let of = |name: &String| own.and_then(|own| findings.figures(name, own.placement));
    let rows = decision.variants.iter();
    let rows = rows.map(|name| row(name.clone(), &columns, of(name)));
    let mut table = Table::of_figures(Column::text("variant", 0), &columns);
    table.add_group(rows);
    let of_responses = bytes.is_some_and(|best| best.metric == Metric::ResponseBytes);
    let of = if of_responses { " (of responses)" } else { "" };
    let cores = format!(
        "cores: CPU of client and server together; cores and Mbit/s{of} at 1,000 calls per second"
    );
    let environment = findings.environment.as_ref();
    let stacks = stacks(findings, decision);
    let versions = environment.and_then(|environment| versions(&environment.subjects, &stacks));
    table.notes = [cores].into_iter().chain(versions).collect();
    let sentences = words::decision::decision(decision).into_iter();
    let sentences = sentences.map(|text| Block::Paragraph(text.into()));
    [Block::Table(table)].into_iter().chain(sentences).collect()
}

/// The stacks that a decision's variants call and are called by.
fn stacks<'f>(findings: &'f Findings, decision: &Decision) -> BTreeSet<&'f str> {
    let variants = decision.variants.iter();
    let settings = variants.filter_map(|name| Some(&findings.variant(name)?.how.settings));
    let stacks = settings.flat_map(|of| ["server", "client"].map(|role| of.get(role)));
    stacks.flatten().map(|stack| &**stack).collect()
}

/// The libraries in which those of these stacks that have a version of their own differ from the same stacks without
/// one.
fn versions(
    subjects: &BTreeMap<String, BTreeMap<String, String>>,
    stacks: &BTreeSet<&str>,
) -> Option<String> {
    let known = |stack: &str| subjects.get(stack).filter(|_| stacks.contains(stack));
    let mut named: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for stack in stacks {
        let Some((plain, _)) = version_of(stack) else {
            continue;
        };
        for (library, version) in known(stack).into_iter().flatten() {
            if let Some(usual) = known(plain).and_then(|usual| usual.get(library))
                && usual != version
            {
                let mut name = |stack, version| {
                    let versions = named.entry(stack).or_default();
                    versions.insert(format!("{library} {version}"));
                };
                name(plain, usual);
                name(stack, version);
            }
        }
    }
    let named = named.iter();
    let named =
        named.map(|(stack, versions)| format!("{stack} has {}", words::joined(versions, ", ")));
    let named = words::joined(named, "; ");
    (!named.is_empty()).then_some(named)
}

/// A decision in one item of a list.
pub(super) fn item(findings: &Findings, decision: &Decision) -> Item {
    let alike = findings.decisions.iter();
    let is_ambiguous = alike
        .filter(|other| other.called == decision.called)
        .count()
        > 1;
    let group = decision.group.as_deref().filter(|_| is_ambiguous);
    let name = group.map_or(decision.called.clone(), |group| {
        format!("{group}, {}", decision.called)
    });
    let own = decision.placements.first();
    let short = own.map(|own| said::in_short(decision, own));
    let short = words::joined(short.unwrap_or_default(), " ");
    Item::plain(Text::strong(name).and(format!(": {short}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_that_differ_are_named() {
        let stack = |name: &str, grpc: &str| {
            let libraries = [("go", "1.26"), ("grpc", grpc)];
            let libraries = libraries.map(|(name, version)| (name.to_owned(), version.to_owned()));
            (name.to_owned(), libraries.into())
        };
        let (usual, pinned) = (
            stack("go/grpc-go", "1.85"),
            stack("go/grpc-go@1.80", "1.80"),
        );
        let named = |subjects: &BTreeMap<_, _>, stacks: &[&str]| {
            versions(subjects, &stacks.iter().copied().collect())
        };
        let all = [
            "go/grpc-go",
            "go/grpc-go@1.80",
            "go/grpc-go@1.85",
            "node/grpc-js",
        ];
        let both = [usual.clone(), pinned.clone()].into();
        assert_eq!(
            named(&both, &all).as_deref(),
            Some("go/grpc-go has grpc 1.85; go/grpc-go@1.80 has grpc 1.80")
        );
        let same = [usual.clone(), stack("go/grpc-go@1.85", "1.85")].into();
        assert_eq!(named(&same, &all), None);
        let others = [usual, stack("node/grpc-js", "1.14")].into();
        assert_eq!(named(&others, &all), None);
        assert_eq!(named(&[pinned].into(), &all), None);
        // A version is not named beside variants that do not have it.
        assert_eq!(named(&both, &["go/grpc-go", "node/grpc-js"]), None);
    }

    #[test]
    fn a_decision_names_the_versions_of_its_own_stacks() {
        let mut sample = crate::fixture::two(2.0).build();
        let stacks = ["go/grpc-go", "go/grpc-go@1.80", "go/grpc-go"];
        for (variant, stack) in sample.plan.variants.iter_mut().zip(stacks) {
            crate::fixture::call(variant).server = stack.to_owned();
        }
        let libraries = |grpc: &str| BTreeMap::from([("grpc".to_owned(), grpc.to_owned())]);
        sample.environment.subjects = [("go/grpc-go", "1.85"), ("go/grpc-go@1.80", "1.80")]
            .map(|(stack, grpc)| (stack.to_owned(), libraries(grpc)))
            .into();
        let findings = crate::fixture::findings(&sample);
        let mut decision = findings.decisions[0].clone();
        let notes = |decision: &Decision| match &in_full(&findings, decision)[0] {
            Block::Table(table) => table.notes.len(),
            _ => panic!("a table is first"),
        };
        assert_eq!(decision.variants, ["grpc", "rest"]);
        assert_eq!(notes(&decision), 2, "the figures' units, and the versions");
        decision.variants.retain(|name| name == "grpc");
        assert_eq!(notes(&decision), 1, "another decision's version");
    }
}
