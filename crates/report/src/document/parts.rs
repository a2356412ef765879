//! Where the time of a call goes: the table of kernel, client, codec and server.

use super::groups::{self, Group};
use super::{Column, Section, Table, with_head};
use crate::findings::{Findings, Part, Parts, VariantFindings};
use crate::{units, words};

/// A table for each placement under which a codec was measured as well as calls.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    groups::tables(findings, "parts", "Where a call's time goes", table)
}

/// A variant and the parts of its call.
type Row<'a> = (&'a VariantFindings, &'a Parts);

fn table(groups: &[Group<'_>]) -> Option<Table> {
    let all: Vec<Row<'_>> = groups.iter().flat_map(rows).collect();
    if all.iter().all(|(_, parts)| parts.codecs.is_empty()) {
        return None;
    }
    let has_network = all.iter().any(|(_, parts)| parts.network.is_some());
    let network = has_network.then_some("network");
    let parts = ["kernel", "client", "codec", "server"];
    let parts = ["mean call"].into_iter().chain(network).chain(parts);
    let parts = parts.map(|title| Column::number(title, 0));
    let mut table = Table {
        columns: with_head(Column::text("variant", 0), parts),
        notes: notes(&all),
        ..Table::default()
    };
    for group in groups {
        table.add_group(rows(group).map(|(variant, parts)| row(variant, parts, has_network)));
    }
    Some(table)
}

fn rows<'a>(group: &Group<'a>) -> impl Iterator<Item = Row<'a>> {
    let members = group.members.iter();
    members.filter_map(|(variant, cell)| Some((*variant, cell.parts.as_ref()?)))
}

fn row(variant: &VariantFindings, parts: &Parts, has_network: bool) -> Vec<String> {
    let shown = |part: Part| format!("{} {:>4}", units::time(part.ns), units::percent(part.share));
    let some = |part: Option<Part>| part.map_or_else(units::none, shown);
    let network = has_network.then(|| some(parts.network));
    let cells = [variant.name.clone(), units::time(parts.call_ns)];
    let others = [
        shown(parts.kernel),
        some(parts.client),
        shown(parts.codec),
        shown(parts.server),
    ];
    cells.into_iter().chain(network).chain(others).collect()
}

fn notes(rows: &[Row<'_>]) -> Vec<String> {
    let mut notes = vec![
        "kernel: two bare loops with the same bytes (the floor); client: its CPU beyond the floor's and its \
         codec's; codec: encoding and decoding both messages, on both sides; server: the rest"
            .to_owned(),
    ];
    if rows.iter().any(|(_, parts)| parts.network.is_some()) {
        notes.push(
            "network: the minimum time on the link, from its delays and from sending the bytes; kernel: the rest \
             of the floor over the link"
                .to_owned(),
        );
    }
    let is_by_stack = |variant: &VariantFindings| variant.how.is_by_stack();
    if rows.iter().any(|(variant, _)| is_by_stack(variant)) {
        notes.push(
            "calls by a stack's client: kernel and server are from the same call by rpcgauge's client, and the \
             client is the rest"
                .to_owned(),
        );
    }
    let mut without = |what: &str, lacks: fn(&Parts) -> bool| {
        let names = rows.iter().filter(|(_, parts)| lacks(parts));
        let names = words::joined(names.map(|(variant, _)| &variant.name), ", ");
        if !names.is_empty() {
            notes.push(format!("{what}: {names}"));
        }
    };
    without(
        "the server's codec is not measured and is included in the server's part",
        |parts| parts.codec_of_server_ns.is_none(),
    );
    without(
        "the client's codec is not measured and is included in the client's part",
        |parts| parts.codec_of_client_ns.is_none(),
    );
    without(
        "the client's CPU is not measured, and its part is included in the server's",
        |parts| parts.client.is_none(),
    );
    notes
}
