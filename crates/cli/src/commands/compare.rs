//! `rpcgauge compare`: the sensible ways to make the user's own call.

use std::collections::BTreeMap;

use rpcgauge_message::Limits;
use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_study::features::embedded_only;
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::scale;
use rpcgauge_study::words::time_word;

use super::measure::{self, Ended, How};
use crate::args::CompareArgs;
use crate::exit::{Failure, Outcome, print};
use crate::inputs::{self, Resolved};
use crate::show;
use crate::signals;
use crate::written::StudyText;

/// One of the ways to call that are compared: its name, and its settings. They differ from one another by
/// one choice where they can: `rest-json` is what most services do, `grpc` is the usual other, and the rest
/// change one thing of these two.
type Way = (&'static str, &'static [(&'static str, &'static str)]);

/// All ways, in the order they are shown.
const WAYS: [Way; 6] = [
    ("rest-json", &[("protocol", "rest")]),
    ("grpc", &[("protocol", "grpc")]),
    ("grpc-gzip", &[("protocol", "grpc"), COMPRESSED]),
    ("grpc-unix", &[("protocol", "grpc"), ("transport", "unix")]),
    ("msgpack", &[("protocol", "rest"), ("encoding", "msgpack")]),
    ("hybrid", &[("protocol", "grpc"), ("encoding", "hybrid")]),
];
const COMPRESSED: (&str, &str) = ("compression", "gzip");

pub(crate) fn run(args: CompareArgs) -> Outcome {
    let own = inputs::own_workload(&args.schema, &args.method, &args.request, &args.response)?;
    let limits = inputs::limits(&args.limits)?;
    let study = study(&args, &own, limits)?;
    if args.print_study {
        return print(study.text());
    }
    let context = ResolveContext {
        subjects: &embedded_only(),
        loader: &FileLoader::default(),
        cores: inputs::cores(),
        overrides: &Overrides {
            limits,
            ..Overrides::default()
        },
    };
    let method = own.method.rsplit(['/', '.']).next().unwrap_or(&own.method);
    let resolved = study.resolve(&format!("compare-{method}"), &context)?;
    let resolved = Resolved::new(resolved, Some(study.text().to_owned()));
    if args.plan {
        return show::plan(&resolved.plan, args.output.json);
    }
    let stop = signals::stop_flag()?;
    let how = How {
        output: &args.output,
        stop: &stop,
        live: &BTreeMap::new(),
        subjects: &BTreeMap::new(),
    };
    measure::start(&resolved, how).map(Ended::code)
}

/// The study that the options ask for.
fn study(args: &CompareArgs, own: &OwnWorkload, limits: Limits) -> Result<StudyText, Failure> {
    let ways = chosen(args)?;
    let sizes = sizes(args, own, &ways, limits)?;
    let mut text = StudyText::new(&question(args, own, &sizes));
    text.optional(
        "seed",
        args.seed
            .map(|seed| i64::try_from(seed).unwrap_or(i64::MAX)),
    );
    text.key("budget", time_word(args.budget));
    text.table("[workload]");
    inputs::write_schema(&mut text, &args.schema);
    text.key("method", args.method.as_str());
    text.key("request", args.request.display().to_string());
    text.key("response", args.response.display().to_string());
    for size in &sizes {
        let mut within = "";
        if let Some(factor) = size.factor {
            text.table("[[groups]]");
            text.key("name", format!("scale={factor}"));
            text.key("base.scale", i64::from(factor));
            within = "groups.";
        }
        for (name, settings) in &size.ways {
            text.table(&format!("[[{within}variants]]"));
            text.key("name", *name);
            settings
                .iter()
                .for_each(|(key, value)| text.key(key, *value));
        }
        for (name, _) in size.ways.iter().filter(|(name, _)| *name != args.against) {
            text.table(&format!("[[{within}pairs]]"));
            text.key("of", *name);
            text.key("against", args.against.as_str());
            text.key("headline", true);
        }
    }
    Ok(text)
}

fn chosen(args: &CompareArgs) -> Result<Vec<Way>, Failure> {
    let find = |option: &str, name: &str| {
        let names = || WAYS.iter().map(|(name, _)| *name);
        names().find(|known| *known == name).ok_or_else(|| {
            let hint = Nearest::or_known(name, names());
            Failure::input(format!("{option}: there is no variant \"{name}\"{hint}"))
        })
    };
    let against = find("--against", &args.against)?;
    for name in &args.only {
        find("--only", name)?;
    }
    let is_in = |(name, _): &&Way| {
        args.only.is_empty() || *name == against || args.only.iter().any(|only| only == name)
    };
    let ways: Vec<Way> = WAYS.iter().filter(is_in).copied().collect();
    match ways.len() {
        0 | 1 => Err(Failure::input(format!(
            "--only leaves nothing to compare with \"{against}\"; name another variant"
        ))),
        _ => Ok(ways),
    }
}

/// One size of the response, and the ways that it can be compared in.
struct Size {
    factor: Option<u32>,
    ways: Vec<Way>,
    /// Why the ways that compress are left out, where they are.
    left_out: Option<String>,
}

fn sizes(
    args: &CompareArgs,
    own: &OwnWorkload,
    ways: &[Way],
    limits: Limits,
) -> Result<Vec<Size>, Failure> {
    let wrong = |why: String| Failure::input(format!("--size-sweep: {why}"));
    let mut sizes = Vec::new();
    for (place, factor) in args.size_sweep.iter().enumerate() {
        if *factor == 0 {
            return Err(wrong(
                "0 is no size; the smallest is 1, the sample as it is".to_owned(),
            ));
        }
        if args.size_sweep[..place].contains(factor) {
            return Err(wrong(format!("{factor} stands twice; name each size once")));
        }
        let longer = scale::response(own, *factor, limits);
        let longer = longer.map_err(|error| wrong(error.to_string()))?;
        let mut ways = ways.to_vec();
        let compresses = |(_, settings): &Way| settings.contains(&COMPRESSED);
        let why = scale::alike(&longer).filter(|_| *factor > 1 && ways.iter().any(compresses));
        if let Some(why) = &why {
            ways.retain(|way| !compresses(way));
            if ways.len() < 2 || ways.iter().all(|(name, _)| *name != args.against) {
                return Err(wrong(format!("at {factor}, {why}")));
            }
        }
        sizes.push(Size {
            factor: Some(*factor),
            ways,
            left_out: why,
        });
    }
    if sizes.is_empty() {
        sizes.push(Size {
            factor: None,
            ways: ways.to_vec(),
            left_out: None,
        });
    }
    Ok(sizes)
}

fn question(args: &CompareArgs, own: &OwnWorkload, sizes: &[Size]) -> String {
    let question = format!(
        "What does another way of calling {} gain over {}?",
        own.method, args.against
    );
    if args.size_sweep.is_empty() {
        return question;
    }
    let repeated = scale::repeated(own);
    let left_out = sizes.iter().find_map(|size| size.left_out.as_ref());
    let left_out = left_out.map_or(String::new(), |why| {
        format!("; nothing is said of compression where N is not 1: {why}")
    });
    format!("{question} (scale=N: the response with its {repeated} N times as long{left_out})")
}
