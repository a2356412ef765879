//! Privileges: what this process may do, and what that unlocks.

use std::fs::OpenOptions;
use std::io;

use serde::Serialize;

use crate::machine::idle;
use crate::machine::process::ProcessMeter;

/// Something that is there or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Capability {
    pub(super) name: String,
    pub(super) found: bool,
    /// Its version or place where it is there; why not, where it is not.
    pub(super) detail: String,
    pub(super) unlocks: String,
}

impl Capability {
    pub(super) fn new(name: &str, state: Result<String, String>, unlocks: &str) -> Self {
        Self {
            name: name.to_owned(),
            found: state.is_ok(),
            detail: state.unwrap_or_else(|why| why),
            unlocks: unlocks.to_owned(),
        }
    }
}

/// Every privilege that something of rpcgauge needs.
pub(super) fn privileges() -> Vec<Capability> {
    vec![
        Capability::new(
            "root",
            root(),
            "everything below, where the container allows it",
        ),
        Capability::new(
            idle::DEVICE,
            writable(idle::DEVICE),
            "idle states held off: local calls measured without wake-up times",
        ),
        Capability::new(
            "peak memory reset",
            peak_reset(),
            "each trial's own peak memory, not the process's since its start",
        ),
    ]
}

fn root() -> Result<String, String> {
    let user = rustix::process::geteuid();
    let detail = format!("user {user}");
    match user.is_root() {
        true => Ok(detail),
        false => Err(detail),
    }
}

fn writable(path: &str) -> Result<String, String> {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => Ok("can be opened for writing".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("is not there".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn peak_reset() -> Result<String, String> {
    let meter = ProcessMeter::of_self().map_err(|error| error.to_string())?;
    match meter.reset_peak() {
        true => Ok("works".to_owned()),
        false => Err("the kernel refuses it (/proc/self/clear_refs)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_says_so() {
        assert_eq!(
            writable("/nonexistent/device"),
            Err("is not there".to_owned())
        );
    }

    #[test]
    fn each_privilege_says_what_it_unlocks() {
        for privilege in privileges() {
            assert!(
                !privilege.detail.is_empty() && !privilege.unlocks.is_empty(),
                "{privilege:?}"
            );
        }
    }
}
