//! What else the machine does meanwhile: its load, its busy processes, and the time a hypervisor
//! takes away.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long other processes are watched.
const WATCH: Duration = Duration::from_millis(250);

/// A process above this share of a core disturbs what is measured.
const BUSY_SHARE: f64 = 0.10;

/// Busy processes that are named.
const MOST_NAMED: usize = 3;

/// A load average above this part of the cores is told.
const LOAD_PART: f64 = 0.25;

/// A hypervisor that takes more than this share of the time away is told.
const STEAL_SHARE: f64 = 0.01;

/// The kernel counts stolen time in ticks of 10 ms, and one may be a moment of a much shorter time: fewer
/// say nothing of a share.
const FEWEST_STOLEN_TICKS: u64 = 5;

/// What of the machine's present load makes figures noisy.
pub(super) fn warnings(cores: usize) -> Vec<String> {
    let before = Processes::now();
    let steal = StealMeter::start();
    thread::sleep(WATCH);
    let busy = Processes::now().busy_since(&before);
    let load = fs::read_to_string("/proc/loadavg").ok();
    [
        load.as_deref().and_then(|text| load_warning(text, cores)),
        busy_warning(&busy),
        steal.and_then(|steal| steal.warning("before the run")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn load_warning(loadavg: &str, cores: usize) -> Option<String> {
    let minute: f64 = loadavg.split_ascii_whitespace().next()?.parse().ok()?;
    (minute > LOAD_PART * cores as f64).then(|| {
        format!(
            "the load average of the last minute was {minute:.2} on {cores} cores: other programs \
             were running"
        )
    })
}

fn busy_warning(busy: &[(String, f64)]) -> Option<String> {
    let named: Vec<String> = busy
        .iter()
        .take(MOST_NAMED)
        .map(|(name, share)| format!("{name} ({:.0}% of a core)", share * 100.0))
        .collect();
    (!named.is_empty()).then(|| format!("other programs are busy: {}", named.join(", ")))
}

/// Every process's clock ticks so far, and when that was.
struct Processes {
    at: Instant,
    ticks: BTreeMap<u32, (String, u64)>,
}

impl Processes {
    fn now() -> Self {
        let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ticks = folders
            .filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok())
            .filter(|pid| *pid != std::process::id())
            .filter_map(|pid| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
                Some((pid, name_and_ticks(&stat)?))
            })
            .collect();
        Self {
            at: Instant::now(),
            ticks,
        }
    }

    /// The processes that were busy since `before`, the busiest first, with their share of a core.
    fn busy_since(&self, before: &Self) -> Vec<(String, f64)> {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let share = |pid: &u32, ticks: u64| {
            let (_, earlier) = before.ticks.get(pid)?;
            Some(ticks.saturating_sub(*earlier) as f64 / ticks_a_second() / seconds)
        };
        let mut busy: Vec<(String, f64)> = self
            .ticks
            .iter()
            .filter_map(|(pid, (name, ticks))| Some((name.clone(), share(pid, *ticks)?)))
            .filter(|(_, share)| *share > BUSY_SHARE)
            .collect();
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        busy
    }
}

/// The name in parentheses, and user and system ticks, of proc(5)'s `stat`.
fn name_and_ticks(stat: &str) -> Option<(String, u64)> {
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let clean = |c: char| if c.is_control() { '?' } else { c };
    Some((name.chars().map(clean).collect(), user + system))
}

fn ticks_a_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// Follows how much time the hypervisor gives to others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StealMeter {
    before: Ticks,
}

/// Clock ticks of all cores since the start of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    stolen: u64,
    all: u64,
}

impl StealMeter {
    /// Starts to follow; `None` where the kernel does not tell.
    pub(crate) fn start() -> Option<Self> {
        Some(Self {
            before: ticks_now()?,
        })
    }

    /// A warning, when too much was taken away since the start; `when` says when that was.
    pub(crate) fn warning(&self, when: &str) -> Option<String> {
        let share = stolen_share(self.before, ticks_now()?)?;
        Some(format!(
            "{when} the hypervisor gave {:.1}% of the processors' time to others (steal): the host is busy",
            share * 100.0
        ))
    }
}

fn ticks_now() -> Option<Ticks> {
    ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of proc(5)'s `stat`: user, nice, system, idle, iowait, irq, softirq, steal. The
/// guests' time that follows is part of user and nice already.
fn ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    Some(Ticks {
        stolen: *fields.get(7)?,
        all: fields.iter().sum(),
    })
}

/// The share of the time that was taken away, where it is known well enough and too much.
fn stolen_share(before: Ticks, after: Ticks) -> Option<f64> {
    let stolen = after.stolen.saturating_sub(before.stolen);
    let share = stolen as f64 / after.all.saturating_sub(before.all).max(1) as f64;
    (stolen >= FEWEST_STOLEN_TICKS && share > STEAL_SHARE).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_gives_name_and_ticks() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 99 0 0 0 17 23 0 0 20 0 1 0 100 0 0";
        assert_eq!(name_and_ticks(stat), Some(("a (b) c".to_owned(), 40)));
        assert_eq!(name_and_ticks("42"), None);
    }

    #[test]
    fn a_process_is_busy_by_its_share_of_a_core() {
        let at = Instant::now();
        let of = |at, ticks: [(u32, u64); 3]| Processes {
            at,
            ticks: ticks
                .map(|(pid, ticks)| (pid, (format!("p{pid}"), ticks)))
                .into(),
        };
        let second = ticks_a_second() as u64;
        let before = of(at, [(1, 0), (2, 0), (3, 5)]);
        let after = of(
            at + Duration::from_secs(1),
            [(1, second / 2), (2, second), (4, second)],
        );
        let busy = after.busy_since(&before);
        assert_eq!(busy, [("p2".to_owned(), 1.0), ("p1".to_owned(), 0.5)]);
        let warning = busy_warning(&busy).unwrap();
        assert_eq!(
            warning,
            "other programs are busy: p2 (100% of a core), p1 (50% of a core)"
        );
        assert_eq!(busy_warning(&[]), None);
    }

    #[test]
    fn load_counts_against_the_cores() {
        assert_eq!(load_warning("0.40 1 1 1/1 1", 2), None);
        assert!(load_warning("0.60 1 1 1/1 1", 2).unwrap().contains("0.60"));
        assert_eq!(load_warning("", 2), None);
    }

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let parsed = ticks("cpu  10 20 30 40 5 6 7 8 100 100\ncpu0 1\n").unwrap();
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
        // However large a share: too few ticks to know it by.
        assert_eq!(stolen_share(at(10, 100), at(14, 110)), None);
        assert_eq!(ticks("intr 1"), None);
    }
}
