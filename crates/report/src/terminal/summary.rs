//! The first thing on the page: each question with its verdict in one line.

use super::{Page, Paint, paint};
use crate::escape::terminal as safe;
use crate::findings::Findings;
use crate::questions::Answer;
use crate::summary::{self, Row};
use crate::words;

/// Where a question has less room than this beside its verdict, it stands above it.
const LEAST_ROOM: usize = 34;

impl Page {
    pub(super) fn summary(&mut self, findings: &Findings) {
        let rows = summary::rows(findings);
        if rows.is_empty() {
            return;
        }
        let placements = &findings.study.placements;
        match placements.first().filter(|_| placements.len() > 1) {
            Some(own) => self.heading(&format!(
                "Summary ({}, unless a line says otherwise)",
                words::place(*own)
            )),
            None => self.heading("Summary"),
        }
        let phrase = rows.iter().map(phrase_width).max().unwrap_or(0);
        let results: Vec<String> = rows.iter().map(|row| result(row, phrase)).collect();
        let widest = results.iter().map(|r| r.chars().count()).max().unwrap_or(0);
        for (row, result) in rows.iter().zip(&results) {
            if let Some(heading) = &row.heading {
                self.paragraph(Paint::Plain, "  ", heading);
            }
            self.row(row, result, widest);
            self.others(row);
        }
        self.paragraph(Paint::Quiet, "", summary::SIGNS);
        for check in summary::checks(findings) {
            self.paragraph(Paint::Quiet, "", &(check + "."));
        }
        if let Some(claims) = summary::claims(findings) {
            self.paragraph(Paint::Quiet, "", &(claims + "."));
        }
    }

    fn row(&mut self, row: &Row, result: &str, widest: usize) {
        let answer = row.sign();
        let sign = self.style.paint(paint(answer), &answer.sign().to_string());
        let indent = 2 + widest + 2;
        if self.style.columns() < indent + LEAST_ROOM {
            let wrapped = self.style.wrap("  ", &safe(&row.text));
            self.line(&format!("{sign} {}", &wrapped[2..]));
            self.line(format!("  {result}").trim_end());
            return;
        }
        let wrapped = self.style.wrap(&" ".repeat(indent), &safe(&row.text));
        self.line(&format!("{sign} {result:<widest$}  {}", &wrapped[indent..]));
    }

    /// The placements that the row itself does not tell of: all where the answer depends on them,
    /// otherwise those that give another answer than the study's own.
    fn others(&mut self, row: &Row) {
        let depends = row.answer == Answer::Depends;
        let own = row.found.first().map(|place| place.answer);
        for (index, place) in row.found.iter().enumerate() {
            if depends || (index > 0 && Some(place.answer) != own) {
                let sign = self
                    .style
                    .paint(paint(place.answer), &place.answer.sign().to_string());
                let name = words::place(place.placement);
                self.line(&format!("  {sign} {name}: {}", place.found.text()));
            }
        }
    }
}

fn phrase_width(row: &Row) -> usize {
    let own = row.found.first().map(|place| &place.found);
    own.filter(|found| !found.interval.is_empty())
        .map_or(0, |found| found.phrase.chars().count())
}

/// What was found, its interval in a column of its own.
fn result(row: &Row, phrase: usize) -> String {
    match (row.answer, row.found.first()) {
        (Answer::Depends, _) => "depends on placement".to_owned(),
        (_, None) => "not measured".to_owned(),
        (_, Some(place)) if place.found.interval.is_empty() => place.found.phrase.clone(),
        (_, Some(place)) => format!("{:<phrase$}  {}", place.found.phrase, place.found.interval),
    }
}
