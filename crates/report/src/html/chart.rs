//! Charts. A plot is an SVG that stretches with the page (`preserveAspectRatio="none"`, strokes that do
//! not scale), and beside it labels in HTML, placed in per cent: so they stay readable at every width.

use super::page::Page;
use super::{block, table};
use crate::document::{Bar, Bars, Block, Chart, Drawn, Named, Part, Plot, Size};

/// Width and height of a plot's own coordinates.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 300.0;

/// From where to where a spike's mark reaches, in the plot's coordinates: above its upper edge.
const SPIKE_MARK: [f64; 2] = [-6.0, -26.0];

/// At which height what happened meanwhile is marked: below the axis.
const EVENT_MARK: f64 = HEIGHT + 5.0;

/// A chart with its heading.
pub(super) fn chart(page: &mut Page, chart: &Chart) {
    page.element("<h3>", &chart.title, "</h3>");
    page.element("<p class=\"intro\">", &chart.intro, "</p>\n");
    if let Some(all) = &chart.bars {
        bars(page, all);
    }
    if let Some(first) = chart.plots.first() {
        page.raw(match first.size {
            Size::Small => "<div class=\"plots three\">",
            Size::Half => "<div class=\"plots\">",
            Size::Whole => "<div class=\"plots one\">",
        });
        chart.plots.iter().for_each(|one| plot(page, one));
        page.raw("</div>\n");
    }
}

fn bars(page: &mut Page, bars: &Bars) {
    key(page, bars.key.iter());
    for scale in &bars.scales {
        page.raw("<div class=\"bars\"><h4>")
            .text(scale.title.as_deref().unwrap_or_default());
        page.element(" <small>full width ", &scale.width, "</small></h4>\n");
        scale.bars.iter().for_each(|one| bar(page, one, scale.full));
        page.raw("</div>\n");
    }
}

/// What colours mean.
fn key<'n>(page: &mut Page, named: impl Iterator<Item = &'n Named>) {
    page.raw("<ul class=\"key\">");
    for (class, name) in named {
        page.raw("<li><span class=\"swatch ")
            .raw(class)
            .raw("\"></span>");
        page.text(name).raw("</li>");
    }
    page.raw("</ul>\n");
}

fn bar(page: &mut Page, bar: &Bar, full: f64) {
    page.element(
        "<div class=\"bar-row\"><div class=\"bar-name\">",
        &bar.name,
        "",
    );
    if !bar.cautions.is_empty() {
        page.element(" <span class=\"mark\">", &bar.cautions, "</span>");
    }
    page.raw("</div><div class=\"bar-track\"><div class=\"bar\">");
    parts(page, &bar.parts, full);
    page.raw("</div>");
    if !bar.spans.is_empty() {
        page.raw("<div class=\"bar thin\">");
        parts(page, &bar.spans, full);
        page.raw("</div>");
    }
    if let Some(floor) = bar.floor {
        let at = (floor / full).min(1.0) * 100.0;
        page.raw("<span class=\"floor\" style=\"left:")
            .number(at)
            .raw("%\" title=\"floor\"></span>");
    }
    page.element("</div><div class=\"bar-total\">", &bar.total, "</div>");
    if !bar.detail.is_empty() {
        page.element("<div class=\"bar-detail\">", &bar.detail, "</div>");
    }
    page.raw("</div>\n");
}

fn parts(page: &mut Page, parts: &[Part], full: f64) {
    for part in parts {
        let (class, name) = part.named;
        page.raw("<span class=\"seg ")
            .raw(class)
            .raw("\" style=\"width:");
        page.number(part.size / full * 100.0).raw("%\" title=\"");
        page.text(name)
            .raw(": ")
            .text(&part.value)
            .raw("\"></span>");
    }
}

fn plot(page: &mut Page, plot: &Plot) {
    page.element("<figure><figcaption>", &plot.title, "</figcaption>");
    page.raw(match plot.size {
        Size::Small => "<div class=\"plot low\"",
        Size::Half | Size::Whole => "<div class=\"plot tall\"",
    });
    page.element(" role=\"img\" aria-label=\"", &plot.label, "\">");
    for tick in &plot.y {
        page.raw("<span class=\"gy\" style=\"bottom:")
            .number(tick.at * 100.0);
        page.element("%\"><i>", &tick.label, "</i></span>");
    }
    for tick in &plot.x {
        page.raw("<span class=\"gx\" style=\"left:")
            .number(tick.at * 100.0);
        page.element("%\"><i>", &tick.label, "</i></span>");
    }
    for (at, [low, high]) in &plot.crossings {
        page.raw("<span class=\"cross\" style=\"left:")
            .number(low * 100.0);
        page.raw("%;width:").number((high - low) * 100.0);
        page.raw("%\"></span><span class=\"cross at\" style=\"left:")
            .number(at * 100.0);
        page.raw("%\"></span>");
    }
    page.raw("<svg viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    uprights(page, "trial", &plot.trials, [HEIGHT, 0.0]);
    for line in &plot.lines {
        page.raw("<path class=\"curve ")
            .raw(line.class)
            .raw("\" d=\"");
        path(page, &line.points);
        page.raw("\"/>");
    }
    uprights(page, "spike", &plot.spikes, SPIKE_MARK);
    for ((class, _), places) in &plot.marks {
        spans(page, class, places);
    }
    page.raw("</svg></div>\n");
    if !plot.marks.is_empty() {
        key(page, plot.marks.iter().map(|(named, _)| named));
    }
    if !plot.heads.is_empty() {
        legend(page, plot);
    }
    if !plot.below.is_empty() {
        page.element("<p class=\"under\">", &plot.below, "</p>");
    }
    if let Some((name, rows)) = &plot.table {
        page.element("<details class=\"data\"><summary>", name, "</summary>");
        table(page, rows);
        page.raw("</details>");
    }
    page.raw("</figure>\n");
}

fn legend(page: &mut Page, plot: &Plot) {
    page.raw("<table class=\"legend\"><thead><tr><th></th>");
    for head in &plot.heads {
        page.element("<th scope=\"col\">", head, "</th>");
    }
    page.raw("</tr></thead><tbody>");
    for line in &plot.lines {
        page.raw("<tr><td><svg class=\"dash\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><path class=\"curve ");
        page.raw(line.class)
            .raw("\" d=\"M0 4L28 4\"/></svg>")
            .text(&line.name)
            .raw("</td>");
        for figure in &line.figures {
            page.element("<td class=\"n\">", figure, "</td>");
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table>");
}

/// A line through points: whole coordinates, each as the step from the one before, since less cannot be
/// seen and a page holds tens of thousands of them.
fn path(page: &mut Page, points: &[(f64, f64)]) {
    let mut last: Option<(f64, f64)> = None;
    for (x, y) in points {
        let (x, y) = ((x * WIDTH).round(), ((1.0 - y) * HEIGHT).round());
        match last {
            None => {
                page.raw("M").number(x).raw(" ").number(y);
            }
            Some(last) if last == (x, y) => continue,
            Some((last_x, last_y)) => {
                page.raw("l").number(x - last_x);
                page.raw(if y < last_y { "" } else { " " })
                    .number(y - last_y);
            }
        }
        last = Some((x, y));
    }
}

/// Upright strokes at places, each from one height to another in the plot's coordinates.
fn uprights(page: &mut Page, class: &'static str, places: &[f64], [from, to]: [f64; 2]) {
    if places.is_empty() {
        return;
    }
    page.raw("<path class=\"").raw(class).raw("\" d=\"");
    for place in places {
        page.raw("M")
            .number((place * WIDTH).round())
            .raw(" ")
            .number(from);
        page.raw("v").number(to - from);
    }
    page.raw("\"/>");
}

/// Marks below the axis from one place to another, each at least so wide that it is seen.
fn spans(page: &mut Page, class: &'static str, places: &[[f64; 2]]) {
    page.raw("<path class=\"mark-span ")
        .raw(class)
        .raw("\" d=\"");
    for [from, to] in places {
        let (from, to) = ((from * WIDTH).round(), (to * WIDTH).round());
        page.raw("M").number(from).raw(" ").number(EVENT_MARK);
        page.raw("h").number((to - from).max(1.0));
    }
    page.raw("\"/>");
}

/// A ratio with its interval on a logarithmic axis that reaches so far to either side of 1.
pub(super) fn ratio(page: &mut Page, class: &'static str, drawn: &Drawn, reach: f64, label: &str) {
    let place = |log: f64| (0.5 + log / reach.ln() / 2.0).clamp(0.0, 1.0) * 100.0;
    let span = |page: &mut Page, class: &'static str, low: f64, high: f64| {
        let (low, high) = (place(low), place(high));
        page.raw("<span class=\"")
            .raw(class)
            .raw("\" style=\"left:")
            .number(low);
        page.raw("%;width:").number(high - low).raw("%\"></span>");
    };
    page.raw("<span class=\"track ").raw(class).element(
        "\" role=\"img\" aria-label=\"",
        label,
        "\">",
    );
    span(page, "zone", -drawn.margin, drawn.margin);
    if let Some(control) = drawn.control {
        span(page, "control", -control, control);
    }
    page.raw("<span class=\"one\"></span>");
    if let Some([low, high]) = drawn.interval {
        span(page, "whisker", low, high);
    }
    if let Some(published) = drawn.published {
        page.raw("<span class=\"published\" style=\"left:")
            .number(place(published))
            .raw("%\"></span>");
    }
    page.raw("<span class=\"dot\" style=\"left:")
        .number(place(drawn.at))
        .raw("%\"></span></span>");
}

/// Blocks below each other.
pub(super) fn blocks(page: &mut Page, blocks: &[Block], most: super::Most) {
    for one in blocks {
        block(page, one, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_each_point_as_a_step_from_the_one_before() {
        let drawn = |points: &[(f64, f64)]| {
            let mut page = Page::default();
            path(&mut page, points);
            page.finish()
        };
        let points = [
            (0.0, 0.0),
            (0.000_3, 0.000_1),
            (0.004_6, 10.0 / 300.0),
            (0.009, 0.0),
        ];
        assert_eq!(drawn(&points), "M0 300l5-10l4 10");
        assert_eq!(drawn(&[]), "");
        let mut page = Page::default();
        uprights(&mut page, "trial", &[0.0, 0.5], [300.0, 0.0]);
        assert_eq!(
            page.finish(),
            "<path class=\"trial\" d=\"M0 300v-300M500 300v-300\"/>"
        );
    }
}
