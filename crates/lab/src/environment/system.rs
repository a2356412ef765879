//! Describes the system: its processor, clock frequency and limits, and the virtual machine or container it
//! runs in.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::path::Path;

use ring::digest::{SHA256, digest};

use super::executable::hexadecimal;
use crate::machine::cores::{Core, choose_pair};
use crate::machine::process::kib_field;

/// The distribution and the kernel, for example `Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64`.
pub(super) fn name() -> String {
    let release = text_of("/etc/os-release").or_else(|| text_of("/usr/lib/os-release"));
    let distribution = release.and_then(|text| distribution(&text));
    let kernel = text_of("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = format!("Linux {kernel} {ARCH}");
    distribution.map_or(kernel.clone(), |name| format!("{name}, {kernel}"))
}

/// The human-readable name in os-release(5).
fn distribution(release: &str) -> Option<String> {
    let value = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// The processor's name as the system reports it, or the architecture if it reports none.
pub(super) fn processor() -> String {
    let cpuinfo = text_of("/proc/cpuinfo").unwrap_or_default();
    model(&cpuinfo)
        .or_else(|| text_of("/proc/device-tree/model").map(|name| name.replace('\0', "")))
        .unwrap_or_else(|| ARCH.to_owned())
}

fn model(cpuinfo: &str) -> Option<String> {
    let fields = || cpuinfo.lines().filter_map(|line| line.split_once(':'));
    // x86 has the first field; other architectures have one of the rest.
    ["model name", "Processor", "cpu model", "cpu"]
        .iter()
        .find_map(|wanted| {
            let (_, value) = fields().find(|(name, _)| name.trim() == *wanted)?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        })
}

/// A digest of machine-id(5), because the id itself is confidential. It distinguishes machines that otherwise
/// look the same.
pub(super) fn machine_id() -> Option<String> {
    let id = text_of("/etc/machine-id")?;
    let digest = digest(&SHA256, format!("rpcgauge {id}").as_bytes());
    Some(hexadecimal(&digest.as_ref()[..8]))
}

/// The total memory of the machine, bytes.
pub(super) fn memory_bytes() -> Option<u64> {
    kib_field(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The frequency governor of the allowed cores, or all governors if they differ.
pub(super) fn governor(allowed: &[Core]) -> Option<String> {
    let file = |id| format!("/sys/devices/system/cpu/cpu{id}/cpufreq/scaling_governor");
    let names = allowed.iter().filter_map(|core| text_of(&file(core.id)));
    let names: BTreeSet<String> = names.collect();
    (!names.is_empty()).then(|| Vec::from_iter(names).join(", "))
}

/// Machine settings that make figures noisy.
pub(super) fn warnings(allowed: &[Core], governor: Option<&str>) -> Vec<String> {
    [
        governor.and_then(governor_warning),
        turbo().filter(|on| *on).map(|_| TURBO.to_owned()),
        cores_warning(allowed),
        quota().and_then(|quota| quota_warning(quota, allowed.len())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const TURBO: &str = "the processor may raise its clock under light load (turbo); figures depend on \
                     what else runs";

fn governor_warning(governor: &str) -> Option<String> {
    (governor != "performance").then(|| {
        format!(
            "the frequency governor is {governor}: short trials may run at a low clock; \
             \"performance\" is steadier"
        )
    })
}

/// Whether turbo frequencies are enabled; `None` if the driver does not report it.
fn turbo() -> Option<bool> {
    let cpu = "/sys/devices/system/cpu";
    let intel = text_of(&format!("{cpu}/intel_pstate/no_turbo")).map(|off| off == "0");
    intel.or_else(|| text_of(&format!("{cpu}/cpufreq/boost")).map(|on| on == "1"))
}

fn cores_warning(allowed: &[Core]) -> Option<String> {
    let Some(pair) = choose_pair(allowed) else {
        return Some(
            "this program may use only one core, so client and server must share it".to_owned(),
        );
    };
    pair.is_one_physical_core().then(|| {
        format!(
            "cores {} and {} are hardware threads of one physical core: client and server slow \
             each other down",
            pair.client.id, pair.server.id
        )
    })
}

/// The processor time allowed by this program's control group, in cores.
fn quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))?
        .trim_end_matches('/');
    // The tightest limit of all ancestors applies. A container sees its own group as the root.
    let ancestors = group
        .match_indices('/')
        .map(|(at, _)| &group[..at])
        .chain([group]);
    ancestors
        .filter_map(|group| text_of(&format!("/sys/fs/cgroup{group}/cpu.max")))
        .filter_map(|limit| cores_of(&limit))
        .min_by(f64::total_cmp)
}

/// Parses `cpu.max` of control group v2: `QUOTA PERIOD`, where the quota is `max` if unlimited.
fn cores_of(limit: &str) -> Option<f64> {
    let (quota, period) = limit.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

fn quota_warning(quota: f64, cores: usize) -> Option<String> {
    (quota < cores as f64).then(|| {
        format!(
            "the control group allows {quota:.1} cores of processor time on {cores} cores: processes are \
             throttled when they use it up"
        )
    })
}

/// The virtual machine, the container or both that this runs in, for example `virtual machine (KVM),
/// container (docker)`.
pub(super) fn virtualization() -> Option<String> {
    let parts: Vec<String> = [machine(), container()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn machine() -> Option<String> {
    let cpuinfo = text_of("/proc/cpuinfo").unwrap_or_default();
    let firmware = |file| text_of(&format!("/sys/class/dmi/id/{file}")).unwrap_or_default();
    let described = format!("{} {}", firmware("sys_vendor"), firmware("product_name"));
    let name = text_of("/sys/hypervisor/type").or_else(|| hypervisor(&described));
    match name {
        Some(name) => Some(format!("virtual machine ({name})")),
        None if has_hypervisor_flag(&cpuinfo) => Some("virtual machine".to_owned()),
        None => None,
    }
}

/// Whether the processor flags report a hypervisor (x86).
fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.any(|line| {
        line.split_ascii_whitespace()
            .any(|flag| flag == "hypervisor")
    })
}

/// Firmware vendors and products that identify virtual machines, each with the name to display.
const HYPERVISORS: [(&str, &str); 9] = [
    ("qemu", "QEMU"),
    ("kvm", "KVM"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("xen", "Xen"),
    ("amazon ec2", "Amazon EC2"),
    ("google compute engine", "Google Compute Engine"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("bochs", "Bochs"),
];

fn hypervisor(described: &str) -> Option<String> {
    let described = described.to_ascii_lowercase();
    let (_, shown) = HYPERVISORS
        .iter()
        .find(|(known, _)| described.contains(known))?;
    Some((*shown).to_owned())
}

fn container() -> Option<String> {
    let name = if Path::new("/.dockerenv").exists() {
        "docker"
    } else if Path::new("/run/.containerenv").exists() {
        "podman"
    } else if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        "kubernetes"
    } else {
        return None;
    };
    Some(format!("container ({name})"))
}

/// A file's trimmed text; `None` if the file cannot be read or is blank.
fn text_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_named() {
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(
            distribution(release).as_deref(),
            Some("Debian GNU/Linux 12 (bookworm)")
        );
        assert_eq!(
            distribution("PRETTY_NAME=Alpine"),
            Some("Alpine".to_owned())
        );
        assert_eq!(distribution("NAME=x"), None);
    }

    #[test]
    fn the_processor_is_named() {
        assert_eq!(
            model("processor\t: 0\nmodel name\t: AMD EPYC\n").as_deref(),
            Some("AMD EPYC")
        );
        assert_eq!(model("processor : 0\nBogoMIPS : 50.00\n"), None);
    }

    #[test]
    fn only_the_performance_governor_is_quiet() {
        assert_eq!(governor_warning("performance"), None);
        assert!(governor_warning("powersave").unwrap().contains("powersave"));
    }

    #[test]
    fn a_quota_below_the_cores_is_a_warning() {
        assert_eq!(cores_of("max 100000"), None);
        assert_eq!(cores_of("150000 100000"), Some(1.5));
        assert_eq!(cores_of("100000 0"), None);
        assert_eq!(quota_warning(2.0, 2), None);
        assert!(quota_warning(1.5, 2).unwrap().contains("1.5 cores"));
    }

    #[test]
    fn one_core_and_two_threads_are_warnings() {
        let core = |id, physical| Core {
            id,
            package: 0,
            physical,
        };
        assert!(cores_warning(&[core(0, 0)]).unwrap().contains("one core"));
        assert!(
            cores_warning(&[core(0, 0), core(1, 0)])
                .unwrap()
                .contains("0 and 1")
        );
        assert_eq!(cores_warning(&[core(0, 0), core(1, 1)]), None);
    }

    #[test]
    fn firmware_names_its_hypervisor() {
        let named = |text| hypervisor(text);
        assert_eq!(named("QEMU Standard PC (Q35)").as_deref(), Some("QEMU"));
        assert_eq!(
            named("Microsoft Corporation Virtual Machine").as_deref(),
            Some("Hyper-V")
        );
        assert_eq!(named("Microsoft Corporation Surface Pro"), None);
        assert_eq!(named(" "), None);
    }

    #[test]
    fn the_processor_gives_a_hint() {
        assert!(has_hypervisor_flag(
            "processor: 0\nflags\t\t: fpu hypervisor lahf_lm\n"
        ));
        assert!(!has_hypervisor_flag(
            "flags\t\t: fpu lahf_lm\nmodel name: hypervisor\n"
        ));
    }
}
