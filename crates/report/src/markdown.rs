//! Markdown for a pull request: GitHub's flavour.

use crate::document::{
    Answer, Block, Claim, Document, Item, MOST_IN_TEXTS, Question, SIGNS, Section, Shown, Table,
    Verdicts,
};
use crate::escape::markdown as safe;
use crate::findings::Findings;
use crate::units::NONE;
use crate::words;

/// Writes findings as Markdown.
pub fn render(findings: &Findings) -> String {
    let document = Document::of(findings);
    let mut text = format!("## rpcgauge: {}\n\n", safe(&document.title));
    text += &format!(
        "{}\n\n_{}_\n",
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
        Block::Table(one) => table(text, one),
        Block::Verdicts(all) => verdicts(text, all),
        Block::Claims(all, _) => claims(text, all),
        // Its figures are in the tables, and the page draws it; a log is in trials.jsonl too.
        Block::Chart(_) => {}
    }
}

fn item(text: &mut String, item: &Item) {
    let sign = item
        .sign
        .map_or_else(String::new, |(sign, _)| format!("{sign} "));
    *text += &format!("- {sign}{}\n", safe(&item.text.words()));
    for line in &item.below {
        *text += &format!("  - {}\n", safe(&line.words()));
    }
}

fn table(text: &mut String, table: &Table) {
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|column| table.columns[*column].rank <= MOST_IN_TEXTS)
        .collect();
    let mut titles: Vec<&str> = shown
        .iter()
        .map(|column| table.columns[*column].title)
        .collect();
    let aligned = shown
        .iter()
        .map(|column| match table.columns[*column].right {
            true => "--:|",
            false => "---|",
        });
    let mut aligned: String = aligned.collect();
    if !table.cautions.is_empty() {
        titles.push("cautions");
        aligned += "---|";
    }
    *text += &format!("\n| {} |\n|{aligned}\n", titles.join(" | "));
    for (index, row) in table.rows.iter().enumerate() {
        let mut cells: Vec<String> = shown.iter().map(|column| safe(&row[*column])).collect();
        cells.extend(table.cautions.get(index).map(|labels| safe(&labels.names)));
        *text += &format!("| {} |\n", cells.join(" | "));
    }
    if !table.notes.is_empty() {
        let notes = table.notes.iter().map(|note| safe(&words::sentence(note)));
        *text += &format!("\n{}\n", notes.collect::<Vec<_>>().join(" "));
    }
}

fn verdicts(text: &mut String, verdicts: &Verdicts) {
    let questions = || verdicts.groups.iter().flat_map(|group| &group.questions);
    if questions().next().is_some() {
        summary(text, verdicts);
    }
    let below: Vec<String> = verdicts.below.iter().map(|line| safe(line)).collect();
    let signs = questions().next().map(|_| safe(SIGNS));
    let below: Vec<String> = signs.into_iter().chain(below).collect();
    if !below.is_empty() {
        *text += &format!("\n{}.\n", below.join(".  \n"));
    }
    let several = verdicts.placements.len() > 1;
    for question in questions().chain(&verdicts.checks) {
        answers(text, question, several);
    }
}

/// Each comparison in a line, the placements beside each other.
fn summary(text: &mut String, verdicts: &Verdicts) {
    let titles = &verdicts.placements;
    *text += &format!(
        "\n| question | {} |\n|---|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    for question in verdicts.groups.iter().flat_map(|group| &group.questions) {
        if question.has_heading() {
            *text += &format!(
                "| {} |{}\n",
                safe(&question.text),
                " |".repeat(titles.len())
            );
        }
        for row in &question.rows {
            let sign = if row.answer == Answer::Depends {
                "\\~ "
            } else {
                ""
            };
            *text += &format!("| {sign}{} |", safe(&row.text));
            for title in titles {
                let only = titles.len() == 1;
                let found = row
                    .verdicts
                    .iter()
                    .find(|verdict| only || verdict.place == *title);
                *text += &found.map_or_else(
                    || format!(" {NONE} |"),
                    |v| format!(" {} {} |", v.answer.sign(), safe(&v.found.text())),
                );
            }
            *text += "\n";
        }
        for crossing in &question.crossings {
            *text += &format!("| {} |{}\n", safe(crossing), " |".repeat(titles.len()));
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
            let place = match several {
                true => format!("_{}:_ ", verdict.place),
                false => String::new(),
            };
            let reason = verdict.line.reason.as_ref();
            let reason = reason.map_or_else(String::new, |reason| {
                format!(" {}.", safe(&words::capital(reason)))
            });
            *text += &format!("- {sign}{place}{}.{reason}\n", safe(&verdict.line.text()));
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
            let place = measured
                .place
                .map_or_else(String::new, |place| format!("{place}: "));
            safe(&(place + &measured.words()))
        });
        *text += &format!(
            "| {} | {} | {} | {} |\n",
            safe(&claim.about),
            safe(&claim.published_in_full),
            measured.collect::<Vec<_>>().join("<br>"),
            safe(&claim.outcome),
        );
    }
}
