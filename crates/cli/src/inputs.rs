//! Inputs that several commands share: schemas, samples, the user's own method, and studies.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use rpcgauge_lab::app::AppPackage;
use rpcgauge_lab::subjects::Subjects;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, OverLimit, Sample, Schema, whole_file};
use rpcgauge_study::app::{AppOf, AppOverrides, AppPlan, AppStudy};
use rpcgauge_study::builtin;
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::resolve::inputs::ServiceInputs;
use rpcgauge_study::resolve::loader::{self, FileLoader, OwnSource, SchemaSource};
use rpcgauge_study::resolve::{self, Overrides, ResolveContext};

use crate::args::{LimitArgs, OverrideArgs, SchemaArgs};
use crate::exit::Failure;
use crate::study_text::StudyText;

/// Compiles the .proto files or reads the descriptor set.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Schema, Failure> {
    described(args)?;
    source(args).read().map_err(Failure::input)
}

fn source(args: &SchemaArgs) -> SchemaSource {
    SchemaSource {
        proto: args.proto.clone(),
        include: args.include.clone(),
        descriptor_set: args.descriptor_set.clone(),
    }
}

fn described(args: &SchemaArgs) -> Result<(), Failure> {
    if args.proto.is_empty() && args.descriptor_set.is_none() {
        return Err(Failure::input(
            "no message description: give --proto FILE or --descriptor-set FILE",
        ));
    }
    Ok(())
}

/// A file's name as it appears in a sentence.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// Reads a text file. `-` is standard input.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    loader::text("", path).map_err(Failure::input)
}

/// Whether a file is too large to read as a whole. Only a regular file has a known size before it
/// is read.
pub(crate) fn is_larger_than_memory(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() >= whole_file::MAX_BYTES)
}

/// Loads the user's own method with its samples and schema, and returns it with its source files.
pub(crate) fn own_workload(
    schema: &SchemaArgs,
    method: &str,
    request: &Path,
    response: &Path,
) -> Result<(OwnSource, OwnWorkload), Failure> {
    described(schema)?;
    let source = OwnSource {
        schema: source(schema),
        method: method.to_owned(),
        request: request.to_owned(),
        response: response.to_owned(),
    };
    let own = source.load().map_err(Failure::input)?;
    Ok((source, own))
}

/// A resolved study and its text.
pub(crate) struct Resolved {
    pub(crate) plan: Plan,
    /// The inputs of calls to live services, by variant name, for each of its different calls.
    pub(crate) services: BTreeMap<String, Vec<ServiceInputs>>,
    /// The study's text; `None` if the run directory must not contain it.
    pub(crate) text: Option<String>,
}

impl Resolved {
    pub(crate) fn new(resolved: resolve::inputs::Resolved, text: Option<String>) -> Self {
        Self {
            plan: resolved.plan,
            services: resolved.services,
            text,
        }
    }
}

/// Writes the schema options into the current table of a study.
pub(crate) fn write_schema(text: &mut StudyText, schema: &SchemaArgs) -> Result<(), Failure> {
    text.paths("proto", &schema.proto)?;
    text.paths("include", &schema.include)?;
    text.path("descriptor-set", schema.descriptor_set.as_deref())
}

/// A study's text and its origin.
pub(crate) struct Written {
    word: String,
    pub(crate) text: String,
    loader: FileLoader,
    /// The base folder of relative paths in the study.
    folder: PathBuf,
}

/// Reads a built-in study by name, or a study file by path.
///
/// `-` and any word that contains `/` or ends in `.toml` is a path. Any other word is the name of a
/// built-in study, even if a file with that name exists.
pub(crate) fn written(word: &str) -> Result<Written, Failure> {
    let is_path = word.contains('/') || word.ends_with(".toml") || word == "-";
    let path = Path::new(word);
    let (text, loader) = if is_path {
        (text(path)?, FileLoader::beside(path))
    } else {
        let builtin = builtin::find(word).map_err(|error| {
            Failure::input(format!(
                "{error}; `rpcgauge studies` lists them; to run a file, give a path that ends in .toml"
            ))
        })?;
        (builtin.text.to_owned(), FileLoader::default())
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(Written {
        word: word.to_owned(),
        text,
        loader,
        folder: folder.unwrap_or(Path::new(".")).to_owned(),
    })
}

/// A study of an application, and its plan.
pub(crate) struct OfApp {
    pub(crate) package: AppPackage,
    pub(crate) plan: AppPlan,
    pub(crate) text: String,
}

/// Resolves a study of an application. Returns `None` for any other study.
pub(crate) fn of_app(
    written: &Written,
    overrides: &OverrideArgs,
) -> Result<Option<OfApp>, Failure> {
    if !AppStudy::is_one(&written.text) {
        return Ok(None);
    }
    let study = AppStudy::parse(&written.text, &written.word).map_err(Failure::input)?;
    let (package, folder) = match study.app().map_err(Failure::input)? {
        AppOf::Name(name) => (AppPackage::find(&name)?, None),
        AppOf::Path(path) => {
            let folder = written.folder.join(path);
            (AppPackage::read(&folder)?, Some(folder))
        }
    };
    let folder = folder.map(fs::canonicalize).transpose();
    let folder = folder.map_err(|error| Failure::cannot(format!("the application: {error}")))?;
    let overrides = AppOverrides {
        only: overrides.only.clone(),
        invocations: overrides.invocations.map(NonZeroU32::get),
        blocks: overrides.blocks.map(NonZeroU32::get),
        seed: overrides.seed,
    };
    let plan = study
        .resolve(package.app(), &overrides)
        .map_err(Failure::input)?;
    Ok(Some(OfApp {
        package,
        plan: AppPlan { folder, ..plan },
        text: written.text.clone(),
    }))
}

/// Resolves a study. Inputs that only calls need may be missing unless `is_run` is set.
pub(crate) fn study(
    written: Written,
    overrides: &OverrideArgs,
    limits: Limits,
    subjects: &Subjects,
    is_run: bool,
) -> Result<Resolved, Failure> {
    let Written {
        word, text, loader, ..
    } = written;
    let file = StudyFile::parse(&text, &word).map_err(Failure::input)?;
    let overrides = Overrides {
        only: overrides.only.clone(),
        invocations: overrides.invocations.map(NonZeroU32::get),
        blocks: overrides.blocks.map(NonZeroU32::get),
        seed: overrides.seed,
        limits,
        calls_nothing: !is_run,
    };
    let context = ResolveContext {
        subjects: &subjects.features(),
        loader: &loader,
        cores: cores(),
        overrides: &overrides,
    };
    let resolved = file.resolve_with_inputs(&context);
    Ok(Resolved::new(resolved.map_err(Failure::input)?, Some(text)))
}

/// The number of cores available to this program.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

/// The decoding limits from the command line, with defaults for those not given.
pub(crate) fn limits(args: &LimitArgs) -> Result<Limits, Failure> {
    let default = Limits::DEFAULT;
    let limits = Limits {
        max_message_bytes: args.max_message_bytes.unwrap_or(default.max_message_bytes),
        max_depth: args.max_depth.unwrap_or(default.max_depth),
        max_inflation: args.max_inflation.unwrap_or(default.max_inflation),
    };
    limits.checked().map_err(Failure::input)
}

/// Rejects limits that differ from those of the run being resumed.
pub(crate) fn same_limits(args: &LimitArgs, recorded: Limits) -> Result<(), Failure> {
    let given = [args.max_message_bytes, args.max_depth, args.max_inflation];
    let mut limits = given.into_iter().zip(recorded.by_option());
    let other = limits.find_map(|(given, (option, recorded))| {
        Some((option, given.filter(|given| *given != recorded)?, recorded))
    });
    match other {
        None => Ok(()),
        Some((option, given, recorded)) => Err(Failure::input(format!(
            "--{option} {given}: this run was started with {recorded} and continues with it; omit \
             the option, or start a new run"
        ))),
    }
}

/// The error for a message over a limit. Names the sample's file if `files` are given.
pub(crate) fn over_limit(over: &OverLimit, files: Option<(&PathBuf, &PathBuf)>) -> Failure {
    let file = files.map(|(request, response)| match over.sample {
        Sample::Request => request,
        Sample::Response => response,
    });
    Failure::input(match file {
        Some(file) => format!("{}: {over}", name(file)),
        None => over.to_string(),
    })
}
