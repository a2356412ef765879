//! `report.html`: one file that needs nothing else.
//!
//! Plots are inline SVG and HTML, there is no script, and a content security policy forbids one as well
//! as any request. [`page::Page`] takes markup from this program alone, and escapes everything else.

mod chart;
mod page;
mod verdicts;

#[cfg(test)]
mod tests;

use crate::document::{Answer, Block, Document, Item, Section, Shown, Span, Table, Text, Weight};
use crate::findings::Findings;
use crate::words;
use chart::blocks;
use page::Page;

/// The size that a page keeps under, bytes.
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

/// The heaviest charts that a page still has, and what it then leaves out.
#[derive(Clone, Copy)]
struct Most {
    weight: Option<Weight>,
    left_out: Option<&'static str>,
}

/// Later ones are smaller; a page takes the first one that fits.
const MOSTS: [Most; 5] = [
    Most {
        weight: Some(Weight::Further),
        left_out: None,
    },
    Most {
        weight: Some(Weight::Timelines),
        left_out: Some("the plots of further placements"),
    },
    Most {
        weight: Some(Weight::Curves),
        left_out: Some("the plots of further placements and all timelines"),
    },
    Most {
        weight: Some(Weight::Bars),
        left_out: Some("the plots of further placements, all timelines and percentile curves"),
    },
    Most {
        weight: None,
        left_out: Some("all plots"),
    },
];

/// Draws findings as a page. Where the whole would be larger than [`LIMIT`], plots are left out,
/// and the page says which; verdicts and the tables of figures never are.
pub fn render(findings: &Findings) -> String {
    let document = Document::of(findings);
    let mut drawn = String::new();
    for most in MOSTS {
        drawn = whole(&document, most);
        if drawn.len() < LIMIT {
            break;
        }
    }
    drawn
}

fn whole(document: &Document, most: Most) -> String {
    let mut page = Page::default();
    page.raw(HEAD)
        .raw(STYLE)
        .raw("</style>\n<title>")
        .text(&document.title);
    page.element(
        ": rpcgauge</title>\n<meta name=\"generator\" content=\"rpcgauge ",
        &document.rpcgauge,
        "\">\n",
    );
    page.raw("</head>\n<body>\n<header>\n<p class=\"brand\">rpcgauge report</p>\n");
    page.element("<h1>", &document.title, "</h1>\n");
    page.element(
        "<p class=\"lede\">",
        &document.question,
        "</p>\n<p class=\"facts\">",
    );
    for fact in &document.facts {
        page.element("<span>", fact, "</span>");
    }
    page.raw("</p>\n");
    for caution in &document.cautions {
        page.element("<p class=\"warning\"><bdi>", caution, "</bdi></p>\n");
    }
    if let Some(left_out) = most.left_out {
        page.element(
            "<p class=\"warning\">To keep this page small it leaves out ",
            left_out,
            "; <code>report.json</code> holds their figures.</p>\n",
        );
    }
    page.raw("</header>\n<nav aria-label=\"Sections\">\n");
    let mut known: Vec<&str> = Vec::new();
    let shown = document
        .sections
        .iter()
        .filter(|section| section.shown != Shown::InTexts);
    let sections: Vec<(&Section, bool)> = shown
        .map(|section| {
            let is_first = !known.contains(&section.id);
            known.push(section.id);
            (section, is_first)
        })
        .collect();
    for (section, _) in sections.iter().filter(|(_, is_first)| *is_first) {
        page.raw("<a href=\"#")
            .raw(section.id)
            .element("\">", &section.title, "</a>\n");
    }
    page.raw("</nav>\n<main>\n");
    for (one, is_first) in sections {
        section(&mut page, one, is_first, most);
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
    if is_first {
        page.raw(" id=\"").raw(section.id).raw("\"");
    }
    page.raw(if is_folded { "><summary>" } else { ">" });
    page.element("<h2>", &section.title, "</h2>");
    page.raw(if is_folded { "</summary>\n" } else { "\n" });
    blocks(page, &section.blocks, most);
    page.raw(if is_folded {
        "</details>\n"
    } else {
        "</section>\n"
    });
}

fn block(page: &mut Page, block: &Block, most: Most) {
    match block {
        Block::Heading(heading) => {
            page.element("<h3 class=\"place\">", heading, "</h3>\n");
        }
        Block::Paragraph(paragraph) => {
            page.raw("<p class=\"prose\">");
            text(page, paragraph);
            page.raw("</p>\n");
        }
        Block::Note(note) => {
            page.element("<p class=\"note\">", note, "</p>\n");
        }
        Block::Facts(facts) => {
            page.raw("<dl class=\"how\">");
            for (label, fact) in facts {
                page.element("<dt>", label, "</dt><dd>");
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
        Block::Table(one) => table(page, one),
        Block::Verdicts(all) => verdicts::verdicts(page, all, most),
        Block::Claims(all, reach) => verdicts::claims(page, all, *reach),
        Block::Chart(one) if most.weight.is_some_and(|most| one.weight <= most) => {
            chart::chart(page, one);
        }
        Block::Chart(_) => {}
    }
}

fn text(page: &mut Page, text: &Text) {
    for span in &text.0 {
        match span {
            Span::Plain(words) => page.text(words),
            Span::Strong(words) => page.element("<strong>", words, "</strong>"),
            Span::Foreign(words) => page.element("<bdi>", words, "</bdi>"),
        };
    }
}

fn item(page: &mut Page, item: &Item) {
    page.raw("<li>");
    if let Some((sign, answer)) = item.sign {
        page.raw("<b class=\"sign ").raw(class(answer));
        page.element("\">", &sign.to_string(), "</b> ");
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
    if !item.log.is_empty() {
        page.element(
            "<details class=\"data\"><summary>Its log</summary><pre>",
            &item.log,
            "</pre></details>",
        );
    }
    page.raw("</li>\n");
}

fn table(page: &mut Page, table: &Table) {
    page.raw("<div class=\"scroll\"><table class=\"figures\"><thead><tr>");
    for column in &table.columns {
        page.raw(if column.right {
            "<th scope=\"col\" class=\"n\">"
        } else {
            "<th scope=\"col\">"
        });
        page.text(column.title).raw("</th>");
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
            let is_head = place == 0 && !right;
            page.raw(match (is_head, right) {
                (true, _) => "<th scope=\"row\">",
                (_, true) => "<td class=\"n\">",
                _ => "<td>",
            });
            page.text(cell);
            let labels = table
                .cautions
                .get(index)
                .filter(|labels| is_head && !labels.names.is_empty());
            if let Some(labels) = labels {
                page.raw(match labels.main.is_empty() {
                    true => " <span class=\"mark minor\">",
                    false => " <span class=\"mark\">",
                });
                page.text(&labels.names).raw("</span>");
            }
            page.raw(if is_head { "</th>" } else { "</td>" });
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div>\n");
    if !table.notes.is_empty() {
        let notes = table.notes.iter().map(|note| words::sentence(note));
        page.element(
            "<p class=\"note\">",
            &notes.collect::<Vec<_>>().join(" "),
            "</p>\n",
        );
    }
}

/// The class that gives an answer its colour.
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
