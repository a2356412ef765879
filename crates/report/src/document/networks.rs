//! The computed times of a decision's calls over other networks.

use super::{Block, Column, Item, Section, Shown, Table, with_head};
use crate::findings::Findings;
use crate::findings::decision::Decision;
use crate::findings::network::{ComputedTimes, NetworkFindings, Turn};
use crate::units;

/// The networks of the only decision. Of several, none: their tables would be longer than the rest of the report.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let [decision] = &findings.decisions[..] else {
        return Vec::new();
    };
    let rows = decision
        .networks
        .first()
        .map_or(&[][..], |network| &network.variants);
    if rows.is_empty() {
        return Vec::new();
    }
    let sentences = turns(decision).map(|sentence| Item::plain(sentence.into()));
    let notes = [HOW_TO_READ.to_owned(), legend(decision)];
    let notes = notes.into_iter().chain(without_headers(findings, decision));
    let kept = table(decision, rows, |of| of.kept_ns, &notes.collect::<Vec<_>>());
    let new = table(decision, rows, |of| of.new_ns, &[NEW_CONNECTION.to_owned()]);
    vec![
        Section::new(
            "networks",
            "Over other networks (computed, not measured)",
            Shown::Always,
            [kept].into_iter().chain(Block::list(sentences)),
        ),
        Section::new(
            "new-connections",
            "Over other networks with a new connection for each call (computed, not measured)",
            Shown::Folded,
            [new],
        ),
    ]
}

fn table(
    decision: &Decision,
    rows: &[ComputedTimes],
    time: fn(&ComputedTimes) -> Option<f64>,
    notes: &[String],
) -> Block {
    let networks = (0..).zip(&decision.networks);
    let columns = networks.map(|(rank, network)| Column {
        title: network.name.clone().into(),
        ..Column::number("", rank)
    });
    let mut table = Table {
        columns: [Column::text("variant", 0)]
            .into_iter()
            .chain(columns)
            .collect(),
        notes: notes.to_vec(),
        ..Table::default()
    };
    table.add_group(rows.iter().map(|ComputedTimes { variant, .. }| {
        let times = decision.networks.iter().map(|network| {
            let of = network.variants.iter().find(|one| one.variant == *variant);
            of.and_then(time).map_or_else(units::none, units::time)
        });
        with_head(variant.clone(), times)
    }));
    Block::Table(table)
}

const HOW_TO_READ: &str = "computed from the median over loopback and the bytes of a call, by the model in docs/map.md: a \
    connection that has carried such calls before, without losses. –: more bytes than the network's queue holds, which the \
    model leaves out";

pub(super) const NEW_CONNECTION: &str = "TCP's handshake, that of TLS if calls use it, and slow start; without the CPU time of opening a \
    connection";

/// A note if the clients of stacks made the calls.
fn without_headers(findings: &Findings, decision: &Decision) -> Option<String> {
    let own = decision.placements.first()?.placement;
    let counts = |name: &String| Some(findings.figures(name, own)?.bytes.is_some());
    let is_counted = decision
        .variants
        .iter()
        .filter_map(counts)
        .all(|counts| counts);
    let note = "the bytes are those of bodies: the clients of stacks do not count headers, which small messages consist of";
    (!is_counted).then(|| note.to_owned())
}

/// What the networks are.
fn legend(decision: &Decision) -> String {
    let networks = decision.networks.iter().map(|network| {
        format!(
            "{}: {}, round trip {}",
            network.name,
            rate(network.bits_per_second),
            round_trip(network)
        )
    });
    let networks = crate::words::joined(networks, "; ");
    format!("{networks}; to measure over them, use --link with the values in docs/map.md")
}

fn round_trip(network: &NetworkFindings) -> String {
    units::round_time(network.round_trip_ns as f64)
}

pub(super) fn rate(bits_per_second: u64) -> String {
    let mbit = bits_per_second / 1_000_000;
    if mbit < 1_000 {
        format!("{mbit} Mbit/s")
    } else {
        format!("{} Gbit/s", mbit / 1_000)
    }
}

/// The rates below and above which other variants take less time than the choice, in a sentence each.
pub(crate) fn turns(decision: &Decision) -> impl Iterator<Item = String> {
    let below = decision.pays_below.iter().map(|turn| ("Below", turn));
    let above = decision.pays_above.iter().map(|turn| ("Above", turn));
    below
        .chain(above)
        .filter_map(|(side, turn)| sentence(decision, side, turn))
}

fn sentence(decision: &Decision, side: &str, turn: &Turn) -> Option<String> {
    let choice = decision.choice()?;
    let mbit = |bits: f64| units::number(bits / 1e6);
    let interval = turn.interval.map(|(low, high)| {
        let high = high.map_or_else(|| "no limit".to_owned(), mbit);
        format!(" [{}, {high}]", mbit(low))
    });
    Some(format!(
        "{side} {} Mbit/s{}, {} takes less time than {choice}.",
        mbit(turn.rate),
        interval.unwrap_or_default(),
        turn.variant
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_shows_its_calls_over_other_networks() {
        let findings = crate::fixture::findings(&crate::fixture::two(2.0).build());
        let mut decision = findings.decisions[0].clone();
        assert_eq!(decision.networks.len(), 4);
        let texts = decision.networks.iter();
        let texts: Vec<String> = texts.map(|network| rate(network.bits_per_second)).collect();
        assert_eq!(texts, ["10 Gbit/s", "1 Gbit/s", "100 Mbit/s", "20 Mbit/s"]);
        decision.pays_below = vec![Turn {
            variant: "gzip".to_owned(),
            rate: 1.5e8,
            interval: Some((1.2e8, None)),
        }];
        let turn = decision.pays_below[0].clone();
        decision.pays_above.push(Turn {
            variant: "rest".to_owned(),
            ..turn
        });
        let said: Vec<String> = turns(&decision).collect();
        assert_eq!(
            said,
            [
                "Below 150 Mbit/s [120, no limit], gzip takes less time than grpc.",
                "Above 150 Mbit/s [120, no limit], rest takes less time than grpc."
            ]
        );
    }
}
