//! The command line as written: flags, their help and their examples. No decisions here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use rpcgauge_message::Limits;
use rpcgauge_study::words::parse_time_ms;

/// Which way to call a service: protocol, encoding, compression, transport and connection
/// handling, measured on your own messages.
#[derive(Debug, Parser)]
#[command(name = "rpcgauge", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  rpcgauge run quickstart                   the five questions in small, in about 90 seconds
  rpcgauge compare --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json
                                            the sensible ways to make your own call
  rpcgauge size --proto orders.proto --message shop.Order --sample order.json
                                            encoded sizes only; runs nothing
  rpcgauge doctor                           what this machine can measure, and how quietly

Exit codes: 0 done; 1 done, but some trials failed; 2 bad input; 3 cannot be done here;
130 interrupted, with what was measured kept.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run studies and write their reports
    #[command(after_help = "\
Examples:
  rpcgauge run quickstart
  rpcgauge run several gzip                 two built-in studies, one after the other
  rpcgauge run my-study.toml --out runs/mine
  rpcgauge run --resume runs/mine           go on where an interrupted run stopped")]
    Run(RunArgs),
    /// Compare the sensible ways to call your own method
    #[command(after_help = "\
Examples:
  rpcgauge compare --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json
  rpcgauge compare ... --only rest-json,grpc --against rest-json
  rpcgauge compare ... --size-sweep 1,10,100 --budget 3m")]
    Compare(Box<CompareArgs>),
    /// Print the trials a study would run and how long they would take; run nothing
    #[command(after_help = "\
Examples:
  rpcgauge plan quickstart
  rpcgauge plan my-study.toml --json")]
    Plan(PlanArgs),
    /// List the built-in studies, or show one as a file to start from
    #[command(after_help = "\
Examples:
  rpcgauge studies
  rpcgauge studies show gzip > my-gzip.toml")]
    Studies(StudiesArgs),
    /// Print encoded sizes of a sample in every encoding and compression; run nothing
    #[command(after_help = "\
Examples:
  rpcgauge size --proto orders.proto --message shop.Order --sample order.json
  rpcgauge size --proto orders.proto --method shop.Orders/Get --sample req.json
  rpcgauge size --descriptor-set shop.binpb --message shop.Order --sample order.json --json")]
    Size(SizeArgs),
    /// Write the report of a run again from its directory
    #[command(after_help = "\
Examples:
  rpcgauge report runs/20261120T101500Z-quickstart
  rpcgauge report runs/mine --format markdown > comment.md")]
    Report(ReportArgs),
    /// Compare two runs
    #[command(after_help = "\
Examples:
  rpcgauge diff runs/before runs/after")]
    Diff(DiffArgs),
    /// Serve a workload with the embedded reference server until interrupted
    #[command(after_help = "\
Examples:
  rpcgauge serve                            hello on 127.0.0.1, at a free port
  rpcgauge serve --workload list --n 100 --listen 127.0.0.1:6565
  rpcgauge serve --listen unix:/tmp/hello.sock
  rpcgauge serve --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json")]
    Serve(ServeArgs),
    /// Say what this machine can measure, how quietly, and what more would unlock
    #[command(after_help = "\
Examples:
  rpcgauge doctor
  rpcgauge doctor --no-noise --json         only look, do not measure")]
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  rpcgauge completions bash > ~/.local/share/bash-completion/completions/rpcgauge
  rpcgauge completions zsh > ~/.zfunc/_rpcgauge
  rpcgauge completions fish > ~/.config/fish/completions/rpcgauge.fish")]
    Completions(CompletionsArgs),
    /// Speak the subject contract on standard input and output (contract/README.md)
    #[command(hide = true)]
    Subject,
}

/// `rpcgauge run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Names of built-in studies (`rpcgauge studies`) or paths to .toml files
    #[arg(required_unless_present = "resume", conflicts_with = "resume", value_name = "STUDY", value_hint = ValueHint::FilePath)]
    pub(crate) studies: Vec<String>,
    /// Go on with the interrupted run in this directory
    #[arg(
        long,
        value_name = "RUN",
        value_hint = ValueHint::DirPath,
        // Its plan is made, and it has its place.
        conflicts_with_all = ["only", "invocations", "blocks", "seed", "out"],
    )]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// What a command line may change of a study.
#[derive(Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Only variants whose name contains one of these
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Study"
    )]
    pub(crate) only: Vec<String>,
    /// Fresh starts of the subjects
    #[arg(long, value_name = "N", help_heading = "Study")]
    pub(crate) invocations: Option<u32>,
    /// Blocks in each invocation
    #[arg(long, value_name = "N", help_heading = "Study")]
    pub(crate) blocks: Option<u32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", help_heading = "Study")]
    pub(crate) seed: Option<u64>,
}

/// Where a run goes and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The run directory to make [default: runs/<time>-<study>]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print the findings as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress bar
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Where a message's description comes from.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The .proto file (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) proto: Vec<PathBuf>,
    /// Where imports are searched (repeatable) [default: the .proto file's own folder]
    #[arg(long, short = 'I', value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Message")]
    pub(crate) include: Vec<PathBuf>,
    /// A compiled FileDescriptorSet instead of .proto files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["proto", "include"], value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) descriptor_set: Option<PathBuf>,
}

impl SchemaArgs {
    /// Whether none of it was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.proto.is_empty() && self.include.is_empty() && self.descriptor_set.is_none()
    }
}

/// `rpcgauge compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// The method to call, as package.Service/Method
    #[arg(long, value_name = "METHOD", help_heading = "Message")]
    pub(crate) method: String,
    /// The request, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) request: PathBuf,
    /// The answer to give, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) response: PathBuf,
    /// Only these variants: rest-json, grpc, grpc-gzip, grpc-unix, msgpack, hybrid
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Comparison"
    )]
    pub(crate) only: Vec<String>,
    /// The variant that every other is held against
    #[arg(
        long,
        value_name = "NAME",
        default_value = "rest-json",
        help_heading = "Comparison"
    )]
    pub(crate) against: String,
    /// Compare at several sizes: the answer's repeated fields made this many times as long
    #[arg(
        long,
        value_name = "FACTOR",
        value_delimiter = ',',
        help_heading = "Comparison"
    )]
    pub(crate) size_sweep: Vec<u32>,
    /// About how long to measure, e.g. 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, help_heading = "Comparison")]
    pub(crate) budget: Duration,
    /// Seed of every random choice
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    pub(crate) seed: Option<u64>,
    /// Print the trials and the time they would take; run nothing
    #[arg(long, help_heading = "Comparison")]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Bounds of decoding.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Largest encoded message, in bytes
    #[arg(long, value_name = "BYTES", help = limit_help("Largest encoded message, in bytes", Limits::DEFAULT.max_message_bytes), help_heading = "Limits")]
    pub(crate) max_message_bytes: Option<usize>,
    /// Deepest nesting of a message
    #[arg(long, value_name = "LEVELS", help = limit_help("Deepest nesting of a message", Limits::DEFAULT.max_depth), help_heading = "Limits")]
    pub(crate) max_depth: Option<usize>,
    /// How many times its compressed size a message may grow to
    #[arg(long, value_name = "RATIO", help = limit_help("How many times its compressed size a message may grow to", Limits::DEFAULT.max_inflation), help_heading = "Limits")]
    pub(crate) max_inflation: Option<usize>,
}

/// A limit's help. Its default is no default of the command line: a resumed run keeps its own.
fn limit_help(what: &str, default: usize) -> String {
    format!("{what} [default: {default}]")
}

/// `rpcgauge plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Name of a built-in study or path to a .toml file
    #[arg(value_name = "STUDY", value_hint = ValueHint::FilePath)]
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// `rpcgauge studies`.
#[derive(Debug, Args)]
pub(crate) struct StudiesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<StudiesCommand>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudiesCommand {
    /// Print one built-in study's file
    Show {
        /// Its name
        name: String,
    },
}

/// `rpcgauge size`.
#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// The message's full name, as package.Message
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "method",
        help_heading = "Message"
    )]
    pub(crate) message: Option<String>,
    /// A method, to take its request message (or, with --answer, its answer)
    #[arg(
        long,
        value_name = "METHOD",
        conflicts_with = "message",
        help_heading = "Message"
    )]
    pub(crate) method: Option<String>,
    /// The sample is the method's answer, not its request
    #[arg(long, requires = "method", help_heading = "Message")]
    pub(crate) answer: bool,
    /// The sample, as a JSON file (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) sample: PathBuf,
    /// Print the sizes as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// `rpcgauge report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run directory
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) run: PathBuf,
    /// What to print; the report's files are written to the run directory in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// What `rpcgauge report` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Verdicts and table for a terminal
    Text,
    /// The findings (docs/report-schema.md)
    Json,
    /// For a pull request
    Markdown,
    /// One row a trial
    Csv,
    /// The page itself
    Html,
}

/// `rpcgauge diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The run directory to compare with
    #[arg(value_name = "BEFORE", value_hint = ValueHint::DirPath)]
    pub(crate) before: PathBuf,
    /// The run directory that is judged
    #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
    pub(crate) after: PathBuf,
    /// Print the differences as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `rpcgauge serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// What to serve
    #[arg(long, value_enum, default_value_t = ServedWorkload::Hello, conflicts_with = "method", help_heading = "Workload")]
    pub(crate) workload: ServedWorkload,
    /// Items, rows, strings or ids in the message, where the workload has them
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "method",
        help_heading = "Workload"
    )]
    pub(crate) n: Option<u32>,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// Serve this method of your own, as package.Service/Method
    #[arg(long, value_name = "METHOD", requires_all = ["request", "response"], help_heading = "Message")]
    pub(crate) method: Option<String>,
    /// A request, as a JSON file
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) request: Option<PathBuf>,
    /// The answer to give, as a JSON file
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath, help_heading = "Message")]
    pub(crate) response: Option<PathBuf>,
    /// Where to listen: host:port, or unix:/path
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:0",
        help_heading = "Server"
    )]
    pub(crate) listen: String,
    /// How answers are compressed for a client that accepts it: none, gzip[:level], zstd[:level]
    #[arg(
        long,
        value_name = "COMPRESSION",
        default_value = "none",
        help_heading = "Server"
    )]
    pub(crate) compression: String,
    /// Threads that serve
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Server")]
    pub(crate) threads: u32,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Print the ready line as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The built-in workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServedWorkload {
    /// The answer is the request
    Echo,
    /// A name, and a greeting of it
    Hello,
    /// A short request, an answer of n items
    List,
    /// n rows of the bird strikes data
    Records,
    /// An id, and a member's profile
    Profile,
    /// An id, and n ids
    Followers,
}

/// `rpcgauge doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Only look; skip the short measurement of noise
    #[arg(long)]
    pub(crate) no_noise: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `rpcgauge completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// A time as studies write it.
fn parse_duration(text: &str) -> Result<Duration, String> {
    parse_time_ms(text.trim()).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
