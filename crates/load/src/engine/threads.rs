//! Runs a trial on several threads: an engine on each, with a shard of the trial. The calling thread runs the hooks,
//! with the figures of all engines together.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::event_loop::LOOK_UP_NS;
use super::team::{Member, Team};
use super::{Hooks, run};
use crate::bodies::{Bodies, CodecError, ResponseCheck};
use crate::error::LoadError;
use crate::measurement::Measurement;
use crate::progress::{IntervalTimes, ProgressHook, TrialProgress};
use crate::shard::Shard;
use crate::trial::Trial;
use crate::warmup::Settling;

/// What the calls of a shard send, and how their responses are checked.
pub struct ShardCalls<'a> {
    /// The request bodies: the shard's part of them.
    pub bodies: Bodies<'a>,
    /// Like [`Hooks::checks`].
    pub checks: Vec<Option<ResponseCheck<'a>>>,
}

/// Runs `trial` on as many threads, each with its shard of the calls and connections. `calls` is called on these
/// threads, and the hooks on the calling thread, where [`Hooks::checks`] has no effect.
///
/// # Errors
/// The same as [`crate::measure`]. The trial ends with the first error of any thread.
pub fn measure_on_threads<'c>(
    trial: &Trial,
    threads: u32,
    calls: impl Fn(Shard) -> Result<ShardCalls<'c>, CodecError> + Sync,
    hooks: Hooks<'_>,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    trial.check_on(threads)?;
    let shards: Vec<(Shard, Trial)> = Shard::all(threads)
        .map(|shard| (shard, trial.of_shard(shard)))
        .collect();
    let team = Team::new(trial.seed, shards.len());
    let halt = AtomicBool::new(false);
    let (news, of_engines) = channel();
    let every = hooks.progress.as_ref().map(|hook| hook.every);
    let ended: Result<Vec<_>, LoadError> = thread::scope(|scope| {
        // All before the first thread, so that one that cannot be started keeps none waiting.
        let members = shards.iter().map(|(shard, trial)| {
            let engine = EngineThread {
                member: Member::new(&team, *shard),
                trial,
                news: news.clone(),
                every,
                halt: &halt,
            };
            (*shard, engine)
        });
        let members: Vec<_> = members.collect();
        drop(news);
        let calls = &calls;
        let started = members.into_iter().map(|(shard, engine)| {
            thread::Builder::new()
                .name(format!("load-{}", shard.index()))
                .spawn_scoped(scope, move || engine.run(calls(shard)))
                .inspect_err(|_| halt.store(true, Ordering::Relaxed))
        });
        let started = started.collect::<Result<Vec<_>, _>>();
        follow(&of_engines, (hooks, shards.len()), &team, (stop, &halt));
        let started = started.map_err(LoadError::machine("start a thread that makes calls"))?;
        let ended = started.into_iter().map(|thread| thread.join());
        Ok(ended
            .map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect())
    });
    let merged = ended?.into_iter().reduce(|merged, other| {
        let mut merged = merged?;
        merged.merge(other?)?;
        Ok(merged)
    });
    let none = || LoadError::setting("the number of threads", "at least 1");
    let mut merged = merged.ok_or_else(none)??;
    merged.figures.bound_error_samples();
    Ok(merged)
}

/// What an engine tells the calling thread.
enum News {
    /// A slice of the common warm-up is complete, with this median latency, ns.
    Slice(u64),
    /// The engine has begun to measure.
    Measures,
    Progress(Shard, Box<TrialProgress>),
    Ended(Shard),
}

struct EngineThread<'t> {
    member: Member<'t>,
    trial: &'t Trial,
    news: Sender<News>,
    /// The time between snapshots; `None` for no snapshots.
    every: Option<Duration>,
    halt: &'t AtomicBool,
}

impl EngineThread<'_> {
    fn run(self, calls: Result<ShardCalls<'_>, CodecError>) -> Result<Measurement, LoadError> {
        let (shard, news, halt) = (self.member.shard(), self.news.clone(), self.halt);
        // The calling thread receives until all engines have ended.
        let tell = |what| drop(news.send(what));
        let measured = calls.map_err(LoadError::Inputs).and_then(|calls| {
            let hooks = Hooks {
                settling: Box::new(|median| {
                    tell(News::Slice(median));
                    // The calling thread ends the warm-up of all engines.
                    Settling::GoOn
                }),
                measuring: Box::new(|begins| {
                    if begins {
                        tell(News::Measures);
                    }
                }),
                progress: self.every.map(|every| ProgressHook {
                    every,
                    sample: Box::new(|progress| {
                        tell(News::Progress(shard, Box::new(progress)));
                        IntervalTimes::default()
                    }),
                }),
                checks: calls.checks,
            };
            run(self.trial, Some(self.member), calls.bodies, hooks, halt)
        });
        if measured.is_err() {
            halt.store(true, Ordering::Relaxed);
        }
        tell(News::Ended(shard));
        measured
    }
}

/// Calls the hooks until all engines have ended, and sets `halt` once `stop` is set.
fn follow(
    news: &Receiver<News>,
    (hooks, engines): (Hooks<'_>, usize),
    team: &Team,
    (stop, halt): (&AtomicBool, &AtomicBool),
) {
    let Hooks {
        mut settling,
        mut measuring,
        progress,
        checks: _,
    } = hooks;
    let mut view = View::new(progress, engines);
    let (mut is_settling, mut measures) = (true, false);
    loop {
        match news.recv_timeout(Duration::from_nanos(LOOK_UP_NS)) {
            Ok(News::Slice(median)) if is_settling => match settling(median) {
                Settling::GoOn => {}
                decided => {
                    is_settling = false;
                    team.end_warmup(decided == Settling::Settled);
                }
            },
            Ok(News::Slice(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(News::Measures) => {
                if !std::mem::replace(&mut measures, true) {
                    measuring(true);
                }
            }
            Ok(News::Progress(shard, progress)) => view.add(shard, *progress),
            Ok(News::Ended(shard)) => view.end(shard),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
    }
    if measures {
        measuring(false);
    }
}

/// The progress of all engines together. A snapshot is complete once each engine that still runs has sent its own.
struct View<'r> {
    hook: Option<ProgressHook<'r>>,
    engines: Vec<OfEngine>,
}

/// The last snapshot of an engine.
#[derive(Default)]
struct OfEngine {
    progress: TrialProgress,
    is_new: bool,
    has_ended: bool,
}

impl<'r> View<'r> {
    fn new(hook: Option<ProgressHook<'r>>, engines: usize) -> View<'r> {
        View {
            hook,
            engines: (0..engines).map(|_| OfEngine::default()).collect(),
        }
    }

    fn add(&mut self, shard: Shard, mut progress: TrialProgress) {
        let engine = &mut self.engines[shard.index()];
        if engine.is_new {
            // The others are late. Its own interval is then longer.
            progress.interval += engine.progress.interval;
            progress
                .times
                .merge(std::mem::take(&mut engine.progress.times));
        }
        (engine.progress, engine.is_new) = (progress, true);
        self.show_if_complete();
    }

    fn end(&mut self, shard: Shard) {
        self.engines[shard.index()].has_ended = true;
        self.show_if_complete();
    }

    fn show_if_complete(&mut self) {
        let is_complete = self.engines.iter().all(|one| one.is_new || one.has_ended);
        let has_new = self.engines.iter().any(|one| one.is_new);
        let Some(hook) = self.hook.as_mut().filter(|_| is_complete && has_new) else {
            return;
        };
        let mut all = TrialProgress::default();
        for engine in &mut self.engines {
            let times = std::mem::take(&mut engine.progress.times);
            all.merge(TrialProgress {
                times,
                ..engine.progress.clone()
            });
            engine.is_new = false;
            engine.progress.interval = Duration::ZERO;
        }
        (hook.sample)(all);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::histogram::record;

    fn progress(seconds: u64, answered: u64) -> TrialProgress {
        let mut progress = TrialProgress {
            elapsed: Duration::from_secs(seconds),
            interval: Duration::from_secs(1),
            answered,
            ..TrialProgress::default()
        };
        record(&mut progress.times.latency, answered);
        progress
    }

    #[test]
    fn a_snapshot_waits_for_all_engines_that_run_and_has_each_call_once() {
        let shown = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&shown);
        let hook = ProgressHook {
            every: Duration::from_secs(1),
            sample: Box::new(move |all| {
                let (s, calls) = (all.interval.as_secs(), all.times.latency.len());
                into.borrow_mut().push((s, all.answered, calls));
                all.times
            }),
        };
        let mut view = View::new(Some(hook), 2);
        let [first, second] = [0, 1].map(|index| Shard::all(2).nth(index).unwrap());
        view.add(first, progress(1, 10));
        assert_eq!(*shown.borrow(), [], "the second is missing");
        view.add(second, progress(1, 5));
        view.add(first, progress(2, 20));
        view.add(first, progress(3, 30));
        view.add(second, progress(3, 15));
        view.end(second);
        view.add(first, progress(4, 40));
        view.end(first);
        assert_eq!(*shown.borrow(), [(1, 15, 2), (2, 45, 3), (1, 55, 1)]);
    }
}
