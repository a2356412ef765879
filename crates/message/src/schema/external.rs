//! Runs `protoc` and `buf` from the PATH on files with `edition = "...";`, which the built-in compiler does not
//! support, and on files that it refuses by mistake.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::process::{ExitStatus, Stdio};
use std::{fs, io};

use super::FIRST_PROTOC;
use super::includes::find;
use super::names::is_well_known;
use super::sources::{source_of, without_comments};
use crate::path::clip;
use crate::whole_file;

/// Returns the first file, among the given ones and their imports, that declares an edition. Copies of
/// well-known files are skipped because the built-in compiler does not read them.
pub(super) fn first_with_edition(files: &[PathBuf], includes: &[PathBuf]) -> Option<PathBuf> {
    let mut seen = HashSet::new();
    let mut open: Vec<PathBuf> = files.to_vec();
    while let Some(file) = open.pop() {
        let name = file.to_string_lossy();
        let path = PathBuf::from(find(&name, includes));
        if is_well_known(&name) || !seen.insert(path.clone()) {
            continue;
        }
        for statement in without_comments(&source_of(&path)).split(';') {
            let statement = statement.trim_start();
            if is_assignment(statement, "edition") {
                return Some(path);
            }
            if statement.starts_with("import") {
                open.extend(statement.split(['"', '\'']).nth(1).map(PathBuf::from));
            }
        }
    }
    None
}

/// Whether a statement is `keyword = "..."`.
fn is_assignment(statement: &str, keyword: &str) -> bool {
    statement
        .strip_prefix(keyword)
        .and_then(|rest| rest.trim_start().strip_prefix('='))
        .is_some_and(|rest| rest.trim_start().starts_with(['"', '\'']))
}

/// Why no compiler on the PATH compiled the files.
pub(super) enum NotCompiled {
    /// A compiler refused them. Contains the first line of its error.
    Refused {
        compiler: &'static str,
        what: String,
    },
    /// No suitable compiler was found. Describes what was found instead.
    NoCompiler(String),
}

/// Parses the release from the output of `protoc --version`: 29 for `libprotoc 29.3`, and 3 for every release
/// before 22, such as `libprotoc 3.21.12`.
fn protoc_release(version: &str) -> Option<u32> {
    let numbers = version.trim().strip_prefix("libprotoc ")?;
    numbers.split('.').next()?.parse().ok()
}

/// Compiles with `protoc`, or with `buf` if `protoc` is missing or too old.
pub(super) fn compile(files: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, NotCompiled> {
    let compilers = [("protoc", protoc as Compiler), ("buf", buf as Compiler)];
    let folder = tempfile::tempdir().map_err(|error| {
        NotCompiled::NoCompiler(format!(
            "neither was tried: cannot write a temporary file: {error}; set TMPDIR to a writable folder"
        ))
    })?;
    let mut found = Vec::new();
    for (compiler, run) in compilers {
        match run(files, includes, &folder.path().join(SET)) {
            Ok(Outcome::Compiled(bytes)) => return Ok(bytes),
            Ok(Outcome::TooOld) => found.push(format!("{compiler} is too old")),
            Ok(Outcome::Refused(what)) => return Err(NotCompiled::Refused { compiler, what }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                found.push(format!("{compiler} is missing"));
            }
            Err(error) => found.push(format!("{compiler} does not start ({error})")),
        }
    }
    Err(NotCompiled::NoCompiler(found.join(" and ")))
}

/// The name of the file that a compiler writes.
const SET: &str = "set.binpb";

type Compiler = fn(&[PathBuf], &[PathBuf], &Path) -> io::Result<Outcome>;

enum Outcome {
    Compiled(Vec<u8>),
    TooOld,
    /// Contains the first line of the compiler's error.
    Refused(String),
}

fn protoc(files: &[PathBuf], includes: &[PathBuf], out: &Path) -> io::Result<Outcome> {
    let mut command = Command::new("protoc");
    command
        .arg("--include_imports")
        .arg(option("--descriptor_set_out=", out));
    command.args(includes.iter().map(|include| option("-I", include)));
    command.args(files);
    match run(command, out)? {
        Outcome::Refused(_) if is_protoc_too_old() => Ok(Outcome::TooOld),
        outcome => Ok(outcome),
    }
}

fn is_protoc_too_old() -> bool {
    let ended = output(Command::new("protoc").arg("--version"));
    ended
        .ok()
        .and_then(|(_, words)| protoc_release(&words))
        .is_some_and(|release| release < FIRST_PROTOC)
}

fn buf(files: &[PathBuf], includes: &[PathBuf], out: &Path) -> io::Result<Outcome> {
    // buf has no include paths. Each one becomes a module with a path relative to buf's working directory.
    let root = Path::new("/");
    let mut config = String::from("version: v2\nmodules:\n");
    for include in includes {
        let absolute = fs::canonicalize(include)?;
        let module = absolute.strip_prefix(root).unwrap_or(&absolute);
        config.push_str(&format!("  - path: {module:?}\n"));
    }
    let mut command = Command::new("buf");
    command.args(["build", "--as-file-descriptor-set", "--config", &config]);
    command.arg(option("--output=", out));
    for file in files {
        command
            .arg("--path")
            .arg(fs::canonicalize(find(&file.to_string_lossy(), includes))?);
    }
    command.current_dir(root);
    run(command, out)
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

fn run(mut command: Command, out: &Path) -> io::Result<Outcome> {
    let (status, words) = output(&mut command)?;
    if status.success() {
        let no_set =
            |error| Outcome::Refused(format!("it did not write a descriptor set ({error})"));
        return Ok(whole_file::read(out).map_or_else(no_set, Outcome::Compiled));
    }
    // These messages mean that the compiler predates the edition.
    let too_old = words.contains("unknown edition")
        || words.contains("later than the maximum supported edition");
    if too_old {
        return Ok(Outcome::TooOld);
    }
    let first = words
        .lines()
        .find(|line| !line.trim().is_empty() && !line.contains("WARNING"))
        .unwrap_or("it failed");
    Ok(Outcome::Refused(clip(first.trim())))
}

/// The maximum number of bytes to read from a compiler's output.
const MAX_OUTPUT: u64 = 1 << 20;

/// Runs a compiler to completion and reads both of its output streams. Kills it if it writes [`MAX_OUTPUT`]
/// bytes or more.
fn output(command: &mut Command) -> io::Result<(ExitStatus, String)> {
    let (reader, writer) = io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    // `command` holds the write ends of the pipe. Close them, so that reading ends when the compiler exits.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut words = Vec::new();
    let read = reader.take(MAX_OUTPUT).read_to_end(&mut words);
    if read.is_err() || words.len() as u64 == MAX_OUTPUT {
        // It may have exited already.
        let _ = child.kill();
    }
    let status = child.wait()?;
    read?;
    Ok((status, String::from_utf8_lossy(&words).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_does_not_stop_writing_is_killed() {
        let endless = "while :; do echo wrong; done";
        let (status, words) = output(Command::new("sh").args(["-c", endless])).unwrap();
        assert!(!status.success());
        assert_eq!(words.len() as u64, MAX_OUTPUT);
        assert!(words.starts_with("wrong\nwrong\n"));
    }

    #[test]
    fn an_edition_is_found_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let includes = [folder.path().to_owned()];
        let finds = |name: &str, source: &str| {
            fs::write(folder.path().join(name), source).unwrap();
            first_with_edition(&[PathBuf::from(name)], &includes)
        };
        for source in [
            "edition = \"2023\";",
            "// a\n/* b; */ edition/**/= '2024';",
            "/*\n*/\tedition\n=\n\"2023\";",
        ] {
            assert!(finds("a.proto", source).is_some(), "{source}");
            let found = finds("b.proto", "/* c */ import/**/public \"a.proto\";");
            assert_eq!(found, Some(folder.path().join("a.proto")), "{source}");
        }
        for source in [
            "syntax = \"proto3\"; // edition = \"2023\";",
            "syntax = \"proto2\"; /* \n edition = \"2023\"; */ message edition {}",
            "option java_package = \"/* edition\"; message M { optional string edition = 1; }",
        ] {
            assert_eq!(finds("a.proto", source), None, "{source}");
        }
        fs::create_dir_all(folder.path().join("google/protobuf")).unwrap();
        finds("google/protobuf/any.proto", "edition = \"2023\";");
        let importing = "syntax = \"proto3\"; import \"google/protobuf/any.proto\";";
        assert_eq!(finds("a.proto", importing), None);
    }

    #[test]
    fn the_release_of_a_protoc_is_its_first_number() {
        for (version, release) in [
            ("libprotoc 29.3\n", Some(29)),
            ("libprotoc 27.0-rc1", Some(27)),
            ("libprotoc 3.21.12", Some(3)),
            ("libprotoc", None),
            ("protoc-gen-go v1.36.0", None),
            ("", None),
        ] {
            assert_eq!(protoc_release(version), release, "{version:?}");
        }
    }
}
