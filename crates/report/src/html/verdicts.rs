//! The verdicts and the claims: a table of rows that open, each with its intervals drawn.

use super::chart::{blocks, ratio};
use super::page::Page;
use super::{Most, class};
use crate::document::{Answer, Claim, Question, Row, SIGNS, Verdict, Verdicts};
use crate::words;

/// All verdicts: the first thing on the page.
pub(super) fn verdicts(page: &mut Page, all: &Verdicts, most: Most) {
    let several = all.placements.len() > 1;
    page.raw(match all.placements.len() {
        1 => "<div class=\"rows places-1\">",
        2 => "<div class=\"rows places-2\">",
        _ => "<div class=\"rows places-3\">",
    });
    if all.groups.iter().any(|group| !group.questions.is_empty()) {
        page.raw("<div class=\"heads\"><span></span>");
        for place in &all.placements {
            page.element("<span>", place, "</span>");
        }
        page.raw("<span></span></div>\n");
    }
    for group in &all.groups {
        page.raw("<section class=\"group\">");
        let mut reach = group.reach;
        for question in &group.questions {
            asked(page, question, reach.take());
            for row in &question.rows {
                comparison(page, row, &all.placements, group.reach, several);
            }
            for crossing in &question.crossings {
                page.element("<p class=\"crossing\">", crossing, "</p>\n");
            }
            if let Some(cautions) = &question.cautions {
                page.element("<p class=\"note\">", cautions, "</p>\n");
            }
        }
        page.element(
            "<details class=\"more\"><summary>",
            &group.title,
            "</summary>\n",
        );
        blocks(page, &group.more, most);
        page.raw("</details></section>\n");
    }
    if let Some(checks) = &all.checks {
        page.raw("<section class=\"group\">");
        page.element("<div class=\"asked\"><h3>", &checks.text, "</h3>");
        axis(page, all.checks_reach);
        page.raw("</div>\n");
        for row in &checks.rows {
            comparison(page, row, &all.placements, all.checks_reach, several);
        }
        page.raw("</section>\n");
    }
    page.raw("</div>\n");
    page.element("<p class=\"signs\">", SIGNS, ".</p>\n");
}

/// A question above its rows, and beside it the axis that they share.
fn asked(page: &mut Page, question: &Question, reach: Option<f64>) {
    let heading = question.has_heading().then_some(&question.text);
    if heading.is_none() && reach.is_none() {
        return;
    }
    page.raw("<div class=\"asked\">");
    match heading {
        Some(text) => page.element("<h3>", text, "</h3>"),
        None => page.raw("<span></span>"),
    };
    axis(page, reach);
    page.raw("</div>\n");
}

/// The ends of an axis of ratios.
fn axis(page: &mut Page, reach: Option<f64>) {
    if let Some(reach) = reach {
        page.raw("<p class=\"axis\" aria-hidden=\"true\"><span>")
            .number(reach);
        page.raw("× worse</span><span>equal</span><span>")
            .number(reach);
        page.raw("× better</span></p>");
    }
}

/// A comparison: a line, and its card.
fn comparison(
    page: &mut Page,
    row: &Row,
    placements: &[&'static str],
    reach: Option<f64>,
    several: bool,
) {
    page.raw("<details class=\"row\"><summary><span class=\"what\">")
        .text(&row.text);
    if row.answer == Answer::Depends {
        page.raw(" <em class=\"tag depends\">~ depends on placement</em>");
    }
    page.raw("</span>");
    for place in placements {
        let found = row
            .verdicts
            .iter()
            .find(|verdict| !several || verdict.place == *place);
        match found {
            Some(verdict) => found_under(page, verdict, several),
            None => {
                page.raw("<span class=\"found none\">–</span>");
            }
        }
    }
    page.raw("<span class=\"ratios\">");
    for verdict in &row.verdicts {
        if let Some((drawn, reach)) = verdict.drawn.as_ref().zip(reach) {
            let label = format!("{} {}", verdict.on, verdict.found.text());
            ratio(page, class(verdict.answer), drawn, reach, &label);
        }
    }
    page.raw("</span></summary><div class=\"card\">");
    for verdict in &row.verdicts {
        card(page, verdict, several);
    }
    page.raw("</div></details>\n");
}

/// What was found under a placement, in as few words as can be.
fn found_under(page: &mut Page, verdict: &Verdict, several: bool) {
    page.raw("<span class=\"found\"");
    if several {
        page.element(" data-label=\"", verdict.place, "\"");
    }
    page.raw("><b class=\"sign ")
        .raw(class(verdict.answer))
        .raw("\" title=\"");
    page.text(verdict.answer.label())
        .raw("\">")
        .text(&verdict.answer.sign().to_string());
    page.element("</b> <span>", &verdict.found.phrase, "");
    if !verdict.found.interval.is_empty() {
        page.element(" <i>", &verdict.found.interval, "</i>");
    }
    page.raw("</span></span>");
}

/// A verdict in full.
fn card(page: &mut Page, verdict: &Verdict, several: bool) {
    let line = &verdict.line;
    page.raw("<div class=\"line\">");
    if several {
        page.element("<p class=\"place\">", &words::capital(verdict.on), "</p>");
    }
    // The ratio stands apart from it here.
    page.element(
        "<p class=\"clause\">",
        line.clause.trim_end_matches([',', ':']),
        "",
    );
    if !line.ratio.is_empty() {
        page.element(" <span class=\"ratio\">", &line.ratio, "</span>");
    }
    page.raw("</p>");
    if let Some(figures) = &line.figures {
        page.element("<p class=\"figs\">", figures, "</p>");
    }
    if let Some(reason) = &line.reason {
        page.element("<p class=\"why\">", &words::capital(reason), ".</p>");
    }
    page.raw("</div>");
}

/// The claims, a row each.
pub(super) fn claims(page: &mut Page, claims: &[Claim], reach: Option<f64>) {
    page.raw("<div class=\"rows claims\"><div class=\"heads\"><span></span><span>published</span>");
    page.raw("<span>measured here</span>");
    axis(page, reach);
    page.raw("</div>\n");
    for claim in claims {
        let (sign, answer) = claim.sign;
        page.raw("<details class=\"row\"><summary><span class=\"what\"><b class=\"sign ");
        page.raw(class(answer))
            .raw("\">")
            .text(&sign.to_string())
            .raw("</b> ")
            .text(&claim.about);
        page.raw(" <em class=\"tag ").raw(class(answer)).element(
            "\">",
            &claim.outcome,
            "</em></span>",
        );
        page.element(
            "<span class=\"found\" data-label=\"published\">",
            &claim.published,
            "</span>",
        );
        page.raw("<span class=\"found\" data-label=\"measured\"><span>");
        for (index, measured) in claim.measured.iter().enumerate() {
            page.raw(if index > 0 { "<br>" } else { "" });
            if let Some(place) = measured.place {
                page.element("<small>", place, "</small> ");
            }
            page.text(&measured.text);
        }
        page.raw("</span></span><span class=\"ratios\">");
        for measured in &claim.measured {
            if let Some((drawn, reach)) = measured.drawn.as_ref().zip(reach) {
                ratio(page, class(answer), drawn, reach, &measured.text);
            }
        }
        page.element(
            "</span></summary><div class=\"card\"><p>",
            &claim.says,
            "</p>",
        );
        page.element(
            "<p class=\"figs\">Published: ",
            &claim.published_in_full,
            "</p>",
        );
        for measured in &claim.measured {
            page.raw("<p class=\"figs\">Measured");
            if let Some(place) = measured.place {
                page.raw(", ").text(place);
            }
            page.element(": ", &measured.words(), "</p>");
        }
        page.raw("</div></details>\n");
    }
    page.raw("</div>\n");
}
