//! Formats the findings for a terminal.

use std::fmt;

use rpcgauge_study::settings::Idle;

use super::Findings;
use super::capability::Capability;
use super::noise::{Fit, Noise, NoiseResult};

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.machine(f)?;
        section(f, "Privileges", &self.privileges)?;
        section(f, "Toolchains", &self.toolchains)?;
        match &self.noise {
            Some(NoiseResult::Measured(noise)) => measured(f, noise)?,
            Some(NoiseResult::Failed { failure }) => {
                writeln!(f, "\nNoise\n  could not be measured: {failure}")?;
            }
            None => {}
        }
        if !self.environment.warnings.is_empty() {
            writeln!(f, "\nWarnings")?;
        }
        self.environment
            .warnings
            .iter()
            .try_for_each(|warning| writeln!(f, "  {warning}"))?;
        match (&self.noise, self.fit) {
            (Some(NoiseResult::Measured(noise)), Some(fit)) => self.judgement(f, noise, fit),
            _ => Ok(()),
        }
    }
}

impl Findings {
    /// What this machine is fit for, and what limits it.
    fn judgement(&self, f: &mut fmt::Formatter<'_>, noise: &Noise, fit: Fit) -> fmt::Result {
        let beyond = off(noise.largest);
        let fit = match fit {
            Fit::Good => format!(
                "fit for comparing local calls: a run of a few minutes resolves differences of about {beyond} and more"
            ),
            Fit::Usable => format!(
                "fit for differences of more than {beyond} between local calls; smaller ones need longer runs or a \
                 quieter machine"
            ),
            Fit::Noisy => format!(
                "too noisy for most comparisons: the same call differed by {beyond}; stop other programs, or use \
                 another machine"
            ),
        };
        let limits = [
            (
                self.environment.cores == 1,
                "client and server share the only core, so differences between servers appear smaller",
            ),
            (
                self.environment.idle.got == Idle::AsIs,
                "idle states cannot be disabled, so short local calls take several times as long",
            ),
        ];
        writeln!(f, "\nJudgement\n  {fit}")?;
        let limits = limits.iter().filter(|(applies, _)| *applies);
        limits
            .into_iter()
            .try_for_each(|(_, what)| writeln!(f, "  {what}"))
    }

    fn machine(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.environment;
        let or_none = |text: &Option<String>, none: &str| text.clone().unwrap_or(none.to_owned());
        let busy = self.busy_cores.as_ref().map(|busy| match &busy.stops {
            None => "no periodic stops detected".to_owned(),
            Some(stops) => format!(
                "are stopped for {:.1} ms in every {} ms",
                stops.stopped_ms, stops.period_ms
            ),
        });
        let rows = [
            ("system", machine.system.clone()),
            ("processor", machine.processor.clone()),
            ("cores", format!("{} available", machine.cores)),
            (
                "memory",
                // Decimal, as in reports.
                format!("{:.1} GB", machine.memory_bytes as f64 / 1e9),
            ),
            ("virtual", or_none(&machine.virtualization, "not detected")),
            (
                "frequency",
                or_none(&machine.governor, "no governor reported"),
            ),
            (
                "idle states",
                match machine.idle.got {
                    Idle::Held => "can be disabled".to_owned(),
                    Idle::AsIs => "cannot be disabled".to_owned(),
                },
            ),
        ];
        writeln!(f, "Machine")?;
        rows.into_iter()
            .chain(busy.map(|busy| ("busy cores", busy)))
            .try_for_each(|(name, value)| writeln!(f, "  {name:<12} {value}"))
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, found: &[Capability]) -> fmt::Result {
    writeln!(f, "\n{title}")?;
    let widths = found.iter().map(|one| one.name.len());
    let width = widths.max().unwrap_or(0);
    for one in found {
        let (mark, what) = if one.found {
            ("yes", "for")
        } else {
            ("no", "would unlock:")
        };
        writeln!(f, "  {mark:<3}  {:<width$}  {}", one.name, one.detail)?;
        writeln!(f, "       {:width$}  {what} {}", "", one.unlocks)?;
    }
    Ok(())
}

fn measured(f: &mut fmt::Formatter<'_>, noise: &Noise) -> fmt::Result {
    writeln!(
        f,
        "\nNoise\n  {} pairs of the same gRPC call, {}, {}: median {:.1} µs\n  the two calls \
         of a pair typically differ by {}, at most by {}",
        noise.pairs,
        noise.placement,
        noise.idle,
        noise.latency_p50_ns / 1_000.0,
        off(noise.typical),
        off(noise.largest)
    )
}

/// A percentage for less than a factor of 2; otherwise a factor.
fn off(by: f64) -> String {
    if by < 1.0 {
        format!("{:.1}%", by * 100.0)
    } else {
        format!("a factor of {:.1}", by + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rpcgauge_study::record::{Environment, IdleOutcome};
    use rpcgauge_study::settings::Placement;

    use super::*;
    use crate::doctor::stops::{BusyCores, StoppedBy, Stops};

    #[test]
    fn what_is_off_by_far_is_no_percentage() {
        assert_eq!(off(0.051), "5.1%");
        assert_eq!(off(110.494), "a factor of 111.5");
    }

    #[test]
    fn everything_found_is_shown() {
        let reason = Some("idle states were not disabled: no device".to_owned());
        let findings = Findings {
            environment: Environment {
                rpcgauge: "0.1.0".to_owned(),
                executable: None,
                machine_id: None,
                system: "Debian GNU/Linux 12, Linux 6.1.0 x86_64".to_owned(),
                processor: "AMD EPYC".to_owned(),
                cores: 2,
                memory_bytes: 25_300_000_000,
                virtualization: Some("virtual machine (KVM)".to_owned()),
                governor: None,
                idle: IdleOutcome {
                    asked: Idle::Held,
                    got: Idle::AsIs,
                    reason: reason.clone(),
                },
                subjects: BTreeMap::new(),
                disk: BTreeMap::new(),
                warnings: reason.into_iter().collect(),
            },
            privileges: vec![Capability::new("root", Err("user 1000".to_owned()), "more")],
            toolchains: vec![Capability::new(
                "go",
                Ok("go version 1.25".to_owned()),
                "Go",
            )],
            busy_cores: Some(BusyCores {
                watched_ms: 1_000,
                stops: Some(Stops {
                    period_ms: 100,
                    stopped_ms: 24.96,
                    by: StoppedBy::Host,
                }),
            }),
            noise: Some(NoiseResult::Measured(Noise {
                placement: Placement::TwoCores,
                idle: Idle::AsIs,
                pairs: 8,
                latency_p50_ns: 61_234.0,
                typical: 0.0123,
                largest: 0.051,
            })),
            fit: Some(Fit::Good),
        };
        insta::assert_snapshot!(findings.to_string());
    }
}
