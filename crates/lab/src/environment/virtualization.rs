//! Whether this is a virtual machine or a container, as far as the machine shows it.

use std::path::Path;

use super::text_of;

/// Both, where both are so: `virtual machine (KVM), container (docker)`.
pub(super) fn hint() -> Option<String> {
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

/// The processor's own hint, which a hypervisor sets (x86).
fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.any(|line| {
        line.split_ascii_whitespace()
            .any(|flag| flag == "hypervisor")
    })
}

/// Firmware vendors and products that only virtual machines have, with the name to show.
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

#[cfg(test)]
mod tests {
    use super::*;

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
