//! The tables of slow calls by cause.

use super::groups::{self, Group, measured};
use super::{Column, Section, Table, with_head};
use crate::findings::Findings;
use crate::findings::spikes::{Cause, SpikeCauses};
use crate::{units, words};

/// The causes of slow calls of each variant that was watched, placement by placement.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    groups::tables(findings, "spikes", "Slow calls by cause", table)
}

fn table(groups: &[Group<'_>]) -> Option<Table> {
    let variants = measured(groups)
        .filter_map(|(variant, figures)| Some((&*variant.name, figures.timeline.causes.as_ref()?)));
    let variants: Vec<(&str, &SpikeCauses)> = variants.collect();
    let mut table = Table {
        columns: vec![
            Column::text("variant", 0),
            Column::text("cause", 0),
            Column::number("spikes", 0),
            Column::number("time lost", 0),
            Column::number("share", 0),
        ],
        notes: vec![HOW_TO_READ.to_owned()],
        ..Table::default()
    };
    for (name, causes) in &variants {
        let causes = causes.causes.iter().map(|of| {
            [
                words::spikes::cause(of.cause).to_owned(),
                units::count(of.spikes),
                units::ns(of.lost_ns),
                units::percent(of.share),
            ]
        });
        let mut causes: Vec<[String; 4]> = causes.collect();
        if causes.is_empty() {
            causes.push(["no slow calls", "0", "", ""].map(str::to_owned));
        }
        let heads = [*name].into_iter().chain(std::iter::repeat(""));
        let rows = heads.zip(causes);
        table.add_group(rows.map(|(head, cells)| with_head(head.to_owned(), cells)));
    }
    let is_open = |(_, causes): &&(&str, &SpikeCauses)| {
        let mut known = causes.causes.iter();
        causes.runtimes == 0 && known.any(|of| of.cause == Cause::Unexplained)
    };
    let unknown = variants.iter().filter(is_open).map(|(name, _)| name);
    let unknown = words::joined(unknown, ", ");
    if !unknown.is_empty() {
        let note = format!("The runtime events of {unknown} are unknown.");
        table.notes.push(note);
    }
    (!table.rows.is_empty()).then_some(table)
}

const HOW_TO_READ: &str = "A call is slow if it takes more than three times the median of up to 64 calls \
    before it. Consecutive slow calls are one spike; the time beyond the median is lost. A cause is named \
    if it covers half of the lost time. If no cause does, a garbage collection whose whole pause lies in \
    the call is named, since its threads continue to work after the pause.";

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::{Disturbed, SlowCall, TrialOutcome, Watched};

    use super::super::Block;
    use super::*;
    use crate::fixture::two;

    #[test]
    fn each_cause_has_a_row_with_its_share() {
        let mut sample = two(1.0).build();
        let call = |due_ns, lost_ns: u64, waited_ns| SlowCall {
            due_ns,
            latency_ns: 1_000 + lost_ns,
            usual_ns: 1_000,
            disturbed: Some(Disturbed {
                waited_ns,
                stolen_ns: 0,
            }),
        };
        let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome else {
            panic!("it was measured")
        };
        measured.watched = Some(Watched {
            from_ns: 0,
            slow: vec![call(0, 9_000, 8_000), call(1_000_000, 1_000, 0)],
            ..Watched::default()
        });
        let name = sample.trials[0].variant.clone();
        let findings = Findings::new(&sample.plan, None, &sample.trials, &sample.floors).unwrap();
        let sections = sections(&findings);
        assert_eq!(sections.len(), 1, "only where something was watched");
        let Some(Block::Table(table)) = sections[0].blocks.first() else {
            panic!("it is a table")
        };
        let rows: Vec<String> = table.rows.iter().map(|row| row.join("|")).collect();
        assert_eq!(
            rows,
            [
                format!("{name}|another program|1|9.00 µs|90%"),
                "|unexplained|1|1.00 µs|10%".to_owned(),
            ]
        );
        assert!(table.notes[1].contains(&name), "{:?}", table.notes);
    }
}
