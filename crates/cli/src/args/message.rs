//! Options for message schemas and decoding limits, and `rpcgauge size`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use rpcgauge_message::Limits;

use super::heading;

/// The source of message schemas.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// A .proto file (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) proto: Vec<PathBuf>,
    /// A folder to search for imports (repeatable) [default: the .proto file's own folder]
    #[arg(long, short = 'I', value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = heading::MESSAGE)]
    pub(crate) include: Vec<PathBuf>,
    /// A compiled FileDescriptorSet instead of .proto files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["proto", "include"], value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) descriptor_set: Option<PathBuf>,
}

impl SchemaArgs {
    /// Whether none of these options is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.proto.is_empty() && self.include.is_empty() && self.descriptor_set.is_none()
    }
}

/// Decoding limits.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    #[arg(long, value_name = "BYTES", help = limit_help("Maximum size of an encoded message, in bytes", Limits::DEFAULT.max_message_bytes), help_heading = heading::LIMITS)]
    pub(crate) max_message_bytes: Option<usize>,
    #[arg(long, value_name = "LEVELS", help = limit_help("Maximum nesting depth of a message", Limits::DEFAULT.max_depth), help_heading = heading::LIMITS)]
    pub(crate) max_depth: Option<usize>,
    #[arg(long, value_name = "RATIO", help = limit_help("Maximum ratio of a message's decompressed to its compressed size", Limits::DEFAULT.max_inflation), help_heading = heading::LIMITS)]
    pub(crate) max_inflation: Option<usize>,
}

/// The help of a limit. It states the default itself because clap does not know it: a resumed run
/// uses the limits of its original run.
fn limit_help(what: &str, default: usize) -> String {
    format!("{what} [default: {default}]")
}

/// `rpcgauge size`.
#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// The message's full name, package.Message
    #[arg(long, value_name = "NAME", required_unless_present = "method", help_heading = heading::MESSAGE)]
    pub(crate) message: Option<String>,
    /// A method whose request message is used (with --response, its response message)
    #[arg(long, value_name = "METHOD", conflicts_with = "message", help_heading = heading::MESSAGE)]
    pub(crate) method: Option<String>,
    /// The sample is the method's response rather than its request
    #[arg(long, requires = "method", help_heading = heading::MESSAGE)]
    pub(crate) response: bool,
    /// The sample, as a JSON file (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) sample: PathBuf,
    /// Print the sizes as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
