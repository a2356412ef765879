//! The verdicts and the claims: tables with rows that unfold, each with a plot of its intervals.

use super::chart::ratio;
use super::page::{Page, filled, rounded};
use super::{Most, blocks, class};
use crate::document::{Answer, Claim, Question, Row, SIGNS, Verdict, Verdicts};
use crate::words;

/// All verdicts.
pub(super) fn verdicts(page: &mut Page, all: &Verdicts, most: Most) {
    page.put(
        "<div class=\"rows places-{}\">",
        &[&all.placements.len().min(3)],
    );
    if all.groups.iter().any(|group| !group.questions.is_empty()) {
        page.raw("<div class=\"heads\"><span></span>");
        page.each("<span>{}</span>", &all.placements);
        page.raw("<span></span></div>\n");
    }
    for group in &all.groups {
        page.raw("<section class=\"group\">");
        let mut reach = group.reach;
        for question in &group.questions {
            asked(page, question, reach.take());
            for row in &question.rows {
                comparison(page, row, &all.placements, group.reach);
            }
            page.each("<p class=\"crossing\">{}</p>\n", &question.crossings);
            page.each("<p class=\"note\">{}</p>\n", &question.cautions);
        }
        if !group.more.is_empty() {
            page.put(
                "<details class=\"more\"><summary>{}</summary>\n",
                &[&group.title],
            );
            blocks(page, &group.more, most);
            page.raw("</details>");
        }
        page.raw("</section>\n");
    }
    if let Some(checks) = &all.checks {
        page.put(
            "<section class=\"group\"><div class=\"asked\"><h3>{}</h3>",
            &[&checks.text],
        );
        axis(page, all.checks_reach);
        page.raw("</div>\n");
        for row in &checks.rows {
            comparison(page, row, &all.placements, all.checks_reach);
        }
        page.raw("</section>\n");
    }
    page.put("</div>\n<p class=\"signs\">{}.</p>\n", &[&SIGNS]);
}

/// A question above its rows, with the axis that they share.
fn asked(page: &mut Page, question: &Question, reach: Option<f64>) {
    let has_heading = question.has_heading();
    if !has_heading && reach.is_none() {
        return;
    }
    page.raw("<div class=\"asked\">");
    if has_heading {
        page.put("<h3>{}</h3>", &[&question.text])
    } else {
        page.raw("<span></span>")
    }
    axis(page, reach);
    page.raw("</div>\n");
}

/// The ends of an axis of ratios.
fn axis(page: &mut Page, reach: Option<f64>) {
    if let Some(reach) = reach.map(rounded) {
        page.put(
            "<p class=\"axis\" aria-hidden=\"true\"><span>{}× worse</span><span>equal</span>\
             <span>{}× better</span></p>",
            &[&reach, &reach],
        );
    }
}

/// A comparison: a summary row that unfolds to its full text.
fn comparison(page: &mut Page, row: &Row, placements: &[&'static str], reach: Option<f64>) {
    let several = placements.len() > 1;
    page.put(
        "<details class=\"row\"><summary><span class=\"what\">{}",
        &[&row.text],
    );
    if row.answer == Answer::Depends {
        page.raw(" <em class=\"tag depends\">~ depends on placement</em>");
    }
    page.raw("</span>");
    for place in placements {
        let mut verdicts = row.verdicts.iter();
        match verdicts.find(|verdict| !several || verdict.place == *place) {
            Some(verdict) => found_under(page, verdict, several),
            None => page.raw("<span class=\"found none\">–</span>"),
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

/// The verdict under a placement, in as few words as possible.
fn found_under(page: &mut Page, verdict: &Verdict, several: bool) {
    let (answer, found) = (verdict.answer, &verdict.found);
    page.raw("<span class=\"found\"");
    page.each(" data-label=\"{}\"", several.then_some(verdict.place));
    page.put(
        "><b class=\"sign {}\" title=\"{}\">{}</b> <span>{}",
        &[
            &class(answer),
            &answer.label(),
            &answer.sign(),
            &found.phrase,
        ],
    );
    page.each(" <i>{}</i>", filled(&found.interval));
    page.raw("</span></span>");
}

fn card(page: &mut Page, verdict: &Verdict, several: bool) {
    let line = &verdict.line;
    page.raw("<div class=\"line\">");
    let place = several.then(|| words::capital(verdict.on));
    page.each("<p class=\"place\">{}</p>", place);
    // Here, the ratio has an element of its own, so the clause needs no punctuation before it.
    let clause = line.clause.trim_end_matches([',', ':']);
    page.put("<p class=\"clause\">{}", &[&clause]);
    page.each(" <span class=\"ratio\">{}</span>", filled(&line.ratio));
    page.raw("</p>");
    page.each("<p class=\"figs\">{}</p>", &line.figures);
    let reason = line.reason.as_deref().map(words::capital);
    page.each("<p class=\"why\">{}.</p>", reason);
    page.raw("</div>");
}

pub(super) fn claims(page: &mut Page, claims: &[Claim], reach: Option<f64>) {
    page.raw("<div class=\"rows claims\"><div class=\"heads\"><span></span><span>published</span>");
    page.raw("<span>measured here</span>");
    axis(page, reach);
    page.raw("</div>\n");
    for claim in claims {
        let (sign, answer) = claim.sign;
        let class = class(answer);
        page.put(
            "<details class=\"row\"><summary><span class=\"what\"><b class=\"sign {}\">{}</b> {}",
            &[&class, &sign, &claim.about],
        );
        page.put(
            " <em class=\"tag {}\">{}</em></span>",
            &[&class, &claim.outcome],
        );
        page.put(
            "<span class=\"found\" data-label=\"published\">{}</span>",
            &[&claim.published],
        );
        page.raw("<span class=\"found\" data-label=\"measured\"><span>");
        for (index, measured) in claim.measured.iter().enumerate() {
            page.raw(if index > 0 { "<br>" } else { "" });
            page.each("<small>{}</small> ", measured.place);
            page.put("{}", &[&measured.text]);
        }
        page.raw("</span></span><span class=\"ratios\">");
        for measured in &claim.measured {
            if let Some((drawn, reach)) = measured.drawn.as_ref().zip(reach) {
                ratio(page, class, drawn, reach, &measured.text);
            }
        }
        page.put(
            "</span></summary><div class=\"card\"><p>{}</p>",
            &[&claim.says],
        );
        page.put(
            "<p class=\"figs\">Published: {}</p>",
            &[&claim.published_in_full],
        );
        for measured in &claim.measured {
            page.raw("<p class=\"figs\">Measured");
            page.each(", {}", measured.place);
            page.put(": {}</p>", &[&measured.words()]);
        }
        page.raw("</div></details>\n");
    }
    page.raw("</div>\n");
}
