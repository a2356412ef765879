//! Processor time taken away by a hypervisor (steal).

use std::fs;

/// The share of stolen time above which a warning is given.
const STEAL_SHARE: f64 = 0.01;

/// The kernel counts stolen time in ticks of 10 ms, and one tick may represent a much shorter time. With fewer
/// ticks than this, a share is meaningless.
const MIN_STOLEN_TICKS: u64 = 5;

/// Clock ticks of all cores since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    /// Reads the counters; `None` if the kernel does not provide them.
    pub(super) fn now() -> Option<Self> {
        ticks(&fs::read_to_string("/proc/stat").ok()?, "cpu ")
    }

    /// A warning if too much time was stolen since these ticks; `when` names that period.
    pub(super) fn warning(self, when: &str) -> Option<String> {
        let share = stolen_share(self, Self::now()?)?;
        Some(format!(
            "{when} the hypervisor gave {:.1}% of the processor time to other machines (steal): the host is busy",
            share * 100.0
        ))
    }
}

/// The time stolen from these cores since boot, ns, rounded to ticks.
pub(crate) fn stolen_ns(cores: &[usize]) -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(stolen_of(&stat, cores)?.saturating_mul(tick_ns))
}

/// The ticks stolen from these cores.
fn stolen_of(stat: &str, cores: &[usize]) -> Option<u64> {
    let of_core = |core: &usize| Some(ticks(stat, &format!("cpu{core} "))?.stolen);
    cores.iter().map(of_core).sum()
}

/// Parses the line with this prefix (`cpu` for all cores) of `/proc/stat`: user, nice, system, idle, iowait,
/// irq, softirq, steal. The guest times that follow are already included in user and nice.
fn ticks(stat: &str, name: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
    let fields = line.split_ascii_whitespace().take(8);
    let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    Some(Ticks {
        stolen: *fields.get(7)?,
        all: fields.iter().sum(),
    })
}

/// The share of time that was stolen; `None` if it is small or based on too few ticks.
fn stolen_share(before: Ticks, after: Ticks) -> Option<f64> {
    let stolen = after.stolen.saturating_sub(before.stolen);
    let share = stolen as f64 / after.all.saturating_sub(before.all).max(1) as f64;
    (stolen >= MIN_STOLEN_TICKS && share > STEAL_SHARE).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let parsed = ticks("cpu  10 20 30 40 5 6 7 8 100 100\ncpu0 1\n", "cpu ").unwrap();
        assert_eq!(
            parsed,
            Ticks {
                stolen: 8,
                all: 126
            }
        );
        let at = |stolen, all| Ticks { stolen, all };
        assert_eq!(stolen_share(at(0, 0), at(10, 1000)), None);
        assert_eq!(stolen_share(at(10, 100), at(15, 200)), Some(0.05));
        // A large share, but from too few ticks.
        assert_eq!(stolen_share(at(10, 100), at(14, 110)), None);
        assert_eq!(ticks("intr 1", "cpu "), None);
        let stat =
            "cpu  0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 30 0 0\ncpu10 0 0 0 0 0 0 0 9\n";
        assert_eq!(stolen_of(stat, &[0, 1]), Some(38));
        assert_eq!(stolen_of(stat, &[1]), Some(30));
        assert_eq!(stolen_of(stat, &[2]), None);
    }
}
