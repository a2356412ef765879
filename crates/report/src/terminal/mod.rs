//! The report on a terminal: the summary, the cautions and the figures, or everything with `--verbose`.

mod style;
mod table;

#[cfg(test)]
mod tests;

use style::Paint;
pub use style::Style;
use table::fitted;

use crate::document::{
    Answer, Block, Claim, Document, Item, Question, Row, SIGNS, Section, Shown, Table, Verdicts,
};
use crate::escape::terminal as safe;
use crate::findings::Findings;
use crate::words;

/// Renders findings for a terminal.
pub fn render(findings: &Findings, style: Style) -> String {
    whole(&Document::of(findings), style)
}

/// Renders a document for a terminal.
pub(crate) fn whole(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    page.title(&format!("{}: {}", document.title, document.question));
    page.paragraph(Paint::Quiet, "", &document.facts.join("; "));
    for caution in &document.cautions {
        page.paragraph(Paint::Open, "! ", caution);
    }
    for section in &document.sections {
        if style.verbose || matches!(section.shown, Shown::Always | Shown::InTexts) {
            page.section(section);
        }
    }
    page.text
}

/// The minimum width of the column of labels in a list of facts, including a gap.
const LABEL: usize = 13;
/// Its maximum width. Longer labels stand out.
const MAX_LABEL: usize = 20;

/// A question is shown above its verdict if there is less room than this beside the verdict.
const MIN_ROOM: usize = 34;
/// The number of lines at the end of a failed subject's log that are printed without `--verbose`.
const LOG_LINES: usize = 5;

struct Page {
    style: Style,
    text: String,
    /// The dropped columns that were last listed.
    dropped: Vec<String>,
    /// The log of the previous item: without `--verbose`, the same log is not printed twice in a row.
    log: String,
}

impl Page {
    fn new(style: Style) -> Self {
        Self {
            style,
            text: String::new(),
            dropped: Vec::new(),
            log: String::new(),
        }
    }

    fn title(&mut self, text: &str) {
        self.paragraph(Paint::Heading, "", text);
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.title(text);
    }

    fn paragraph(&mut self, paint: Paint, first: &str, text: &str) {
        let wrapped = self.style.wrap(first, &safe(text));
        self.line(&self.style.paint(paint, &wrapped));
    }

    fn sign(&self, answer: Answer) -> String {
        self.style.paint(paint(answer), &answer.sign().to_string())
    }

    /// A coloured sign and a label, with a text beside them.
    fn signed(&mut self, paint: Paint, sign: char, label: &str, text: &str) {
        let indent = 4 + label.chars().count();
        let wrapped = self.style.wrap(&" ".repeat(indent), &safe(text));
        let sign = self.style.paint(paint, &sign.to_string());
        self.line(&format!("  {sign} {label}{}", &wrapped[indent..]));
    }

    fn section(&mut self, section: &Section) {
        let is_chart = |block: &Block| matches!(block, Block::Chart(_));
        if section.blocks.iter().all(is_chart) {
            return;
        }
        match section.blocks.first() {
            // The sections of verdicts and failures have headings of their own.
            Some(Block::Verdicts(_) | Block::Heading(_)) => {}
            _ => self.heading(&section.title),
        }
        let shown = section.blocks.iter().filter(|block| !is_chart(block));
        let mut is_below_table = false;
        for block in shown {
            if is_below_table && matches!(block, Block::Table(_)) {
                self.text.push('\n');
            }
            is_below_table = matches!(block, Block::Table(_));
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => self.heading(text),
            Block::Paragraph(text) => self.paragraph(Paint::Plain, "  ", &text.words()),
            Block::Note(text) => self.paragraph(Paint::Quiet, "", text),
            Block::Facts(facts) => {
                let mut last = "";
                let width = |label: &String| label.chars().count() + 1;
                let fitting = facts.iter().map(|(label, _)| width(label));
                let fitting = fitting.filter(|width| *width <= MAX_LABEL).max();
                for (label, text) in facts {
                    let shown = if label == last { "" } else { label };
                    let column = LABEL.max(fitting.unwrap_or(0));
                    let label_width = column.max(shown.chars().count() + 1);
                    let first = format!("  {:<label_width$}", safe(shown));
                    self.paragraph(Paint::Plain, &first, &text.words());
                    last = label;
                }
            }
            Block::List(items) => items.iter().for_each(|item| self.item(item)),
            Block::Code(code) => code.lines().for_each(|line| self.line(&safe(line))),
            Block::Table(table) => self.table(table),
            Block::Verdicts(verdicts) => self.verdicts(verdicts),
            Block::Claims(claims, _) => claims.iter().for_each(|claim| self.claim(claim)),
            Block::Chart(_) => {}
        }
    }

    fn item(&mut self, item: &Item) {
        match item.sign {
            Some((sign, answer)) => self.signed(paint(answer), sign, "", &item.text.words()),
            None => self.paragraph(Paint::Open, "  ", &item.text.words()),
        }
        for line in &item.below {
            self.paragraph(Paint::Quiet, "    ", &line.words());
        }
        let log: Vec<&str> = item.log.lines().collect();
        let hidden = if self.style.verbose {
            0
        } else if item.log == self.log {
            log.len()
        } else {
            log.len().saturating_sub(LOG_LINES)
        };
        for line in &log[hidden..] {
            self.paragraph(Paint::Quiet, "    | ", line);
        }
        self.log.clone_from(&item.log);
    }

    fn table(&mut self, table: &Table) {
        let (lines, dropped) = fitted(table, self.style.columns());
        for (index, line) in lines.iter().enumerate() {
            if index > 0 && table.breaks.contains(&(index - 1)) {
                self.text.push('\n');
            }
            let paint = if index == 0 {
                Paint::Quiet
            } else {
                Paint::Plain
            };
            self.line(&self.style.paint(paint, line));
        }
        for note in table.legend.iter().chain(&table.notes) {
            self.paragraph(Paint::Quiet, "", note);
        }
        // Consecutive tables that drop the same columns list them once.
        if !dropped.is_empty() && dropped != self.dropped {
            let more = format!("wider terminals also show {}", dropped.join(", "));
            self.paragraph(Paint::Quiet, "", &more);
            self.dropped = dropped;
        }
    }

    fn verdicts(&mut self, verdicts: &Verdicts) {
        let questions = verdicts.groups.iter().flat_map(|group| &group.questions);
        let questions: Vec<&Question> = questions.collect();
        if !questions.is_empty() {
            self.summary(verdicts, &questions);
        }
        for line in &verdicts.below {
            self.paragraph(Paint::Quiet, "", &format!("{line}."));
        }
        // Wide enough for the longest name of a placement.
        let width = match &verdicts.placements[..] {
            [_] => 0,
            several => several.iter().map(|place| place.len()).max().unwrap_or(0) + 2,
        };
        if self.style.verbose {
            for question in questions.into_iter().chain(&verdicts.checks) {
                self.heading(&question.text);
                self.answers(question, width);
            }
            return;
        }
        let mut cautions: Vec<&String> = verdicts
            .groups
            .iter()
            .flat_map(|group| &group.cautions)
            .collect();
        cautions.dedup();
        if !cautions.is_empty() {
            self.heading("Cautions");
        }
        for caution in cautions {
            self.paragraph(Paint::Open, "  ", caution);
        }
    }

    /// A line for each comparison.
    fn summary(&mut self, verdicts: &Verdicts, questions: &[&Question]) {
        match &verdicts.placements[..] {
            [own, _, ..] => {
                let title = verdicts.title;
                self.heading(&format!("{title} ({own}, unless a line says otherwise)"));
            }
            _ => self.heading(verdicts.title),
        }
        let rows = || questions.iter().flat_map(|question| &question.rows);
        let phrase = rows().map(phrase_width).max().unwrap_or(0);
        let widest = rows().map(|row| result(row, phrase).chars().count()).max();
        for question in questions {
            if question.has_heading() {
                self.paragraph(Paint::Plain, "  ", &question.text);
            }
            for row in &question.rows {
                self.row(row, &result(row, phrase), widest.unwrap_or(0));
                for other in row.others() {
                    let sign = self.sign(other.answer);
                    self.line(&format!("  {sign} {}: {}", other.place, other.found.text()));
                }
            }
            for crossing in &question.crossings {
                self.paragraph(Paint::Plain, "    ", crossing);
            }
        }
        self.paragraph(Paint::Quiet, "", SIGNS);
    }

    fn row(&mut self, row: &Row, result: &str, widest: usize) {
        let sign = self.sign(row.sign());
        let indent = 2 + widest + 2;
        if self.style.columns() < indent + MIN_ROOM {
            let wrapped = self.style.wrap("  ", &safe(&row.text));
            self.line(&format!("{sign} {}", &wrapped[2..]));
            self.line(format!("  {result}").trim_end());
            return;
        }
        let wrapped = self.style.wrap(&" ".repeat(indent), &safe(&row.text));
        self.line(&format!("{sign} {result:<widest$}  {}", &wrapped[indent..]));
    }

    /// A line for each comparison and placement, with the reason below it if there is one.
    fn answers(&mut self, question: &Question, width: usize) {
        for row in &question.rows {
            if row.answer == Answer::Depends {
                self.signed(Paint::Open, '~', "", "Depends on placement:");
            }
            for verdict in &row.verdicts {
                let (answer, line) = (verdict.answer, &verdict.line);
                let label = match width {
                    0 => String::new(),
                    width => format!("{:<width$}", verdict.place),
                };
                self.signed(paint(answer), answer.sign(), &label, &line.text());
                if let Some(reason) = &line.reason {
                    let indent = " ".repeat(4 + width);
                    self.paragraph(Paint::Quiet, &indent, &(words::capital(reason) + "."));
                }
            }
        }
        for crossing in &question.crossings {
            self.paragraph(Paint::Plain, "    ", &format!("{crossing}."));
        }
        if let Some(cautions) = &question.cautions {
            self.paragraph(Paint::Quiet, &" ".repeat(4 + width), cautions);
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let (sign, answer) = claim.sign;
        let text = format!("{}: {}", words::capital(&claim.outcome), claim.about);
        self.signed(paint(answer), sign, "", &text);
        self.paragraph(Paint::Quiet, "    published  ", &claim.published_in_full);
        for measured in &claim.measured {
            let first = format!("    {:<9}  ", measured.place.unwrap_or("measured"));
            self.paragraph(Paint::Plain, &first, &measured.words());
        }
    }
}

fn paint(answer: Answer) -> Paint {
    match answer {
        Answer::Better => Paint::Good,
        Answer::Worse => Paint::Bad,
        Answer::Same => Paint::Even,
        Answer::Depends | Answer::Open | Answer::Nothing => Paint::Open,
        Answer::Check => Paint::Quiet,
    }
}

fn phrase_width(row: &Row) -> usize {
    let own = row.verdicts.first().map(|verdict| &verdict.found);
    own.filter(|found| !found.interval.is_empty())
        .map_or(0, |found| found.phrase.chars().count())
}

/// The verdict of a row, with its interval in its own column.
fn result(row: &Row, phrase: usize) -> String {
    match (row.answer, row.verdicts.first()) {
        (Answer::Depends, _) => "depends on placement".to_owned(),
        (_, None) => "not measured".to_owned(),
        (_, Some(own)) if own.found.interval.is_empty() => own.found.phrase.clone(),
        (_, Some(own)) => format!("{:<phrase$}  {}", own.found.phrase, own.found.interval),
    }
}
