//! `rpcgauge compare`: compares reasonable ways to make the user's own call.

mod ways;

use std::collections::BTreeMap;

use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, MethodKind, Workload, WorkloadSpec};
use rpcgauge_study::features::Features;
use rpcgauge_study::link::LOOPBACK;
use rpcgauge_study::plan::{Metric, Variant};
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::scale;
use rpcgauge_study::settings::Target;
use rpcgauge_study::words::{Named as _, format_time};

use self::ways::Way;
use super::measure::{self, Ended, RunContext};
use super::subjects;
use crate::args::CompareArgs;
use crate::exit::{Failure, Outcome, note, print};
use crate::inputs::{self, Resolved};
use crate::show;
use crate::signals;
use crate::study_text::{StudyText, number};
use crate::watch::Exports;

/// The default budget, in ms. The stacks may need more.
const BUDGET_MS: u64 = 60_000;

pub(crate) fn run(args: CompareArgs) -> Outcome {
    carry_out(args, |study, how| {
        measure::start(study, how, Exports::default())
    })
}

/// Prepares the comparison that the options describe, and passes it to `then`, which measures it.
pub(super) fn carry_out(
    args: CompareArgs,
    then: impl FnOnce(&Resolved, RunContext<'_>) -> Result<Ended, Failure>,
) -> Outcome {
    let (source, own) =
        inputs::own_workload(&args.schema, &args.method, &args.request, &args.response)?;
    let limits = inputs::limits(&args.limits)?;
    let mut subjects = subjects::load(&args.subjects)?;
    let stacks = args.stack.iter().chain(&args.client);
    subjects.add_versions(stacks.map(String::as_str))?;
    let features = subjects.features();
    let kind = method_kind(&own)?;
    if let (MethodKind::Unary, Some(_)) = (kind, args.messages) {
        let message = format!("--messages: {} is a unary method; leave it out", own.method);
        return Err(Failure::input(message));
    }
    let (ways, against) = ways::chosen(&args, kind, &features)?;
    let sizes = sizes(&args, &own, ways, &against, limits)?;
    let context = ResolveContext {
        subjects: &features,
        loader: &FileLoader {
            loaded: Some((source, own.clone())),
            ..FileLoader::default()
        },
        cores: inputs::cores(),
        overrides: &Overrides {
            limits,
            ..Overrides::default()
        },
    };
    let method = own.method.rsplit(['/', '.']).next().unwrap_or(&own.method);
    let name = format!("compare-{method}");
    let written = |budget| study(&args, &own, &sizes, &against, &features, budget);
    let mut study = written(args.budget.unwrap_or(BUDGET_MS))?;
    let mut resolved = study.resolve(&name, &context);
    if let (None, Err(error)) = (args.budget, &resolved)
        && let Some(least) = error.min_budget_s
    {
        if !args.output.quiet {
            note(&format!(
                "the stacks need a long time to start and warm up, so this will take {least}s"
            ));
        }
        study = written(least.saturating_mul(1000))?;
        resolved = study.resolve(&name, &context);
    }
    if args.print_study {
        return print(study.text());
    }
    let resolved = resolved.map_err(|error| study.failure(&error))?;
    let resolved = Resolved::new(resolved, Some(study.text().to_owned()));
    if args.plan {
        return show::plan(&resolved.plan, args.output.json);
    }
    measure::prepare_links([&resolved.plan])?;
    let stop = signals::stop_flag()?;
    let stacks = subjects::commands(&subjects, [&resolved.plan], args.output.quiet, &stop)?;
    let variants = resolved.plan.variants.iter();
    let is_call = |one: &&Variant| matches!(one.settings.target, Target::Call(_));
    let ways = variants.filter(|one| one.repeats.is_none()).filter(is_call);
    let can_run = ways.filter(|one| {
        let mut programs = resolved.plan.programs_of(one);
        programs.all(|(_, program)| stacks.has(program))
    });
    if can_run.count() < 2 {
        return Err(Failure::input(
            "nothing is left to compare, because stacks could not be built (see above)",
        ));
    }
    let how = RunContext {
        output: &args.output,
        stop: &stop,
        live: &BTreeMap::new(),
        subjects: &stacks,
        folders: &args.subjects.folders,
        gate: None,
    };
    then(&resolved, how).map(Ended::code)
}

/// The kind of a user's own method.
pub(super) fn method_kind(own: &OwnWorkload) -> Result<MethodKind, Failure> {
    let workload = Workload::new(&WorkloadSpec::Own(Box::new(own.clone())));
    let workload = workload.map_err(Failure::input)?;
    let kind = workload.methods().next().map(|(kind, _)| kind);
    Ok(kind.unwrap_or(MethodKind::Unary))
}

/// Writes the study that the options describe.
fn study(
    args: &CompareArgs,
    own: &OwnWorkload,
    sizes: &[Size],
    against: &str,
    stacks: &BTreeMap<String, Features>,
    budget_ms: u64,
) -> Result<StudyText, Failure> {
    let mut text = StudyText::new(&question(args, own, sizes, against));
    text.optional("seed", args.seed.map(number));
    text.key("budget", format_time(budget_ms));
    text.key("processes", "shared");
    text.table("[workload]");
    inputs::write_schema(&mut text, &args.schema)?;
    text.key("method", args.method.as_str());
    text.path("request", Some(&args.request))?;
    text.path("response", Some(&args.response))?;
    text.table("[base]");
    text.optional("tls", args.tls.then_some(true));
    for size in sizes {
        let mut within = "";
        if size.factor.is_some() || args.link.len() > 1 || args.in_flight.len() > 1 {
            text.table("[[groups]]");
            let scale = size.factor.map(|factor| format!("scale={factor}"));
            let link = size.link.as_deref().map(group_of);
            let in_flight = size.in_flight.map(|calls| format!("in-flight={calls}"));
            let parts = [scale, link, in_flight].into_iter().flatten();
            text.key("name", parts.collect::<Vec<_>>().join("-"));
            text.optional("base.scale", size.factor.map(i64::from));
            text.optional("base.link", size.link.as_deref());
            text.optional("base.in-flight", size.in_flight.map(i64::from));
            within = "groups.";
        } else {
            text.optional("link", size.link.as_deref());
            text.optional("in-flight", size.in_flight.map(i64::from));
        }
        // Codecs depend neither on the link nor on the calls in flight, so they are measured only once.
        let is_first = size.link.as_ref() == args.link.first()
            && size.in_flight.as_ref() == args.in_flight.first();
        let codecs = if is_first {
            ways::codecs(&size.ways, stacks)
        } else {
            Vec::new()
        };
        for way in size.ways.iter().chain(&codecs) {
            text.table(&format!("[[{within}variants]]"));
            text.key("name", &*way.name);
            for (key, value) in &way.settings {
                // The only setting of a way that is not a text.
                match *key {
                    "in-turn" => text.key(key, true),
                    key => text.key(key, &**value),
                }
            }
            let messages = args.messages.filter(|_| way.stream().is_some());
            text.optional("messages", messages.map(i64::from));
        }
        let base = size.ways.iter().find(|way| way.name == against);
        let others = || size.ways.iter().filter(|way| way.name != against);
        if others().all(|way| metrics(size, way, base).is_empty()) {
            return Err(Failure::input(format!(
                "--link: streams and calls for each message are compared by CPU, which is not measured over a link, or by \
                 the latency of messages in turn; leave it out, or choose other variants than \"{against}\" with --against"
            )));
        }
        for way in size.ways.iter().filter(|way| way.name != against) {
            let metrics = metrics(size, way, base);
            if metrics.is_empty() {
                continue;
            }
            text.table(&format!("[[{within}pairs]]"));
            text.key("of", &*way.name);
            text.key("against", against);
            text.list("metric", metrics);
            text.key("headline", true);
        }
    }
    Ok(text)
}

/// The metrics that a way is compared with the base in: bytes are exact, and CPU is often resolved where latency is not.
/// A stream and unary calls have only their messages in common.
fn metrics(size: &Size, way: &Way, base: Option<&Way>) -> Vec<&'static str> {
    // CPU is not measured over a link.
    let has_cpu = size.link.as_deref().is_none_or(|link| link == LOOPBACK);
    let streams = [Some(way), base].map(|way| way.and_then(Way::stream));
    let metrics = match streams {
        [None, None] => {
            // Only rpcgauge's own client counts all bytes of a call.
            let bytes = if size.ways.iter().any(Way::is_by_stack) {
                Metric::ResponseBytes
            } else {
                Metric::CallBytes
            };
            vec![
                Some(Metric::LatencyP50),
                Some(bytes),
                has_cpu.then_some(Metric::Cpu),
            ]
        }
        [Some(_), Some(_)] => {
            let first = streams.iter().flatten().all(|form| form.server_streams());
            let is_alike = base.is_some_and(|base| base.is_in_turn() == way.is_in_turn());
            vec![
                first.then_some(Metric::FirstMessage),
                is_alike.then_some(Metric::LatencyP50),
                has_cpu.then_some(Metric::MessageCpu),
            ]
        }
        _ => vec![
            way.is_in_turn().then_some(Metric::MessageLatency),
            has_cpu.then_some(Metric::MessageCpu),
        ],
    };
    metrics.into_iter().flatten().map(Metric::as_str).collect()
}

/// A link's name, converted to characters that are valid in a group's name.
fn group_of(link: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || "-./:+=".contains(c) => c,
        _ => '-',
    };
    link.replace('%', "").chars().map(plain).collect()
}

/// One response size over one link with one number of calls in flight, and the ways to compare there.
#[derive(Clone)]
struct Size {
    factor: Option<u32>,
    link: Option<String>,
    in_flight: Option<u32>,
    ways: Vec<Way>,
    /// Why the compressing ways are left out; `None` if they are included.
    left_out: Option<String>,
}

fn sizes(
    args: &CompareArgs,
    own: &OwnWorkload,
    ways: Vec<Way>,
    against: &str,
    limits: Limits,
) -> Result<Vec<Size>, Failure> {
    let option = args.sizes_option;
    let wrong = |why: String| Failure::input(format!("{option}: {why}"));
    let mut sizes = Vec::new();
    for (place, factor) in args.size_sweep.iter().enumerate() {
        if *factor == 0 {
            return Err(wrong(
                "0 is not a size; the minimum is 1, the unchanged sample".to_owned(),
            ));
        }
        if args.size_sweep[..place].contains(factor) {
            return Err(wrong(format!(
                "{factor} is given twice; list each size once"
            )));
        }
        let longer = scale::response(own, *factor, limits);
        let longer = longer.map_err(|error| wrong(error.to_string()))?;
        let mut ways = ways.clone();
        let compress = ways.iter().any(Way::compresses);
        let why = scale::alike(&longer).filter(|_| *factor > 1 && compress);
        if let Some(why) = &why {
            ways.retain(|way| !way.compresses());
            if ways.len() < 2 || ways.iter().all(|way| way.name != against) {
                return Err(wrong(format!("at {factor}, {why}")));
            }
        }
        sizes.push(Size {
            factor: Some(*factor),
            link: None,
            in_flight: None,
            ways,
            left_out: why,
        });
    }
    if sizes.is_empty() {
        sizes.push(Size {
            factor: None,
            link: None,
            in_flight: None,
            ways,
            left_out: None,
        });
    }
    with_in_flight(args, over_links(args, sizes, against)?)
}

/// Combines each size with each number of calls in flight.
fn with_in_flight(args: &CompareArgs, sizes: Vec<Size>) -> Result<Vec<Size>, Failure> {
    let mut counts = args.in_flight.iter().enumerate();
    if let Some((_, twice)) = counts.find(|(place, one)| args.in_flight[..*place].contains(one)) {
        let message = format!("--in-flight: {twice} is given twice; list each number once");
        return Err(Failure::input(message));
    }
    if args.in_flight.is_empty() {
        return Ok(sizes);
    }
    let each = sizes.iter().flat_map(|size| {
        args.in_flight.iter().map(|count| Size {
            in_flight: Some(*count),
            ..size.clone()
        })
    });
    Ok(each.collect())
}

/// Combines each size with each link.
fn over_links(args: &CompareArgs, sizes: Vec<Size>, against: &str) -> Result<Vec<Size>, Failure> {
    let mut links = args.link.iter().enumerate();
    if let Some((_, twice)) = links.find(|(place, link)| args.link[..*place].contains(link)) {
        let message = format!("--link: {twice} is given twice; list each link once");
        return Err(Failure::input(message));
    }
    if args.link.is_empty() {
        return Ok(sizes);
    }
    let mut all = Vec::new();
    for size in &sizes {
        for link in &args.link {
            let mut ways = size.ways.clone();
            // A Unix socket cannot be used over a link.
            ways.retain(|way| link == LOOPBACK || !way.is_over_unix());
            if ways.len() < 2 || ways.iter().all(|way| way.name != against) {
                return Err(Failure::input(format!(
                    "--link {link}: a Unix socket cannot be used over a link, and without it nothing is left to \
                     compare; choose other variants"
                )));
            }
            all.push(Size {
                link: Some(link.clone()),
                ways,
                ..size.clone()
            });
        }
    }
    Ok(all)
}

fn question(args: &CompareArgs, own: &OwnWorkload, sizes: &[Size], against: &str) -> String {
    let question = format!(
        "What does another way of calling {} gain over {against}?",
        own.method
    );
    if args.size_sweep.is_empty() {
        return question;
    }
    let repeated = scale::repeated(own);
    let left_out = sizes.iter().find_map(|size| size.left_out.as_ref());
    let left_out = left_out.map_or(String::new(), |why| {
        format!("; compression is left out where N is not 1: {why}")
    });
    format!("{question} (scale=N: the response with its {repeated} N times as long{left_out})")
}
