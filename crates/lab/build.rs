//! Embeds the built-in subjects and applications, and the files that every subject is built with, into the
//! program, as tables of files from `subjects/`, `apps/` and `contract/`.

#[path = "src/subjects/walk.rs"]
mod walk;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A folder of one subject that is also part of another one, in which a symbolic link leads to it: the owner, the
/// link, and the folder.
const SHARED: [(&str, &str, &str); 1] = [("browser", "node", "../node/src")];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let (subjects, apps) = (root.join("subjects"), root.join("apps"));
    let contract = root.join("contract");
    for watched in [&subjects, &apps, &contract] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut text = String::new();
    write_table(&mut text, "BUILT_IN", &subjects, "subject.toml")?;
    write_table(&mut text, "BUILT_IN_APPS", &apps, "app.toml")?;
    let (golden, proto) = (contract.join("golden"), contract.join("proto"));
    writeln!(
        text,
        "const GOLDEN: &[SourceFile] = &[{}];",
        table(&golden, "contract/golden/")?
    )?;
    writeln!(
        text,
        "const PROTO: &[SourceFile] = &[{}];",
        table(&proto, "contract/proto/")?
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("subjects.rs"), text)?;
    Ok(())
}

/// Writes a table of the folders in `within` that contain a file named `holds`, each with its files.
fn write_table(
    text: &mut String,
    name: &str,
    within: &Path,
    holds: &str,
) -> Result<(), Box<dyn Error>> {
    let mut folders: Vec<PathBuf> = fs::read_dir(within)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    folders.retain(|path| path.join(holds).is_file());
    folders.sort();
    writeln!(
        text,
        "pub(crate) const {name}: &[(&str, &[SourceFile])] = &["
    )?;
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut files = vec![table(&folder, "")?];
        for (_, link, shared) in SHARED.iter().filter(|(owner, ..)| *owner == name) {
            files.push(table(&folder.join(shared), &format!("{link}/"))?);
        }
        writeln!(text, "({name:?}, &[{}]),", files.concat())?;
    }
    writeln!(text, "];")?;
    Ok(())
}

/// The files of a folder as elements of a list of `SourceFile`. `within` is the prefix of their names.
fn table(folder: &Path, within: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for file in walk::walk(folder)? {
        let (name, path) = (format!("{within}{}", file.name), file.path.canonicalize()?);
        let executable = file.executable;
        write!(
            text,
            "SourceFile {{ name: Cow::Borrowed({name:?}), bytes: Cow::Borrowed(include_bytes!({path:?})), \
             executable: {executable} }},"
        )?;
    }
    Ok(text)
}
