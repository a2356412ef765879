//! `rpcgauge gate`: fails if a new version of a service is worse than the old one.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use rpcgauge_lab::Stacks;
use rpcgauge_report::{Allowed, Findings, Gate, escape, units};
use rpcgauge_study::url::Url;
use rpcgauge_study::words::{Named as _, format_time};

use super::load::{header_variables, write_service, write_wire};
use super::measure::{self, Ended, RunContext};
use crate::args::{GATED, GateArgs, OutputArgs};
use crate::exit::{Failure, Outcome, print};
use crate::services;
use crate::show;
use crate::signals;
use crate::study_text::{StudyText, number};
use crate::watch::Exports;

/// The name of the study, and of its run directory.
const NAME: &str = "gate";
/// The versions that are measured in each start: the new one, the old one, and the old one again (A/A).
const MEASURED: u64 = 3;
/// The part of a version's time that is measured. The rest is for its start and its warm-up.
const MEASURED_PART: f64 = 0.65;
/// The part that its warm-up may take.
const WARMUP_PART: f64 = 0.25;
/// The minimum and the maximum number of starts. With fewer, intervals are too wide to be useful.
const MIN_STARTS: u32 = 5;
const MAX_STARTS: u32 = 1_000;
/// The minimum measured time of a version after each start, ms.
const MIN_MEASURED_MS: f64 = 200.0;

/// How a run is judged, and where the result goes.
#[derive(Debug)]
pub(super) struct GateRule {
    pub(super) allowed: Allowed,
    /// Whether the report is printed too, above the result.
    pub(super) is_beside_report: bool,
    /// The file to which the result is appended as Markdown.
    pub(super) summary: Option<PathBuf>,
}

pub(crate) fn run(args: GateArgs) -> Outcome {
    let mut variables = BTreeMap::new();
    let allowed = Allowed {
        usual: args.fail_if_slower,
        by_metric: args.allow.iter().copied().collect(),
    };
    let study = study(&args, &allowed, &mut variables)?;
    if args.print_study {
        return print(study.text());
    }
    let resolved = services::resolve(&study, NAME, variables, &args.limits)?;
    let prepared = services::prepare(&resolved)?;
    let stop = signals::stop_flag()?;
    let rule = GateRule {
        allowed,
        is_beside_report: false,
        summary: args.summary.clone(),
    };
    let live = services::find(&prepared, &resolved.plan, &stop);
    if let Err(failure) = &live {
        let reason = escape::markdown(failure.line());
        rule.summarize(&format!("## rpcgauge: NOT JUDGED\n\n{reason}\n"))?;
    }
    let how = RunContext {
        output: &args.output,
        stop: &stop,
        live: &live?,
        subjects: &Stacks::default(),
        folders: &[],
        gate: Some(&rule),
    };
    measure::start(&resolved, how, Exports::default()).map(Ended::code)
}

impl GateRule {
    /// Judges a run, prints the result, and appends it to the summary.
    pub(super) fn apply(&self, findings: &Findings, output: &OutputArgs) -> Result<Gate, Failure> {
        let gate = Gate::of(findings, &self.allowed);
        let document = gate.document(findings);
        let shown = match (self.is_beside_report, output.json) {
            (true, true) => show::findings(findings, output),
            (true, false) => show::findings(findings, output)
                .and_then(|()| print(&format!("\n{}", document.terminal(show::style()))).map(drop)),
            (false, true) => {
                let text = gate.to_json().map_err(Failure::cannot);
                text.and_then(|text| print(&text).map(drop))
            }
            (false, false) => print(&document.terminal(show::style())).map(drop),
        };
        self.summarize(&document.markdown())?;
        shown.map(|()| gate)
    }

    /// Appends to the summary, if one is asked for.
    fn summarize(&self, markdown: &str) -> Result<(), Failure> {
        let Some(path) = &self.summary else {
            return Ok(());
        };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
        written.map_err(|error| {
            let path = path.display();
            Failure::cannot(format!(
                "the summary could not be written to {path}: {error}"
            ))
        })
    }
}

/// Writes the study that the options describe: a group for each call, with both versions. Values of header fields become
/// variables.
fn study(
    args: &GateArgs,
    allowed: &Allowed,
    variables: &mut BTreeMap<String, String>,
) -> Result<StudyText, Failure> {
    if args.service.unix_socket.is_some() {
        return Err(Failure::input(
            "--unix-socket: a gate starts each version on a TCP port; leave it out",
        ));
    }
    let calls = args.call.len();
    let data = data_of_each(args)?;
    let of_version =
        args.duration as f64 / (u64::from(args.starts) * calls as u64 * MEASURED) as f64;
    let measured = of_version * MEASURED_PART;
    if !(MIN_STARTS..=MAX_STARTS).contains(&args.starts) {
        return Err(Failure::input(format!(
            "--starts: must be from {MIN_STARTS} to {MAX_STARTS}, not {}",
            args.starts
        )));
    }
    if measured < MIN_MEASURED_MS {
        let fewer = if args.starts > MIN_STARTS {
            ", or fewer --starts"
        } else {
            ""
        };
        let least = MIN_MEASURED_MS / MEASURED_PART * args.duration as f64 / of_version;
        return Err(Failure::input(format!(
            "--duration: {} is too short for {} starts of {}; give at least {}{fewer}",
            format_time(args.duration),
            args.starts,
            units::counted(calls as u64, "call"),
            format_time((least / 1_000.0).ceil() as u64 * 1_000),
        )));
    }
    let mut text = StudyText::new("Is the new version worse than the old one?");
    text.optional("seed", args.seed.map(number));
    text.key("invocations", i64::from(args.starts));
    text.key("blocks", 1);
    text.key("margin", allowed.margin());
    let warmup = args.warmup.unwrap_or((of_version * WARMUP_PART) as u64);
    let bounds = [("time".to_owned(), format_time(warmup).into())];
    text.key("warm-up", toml::Table::from_iter(bounds));
    text.table("[service]");
    let headers = header_variables("", &args.service.header, variables);
    text.list("headers", headers);
    text.optional("ready-within", args.ready_within.map(format_time));
    write_service(&mut text, &args.service, &args.tls, &args.schema)?;
    text.table("[base]");
    write_wire(&mut text, &args.service);
    text.optional("connections", args.connections.map(i64::from));
    let in_flight = args.in_flight.or(args.connections);
    text.optional("in-flight", in_flight.map(i64::from));
    text.optional("deadline", args.deadline.map(format_time));
    text.key("time", format_time(measured as u64));
    for ((target, data), name) in args.call.iter().zip(data).zip(group_names(&args.call)) {
        text.table("[[groups]]");
        text.key("name", name);
        text.key(
            "question",
            format!("Is {target} slower in the new version?"),
        );
        text.key("service.target", target.to_string());
        text.optional("service.data", data);
        for (version, command) in [("new", &args.new), ("old", &args.old)] {
            text.table("[[groups.variants]]");
            text.key("name", version);
            text.key("service.command", command.as_str());
        }
        for metric in GATED {
            text.table("[[groups.pairs]]");
            text.key("of", "new");
            text.key("against", "old");
            text.key("metric", metric.as_str());
        }
    }
    Ok(text)
}

/// The message of each call.
fn data_of_each(args: &GateArgs) -> Result<Vec<Option<String>>, Failure> {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    match (args.data.as_slice(), args.call.len()) {
        ([], calls) => Ok(vec![None; calls]),
        ([one], calls) => Ok(vec![given(one); calls]),
        (each, calls) if each.len() == calls => Ok(each.iter().map(given).collect()),
        (each, calls) => Err(Failure::input(format!(
            "--data is given {} times for {}; give it once, or once for each --call ('' for none)",
            each.len(),
            units::counted(calls as u64, "call")
        ))),
    }
}

/// A short unique name for each call: the last part of its path.
fn group_names(calls: &[Url]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in calls {
        let path = call.path.split('?').next().unwrap_or_default();
        let last = path
            .rsplit('/')
            .find(|part| !part.is_empty())
            .unwrap_or("call");
        let plain: String = last
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        let plain = match plain.trim_matches('-') {
            "" => "call",
            plain => plain,
        };
        let numbered = (2..).map(|n| format!("{plain}-{n}"));
        let mut candidates = std::iter::once(plain.to_owned()).chain(numbered);
        names.extend(candidates.find(|name| !names.contains(name)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_a_name_of_its_own() {
        let calls = [
            "http://h:{port}/search?q=a",
            "http://h:{port}/v2/search",
            "http://h:{port}/",
            "grpc://h:{port}/shop.Orders/GetAll",
        ];
        let calls = calls.map(|call| call.parse().unwrap());
        assert_eq!(
            group_names(&calls),
            ["search", "search-2", "call", "getall"]
        );
    }
}
