//! Puts the built-in subjects and what every subject is built with into the program: a table of
//! files, from `subjects/` and `contract/`.

#[path = "src/subjects/walk.rs"]
mod walk;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let subjects = root.join("subjects");
    let contract = root.join("contract");
    for watched in [&subjects, &contract] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut text = String::from("const BUILT_IN: &[(&str, &[SourceFile])] = &[\n");
    let mut folders: Vec<PathBuf> = fs::read_dir(&subjects)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    folders.retain(|path| path.join("subject.toml").is_file());
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        writeln!(text, "({name:?}, &{}),", table(&folder, "")?)?;
    }
    let (golden, proto) = (contract.join("golden"), contract.join("proto"));
    writeln!(
        text,
        "];\nconst GOLDEN: &[SourceFile] = &{};",
        table(&golden, "contract/golden/")?
    )?;
    writeln!(
        text,
        "const PROTO: &[SourceFile] = &{};",
        table(&proto, "contract/proto/")?
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("subjects.rs"), text)?;
    Ok(())
}

/// The files of a folder as a list of `SourceFile`, their names within `within`.
fn table(folder: &Path, within: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("[");
    for file in walk::walk(folder)? {
        let (name, path) = (format!("{within}{}", file.name), file.path.canonicalize()?);
        let executable = file.executable;
        write!(
            text,
            "SourceFile {{ name: Cow::Borrowed({name:?}), bytes: Cow::Borrowed(include_bytes!({path:?})), \
             executable: {executable} }},"
        )?;
    }
    text.push(']');
    Ok(text)
}
