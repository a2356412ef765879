//! Privileges: what this process may do, and what that unlocks.

use std::fs::{self, OpenOptions};
use std::io;

use serde::Serialize;

use crate::machine::idle;
use crate::machine::process::ProcessMeter;

/// Something that is there or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub found: bool,
    /// Its version or place where it is there; why not, where it is not.
    pub detail: String,
    /// What it unlocks.
    pub unlocks: String,
}

impl Capability {
    pub(super) fn new(name: &str, state: Result<String, String>, unlocks: &str) -> Self {
        let found = state.is_ok();
        let detail = match state {
            Ok(detail) | Err(detail) => detail,
        };
        Self {
            name: name.to_owned(),
            found,
            detail,
            unlocks: unlocks.to_owned(),
        }
    }
}

/// Capabilities of capabilities(7), by their bit.
mod bit {
    pub(super) const NET_ADMIN: u32 = 12;
    pub(super) const SYS_ADMIN: u32 = 21;
    pub(super) const PERFMON: u32 = 38;
}

/// Every privilege that something of rpcgauge needs.
pub(super) fn privileges() -> Vec<Capability> {
    let held = held();
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
        Capability::new(
            "CAP_NET_ADMIN",
            has(held, bit::NET_ADMIN, "CAP_NET_ADMIN")
                .and_then(|_| has(held, bit::SYS_ADMIN, "CAP_SYS_ADMIN")),
            "network namespaces, for emulated links, which this release has none of",
        ),
        Capability::new(
            "/dev/net/tun",
            writable("/dev/net/tun"),
            "TUN devices, for emulated links, which this release has none of",
        ),
        Capability::new("perf events", perf(held), "profiles of a subject with perf"),
    ]
}

fn root() -> Result<String, String> {
    let user = rustix::process::geteuid();
    let detail = format!("user {user}");
    if user.is_root() {
        Ok(detail)
    } else {
        Err(detail)
    }
}

/// The effective capabilities of this process.
fn held() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective(&status).unwrap_or(0)
}

fn effective(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn has(held: u64, bit: u32, name: &str) -> Result<String, String> {
    if held & (1 << bit) == 0 {
        Err(format!("{name} is not held"))
    } else {
        Ok("held".to_owned())
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
    let refused = || "the kernel refuses it (/proc/self/clear_refs)".to_owned();
    if meter.reset_peak() {
        Ok("works".to_owned())
    } else {
        Err(refused())
    }
}

/// The setting of `perf_event_paranoid` up to which a user may profile own processes, the kernel's
/// part included.
const PARANOID_KERNEL: i32 = 1;

fn perf(held: u64) -> Result<String, String> {
    let path = "/proc/sys/kernel/perf_event_paranoid";
    let text = fs::read_to_string(path).map_err(|_| "the kernel has no perf events".to_owned())?;
    let level: i32 = text
        .trim()
        .parse()
        .map_err(|_| format!("{path} holds no number"))?;
    let is_held = [bit::PERFMON, bit::SYS_ADMIN]
        .iter()
        .any(|bit| has(held, *bit, "").is_ok());
    let detail = format!("perf_event_paranoid is {level}");
    if is_held || level <= PARANOID_KERNEL {
        Ok(detail)
    } else {
        Err(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_bits_of_a_hexadecimal_number() {
        let held = effective("Name:\ta\nCapEff:\t0000000000001000\n").unwrap();
        assert!(has(held, bit::NET_ADMIN, "CAP_NET_ADMIN").is_ok());
        assert_eq!(
            has(held, bit::PERFMON, "CAP_PERFMON"),
            Err("CAP_PERFMON is not held".into())
        );
        assert_eq!(effective("Name:\ta\n"), None);
    }

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
