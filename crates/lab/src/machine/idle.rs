//! Controls whether an idle core may sleep while a trial runs.
//!
//! Waking a core from a deep idle state takes longer than a local call. Writing a 32-bit 0 to
//! `/dev/cpu_dma_latency` requests a wake-up latency of 0 µs for as long as the file stays open
//! (`Documentation/power/pm_qos_interface.rst` in the kernel).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use rpcgauge_study::record::IdleOutcome;
use rpcgauge_study::settings::Idle;

/// The kernel's PM QoS device.
pub(crate) const DEVICE: &str = "/dev/cpu_dma_latency";

/// The requested wake-up latency, µs.
const WAKE_UP_US: i32 = 0;

/// Disables idle states while it lives, if that was requested and granted.
#[derive(Debug)]
pub struct IdleHold {
    pub(crate) outcome: IdleOutcome,
    // Closing the file withdraws the request.
    _request: Option<File>,
}

impl IdleHold {
    /// Requests `asked` from the kernel. If the kernel refuses, idle states stay as they are, and the
    /// outcome contains the reason.
    pub fn ask(asked: Idle) -> Self {
        Self::ask_at(asked, Path::new(DEVICE))
    }

    fn ask_at(asked: Idle, device: &Path) -> Self {
        let (request, got, reason) = match asked {
            Idle::AsIs => (None, Idle::AsIs, None),
            Idle::Held => match request(device) {
                Ok(file) => (Some(file), Idle::Held, None),
                Err(error) => (None, Idle::AsIs, Some(refusal(device, &error))),
            },
        };
        Self {
            outcome: IdleOutcome { asked, got, reason },
            _request: request,
        }
    }

    /// The setting in effect while this lives.
    pub fn got(&self) -> Idle {
        self.outcome.got
    }
}

fn request(device: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(device)?;
    file.write_all(&WAKE_UP_US.to_ne_bytes())?;
    Ok(file)
}

fn refusal(device: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "run as root or allow this user to write it",
        io::ErrorKind::NotFound => "the kernel or container does not offer it",
        _ => "the kernel refused it",
    };
    format!(
        "idle states were not disabled: {}: {error}; {advice}, or expect more noise",
        device.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_machine_gets_the_wake_up_latency() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("device");
        std::fs::write(&device, b"").unwrap();
        let hold = IdleHold::ask_at(Idle::Held, &device);
        assert_eq!(hold.got(), Idle::Held);
        assert_eq!(hold.outcome.reason, None);
        assert_eq!(std::fs::read(&device).unwrap(), 0_i32.to_ne_bytes());
    }

    #[test]
    fn without_the_device_it_stays_as_is_and_says_why() {
        let hold = IdleHold::ask_at(Idle::Held, Path::new("/nonexistent/device"));
        assert_eq!(hold.got(), Idle::AsIs);
        assert_eq!(hold.outcome.asked, Idle::Held);
        let reason = hold.outcome.reason.clone().unwrap();
        assert!(reason.contains("/nonexistent/device"), "{reason}");
    }

    #[test]
    fn as_is_asks_for_nothing() {
        let hold = IdleHold::ask_at(Idle::AsIs, Path::new("/nonexistent/device"));
        assert_eq!(hold.outcome.reason, None);
        assert_eq!(hold.got(), Idle::AsIs);
    }
}
