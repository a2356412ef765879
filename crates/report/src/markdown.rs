//! Markdown for a pull request, in GitHub's flavour.

use crate::document::{
    Answer, Block, Claim, Document, Item, MAX_IN_TEXTS, Question, SIGNS, Section, Shown, Table,
    Verdicts,
};
use crate::escape::markdown as safe;
use crate::findings::Findings;
use crate::units::NONE;
use crate::words::{self, joined};

/// Renders findings as Markdown.
pub fn render(findings: &Findings) -> String {
    whole(&Document::of(findings))
}

/// Renders a document as Markdown.
pub(crate) fn whole(document: &Document) -> String {
    let mut text = format!(
        "## rpcgauge: {}\n\n{}\n\n_{}_\n",
        safe(&document.title),
        safe(&document.question),
        safe(&document.facts.join("; "))
    );
    for caution in &document.cautions {
        text += &format!("\n**!** {}\n", safe(caution));
    }
    for part in &document.sections {
        section(&mut text, part);
    }
    text
}

fn section(text: &mut String, section: &Section) {
    let mut body = String::new();
    for part in &section.blocks {
        block(&mut body, part);
    }
    let title = safe(&section.title);
    match section.shown {
        _ if body.is_empty() => {}
        Shown::Always | Shown::InFiles => *text += &format!("\n### {title}\n{body}"),
        Shown::Folded | Shown::InTexts => {
            *text += &format!("\n<details><summary>{title}</summary>\n{body}\n</details>\n");
        }
    }
}

fn block(text: &mut String, block: &Block) {
    match block {
        Block::Heading(heading) => *text += &format!("\n#### {}\n", safe(heading)),
        Block::Paragraph(paragraph) => *text += &format!("\n{}\n", safe(&paragraph.words())),
        Block::Note(note) => *text += &format!("\n_{}_\n", safe(note)),
        Block::Facts(facts) => {
            *text += "\n| | |\n|---|---|\n";
            for (label, fact) in facts {
                *text += &format!("| {} | {} |\n", safe(label), safe(&fact.words()));
            }
        }
        Block::List(items) => {
            *text += "\n";
            items.iter().for_each(|one| item(text, one));
        }
        Block::Code(code) => *text += &format!("\n````\n{}\n````\n", code.trim_end()),
        Block::Table(one) => table(text, one),
        Block::Verdicts(all) => verdicts(text, all),
        Block::Claims(all, _) => claims(text, all),
        // Only the page draws charts. Their figures are also in the tables.
        Block::Chart(_) => {}
    }
}

fn item(text: &mut String, item: &Item) {
    let sign = item.sign.map(|(sign, _)| format!("{sign} "));
    let sign = sign.unwrap_or_default();
    *text += &format!("- {sign}{}\n", safe(&item.text.words()));
    for line in &item.below {
        *text += &format!("  - {}\n", safe(&line.words()));
    }
}

fn table(text: &mut String, table: &Table) {
    let columns = || {
        let all = table.columns.iter().enumerate();
        all.filter(|(_, column)| column.rank <= MAX_IN_TEXTS)
    };
    let has_cautions = !table.cautions.is_empty();
    let cautions = has_cautions.then_some(("cautions", false));
    let heads = columns().map(|(_, column)| (&*column.title, column.right));
    let heads: Vec<(&str, bool)> = heads.chain(cautions).collect();
    let titles = joined(heads.iter().map(|(title, _)| title), " | ");
    let aligned = heads
        .iter()
        .map(|(_, right)| if *right { "--:|" } else { "---|" });
    *text += &format!("\n| {titles} |\n|{}\n", aligned.collect::<String>());
    for (index, row) in table.rows.iter().enumerate() {
        let cells = columns().map(|(column, _)| &row[column]);
        let cautions = table.cautions.get(index).map(|labels| &labels.names);
        let cells = joined(cells.chain(cautions).map(|cell| safe(cell)), " | ");
        *text += &format!("| {cells} |\n");
    }
    if !table.notes.is_empty() {
        let notes = table.notes.iter().map(|note| safe(&words::sentence(note)));
        *text += &format!("\n{}\n", joined(notes, " "));
    }
}

fn verdicts(text: &mut String, verdicts: &Verdicts) {
    let questions = || verdicts.groups.iter().flat_map(|group| &group.questions);
    let mut below = Vec::new();
    if questions().next().is_some() {
        summary(text, verdicts);
        below.push(SIGNS);
    }
    below.extend(verdicts.below.iter().map(String::as_str));
    if !below.is_empty() {
        let below = below.into_iter().map(safe);
        *text += &format!("\n{}.\n", joined(below, ".  \n"));
    }
    let several = verdicts.placements.len() > 1;
    for question in questions().chain(&verdicts.checks) {
        answers(text, question, several);
    }
}

/// A table with a row for each comparison and a column for each placement.
fn summary(text: &mut String, verdicts: &Verdicts) {
    let titles = &verdicts.placements;
    let several = titles.len() > 1;
    let each = |cell: &str| cell.repeat(titles.len());
    *text += &format!(
        "\n| question | {} |\n|---|{}\n",
        titles.join(" | "),
        each("---|")
    );
    for question in verdicts.groups.iter().flat_map(|group| &group.questions) {
        if question.has_heading() {
            *text += &format!("| {} |{}\n", safe(&question.text), each(" |"));
        }
        for row in &question.rows {
            let sign = if row.answer == Answer::Depends {
                "\\~ "
            } else {
                ""
            };
            *text += &format!("| {sign}{} |", safe(&row.text));
            for title in titles {
                let mut verdicts = row.verdicts.iter();
                *text += &match verdicts.find(|verdict| !several || verdict.place == *title) {
                    Some(v) => format!(" {} {} |", v.answer.sign(), safe(&v.found.text())),
                    None => format!(" {NONE} |"),
                };
            }
            *text += "\n";
        }
        for crossing in &question.crossings {
            *text += &format!("| {} |{}\n", safe(crossing), each(" |"));
        }
    }
}

/// Each comparison in full.
fn answers(text: &mut String, question: &Question, several: bool) {
    *text += &format!("\n#### {}\n\n", safe(&question.text));
    for row in &question.rows {
        if row.answer == Answer::Depends {
            *text += "- \\~ Depends on placement:\n";
        }
        for verdict in &row.verdicts {
            let sign = match verdict.answer {
                Answer::Check => String::new(),
                answer => format!("{} ", answer.sign()),
            };
            let place = several.then(|| format!("_{}:_ ", verdict.place));
            let reason = verdict.line.reason.as_deref().map(words::capital);
            let reason = reason.map(|reason| format!(" {}.", safe(&reason)));
            *text += &format!(
                "- {sign}{}{}.{}\n",
                place.unwrap_or_default(),
                safe(&verdict.line.text()),
                reason.unwrap_or_default()
            );
        }
    }
    for crossing in &question.crossings {
        *text += &format!("- {}.\n", safe(crossing));
    }
    if let Some(cautions) = &question.cautions {
        *text += &format!("\n_{}_\n", safe(cautions));
    }
}

fn claims(text: &mut String, claims: &[Claim]) {
    *text += "\n| claim | published | measured | outcome |\n|---|---|---|---|\n";
    for claim in claims {
        let measured = claim.measured.iter().map(|measured| {
            let place = measured.place.map(|place| format!("{place}: "));
            safe(&(place.unwrap_or_default() + &measured.words()))
        });
        *text += &format!(
            "| {} | {} | {} | {} |\n",
            safe(&claim.about),
            safe(&claim.published_in_full),
            joined(measured, "<br>"),
            safe(&claim.outcome),
        );
    }
}
