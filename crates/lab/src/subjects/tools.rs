//! The toolchain that a subject needs, and whether its versions are new enough.

use std::path::PathBuf;

use rpcgauge_study::subject::{Tool, Version};

use crate::program::{in_path, version_text};

/// A program of the toolchain that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTool {
    /// What the manifest calls it.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its version.
    pub(crate) version: String,
}

/// Looks for all of a subject's tools; what is missing, and what to do, one line each.
pub(super) fn find_all(tools: &[Tool]) -> Result<Vec<FoundTool>, Vec<String>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for tool in tools {
        match find(tool) {
            Ok(tool) => found.push(tool),
            Err(why) => missing.push(format!("{why}; {}", tool.install)),
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(missing)
    }
}

/// The first of a tool's programs that will do, or why there is none.
pub(crate) fn find(tool: &Tool) -> Result<FoundTool, String> {
    let mut why = format!("there is no {} in PATH", tool.programs.join(" or "));
    for program in &tool.programs {
        let Some(path) = in_path(program) else {
            continue;
        };
        let at = path.display();
        let version = version_text(&path, &tool.version).ok();
        let version = version.and_then(|text| Version::find(&text));
        match (&version, &tool.least) {
            (None, Some(least)) => {
                why = format!("{at} prints no version, and {least} is needed");
            }
            (Some(version), Some(least)) if version < least => {
                why = format!("{at} is {version}, and {least} is needed");
            }
            _ => {
                return Ok(FoundTool {
                    name: tool.name.clone(),
                    path,
                    version: version.map_or_else(String::new, |version| version.to_string()),
                });
            }
        }
    }
    Err(why)
}
