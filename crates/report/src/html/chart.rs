//! Charts. A plot is an SVG that stretches with the page (`preserveAspectRatio="none"`, strokes that do
//! not scale). Its labels are HTML with positions in per cent, so they stay readable at every width.

use super::page::{Page, filled, percent, rounded};
use super::table;
use crate::document::{Area, Bar, Bars, Chart, Drawn, Line, Mark, Marks, Named, Part, Plot, Size};
use crate::words::joined;

/// The width and height of a plot's coordinate system.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 300.0;

/// The start and end of a spike's mark in the plot's coordinates, above the upper edge of the plot.
const SPIKE_MARK: [f64; 2] = [-6.0, -26.0];

/// The vertical position of the marks of runtime events, below the axis.
const EVENT_MARK: f64 = HEIGHT + 5.0;

pub(super) fn chart(page: &mut Page, chart: &Chart) {
    page.put("<h3>{}</h3>", &[&chart.title]);
    page.each("<p class=\"intro\">{}</p>\n", filled(&chart.intro));
    if let Some(all) = &chart.bars {
        bars(page, all);
    }
    if let Some(first) = chart.plots.first() {
        page.raw(match first.size {
            Size::Small => "<div class=\"plots three\">",
            Size::Half => "<div class=\"plots\">",
            Size::Whole | Size::Strip => "<div class=\"plots one\">",
        });
        chart.plots.iter().for_each(|one| plot(page, one));
        page.raw("</div>\n");
    }
}

fn bars(page: &mut Page, bars: &Bars) {
    if !bars.key.is_empty() {
        key(page, bars.key.iter());
    }
    for scale in &bars.scales {
        page.put(
            "<div class=\"bars\"><h4>{} <small>full width {}</small></h4>\n",
            &[&scale.title.as_deref().unwrap_or_default(), &scale.width],
        );
        scale.bars.iter().for_each(|one| bar(page, one, scale.full));
        page.raw("</div>\n");
    }
}

/// The key of the colours.
fn key<'n>(page: &mut Page, named: impl Iterator<Item = &'n Named>) {
    page.raw("<ul class=\"key\">");
    for (class, name) in named {
        page.put(
            "<li><span class=\"swatch {}\"></span>{}</li>",
            &[class, name],
        );
    }
    page.raw("</ul>\n");
}

fn bar(page: &mut Page, bar: &Bar, full: f64) {
    page.put(
        "<div class=\"bar-row\"><div class=\"bar-name\">{}",
        &[&bar.name],
    );
    page.each(" <span class=\"mark\">{}</span>", filled(&bar.cautions));
    let said = bar
        .parts
        .iter()
        .map(|part| format!("{} {}", part.named.1, part.value));
    page.put(
        "</div><div class=\"bar-track\" role=\"img\" aria-label=\"{}: {}\"><div class=\"bar\">",
        &[&bar.total, &joined(said, "; ")],
    );
    parts(page, &bar.parts, full);
    page.raw("</div>");
    if !bar.spans.is_empty() {
        page.raw("<div class=\"bar thin\">");
        parts(page, &bar.spans, full);
        page.raw("</div>");
    }
    page.each(
        "<span class=\"floor\" style=\"left:{}%\" title=\"floor\"></span>",
        bar.floor.map(|floor| percent((floor / full).min(1.0))),
    );
    page.put("</div><div class=\"bar-total\">{}</div>", &[&bar.total]);
    page.each("<div class=\"bar-detail\">{}</div>", filled(&bar.detail));
    page.raw("</div>\n");
}

fn parts(page: &mut Page, parts: &[Part], full: f64) {
    for part in parts {
        let (class, name) = &part.named;
        page.put(
            "<span class=\"seg {}\" style=\"width:{}%\" title=\"{}: {}\">",
            &[class, &percent(part.size / full), name, &part.value],
        );
        page.each("<i>{}</i>", filled(&part.label));
        page.raw("</span>");
    }
}

fn plot(page: &mut Page, plot: &Plot) {
    let height = match plot.size {
        Size::Small => "low",
        Size::Strip => "low strip",
        Size::Half | Size::Whole => "tall",
    };
    page.put("<figure><figcaption>{}</figcaption>", &[&plot.title]);
    if plot.heads.is_empty() {
        line_key(page, plot);
    }
    if !plot.shades.is_empty() {
        key(page, plot.shades.iter().map(|(named, _)| named));
    }
    let spiked = if plot.spikes.is_empty() {
        ""
    } else {
        " spiked"
    };
    page.put(
        "<div class=\"plot {}{}\" role=\"img\" aria-label=\"{}\">",
        &[&height, &spiked, &plot.label],
    );
    for (class, edge, ticks) in [("gy", "bottom", &plot.y), ("gx", "left", &plot.x)] {
        for tick in ticks {
            page.put(
                "<span class=\"{}\" style=\"{}:{}%\"><i>{}</i></span>",
                &[&class, &edge, &percent(tick.at), &tick.label],
            );
        }
    }
    for (at, [low, high]) in &plot.crossings {
        span(page, "cross", percent(*low), percent(high - low));
        page.put(
            "<span class=\"cross at\" style=\"left:{}%\"></span>",
            &[&percent(*at)],
        );
    }
    page.raw("<svg viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for ((class, _), areas) in &plot.shades {
        shade(page, class, areas);
    }
    uprights(page, "trial", &plot.trials, [HEIGHT, 0.0]);
    for line in &plot.lines {
        curve(page, line);
    }
    uprights(page, "spike", &plot.spikes, SPIKE_MARK);
    for ((class, _), places) in &plot.marks {
        marks(page, class, places);
    }
    page.raw("</svg>");
    for (Area { x, y }, text) in &plot.hints {
        page.put(
            "<span class=\"hint\" style=\"left:{}%;bottom:{}%;width:{}%;height:{}%\" title=\"{}\"></span>",
            &[
                &percent(x[0]),
                &percent(y[0]),
                &percent(x[1] - x[0]),
                &percent(y[1] - y[0]),
                text,
            ],
        );
    }
    for marks in &plot.points {
        points(page, marks);
    }
    page.raw("</div>\n");
    if !plot.marks.is_empty() {
        key(page, plot.marks.iter().map(|(named, _)| named));
    }
    if !plot.heads.is_empty() {
        legend(page, plot);
    }
    page.each("<p class=\"under\">{}</p>", filled(&plot.below));
    if let Some((name, rows)) = &plot.table {
        page.put("<details class=\"data\"><summary>{}</summary>", &[name]);
        table(page, rows);
        page.raw("</details>");
    }
    page.raw("</figure>\n");
}

/// Marks that keep their shape however the plot stretches.
fn points(page: &mut Page, marks: &Marks) {
    for (class, (x, y)) in &marks.at {
        page.put(
            "<svg class=\"point\" style=\"left:{}%;bottom:{}%\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">",
            &[&percent(*x), &percent(*y)],
        );
        point(page, marks.mark, class);
        page.raw("</svg>");
    }
}

fn point(page: &mut Page, mark: Mark, class: &'static str) {
    let (shape, path) = match mark {
        // A line without length, with round ends.
        Mark::Dot => ("dot", "M0 0h0"),
        Mark::Cross => ("times", "M-4-4L4 4M-4 4L4-4"),
        Mark::Ring => ("ring", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"),
    };
    page.put("<path class=\"{} {}\" d=\"{}\"/>", &[&class, &shape, &path]);
}

/// The key of the lines and marks that have a name.
fn line_key(page: &mut Page, plot: &Plot) {
    let lines: Vec<&Line> = plot
        .lines
        .iter()
        .filter(|line| !line.name.is_empty())
        .collect();
    let marks: Vec<&Marks> = plot
        .points
        .iter()
        .filter(|marks| !marks.name.is_empty())
        .collect();
    if lines.is_empty() && marks.is_empty() {
        return;
    }
    page.raw("<ul class=\"key\">");
    for line in lines {
        page.raw("<li>");
        dash(page, line);
        page.raw("</li>");
    }
    for marks in marks {
        page.raw("<li><svg class=\"point\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">");
        point(page, marks.mark, "ink");
        page.put("</svg>{}</li>", &[&marks.name]);
    }
    page.raw("</ul>\n");
}

/// A sample of a line, and its name.
fn dash(page: &mut Page, line: &Line) {
    page.put(
        "<svg class=\"dash\" viewBox=\"0 0 28 8\" aria-hidden=\"true\">\
         <path class=\"curve {}\" d=\"M0 4L28 4\"/></svg>{}",
        &[&line.class, &line.name],
    );
}

fn legend(page: &mut Page, plot: &Plot) {
    page.raw("<table class=\"legend\"><thead><tr><th></th>");
    page.each("<th scope=\"col\">{}</th>", &plot.heads);
    page.raw("</tr></thead><tbody>");
    for line in &plot.lines {
        page.raw("<tr><td>");
        dash(page, line);
        page.raw("</td>");
        page.each("<td class=\"n\">{}</td>", &line.figures);
        page.raw("</tr>");
    }
    page.raw("</tbody></table>");
}

/// A line of a plot, or a dot if it has no length: without an extent, a stroke paints nothing but its round ends.
fn curve(page: &mut Page, line: &Line) {
    let mut places = line.points.iter().map(|point| place(*point));
    let first = places.next();
    let is_dot = places.all(|other| Some(other) == first);
    let dot = if is_dot { " dot" } else { "" };
    page.put("<path class=\"curve {}{}\" d=\"", &[&line.class, &dot]);
    path(page, &line.points);
    page.raw(if is_dot { "h0\"/>" } else { "\"/>" });
}

/// A point in the plot's coordinates, as whole numbers.
fn place((x, y): (f64, f64)) -> (f64, f64) {
    ((x * WIDTH).round(), ((1.0 - y) * HEIGHT).round())
}

/// A line through points. Coordinates are whole numbers, since fractions are not visible, and relative to the previous
/// point, which is shorter: a page contains tens of thousands of points.
fn path(page: &mut Page, points: &[(f64, f64)]) {
    let mut last: Option<(f64, f64)> = None;
    for point in points {
        let (x, y) = place(*point);
        match last {
            None => page.put("M{} {}", &[&x, &y]),
            Some(last) if last == (x, y) => continue,
            Some((last_x, last_y)) => {
                let gap = if y < last_y { "" } else { " " };
                page.put("l{}{}{}", &[&(x - last_x), &gap, &(y - last_y)]);
            }
        }
        last = Some((x, y));
    }
}

/// Vertical strokes at these positions, from one height to another in the plot's coordinates.
fn uprights(page: &mut Page, class: &'static str, places: &[f64], [from, to]: [f64; 2]) {
    if places.is_empty() {
        return;
    }
    page.put("<path class=\"{}\" d=\"", &[&class]);
    for place in places {
        page.put(
            "M{} {}v{}",
            &[&(place * WIDTH).round(), &from, &(to - from)],
        );
    }
    page.raw("\"/>");
}

/// The areas of one shade, in whole coordinates.
fn shade(page: &mut Page, class: &'static str, areas: &[Area]) {
    page.put("<path class=\"shade {}\" d=\"", &[&class]);
    for area in areas {
        let (left, bottom) = place((area.x[0], area.y[0]));
        let (right, top) = place((area.x[1], area.y[1]));
        let width = right - left;
        page.put(
            "M{} {}h{}v{}h{}z",
            &[&left, &top, &width, &(bottom - top), &-width],
        );
    }
    page.raw("\"/>");
}

/// Marks of events below the axis, each wide enough to be visible.
fn marks(page: &mut Page, class: &'static str, places: &[[f64; 2]]) {
    page.put("<path class=\"mark-span {}\" d=\"", &[&class]);
    for [from, to] in places {
        let (from, to) = ((from * WIDTH).round(), (to * WIDTH).round());
        page.put("M{} {}h{}", &[&from, &EVENT_MARK, &(to - from).max(1.0)]);
    }
    page.raw("\"/>");
}

/// A positioned element; `left` and `width` are per cent.
fn span(page: &mut Page, class: &'static str, left: f64, width: f64) {
    page.put(
        "<span class=\"{}\" style=\"left:{}%;width:{}%\"></span>",
        &[&class, &left, &width],
    );
}

/// A ratio with its interval, on a logarithmic axis that extends by the factor `reach` to either side of 1.
pub(super) fn ratio(page: &mut Page, class: &'static str, drawn: &Drawn, reach: f64, label: &str) {
    let place = |log: f64| (0.5 + log / reach.ln() / 2.0).clamp(0.0, 1.0) * 100.0;
    let between = |page: &mut Page, class: &'static str, low: f64, high: f64| {
        let (low, high) = (place(low), place(high));
        span(page, class, rounded(low), rounded(high - low));
    };
    page.put(
        "<span class=\"track {}\" role=\"img\" aria-label=\"{}\">",
        &[&class, &label],
    );
    between(page, "zone", -drawn.margin, drawn.margin);
    if let Some(control) = drawn.control {
        between(page, "control", -control, control);
    }
    page.raw("<span class=\"one\"></span>");
    if let Some([low, high]) = drawn.interval {
        between(page, "whisker", low, high);
    }
    page.each(
        "<span class=\"published\" style=\"left:{}%\"></span>",
        drawn.published.map(|log| rounded(place(log))),
    );
    page.put(
        "<span class=\"dot\" style=\"left:{}%\"></span></span>",
        &[&rounded(place(drawn.at))],
    );
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

    #[test]
    fn a_line_without_length_is_a_dot() {
        let drawn = |points: Vec<(f64, f64)>| {
            let mut page = Page::default();
            let line = Line {
                name: String::new(),
                class: "mean",
                points,
                figures: Vec::new(),
            };
            curve(&mut page, &line);
            page.finish()
        };
        let dot = "<path class=\"curve mean dot\" d=\"M500 150h0\"/>";
        assert_eq!(drawn(vec![(0.5, 0.5)]), dot);
        assert_eq!(drawn(vec![(0.5, 0.5), (0.500_1, 0.5)]), dot);
        assert_eq!(
            drawn(vec![(0.5, 0.5), (0.6, 0.5)]),
            "<path class=\"curve mean\" d=\"M500 150l100 0\"/>"
        );
    }
}
