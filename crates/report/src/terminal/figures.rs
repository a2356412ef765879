//! The tables of figures, one for each placement, and what their letters mean.

use super::{Column, Page, Paint, Table};
use crate::escape::terminal as safe;
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::marks;
use crate::questions::{self, Group};
use crate::units::{self, NONE};
use crate::words;

/// The columns of the figures, in their order from left to right.
const COLUMNS: [Column; 14] = [
    column("variant", 0, false),
    column("p50", 0, true),
    column("p90", 8, true),
    column("p99", 1, true),
    column("p99.9", 9, true),
    column("max", 10, true),
    column(DELAY, 11, true),
    column("calls/s", 2, true),
    column("bytes/call", 4, true),
    column("client CPU", 5, true),
    column("client share", 12, true),
    column("server CPU", 6, true),
    column("kernel", 7, true),
    column("", 3, false),
];

/// The column of how late calls were sent.
const DELAY: &str = "delay p99";

/// Its rank where calls are due at a rate: their latency has it within it.
const DELAY_RANK_AT_A_RATE: u8 = 1;

const fn column(title: &'static str, rank: u8, right: bool) -> Column {
    Column { title, rank, right }
}

impl Page {
    /// The figures under each placement, then one legend for all of them.
    pub(super) fn figures(&mut self, findings: &Findings) {
        let mut cells: Vec<&Cell> = Vec::new();
        let (mut shown, mut dropped) = (String::new(), Vec::new());
        for placement in &findings.study.placements {
            let groups = questions::groups(findings, *placement);
            if groups.is_empty() {
                continue;
            }
            self.heading(&format!("Figures {}", words::on(*placement)));
            (shown, dropped) = self.table(&groups);
            let members = groups.iter().flat_map(|group| &group.members);
            cells.extend(members.map(|(_, cell)| *cell));
            self.client(&groups);
            self.spikes(&groups);
        }
        if cells.is_empty() {
            return;
        }
        let mut legend = marks::legend(cells.into_iter());
        if shown.contains(DELAY) {
            legend.push(format!(
                "{DELAY}: how long after they were due calls were sent"
            ));
        }
        if shown.contains("kernel") {
            legend.push(
                "kernel: how much of the median call two bare loops take at least for the same bytes \
                 (the floor)"
                    .to_owned(),
            );
        }
        let mut placements = findings.study.placements.iter();
        legend.extend(placements.find_map(|place| words::live::left_out(findings, *place)));
        if !dropped.is_empty() {
            legend.push(format!("wider terminals also show {}", dropped.join(", ")));
        }
        self.text.push('\n');
        for line in legend {
            self.paragraph(Paint::Quiet, "", &line);
        }
    }

    /// The table; its header, and the columns there was no room for.
    fn table(&mut self, groups: &[Group<'_>]) -> (String, Vec<&'static str>) {
        let mut table = Table {
            columns: COLUMNS.to_vec(),
            rows: Vec::new(),
        };
        let mut members = groups.iter().flat_map(|group| &group.members);
        if members.any(|(variant, _)| variant.how.at_a_rate) {
            for column in table.columns.iter_mut().filter(|c| c.title == DELAY) {
                column.rank = DELAY_RANK_AT_A_RATE;
            }
        }
        let mut starts = Vec::new();
        for group in groups {
            starts.push(table.rows.len());
            let rows = group.members.iter().map(|(v, cell)| row(v, cell));
            table.rows.extend(rows);
        }
        let (lines, dropped) = table.lines(self.style.columns());
        for (index, line) in lines.iter().enumerate() {
            if index == 0 {
                self.line(&self.style.paint(Paint::Quiet, line));
                continue;
            }
            if index > 1 && starts.contains(&(index - 1)) {
                self.text.push('\n');
            }
            self.line(line);
        }
        (lines.into_iter().next().unwrap_or_default(), dropped)
    }

    /// What the instrument itself took, and how late it was, in every report: the columns of both
    /// may have no room.
    fn client(&mut self, groups: &[Group<'_>]) {
        let members = groups.iter().flat_map(|group| &group.members);
        let measured: Vec<(&str, &Figures)> = members
            .filter_map(|(v, cell)| Some((&*v.name, cell.figures.as_deref()?)))
            .collect();
        let shares = measured
            .iter()
            .filter_map(|(name, f)| Some((f.client_share_max?, *name)));
        let Some((share, busiest)) = shares.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return;
        };
        let mut text = format!(
            "rpcgauge's own client used up to {} of its core ({busiest})",
            units::percent(share)
        );
        let delays = measured.iter().filter_map(|(name, figures)| {
            let delay = figures.send_delay.as_ref()?;
            // Too few calls for a percentile have a longest one still.
            Some(match delay.p99_ns {
                Some(ns) => (ns, "99% of its calls", *name),
                None => (delay.max_ns, "its calls", *name),
            })
        });
        if let Some((delay, calls, latest)) = delays.max_by_key(|(ns, ..)| *ns) {
            text += &format!(
                " and sent {calls} within {} of when they were due ({latest})",
                units::time(delay as f64)
            );
        }
        self.paragraph(Paint::Quiet, "", &(text + "."));
    }

    /// How many spikes there were, and the highest.
    fn spikes(&mut self, groups: &[Group<'_>]) {
        let members = || groups.iter().flat_map(|group| &group.members);
        let timelines =
            || members().filter_map(|(v, cell)| Some((v, &cell.figures.as_deref()?.timeline)));
        let found: u64 = timelines().map(|(_, t)| t.spikes_found).sum();
        let with = timelines().filter(|(_, t)| t.spikes_found > 0).count();
        let spikes = timelines().flat_map(|(v, t)| t.spikes.iter().map(move |s| (s.max_ns, v)));
        let Some((highest, variant)) = spikes.max_by_key(|(ns, _)| *ns) else {
            return;
        };
        let spikes = if found == 1 { "spike" } else { "spikes" };
        let text = format!(
            "{} {spikes} in {with} of {} variants, the highest of {} in {}; report.html shows when.",
            units::count(found),
            members().count(),
            units::time(highest as f64),
            variant.name,
        );
        self.paragraph(Paint::Quiet, "", &text);
    }
}

fn row(variant: &VariantFindings, cell: &Cell) -> Vec<String> {
    let show = |value: fn(&Figures) -> Option<String>| {
        let text = cell.figures.as_deref().and_then(value);
        text.unwrap_or_else(|| NONE.to_owned())
    };
    // A live service never has these: a column of such variants alone is left out.
    let show_of_subject = |value: fn(&Figures) -> Option<String>| match variant.is_live() {
        true => String::new(),
        false => show(value),
    };
    vec![
        safe(&variant.name),
        show(|f| f.latency.as_ref().map(|l| time(l.p50_ns))),
        show(|f| f.latency.as_ref()?.p90_ns.map(time)),
        show(|f| f.latency.as_ref()?.p99_ns.map(time)),
        show(|f| f.latency.as_ref()?.p999_ns.map(time)),
        show(|f| f.latency.as_ref().map(|l| time(l.max_ns))),
        show(|f| f.send_delay.as_ref()?.p99_ns.map(time)),
        show(|f| Some(units::number(f.goodput))),
        show(|f| Some(unit_aligned(units::size(f.bytes?.total())))),
        show(|f| Some(units::time(f.cpu.client?.total_ns))),
        show(|f| f.client_share.map(units::percent)),
        show_of_subject(|f| Some(units::time(f.cpu.server?.total_ns))),
        show_of_subject(|f| Some(units::percent(f.floor.as_ref()?.share?))),
        marks::letters(cell),
    ]
}

/// A time of whole nanoseconds.
fn time(ns: u64) -> String {
    unit_aligned(units::time(ns as f64))
}

/// A figure whose unit has two letters or is filled up to two, so that the numbers end in one
/// column.
fn unit_aligned(figure: String) -> String {
    match figure.rsplit_once(' ') {
        Some((_, unit)) if unit.chars().count() == 1 => figure + " ",
        _ => figure,
    }
}
