//! Reads `[[metrics]]`.

use std::collections::BTreeMap;

use rpcgauge_message::nearest::Nearest;
use serde::Deserialize;
use toml::Spanned;

use super::super::{Metric, MetricUnit, Process};
use super::service;
use crate::error::StudyError;
use crate::read::{Line, OneOrMore, Table};
use crate::subject::Name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenMetric {
    name: Spanned<Name>,
    title: Option<Line>,
    service: Spanned<String>,
    metric: Line,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    unit: MetricUnit,
    #[serde(default)]
    optional: bool,
    wait: Option<Spanned<bool>>,
    better: Option<Spanned<Better>>,
    request: Option<OneOrMore<Line>>,
    part_of: Option<Spanned<OneOrMore<Name>>>,
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Better {
    Less,
    More,
}

pub(super) fn metrics(
    tables: Vec<Table<'_>>,
    services: &[Process],
) -> Result<Vec<Metric>, StudyError> {
    let mut all: Vec<Metric> = Vec::new();
    let mut parts = Vec::new();
    for table in tables {
        let source = table.source;
        let written: WrittenMetric = table.rest()?;
        let service = service(source, services, &written.service)?;
        if service.metrics.is_none() {
            let message = format!(
                "the service \"{}\" exposes no metrics: write metrics = {{ port = \"…\" }} under it",
                service.name
            );
            return Err(source.error(written.service.span(), message));
        }
        let Name(name) = written.name.get_ref().clone();
        if all.iter().any(|metric| metric.name == name) {
            let message = format!("duplicate metric \"{name}\"");
            return Err(source.error(written.name.span(), message));
        }
        let wait = written.wait.filter(|wait| *wait.get_ref());
        if let Some(wait) = &wait
            && written.unit.ns().is_none()
        {
            return Err(source.error(wait.span(), "only a time can be a \"wait\""));
        }
        let more_is_better = written
            .better
            .filter(|better| *better.get_ref() == Better::More);
        if let Some(better) = &more_is_better
            && written.unit.ns().is_some()
            && written.request.is_some()
        {
            let message = "a time that is part of a request is better when it is shorter; leave out \"better\" or \"request\"";
            return Err(source.error(better.span(), message));
        }
        let requests = written.request.map_or_else(Vec::new, |OneOrMore(all)| {
            all.into_iter().map(String::from).collect()
        });
        if let Some(part_of) = &written.part_of {
            parts.push((source, part_of.span(), all.len()));
        }
        all.push(Metric {
            title: written.title.map_or_else(|| name.clone(), String::from),
            name,
            service: service.name.clone(),
            metric: written.metric.into(),
            labels: written.labels,
            unit: written.unit,
            more_is_better: more_is_better.is_some(),
            optional: written.optional,
            wait: wait.is_some(),
            requests,
            part_of: written.part_of.map_or_else(Vec::new, |part_of| {
                let OneOrMore(names) = part_of.into_inner();
                names.into_iter().map(|Name(name)| name).collect()
            }),
        });
    }
    for (source, place, at) in parts {
        check_part(&all, &all[at]).map_err(|message| source.error(place, message))?;
    }
    Ok(all)
}

fn find<'a>(all: &'a [Metric], name: &str) -> Option<&'a Metric> {
    all.iter().find(|metric| metric.name == name)
}

/// Checks that the metrics that contain a metric exist, and that each of its requests has exactly one of them.
fn check_part(all: &[Metric], metric: &Metric) -> Result<(), String> {
    let mut of_wholes = Vec::new();
    for name in &metric.part_of {
        let whole = find(all, name).ok_or_else(|| {
            let known = all.iter().map(|metric| metric.name.as_str());
            let hint = Nearest::or_known(name, known);
            format!("there is no metric \"{name}\"{hint}")
        })?;
        if metric.unit.ns().is_none() || whole.unit.ns().is_none() {
            return Err("only a time can be part of a time".to_owned());
        }
        of_wholes.extend(&whole.requests);
    }
    let mut requests: Vec<&String> = metric.requests.iter().collect();
    requests.sort();
    of_wholes.sort();
    if requests != of_wholes {
        let shown = |names: &[&String]| match names {
            [] => "no request".to_owned(),
            names => format!("{names:?}"),
        };
        return Err(format!(
            "\"part-of\" must name exactly one metric for each request: \"{}\" happens in {}, its parents in {}",
            metric.name,
            shown(&requests),
            shown(&of_wholes)
        ));
    }
    // The metrics that contain it, the metrics that contain those, and so on.
    let mut above: Vec<&String> = metric.part_of.iter().collect();
    let mut at = 0;
    while let Some(name) = above.get(at) {
        if **name == metric.name {
            return Err(format!("\"{}\" is a part of itself", metric.name));
        }
        let wholes = find(all, name).map_or(&[][..], |whole| &whole.part_of);
        let new: Vec<&String> = wholes.iter().filter(|one| !above.contains(one)).collect();
        above.extend(new);
        at += 1;
    }
    Ok(())
}
