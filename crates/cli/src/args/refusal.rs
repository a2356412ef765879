//! clap's refusals in one line: what is wrong, where, and what to do.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rpcgauge_message::nearest::Nearest;

use super::Arguments;

/// The line for an error of these words of a command line, the program's name first.
pub(super) fn line(error: &clap::Error, words: &[OsString]) -> String {
    format!("{}; see `{} --help`", what(error, words), command(words))
}

fn what(error: &clap::Error, words: &[OsString]) -> String {
    let argument = context(error, ContextKind::InvalidArg).join(", ");
    let value = context(error, ContextKind::InvalidValue).concat();
    match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            let nearest = suggested(error, ContextKind::SuggestedArg);
            format!("unknown option {argument}{nearest}")
        }
        ErrorKind::UnknownArgument => format!("\"{argument}\" is one word too many"),
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand).concat();
            let nearest = suggested(error, ContextKind::SuggestedSubcommand);
            format!("unknown command \"{name}\"{nearest}")
        }
        ErrorKind::ArgumentConflict => conflict(error, &argument),
        ErrorKind::MissingRequiredArgument => format!("missing {}", any_of(&argument)),
        ErrorKind::InvalidValue if value.is_empty() => format!("{argument} needs a value"),
        ErrorKind::InvalidValue => {
            let known = context(error, ContextKind::ValidValue);
            let nearest = Nearest::or_known(&value, known);
            format!("{argument}: unknown value \"{value}\"{nearest}")
        }
        ErrorKind::ValueValidation => format!("{argument}: {}", refused_value(error, &value)),
        ErrorKind::TooManyValues => {
            format!("{argument}: the value \"{value}\" is one too many")
        }
        ErrorKind::InvalidUtf8 => format!("not UTF-8: {}", not_utf8(words)),
        // What this command line cannot be refused for, unless it changes.
        kind => format!("{argument} {kind}").trim_start().to_owned(),
    }
}

/// One of a group of arguments, which clap writes as `<--rate <R>|--ramp <RAMP>>`.
fn any_of(argument: &str) -> String {
    let group = argument.strip_prefix('<').and_then(|a| a.strip_suffix('>'));
    match group.filter(|group| group.contains('|')) {
        Some(group) => group.replace('|', " or "),
        None => argument.to_owned(),
    }
}

fn conflict(error: &clap::Error, argument: &str) -> String {
    let prior = context(error, ContextKind::PriorArg).join(", ");
    if prior == argument {
        format!("{argument} is given more than once")
    } else {
        format!("{argument} cannot be given together with {prior}")
    }
}

/// What a value's own rule says. The standard library's words for numbers do not name the value.
fn refused_value(error: &clap::Error, value: &str) -> String {
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<ParseIntError>()) {
        Some(number) => match number.kind() {
            IntErrorKind::PosOverflow => format!("{value} is too large"),
            IntErrorKind::Zero => "it must be at least 1".to_owned(),
            _ => format!("\"{value}\" is no whole number"),
        },
        None => source.map_or_else(
            || format!("\"{value}\" cannot be used"),
            ToString::to_string,
        ),
    }
}

/// The words that are no text, as far as they can be shown. A path may be such a word.
fn not_utf8(words: &[OsString]) -> String {
    let shown = words.iter().filter(|word| word.to_str().is_none());
    shown
        .map(|word| format!("{word:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// `; did you mean "--blocks"?`, or nothing.
fn suggested(error: &clap::Error, kind: ContextKind) -> String {
    match context(error, kind)[..] {
        [] => String::new(),
        ref names => format!("; did you mean \"{}\"?", names.join("\" or \"")),
    }
}

/// What the error tells of this kind, be it one text or several.
fn context(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The command that was meant, as far as its words are known.
///
/// No command that has commands of its own has an option with a value, so that the words before
/// the first unknown one are names of commands or flags.
fn command(words: &[OsString]) -> String {
    let root = Arguments::command();
    let mut command = &root;
    let mut path = command.get_name().to_owned();
    let is_flag = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    for word in words.iter().skip(1).filter(|word| !is_flag(word)) {
        let Some(found) = command.find_subcommand(word) else {
            break;
        };
        command = found;
        path = format!("{path} {}", command.get_name());
    }
    path
}
