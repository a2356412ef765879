//! `report.html`: a self-contained page.
//!
//! Plots are inline SVG and HTML. The page has no scripts, and a content security policy forbids scripts and
//! requests. `page::Page` accepts markup only as constants of this program and escapes everything else.

mod chart;
mod page;
mod verdicts;

#[cfg(test)]
mod tests;

use crate::by_key;
use crate::document::{Answer, Block, Document, Item, Section, Shown, Span, Table, Text, Weight};
use crate::findings::Findings;
use crate::words;
use page::{Page, filled};

/// The size below which a page should stay, bytes.
pub const LIMIT: usize = 600_000;

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">
<meta name=\"color-scheme\" content=\"light dark\">
<style>
";
const STYLE: &str = include_str!("report.css");

/// The highest weight of charts that a page shows; `None` if it shows no charts.
type Most = Option<Weight>;

/// The possible reductions of a page, each with the text for what it leaves out. Each gives a smaller page than the
/// one before it, and the first that fits is used.
const REDUCTIONS: [(Most, Option<&str>); 5] = [
    (Some(Weight::Further), None),
    (
        Some(Weight::Timelines),
        Some("the plots of further placements"),
    ),
    (
        Some(Weight::Curves),
        Some("the plots of further placements and all timelines"),
    ),
    (
        Some(Weight::Bars),
        Some("the plots of further placements, all timelines and percentile curves"),
    ),
    (None, Some("all plots")),
];

/// Renders findings as a page. If it would be larger than [`LIMIT`], plots are left out, and the page states which
/// ones. Verdicts and the tables of figures are always included.
pub fn render(findings: &Findings) -> String {
    whole(&Document::of(findings))
}

/// Renders a document as a page.
pub(crate) fn whole(document: &Document) -> String {
    let mut drawn = String::new();
    for (most, left_out) in REDUCTIONS {
        drawn = page(document, most, left_out);
        if drawn.len() < LIMIT {
            break;
        }
    }
    drawn
}

fn page(document: &Document, most: Most, left_out: Option<&str>) -> String {
    let mut page = Page::default();
    page.raw(HEAD);
    page.raw(STYLE);
    page.put(
        "</style>\n<title>{}: rpcgauge</title>\n<meta name=\"generator\" content=\"rpcgauge {}\">\n",
        &[&document.title, &env!("CARGO_PKG_VERSION")],
    );
    page.raw("</head>\n<body>\n<header>\n<p class=\"brand\">rpcgauge report</p>\n");
    page.put("<h1>{}</h1>\n", &[&document.title]);
    page.put("<p class=\"lede\">{}</p>\n", &[&document.question]);
    page.raw("<p class=\"facts\">");
    page.each("<span>{}</span>", &document.facts);
    page.raw("</p>\n");
    page.each(
        "<p class=\"warning\"><bdi>{}</bdi></p>\n",
        &document.cautions,
    );
    page.each(
        "<p class=\"warning\">To keep this page small, it leaves out {}; <code>report.json</code> has \
         their figures.</p>\n",
        left_out,
    );
    page.raw("</header>\n<nav aria-label=\"Sections\">\n");
    let shown = document.sections.iter();
    let shown = shown.filter(|section| section.shown != Shown::InTexts);
    let sections = by_key(shown.map(|section| (section.id, section)));
    for (id, same) in &sections {
        page.put("<a href=\"#{}\">{}</a>\n", &[id, &same[0].title]);
    }
    page.raw("</nav>\n<main>\n");
    for (_, same) in sections {
        for (index, one) in same.into_iter().enumerate() {
            section(&mut page, one, index == 0, most);
        }
    }
    page.raw("</main>\n</body>\n</html>\n");
    page.finish()
}

fn section(page: &mut Page, section: &Section, is_first: bool, most: Most) {
    let is_folded = section.shown == Shown::Folded;
    page.raw(if is_folded {
        "<details class=\"section\""
    } else {
        "<section"
    });
    page.each(" id=\"{}\"", is_first.then_some(section.id));
    page.raw(if is_folded { "><summary>" } else { ">" });
    page.put("<h2>{}</h2>", &[&section.title]);
    page.raw(if is_folded { "</summary>\n" } else { "\n" });
    blocks(page, &section.blocks, most);
    page.raw(if is_folded {
        "</details>\n"
    } else {
        "</section>\n"
    });
}

fn blocks(page: &mut Page, blocks: &[Block], most: Most) {
    for one in blocks {
        block(page, one, most);
    }
}

fn block(page: &mut Page, block: &Block, most: Most) {
    match block {
        Block::Heading(heading) => page.put("<h3 class=\"place\">{}</h3>\n", &[heading]),
        Block::Paragraph(paragraph) => {
            page.raw("<p class=\"prose\">");
            text(page, paragraph);
            page.raw("</p>\n");
        }
        Block::Note(note) => page.put("<p class=\"note\">{}</p>\n", &[note]),
        Block::Facts(facts) => {
            page.raw("<dl class=\"how\">");
            for (label, fact) in facts {
                page.put("<dt>{}</dt><dd>", &[label]);
                text(page, fact);
                page.raw("</dd>");
            }
            page.raw("</dl>\n");
        }
        Block::List(items) => {
            page.raw("<ul class=\"items\">\n");
            items.iter().for_each(|one| item(page, one));
            page.raw("</ul>\n");
        }
        Block::Code(code) => page.put("<pre>{}</pre>\n", &[code]),
        Block::Table(one) => table(page, one),
        Block::Verdicts(all) => verdicts::verdicts(page, all, most),
        Block::Claims(all, reach) => verdicts::claims(page, all, *reach),
        Block::Chart(one) if most.is_some_and(|most| one.weight <= most) => chart::chart(page, one),
        Block::Chart(_) => {}
    }
}

fn text(page: &mut Page, text: &Text) {
    for span in &text.0 {
        match span {
            Span::Plain(words) => page.put("{}", &[words]),
            Span::Strong(words) => page.put("<strong>{}</strong>", &[words]),
            Span::Foreign(words) => page.put("<bdi>{}</bdi>", &[words]),
        }
    }
}

fn item(page: &mut Page, item: &Item) {
    page.raw("<li>");
    if let Some((sign, answer)) = item.sign {
        page.put("<b class=\"sign {}\">{}</b> ", &[&class(answer), &sign]);
    }
    text(page, &item.text);
    if !item.below.is_empty() {
        page.raw("<ul>");
        for line in &item.below {
            page.raw("<li>");
            text(page, line);
            page.raw("</li>");
        }
        page.raw("</ul>");
    }
    page.each(
        "<details class=\"data\"><summary>Log</summary><pre>{}</pre></details>",
        filled(&item.log),
    );
    page.raw("</li>\n");
}

fn table(page: &mut Page, table: &Table) {
    page.raw("<div class=\"scroll\"><table class=\"figures\"><thead><tr>");
    for column in &table.columns {
        let class = if column.right { " class=\"n\"" } else { "" };
        page.raw("<th scope=\"col\"");
        page.raw(class);
        page.put(">{}</th>", &[&column.title]);
    }
    page.raw("</tr></thead>\n<tbody>");
    for (index, row) in table.rows.iter().enumerate() {
        page.raw(if table.breaks.contains(&index) {
            "<tr class=\"break\">"
        } else {
            "<tr>"
        });
        for (place, cell) in row.iter().enumerate() {
            let right = table.columns.get(place).is_some_and(|column| column.right);
            if place > 0 || right {
                let shape = if right {
                    "<td class=\"n\">{}</td>"
                } else {
                    // The span determines the width on a phone.
                    "<td><span>{}</span></td>"
                };
                page.put(shape, &[cell]);
                continue;
            }
            page.raw("<th scope=\"row\">");
            // Rows without a colour have an empty swatch, so that all names are aligned.
            page.each(
                "<span class=\"swatch {}\"></span>",
                table.swatches.get(index),
            );
            page.put("{}", &[cell]);
            let labels = table.cautions.get(index);
            if let Some(labels) = labels.filter(|labels| !labels.names.is_empty()) {
                let class = if labels.main.is_empty() {
                    "mark minor"
                } else {
                    "mark"
                };
                page.put(" <span class=\"{}\">{}</span>", &[&class, &labels.names]);
            }
            page.raw("</th>");
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
    let notes: Vec<String> = table
        .notes
        .iter()
        .map(|note| words::sentence(note))
        .collect();
    page.each("<p class=\"note\">{}</p>\n", filled(&notes.join(" ")));
}

/// The CSS class with the colour of an answer.
fn class(answer: Answer) -> &'static str {
    match answer {
        Answer::Better => "better",
        Answer::Worse => "worse",
        Answer::Same => "same",
        Answer::Depends => "depends",
        Answer::Open | Answer::Nothing => "open",
        Answer::Check => "check",
    }
}
