//! Measures a client subject, which calls a server on its own, or a codec subject by requesting slices from it.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use rpcgauge_contract::{Record, SliceAsk, SliceDone, Until};
use rpcgauge_load as load;
use rpcgauge_study::record::{Fault, TrialFigures};
use rpcgauge_study::settings::{Settings, Target};
use rpcgauge_trial::{Cpu, Slice, Warmup};

use super::engine::unmeasured;
use super::processes::add_processes;
use super::reached::{Look, Reached};
use super::sum::Sum;
use super::{Measurer, Watch, epoch_ms, part_done};
use crate::error::{TrialFailure, TrialResult};
use crate::machine::placement::Layout;
use crate::subject::{SliceRecords, Subject, SubjectError};
use crate::variant::caller::Caller;
use crate::variant::server::{Running, Up};
use crate::variant::settings_line::at_a_rate;
use crate::variant::warmup::Rule;

/// The minimum time of a codec's batch, ns: far longer than reading the clock takes.
const BATCH_NS: f64 = 20_000.0;

/// The minimum time of a codec's batch as a multiple of its clock's resolution.
const BATCH_TICKS: f64 = 50.0;

/// The minimum CPU time of a server per call, ns. The system calls alone take more.
const SERVER_CALL_NS: u64 = 100;

/// The number of calls used to estimate how long one takes if the plan has no warm-up.
const PROBE_CALLS: u64 = 10;

/// Measures one variant with a client or codec subject.
pub(crate) struct CallerMeasurer<'s> {
    caller: &'s mut Caller,
    settings: &'s Settings,
    /// The server that a client calls; `None` for a codec.
    server: Option<&'s Subject>,
    /// `None` without a warm-up.
    warm_up: Option<load::WarmupBounds>,
    rule: Rule,
    /// Whether the drift rule or a limit has ended the warm-up.
    is_warm: bool,
    answer_timeout: Duration,
    slice: Slice,
    in_flight: u64,
    /// Operations in a codec's batch; `None` for a client.
    batch: Option<u32>,
    /// The median time of one call or operation in the last slice of the warm-up, ns. May be fractional, because an
    /// operation may take only a few nanoseconds.
    each_ns: f64,
    warmup: Warmup,
    sum: Sum,
    server_cpu_ns: u64,
    /// `None` for a codec, over a Unix socket, or if the kernel does not provide the counts.
    reached: Option<Reached>,
    measured_from: Option<SystemTime>,
    /// Tracks causes of slow calls; `None` if not requested.
    watch: Option<Watch>,
}

impl<'s> CallerMeasurer<'s> {
    /// Creates a measurer that requests slices from `caller`. A client calls `server`.
    ///
    /// # Errors
    /// Fails if the variant's schedule cannot be measured in slices.
    pub(crate) fn new(
        caller: &'s mut Caller,
        server: Option<&'s Up>,
        settings: &'s Settings,
        warm_up: Option<load::WarmupBounds>,
        slice: Option<Slice>,
        layout: &Layout,
        answer_timeout: Duration,
    ) -> TrialResult<Self> {
        let target = &settings.target;
        let (Some(slice), Some(in_flight)) = (slice, target.in_flight()) else {
            return Err(at_a_rate());
        };
        let operation = caller.operation();
        let options = target.options();
        let is_per_call = options.is_some_and(|options| !options.connection.is_reuse());
        let reached = server.and_then(|server| Reached::of(server, is_per_call));
        let server = server.map(|server| &server.subject);
        let watches = target.runtime().is_some_and(|runtime| runtime.events);
        let watch = watches.then(|| {
            let client = Some(caller.subject.meter());
            Watch::new(layout, client, server.map(Subject::meter))
        });
        let stream = match target {
            Target::Call(call) => call.stream,
            Target::Codec(_) | Target::Live(_) => None,
        };
        let deadline_ms = options.map_or(0, |options| options.deadline_ms);
        Ok(Self {
            caller,
            settings,
            server,
            warm_up,
            rule: Rule::new(),
            is_warm: false,
            // A hanging call ends at its deadline.
            answer_timeout: answer_timeout.max(Duration::from_millis(deadline_ms)),
            slice,
            in_flight: u64::from(in_flight),
            batch: operation.map(|_| 1),
            each_ns: 1.0,
            warmup: Warmup::default(),
            sum: Sum::new(operation, stream),
            server_cpu_ns: 0,
            reached,
            measured_from: None,
            watch,
        })
    }

    fn ask(
        &mut self,
        skip: u64,
        until: Until,
        stop: &AtomicBool,
    ) -> TrialResult<(SliceDone, SliceRecords)> {
        let ask = SliceAsk {
            skip,
            until,
            batch: self.batch,
        };
        let expected = match until {
            Until::Time(time) => time,
            Until::Calls(calls) => {
                let all = calls.saturating_add(skip) as f64 * self.record_ns();
                Duration::from_nanos((all / self.in_flight as f64) as u64)
            }
        };
        let limit = self.answer_timeout.saturating_add(expected);
        // The watch ends before the records are read, because no call is in flight while they are.
        let answered = || self.watch.iter_mut().for_each(Watch::end);
        let (done, records) = self.caller.slice(&ask, limit, stop, answered)?;
        let made = records.calls.len() as u64;
        let batch = self.batch.unwrap_or(1);
        let other = records
            .calls
            .iter()
            .find(|record| record.operations != batch);
        let wrong = match (until, other) {
            (Until::Calls(asked), _) if made != asked => {
                format!("it recorded {made} calls (batches), but {asked} were requested")
            }
            (Until::Time(_), _) if made == 0 => "it recorded no call in a slice".to_owned(),
            (_, Some(other)) => {
                format!("a record has {} operations, not {batch}", other.operations)
            }
            (_, None) => return Ok((done, records)),
        };
        let subject = &mut self.caller.subject;
        Err(subject.broken_off(SubjectError::Contract(wrong)))
    }

    /// The number of operations in a record.
    fn per_record(&self) -> u64 {
        u64::from(self.batch.unwrap_or(1))
    }

    /// Measures how long a call takes if there is no warm-up.
    fn probe(&mut self, stop: &AtomicBool) -> TrialResult {
        // Twice, because the first time shows how large a batch must be.
        for _ in 0..2 {
            let (_, records) = self.ask(0, Until::Calls(PROBE_CALLS), stop)?;
            self.learn(&records.calls);
        }
        Ok(())
    }

    /// Warms up for one slice, a hundredth of the plan's warm-up. Returns whether the drift rule or a limit has ended
    /// the warm-up.
    fn warm_up(&mut self, bounds: load::WarmupBounds, stop: &AtomicBool) -> TrialResult<bool> {
        let until = if bounds.slice_time.is_zero() {
            Until::Calls(bounds.slice_calls.div_ceil(self.per_record()))
        } else {
            Until::Time(bounds.slice_time)
        };
        let began = Instant::now();
        let (_, records) = self.ask(0, until, stop)?;
        for record in &records.calls {
            let operations = u64::from(record.operations);
            self.warmup.calls += operations;
            self.warmup.failed += if record.failed { operations } else { 0 };
        }
        self.learn(&records.calls);
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.warmup.elapsed_ns = self.warmup.elapsed_ns.saturating_add(took);
        let elapsed = Duration::from_nanos(self.warmup.elapsed_ns);
        let settling = if !self.is_warm && bounds.asks_rule(self.warmup.calls, elapsed) {
            self.rule.push(self.each_ns)
        } else {
            load::Settling::GoOn
        };
        self.warmup.settled |= settling == load::Settling::Settled;
        self.is_warm |= settling != load::Settling::GoOn
            || self.warmup.calls >= bounds.max_calls
            || elapsed >= bounds.max_time;
        Ok(self.is_warm)
    }

    /// The expected time of a record, ns.
    fn record_ns(&self) -> f64 {
        self.each_ns * self.per_record() as f64
    }

    /// Derives from records how long a call or operation takes, and how many operations a batch needs.
    fn learn(&mut self, records: &[Record]) {
        let each = |record: &Record| {
            let took = (record.end - record.begin) as f64;
            took / f64::from(record.operations)
        };
        let mut times: Vec<f64> = records.iter().map(each).collect();
        times.sort_unstable_by(f64::total_cmp);
        let Some(median) = times.get(times.len().saturating_sub(1) / 2) else {
            return;
        };
        let clock_ns = f64::from(self.caller.clock_ns());
        self.each_ns = if clock_ns > 0.0 {
            // The steps of a coarse clock cancel out in a mean, but not in a median, which may be 0.
            let took: u64 = records.iter().map(|record| record.end - record.begin).sum();
            let operations: u64 = records.iter().map(|one| u64::from(one.operations)).sum();
            (took as f64).max(clock_ns) / operations.max(1) as f64
        } else if *median > 0.0 {
            *median
        } else {
            // Below the clock's resolution.
            1.0
        };
        let batch_ns = BATCH_NS.max(BATCH_TICKS * clock_ns);
        let needed = (batch_ns / self.each_ns).ceil() as u32;
        self.batch = self.batch.map(|batch| batch.max(needed));
    }

    /// The fraction of the trial that has been measured, from 0 to 1.
    fn done(&self) -> f64 {
        let elapsed = Duration::from_nanos(self.sum.elapsed_ns);
        part_done(self.settings.stop, self.sum.calls.started, elapsed)
    }

    /// The next slice, in calls (batches): how many to skip, and when to end.
    fn plan(&self) -> (u64, Until) {
        let fill = |us: u64| (us as f64 * 1e3 * self.in_flight as f64 / self.record_ns()) as u64;
        let skip = self.slice.skip_calls.max(fill(self.slice.skip_us) + 1);
        let calls = self.settings.stop.calls.unwrap_or(u64::MAX);
        let left = calls.saturating_sub(self.sum.calls.started);
        let left = left.div_ceil(self.per_record()).max(1);
        let fitting = fill(self.slice.time_us);
        // If the trial has a limit on calls, a slice limited by time could exceed it.
        let counts = self.settings.stop.calls.is_some();
        let until = if counts || fitting < self.slice.least_calls {
            Until::Calls(fitting.max(self.slice.least_calls).min(left))
        } else {
            Until::Time(Duration::from_micros(self.slice.time_us))
        };
        (skip, until)
    }

    fn look(&self) -> Option<Look> {
        self.reached.as_ref()?.look()
    }

    fn server_ns(&self) -> TrialResult<Option<u64>> {
        let Some(server) = self.server else {
            return Ok(None);
        };
        server.alive()?;
        server.meter().total_ns().map(Some).map_err(unmeasured)
    }
}

impl Measurer<TrialFigures> for CallerMeasurer<'_> {
    fn prepare(&mut self, stop: &AtomicBool) -> TrialResult {
        self.caller.prove(self.answer_timeout, stop)?;
        self.caller.subject.meter().reset_peak();
        if let Some(server) = &self.server {
            server.meter().reset_peak();
        }
        if self.warm_up.is_none() {
            self.probe(stop)?;
        }
        Ok(())
    }

    fn warm_up_slice(&mut self, stop: &AtomicBool) -> TrialResult<bool> {
        match self.warm_up {
            // Once it is over, the warm-up continues for the sake of other variants of the process: their code replaces
            // code that both use.
            Some(bounds) if !self.is_warm || self.caller.subject.has_other_parts() => {
                self.warm_up(bounds, stop)
            }
            Some(_) | None => Ok(true),
        }
    }

    fn slice(&mut self, stop: &AtomicBool) -> TrialResult<f64> {
        self.measured_from.get_or_insert_with(SystemTime::now);
        let (skip, until) = self.plan();
        let looked = self.look();
        let before = self.server_ns()?;
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
        let asked = self.ask(skip, until, stop);
        if asked.is_err() {
            // A client whose server has exited is not at fault.
            self.server.map_or(Ok(()), Subject::alive)?;
        }
        let (done, records) = asked?;
        if let (Some(before), Some(after)) = (before, self.server_ns()?) {
            // The server's CPU time includes the skipped calls, so it is prorated by the number of calls.
            let (used, count) = (after.saturating_sub(before), records.calls.len() as u64);
            let made = u128::from(count) + u128::from(skip);
            let counted = u128::from(used) * u128::from(count) / made.max(1);
            self.server_cpu_ns += u64::try_from(counted).unwrap_or(u64::MAX);
        }
        let looks = (looked, self.look());
        if let Some(reached) = &mut self.reached {
            let answered = records.calls.iter().filter(|record| !record.failed);
            reached.add_slice(looks, answered.count() as u64);
        }
        let slow_before = self.sum.slow().0.kept().len();
        self.sum.add(&records, &done, skip * self.per_record());
        if let Some(watch) = &mut self.watch {
            watch.slow(slow_before..self.sum.slow().0.kept().len());
        }
        let done = self.done();
        if done >= 1.0 {
            let looked = self.look();
            let proved = self.caller.prove_again(self.answer_timeout, stop);
            if proved.is_err() {
                self.server.map_or(Ok(()), Subject::alive)?;
            }
            proved?;
            let looks = (looked, self.look());
            if let Some(reached) = &mut self.reached {
                reached.add_one(looks);
            }
        }
        Ok(done)
    }

    fn finish(mut self: Box<Self>) -> TrialResult<Box<TrialFigures>> {
        if self.done() < 1.0 {
            let reason = "stopped while it was being measured";
            return Err(TrialFailure::new(Fault::Instrument, reason));
        }
        self.caller.silent()?;
        let caller = &mut self.caller.subject;
        if let Some(status) = caller.ended() {
            return Err(caller.broken_off(SubjectError::Died(status)));
        }
        self.server.map_or(Ok(()), Subject::alive)?;
        if let Some(reason) = self.sum.failure(self.in_flight) {
            return Err(self.caller.subject.wrong(reason));
        }
        let sent = self.sum.calls.started;
        if self.server.is_some() && self.server_cpu_ns < sent.saturating_mul(SERVER_CALL_NS) {
            let used = self.server_cpu_ns;
            let reason = format!(
                "the client reports that it made {sent} calls, but the server used only {used} ns of CPU time for \
                 them: they did not reach it"
            );
            return Err(self.caller.subject.wrong(reason));
        }
        if let Some(reason) = self.reached.as_ref().and_then(Reached::contradiction) {
            return Err(self.caller.subject.wrong(reason));
        }
        let server_cpu = self.server.map(|_| Cpu {
            total_ns: self.server_cpu_ns,
            user_ns: None,
            system_ns: None,
        });
        let (slow, from_ns) = self.sum.slow();
        let watch = self.watch.take();
        let watched = watch.map(|watch| watch.finish(from_ns, slow));
        let caller = &self.caller.subject;
        let server = self.server.map(Running::Subject);
        let codings = self.settings.target.compressions();
        let mut figures = self.sum.finish(codings, self.warmup, self.slice);
        figures.watched = watched;
        figures.cpu.server = server_cpu;
        figures.code = caller.said().code;
        figures.measured_from_ms = self.measured_from.map(epoch_ms);
        add_processes(&mut figures, caller.meter(), Some(caller), server).map_err(unmeasured)?;
        Ok(Box::new(figures))
    }
}
