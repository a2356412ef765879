//! The report as a tree of headings, texts, tables, verdicts and charts.
//!
//! The tree is built once, from the findings, and rendered for the terminal, as Markdown and as a page. A renderer
//! decides where each part goes and how it looks; this module decides what it contains. Any text may include text
//! from a server or a study, so every renderer escapes all texts ([`crate::escape`]).

mod chart;
mod charts;
mod claims;
mod decision;
mod figures;
mod groups;
mod links;
mod live;
mod maps;
mod messages;
mod networks;
mod parts;
mod processes;
mod run;
mod spikes;
mod stacks;
mod summary;
mod verdicts;
mod workers;

pub(crate) use chart::{
    Area, Bar, Bars, Chart, Line, Mark, Marks, Named, Part, Plot, Scale, Size, Weight,
};
pub(crate) use claims::{Claim, Measured};
pub(crate) use networks::turns;
pub(crate) use run::{cautions, facts, machine, machine_facts, still_running};
pub(crate) use verdicts::{
    Answer, Drawn, Group, Question, Row, SIGNS, Verdict, Verdicts, claimed, drawn, ratios, reach,
    turned,
};

use std::borrow::Cow;

use crate::findings::Findings;
use crate::terminal::Style;
use crate::words::Labels;
use crate::{html, markdown, terminal, units};

/// The report of a run, or of the difference between two.
pub struct Document {
    pub(crate) title: String,
    pub(crate) question: String,
    /// What was measured, when and where.
    pub(crate) facts: Vec<String>,
    /// The cautions about the whole run.
    pub(crate) cautions: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// A part of a report under its own heading.
pub(crate) struct Section {
    /// Its HTML id, for links.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) shown: Shown,
    /// A section without blocks is not shown.
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn new(
        id: &'static str,
        title: impl Into<String>,
        shown: Shown,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Self {
        Self {
            id,
            title: title.into(),
            shown,
            blocks: blocks.into_iter().collect(),
        }
    }
}

/// Where a section is shown without being unfolded or requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Everywhere.
    Always,
    /// On the page and in Markdown; on a terminal only in verbose output.
    InFiles,
    /// Nowhere: it is folded on the page and in Markdown, and a terminal shows it only in verbose output.
    Folded,
    /// In the texts (folded in Markdown), but not on the page, which shows the same with each group of variants.
    InTexts,
}

/// A part of a section.
pub(crate) enum Block {
    /// A heading below the section's.
    Heading(String),
    Paragraph(Text),
    /// A remark on the block above it.
    Note(String),
    /// Labels, each with a text.
    Facts(Vec<(String, Text)>),
    List(Vec<Item>),
    /// Code to paste.
    Code(String),
    Table(Table),
    Verdicts(Verdicts),
    /// Claims, and how far their axis of ratios extends to either side of 1.
    Claims(Vec<Claim>, Option<f64>),
    Chart(Chart),
}

impl Block {
    pub(crate) fn facts<L: Into<String>, T: Into<Text>>(
        facts: impl IntoIterator<Item = (L, T)>,
    ) -> Self {
        let facts = facts.into_iter();
        Self::Facts(
            facts
                .map(|(label, text)| (label.into(), text.into()))
                .collect(),
        )
    }

    /// A list; `None` without items.
    pub(crate) fn list(items: impl IntoIterator<Item = Item>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().collect();
        (!items.is_empty()).then_some(Self::List(items))
    }
}

/// A line of a list, with lines below it.
#[derive(Default)]
pub(crate) struct Item {
    pub(crate) sign: Option<(char, Answer)>,
    pub(crate) text: Text,
    pub(crate) below: Vec<Text>,
    /// The last lines of a log.
    pub(crate) log: String,
}

impl Item {
    pub(crate) fn plain(text: Text) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A text of several parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text(pub(crate) Vec<Span>);

/// A part of a text.
#[derive(Debug, Clone)]
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    /// Text from another program, which must not reorder the text beside it.
    Foreign(String),
}

impl Text {
    pub(crate) fn strong(text: impl Into<String>) -> Self {
        Self(vec![Span::Strong(text.into())])
    }

    pub(crate) fn foreign(text: impl Into<String>) -> Self {
        Self(vec![Span::Foreign(text.into())])
    }

    pub(crate) fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(text.into()));
        self
    }

    pub(crate) fn and_foreign(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Foreign(text.into()));
        self
    }

    /// The text without markup.
    pub(crate) fn words(&self) -> String {
        let words = self.0.iter().map(|span| match span {
            Span::Plain(text) | Span::Strong(text) | Span::Foreign(text) => &**text,
        });
        words.collect()
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(vec![Span::Plain(text.into())])
    }
}

/// Rows under columns.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The cautions about each row; empty if the table has no such column.
    pub(crate) cautions: Vec<Labels>,
    /// For each row, the class of its part of a bar, which the page shows as a colour; empty without bars.
    pub(crate) swatches: Vec<&'static str>,
    /// The index of the first row of each group, except for the first group.
    pub(crate) breaks: Vec<usize>,
    /// The meaning of the cautions' letters, for renderers that show letters.
    pub(crate) legend: Vec<String>,
    /// How to read the table.
    pub(crate) notes: Vec<String>,
}

impl Table {
    /// A table without rows: a head column, then one column for each figure.
    pub(crate) fn of_figures<T>(head: Column, figures: &[Figure<T>]) -> Self {
        Self {
            columns: with_head(head, figures.iter().map(|(column, _)| column.clone())),
            ..Self::default()
        }
    }

    /// Adds rows as a separate group.
    pub(crate) fn add_group(&mut self, rows: impl IntoIterator<Item = Vec<String>>) {
        let first = self.rows.len();
        self.rows.extend(rows);
        if first > 0 && self.rows.len() > first {
            self.breaks.push(first);
        }
    }
}

/// The columns or cells of a table, with the head in front.
pub(crate) fn with_head<T>(head: T, others: impl IntoIterator<Item = T>) -> Vec<T> {
    std::iter::once(head).chain(others).collect()
}

/// A column of figures: its head and the text of a cell.
pub(crate) type Figure<T> = (Column, fn(&T) -> Option<String>);

pub(crate) const fn number<T>(
    title: &'static str,
    rank: u8,
    figure: fn(&T) -> Option<String>,
) -> Figure<T> {
    (Column::number(title, rank), figure)
}

/// A row of figures, with a dash for a missing one.
pub(crate) fn row<T>(head: String, figures: &[Figure<T>], of: Option<&T>) -> Vec<String> {
    let cell = |(_, figure): &Figure<T>| of.and_then(figure).unwrap_or_else(units::none);
    with_head(head, figures.iter().map(cell))
}

/// A column, with a rank that decides which columns are dropped if there is too little room.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) title: Cow<'static, str>,
    /// 0 is never dropped; the highest is dropped first. Texts never show ranks above [`MAX_IN_TEXTS`].
    pub(crate) rank: u8,
    pub(crate) right: bool,
}

/// The highest rank of a column that texts show if they have room; the page shows all.
pub(crate) const MAX_IN_TEXTS: u8 = 12;

impl Column {
    pub(crate) const fn number(title: &'static str, rank: u8) -> Self {
        Self {
            title: Cow::Borrowed(title),
            rank,
            right: true,
        }
    }

    pub(crate) const fn text(title: &'static str, rank: u8) -> Self {
        Self {
            title: Cow::Borrowed(title),
            rank,
            right: false,
        }
    }
}

impl Document {
    /// The whole report of these findings.
    pub(crate) fn of(findings: &Findings) -> Self {
        let is_single_load = findings.live().count() == 1;
        let mut sections = decision::sections(findings);
        sections.extend(networks::sections(findings));
        sections.extend(maps::sections(findings));
        sections.extend(live::listings(findings));
        sections.push(live::objectives(findings));
        if !is_single_load {
            sections.extend(verdicts::section(findings));
        }
        sections.extend(live::results(findings));
        sections.push(workers::section(findings));
        if is_single_load {
            sections.extend(charts::of_load(findings));
        }
        sections.push(stacks::section(findings));
        sections.extend(claims::section(findings));
        sections.extend(links::sections(findings));
        sections.extend(spikes::sections(findings));
        if !is_single_load {
            sections.extend(figures::sections(findings));
            sections.extend(messages::sections(findings));
            sections.extend(parts::sections(findings));
        }
        sections.push(processes::section(findings));
        sections.push(run::failures(findings));
        sections.push(run::calls(findings));
        sections.extend(run::environment(findings));
        sections.push(run::reading(findings));
        sections.retain(|section| !section.blocks.is_empty());
        Self {
            title: findings.study.name.clone(),
            question: findings.study.question.clone(),
            facts: run::facts(findings),
            cautions: cautions(findings),
            sections,
        }
    }

    /// Renders the report for a terminal.
    pub fn terminal(&self, style: Style) -> String {
        terminal::whole(self, style)
    }

    /// Renders the report as an HTML page.
    pub fn html(&self) -> String {
        html::whole(self)
    }

    /// Renders the report as Markdown.
    pub fn markdown(&self) -> String {
        markdown::whole(self)
    }
}
