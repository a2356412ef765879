//! Slow calls by what explains them.

use super::groups::{self, measured};
use super::{Block, Column, Section, Shown, Table};
use crate::findings::Findings;
use crate::findings::spikes::{Cause, SpikeCauses};
use crate::{units, words};

/// The causes of each variant whose slow calls were watched, placement by placement.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let of_placement = |placement| {
        let groups = groups::groups(findings, &findings.variants, placement);
        let causes = measured(&groups).filter_map(|(variant, figures)| {
            Some((&*variant.name, figures.timeline.causes.as_ref()?))
        });
        let table = table(causes.collect())?;
        Some(Section {
            id: "spikes",
            title: format!("Slow calls by their cause, {}", words::on(placement)),
            shown: Shown::Always,
            blocks: vec![Block::Table(table)],
        })
    };
    let placements = findings.study.placements.iter();
    placements
        .filter_map(|&placement| of_placement(placement))
        .collect()
}

fn table(variants: Vec<(&str, &SpikeCauses)>) -> Option<Table> {
    let (mut rows, mut breaks) = (Vec::new(), Vec::new());
    for (name, causes) in &variants {
        if !rows.is_empty() {
            breaks.push(rows.len());
        }
        if causes.causes.is_empty() {
            rows.push(
                ["", "no slow calls", "0", "", ""]
                    .map(str::to_owned)
                    .to_vec(),
            );
        }
        rows.extend(causes.causes.iter().map(|of| {
            vec![
                String::new(),
                words::spikes::cause(of.cause).to_owned(),
                units::count(of.spikes),
                units::time(of.lost_ns as f64),
                units::percent(of.share),
            ]
        }));
        let first = breaks.last().copied().unwrap_or(0);
        (*name).clone_into(&mut rows[first][0]);
    }
    let mut notes = vec![
        "A call is slow if it takes more than three times the median of up to 64 calls before it. Slow calls \
         that follow each other are one spike; the time beyond the median is lost. A cause is named if it \
         covers half of that. Where no cause does, a garbage collection whose whole pause lies in the call is \
         named, since its threads go on after the pause."
            .to_owned(),
    ];
    let is_open = |of: &&(&str, &SpikeCauses)| {
        let unexplained = of.1.causes.iter().any(|of| of.cause == Cause::Unexplained);
        of.1.runtimes == 0 && unexplained
    };
    let unknown: Vec<&str> = variants
        .iter()
        .filter(is_open)
        .map(|(name, _)| *name)
        .collect();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        notes.push(format!(
            "What the runtimes themselves did is not known of {names}."
        ));
    }
    (!rows.is_empty()).then(|| Table {
        columns: vec![
            Column::text("variant", 0),
            Column::text("cause", 0),
            Column::number("spikes", 0),
            Column::number("time lost", 0),
            Column::number("share", 0),
        ],
        rows,
        breaks,
        notes,
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::{Disturbed, SlowCall, TrialOutcome, Watched};

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
