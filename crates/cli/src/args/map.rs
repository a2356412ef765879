//! `rpcgauge map`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use rpcgauge_study::features::Role;

use super::{
    CompareArgs, LimitArgs, OutputArgs, SchemaArgs, SubjectFolders, complete, heading, parse_ms,
    whole,
};

/// `rpcgauge map`.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Check the map of the run in this directory, instead of measuring a new one
    #[arg(
        value_name = "RUN",
        value_hint = ValueHint::DirPath,
        conflicts_with_all = ["proto", "include", "descriptor_set", "method", "request", "response", "stack", "only", "sizes",
            "tls", "budget", "seed", "unchecked", "name", "out", "max_message_bytes", "max_depth", "max_inflation"],
    )]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// The method to call, as package.Service/Method
    #[arg(long, value_name = "METHOD", required_unless_present = "run", help_heading = heading::MESSAGE)]
    pub(crate) method: Option<String>,
    /// The request, as a JSON file
    #[arg(long, value_name = "FILE", required_unless_present = "run", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) request: Option<PathBuf>,
    /// The response, as a JSON file
    #[arg(long, value_name = "FILE", required_unless_present = "run", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) response: Option<PathBuf>,
    /// Compare servers built on these stacks, SUBJECT/STACK (repeatable)
    #[arg(long, value_name = "STACK", value_delimiter = ',', add = complete::stacks(Role::Server), help_heading = heading::MAP)]
    pub(crate) stack: Vec<String>,
    /// Compare only the variants with these names, as in `rpcgauge compare` [default: rest-json, rest-gzip, grpc,
    /// grpc-gzip, msgpack; with --stack, all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = heading::MAP)]
    pub(crate) only: Vec<String>,
    /// The sizes to measure: the response with its repeated fields made this many times as long [default: 1, 4, 16, and so
    /// on, up to about 1 MB]
    #[arg(long, value_name = "FACTOR", value_delimiter = ',', help_heading = heading::MAP)]
    pub(crate) sizes: Vec<u32>,
    /// Use TLS, with certificates that are generated for the run
    #[arg(long, help_heading = heading::MAP)]
    pub(crate) tls: bool,
    /// About how long to measure the sizes, such as 30s or 2m [default: 80s, or longer if the stacks need it to start and
    /// warm up]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::MAP)]
    pub(crate) budget: Option<u64>,
    /// The number of points to measure over emulated networks
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=400), help_heading = heading::MAP)]
    pub(crate) points: u16,
    /// Do not check the map by measurements
    #[arg(long, conflicts_with = "points", help_heading = heading::MAP)]
    pub(crate) unchecked: bool,
    /// Seed of all random choices, the points included
    #[arg(long, value_name = "N", value_parser = whole(), help_heading = heading::MAP)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Ways that differ in what a map is about: bytes, and the work to make them.
const WAYS: [&str; 5] = ["rest-json", "rest-gzip", "grpc", "grpc-gzip", "msgpack"];

/// The default budget, ms.
const BUDGET_MS: u64 = 80_000;

impl MapArgs {
    /// The comparison at several sizes from which the map is computed; `None` for an existing run.
    pub(crate) fn comparison(self) -> Option<CompareArgs> {
        let usual = || WAYS.map(str::to_owned).to_vec();
        let only = if self.only.is_empty() && self.stack.is_empty() {
            usual()
        } else {
            self.only
        };
        let has_stacks = !self.stack.is_empty();
        Some(CompareArgs {
            schema: self.schema,
            method: self.method?,
            request: self.request?,
            response: self.response?,
            stack: self.stack,
            client: Vec::new(),
            only,
            against: None,
            size_sweep: self.sizes,
            sizes_option: "--sizes",
            link: Vec::new(),
            in_flight: Vec::new(),
            messages: None,
            tls: self.tls,
            // With stacks, the default depends on how long they take to start.
            budget: self.budget.or((!has_stacks).then_some(BUDGET_MS)),
            seed: self.seed,
            plan: false,
            subjects: self.subjects,
            print_study: false,
            output: self.output,
            limits: self.limits,
        })
    }
}
