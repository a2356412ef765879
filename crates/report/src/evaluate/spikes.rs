//! Explains slow calls by runtime events, or by time that other programs or the host took from them.
//!
//! A call is slow if it took more than three times the median of up to 64 calls before it. The time beyond that
//! median is *lost*. A cause explains a call if it covers at least half of the lost time. Causes that stop the call
//! are checked first: a stop of all threads, a core that the host kept, waiting for a core. A compilation runs
//! concurrently with the calls, so it is checked after them. If no single cause covers half, but all of them together
//! do, the one that covers the most explains the call. Otherwise, a garbage collection whose pause lies in the call
//! explains up to 8 ms beyond that pause, because the collector's threads continue to work after it without an event.
//! A deoptimization has no length. It is checked last, and explains at most a millisecond.
//!
//! Consecutive or overlapping slow calls with the same cause are one spike.

use rpcgauge_study::record::{EventKind, EventsRecord, RuntimeEvent, SlowCall, Watched};

use super::cell::MeasuredTrial;
use crate::findings::spikes::{Cause, EventMark, OfCause, SpikeCauses};

/// The maximum lost time of a call that a deoptimization explains, ns. After a deoptimization, code runs in the
/// interpreter until it is compiled again.
const MAX_OF_DEOPTIMIZATION_NS: u64 = 1_000_000;

/// The maximum time that a garbage collector works after a pause, ns. G1 refines cards then, which took 2 to 6 ms on
/// a process's only core.
const MAX_AFTER_PAUSE_NS: u64 = 8_000_000;

/// Events of one kind are drawn as one if they are closer together than this share of the timeline.
const NEAR: f64 = 0.001;

/// Explains the slow calls of a cell's trials, which begin at `starts_ns` in the timeline. `None` if no trial was
/// watched.
pub(crate) fn causes(
    trials: &[MeasuredTrial<'_>],
    starts_ns: &[u64],
    events: &[&EventsRecord],
) -> Option<SpikeCauses> {
    let mut sums = Cause::ALL.map(|cause| OfCause {
        cause,
        spikes: 0,
        lost_ns: 0,
        share: 0.0,
    });
    let mut add = |cause: Cause, spikes: u64, lost_ns: u64| {
        let sum = &mut sums[cause as usize];
        sum.spikes = sum.spikes.saturating_add(spikes);
        sum.lost_ns = sum.lost_ns.saturating_add(lost_ns);
    };
    let (mut is_watched, mut marks, mut end_ns) = (false, Vec::new(), 1);
    for ((record, measured), start_ns) in trials.iter().zip(starts_ns) {
        let span_ns = measured.spanned_ns();
        end_ns = start_ns.saturating_add(span_ns).max(1);
        let Some(watched) = &measured.watched else {
            continue;
        };
        is_watched = true;
        let records = events.iter();
        let records = records.filter(|events| events.invocation == record.trial.invocation);
        let until = watched.from_ns.saturating_add(span_ns);
        let within =
            |event: &&RuntimeEvent| event.begin_ns <= until && event.end_ns >= watched.from_ns;
        let meanwhile = records.flat_map(|events| &events.events).filter(within);
        let meanwhile: Vec<&RuntimeEvent> = meanwhile.collect();
        marks.extend(
            meanwhile
                .iter()
                .map(|event| mark(event, watched, *start_ns)),
        );
        for (cause, lost_ns) in spikes(watched, &meanwhile) {
            add(cause, 1, lost_ns);
        }
        add(Cause::Unexplained, watched.not_kept, watched.not_kept_ns);
    }
    let total = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
    let lost_ns = total(&mut sums.iter().map(|sum| sum.lost_ns));
    let share = |ns: u64| ns as f64 / lost_ns.max(1) as f64;
    let mut causes: Vec<OfCause> = sums.into_iter().filter(|sum| sum.spikes > 0).collect();
    causes
        .iter_mut()
        .for_each(|sum| sum.share = share(sum.lost_ns));
    causes.sort_by(|a, b| b.lost_ns.cmp(&a.lost_ns).then(a.cause.cmp(&b.cause)));
    let explained = causes.iter().filter(|sum| sum.cause != Cause::Unexplained);
    let explained = total(&mut explained.map(|sum| sum.lost_ns));
    is_watched.then(|| SpikeCauses {
        spikes: total(&mut causes.iter().map(|sum| sum.spikes)),
        lost_ns,
        explained: share(explained),
        causes,
        runtimes: events.len() as u64,
        events: joined(marks, (end_ns as f64 * NEAR) as u64),
    })
}

/// The spikes of a trial: the cause of each, and its lost time.
fn spikes(watched: &Watched, events: &[&RuntimeEvent]) -> Vec<(Cause, u64)> {
    let mut found: Vec<(Cause, u64)> = Vec::new();
    let mut until_ns = 0;
    for call in &watched.slow {
        let cause = cause(call, events);
        // The next call is due once the previous one has ended.
        let goes_on = call.due_ns <= until_ns;
        let end_ns = call.due_ns.saturating_add(call.latency_ns);
        until_ns = until_ns.max(end_ns.saturating_add(call.usual_ns));
        match found
            .last_mut()
            .filter(|(last, _)| goes_on && *last == cause)
        {
            Some((_, lost_ns)) => *lost_ns = lost_ns.saturating_add(call.lost_ns()),
            None => found.push((cause, call.lost_ns())),
        }
    }
    found
}

/// The cause of a slow call.
fn cause(call: &SlowCall, events: &[&RuntimeEvent]) -> Cause {
    let span = [call.due_ns, call.due_ns.saturating_add(call.latency_ns)];
    let covered = |kind| covered_ns(events, kind, span);
    let lost_ns = call.lost_ns();
    let is_half = |ns: u64| ns > 0 && ns.saturating_mul(2) >= lost_ns;
    let disturbed = call.disturbed.unwrap_or_default();
    let (gc, safepoint) = (covered(EventKind::GcPause), covered(EventKind::Safepoint));
    let compiled = covered(EventKind::Compilation);
    let possible = [
        (Cause::GcPause, gc),
        (Cause::Safepoint, safepoint),
        // A process whose core the host kept also waited for that core, so the host comes first.
        (Cause::Host, disturbed.stolen_ns),
        (Cause::OtherProgram, disturbed.waited_ns),
        (Cause::Compilation, compiled),
    ];
    if let Some((cause, _)) = possible.iter().find(|(_, ns)| is_half(*ns)) {
        return *cause;
    }
    // A collection is also a safepoint.
    let stopped = gc.max(safepoint);
    let all = [stopped, disturbed.waited_ns, disturbed.stolen_ns, compiled];
    let all_ns = all.into_iter().fold(0, u64::saturating_add);
    let most = possible.iter().rev().max_by_key(|(_, ns)| *ns);
    if let Some((cause, _)) = most.filter(|_| is_half(all_ns)) {
        return *cause;
    }
    // Pauses are rare (0.6% of the time in the study `several`), so one inside a slow call is hardly a coincidence.
    let paused = |event: &&RuntimeEvent| {
        event.kind == EventKind::GcPause && event.begin_ns >= span[0] && event.end_ns <= span[1]
    };
    if lost_ns <= gc.saturating_add(MAX_AFTER_PAUSE_NS) && events.iter().any(paused) {
        return Cause::GcPause;
    }
    let deoptimized = |event: &&RuntimeEvent| {
        event.kind == EventKind::Deoptimization && (span[0]..=span[1]).contains(&event.begin_ns)
    };
    if lost_ns <= MAX_OF_DEOPTIMIZATION_NS && events.iter().any(deoptimized) {
        Cause::Deoptimization
    } else {
        Cause::Unexplained
    }
}

/// The time of a span that events of a kind cover, ns. Overlaps are counted once.
fn covered_ns(events: &[&RuntimeEvent], kind: EventKind, [from, to]: [u64; 2]) -> u64 {
    let of_kind = events.iter().filter(|event| event.kind == kind);
    let parts = of_kind.map(|event| [event.begin_ns.max(from), event.end_ns.min(to)]);
    let mut parts: Vec<[u64; 2]> = parts.filter(|[begin, end]| begin < end).collect();
    parts.sort_unstable();
    let mut until = from;
    let covered = parts.into_iter().map(|[begin, end]| {
        let new = end.saturating_sub(begin.max(until));
        until = until.max(end);
        new
    });
    covered.sum()
}

fn mark(event: &RuntimeEvent, watched: &Watched, start_ns: u64) -> EventMark {
    let begin_ns = event.begin_ns.max(watched.from_ns);
    EventMark {
        kind: event.kind,
        start_ns: start_ns.saturating_add(begin_ns - watched.from_ns),
        length_ns: event.end_ns.saturating_sub(begin_ns),
    }
}

/// Joins marks of one kind that are at most `near_ns` apart.
fn joined(mut marks: Vec<EventMark>, near_ns: u64) -> Vec<EventMark> {
    marks.sort_by_key(|mark| (mark.kind, mark.start_ns));
    let mut joined: Vec<EventMark> = Vec::new();
    for mark in marks {
        let end = |mark: &EventMark| mark.start_ns.saturating_add(mark.length_ns);
        match joined.last_mut() {
            Some(last)
                if last.kind == mark.kind && mark.start_ns <= end(last).saturating_add(near_ns) =>
            {
                last.length_ns = end(last).max(end(&mark)) - last.start_ns;
            }
            _ => joined.push(mark),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::features::Role;
    use rpcgauge_study::record::{Disturbed, TrialOutcome, TrialRecord};
    use rpcgauge_study::settings::Placement;

    use super::*;
    use crate::fixture::two;

    fn event(kind: EventKind, begin_ns: u64, end_ns: u64) -> RuntimeEvent {
        RuntimeEvent {
            kind,
            begin_ns,
            end_ns,
            detail: String::new(),
        }
    }

    /// A call that is due at 10,000 ns and lost 1,000 ns.
    fn slow(waited_ns: u64, stolen_ns: u64) -> SlowCall {
        SlowCall {
            due_ns: 10_000,
            latency_ns: 1_100,
            usual_ns: 100,
            disturbed: Some(Disturbed {
                waited_ns,
                stolen_ns,
            }),
        }
    }

    #[test]
    fn what_covers_half_of_the_lost_time_is_the_cause() {
        use Cause::*;
        use EventKind as Kind;
        let pause = |length: u64| event(Kind::GcPause, 10_100, 10_100 + length);
        let stop = |length: u64| event(Kind::Safepoint, 10_000, 10_000 + length);
        let compiled = |length: u64| event(Kind::Compilation, 9_000, 10_000 + length);
        let given_up = event(Kind::Deoptimization, 10_300, 10_300);
        let late = SlowCall {
            latency_ns: 100 + MAX_AFTER_PAUSE_NS + 400,
            ..slow(0, 0)
        };
        let later = SlowCall {
            latency_ns: late.latency_ns + 1,
            ..late
        };
        let table: [(SlowCall, Vec<RuntimeEvent>, Cause); 18] = [
            (slow(0, 0), vec![], Unexplained),
            (slow(0, 0), vec![pause(500)], GcPause),
            // The collector continued after the pause, within its maximum time.
            (slow(0, 0), vec![pause(100)], GcPause),
            (late, vec![pause(400)], GcPause),
            (later, vec![pause(400)], Unexplained),
            // The pause begins before the call or ends after it.
            (
                slow(0, 0),
                vec![event(Kind::GcPause, 9_000, 10_499)],
                Unexplained,
            ),
            (
                slow(0, 0),
                vec![event(Kind::GcPause, 10_700, 12_000)],
                Unexplained,
            ),
            // The pause is outside the call.
            (
                slow(0, 0),
                vec![event(Kind::GcPause, 20_000, 30_000)],
                Unexplained,
            ),
            // The collection is a part of the safepoint.
            (slow(0, 0), vec![pause(600), stop(900)], GcPause),
            (slow(0, 0), vec![pause(100), stop(900)], Safepoint),
            (slow(500, 0), vec![compiled(1_000)], OtherProgram),
            (slow(0, 700), vec![given_up.clone()], Host),
            (slow(300, 200), vec![], OtherProgram),
            (slow(200, 0), vec![stop(300)], Safepoint),
            (slow(200, 0), vec![compiled(300)], Compilation),
            (
                slow(0, 0),
                vec![given_up.clone(), compiled(1_000)],
                Compilation,
            ),
            (slow(0, 0), vec![given_up, compiled(300)], Deoptimization),
            (slow(0, 0), vec![compiled(300), compiled(600)], Compilation),
        ];
        for (call, events, expected) in table {
            let events: Vec<&RuntimeEvent> = events.iter().collect();
            assert_eq!(cause(&call, &events), expected, "{call:?} {events:?}");
        }
    }

    #[test]
    fn covered_time_counts_once() {
        let events = [(5, 20), (10, 30), (40, 50), (45, 46)];
        let events = events.map(|(from, to)| event(EventKind::GcPause, from, to));
        let events: Vec<&RuntimeEvent> = events.iter().collect();
        assert_eq!(covered_ns(&events, EventKind::GcPause, [10, 48]), 20 + 8);
        assert_eq!(covered_ns(&events, EventKind::Safepoint, [10, 48]), 0);
    }

    #[test]
    fn slow_calls_become_spikes_with_the_share_of_their_causes() {
        let mut trial: TrialRecord = two(1.0).build().trials.remove(0);
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        let call = |due_ns, lost_ns: u64, waited_ns| SlowCall {
            due_ns,
            latency_ns: 100 + lost_ns,
            usual_ns: 100,
            disturbed: Some(Disturbed {
                waited_ns,
                stolen_ns: 0,
            }),
        };
        measured.watched = Some(Watched {
            from_ns: 1_000,
            // The second call follows the first immediately.
            slow: vec![
                call(2_000, 500, 400),
                call(2_650, 300, 300),
                call(9_000, 1_000, 0),
            ],
            not_kept: 2,
            not_kept_ns: 200,
        });
        let measured = measured.clone();
        let of = |invocation| EventsRecord {
            invocation,
            variant: trial.variant.clone(),
            placement: Placement::TwoCores,
            process: Role::Server,
            events: vec![
                event(EventKind::GcPause, 9_000, 10_000),
                event(EventKind::GcPause, 0, 10),
            ],
            outside: 0,
            dropped: 0,
        };
        let (this, other) = (of(trial.trial.invocation), of(trial.trial.invocation + 1));
        let of_trial = [(&trial, &*measured)];
        let found = |events: &[&EventsRecord]| causes(&of_trial, &[70], events).unwrap();
        let causes_of = |found: &SpikeCauses| -> Vec<(Cause, u64, u64)> {
            let causes = found.causes.iter();
            causes.map(|of| (of.cause, of.spikes, of.lost_ns)).collect()
        };
        let known = found(&[&this]);
        assert_eq!(
            causes_of(&known),
            [
                (Cause::GcPause, 1, 1_000),
                (Cause::OtherProgram, 1, 800),
                (Cause::Unexplained, 2, 200)
            ]
        );
        assert_eq!(
            (known.spikes, known.lost_ns, known.explained),
            (4, 2_000, 0.9)
        );
        let mark = EventMark {
            kind: EventKind::GcPause,
            start_ns: 70 + 8_000,
            length_ns: 1_000,
        };
        assert_eq!(known.events, [mark]);
        let unknown = found(&[&other]);
        assert_eq!(unknown.explained, 0.4);
        assert_eq!(unknown.events, []);
        let unwatched = two(1.0).build().trials.remove(0);
        assert!(
            causes(
                &[(&unwatched, &{
                    let mut m = (*measured).clone();
                    m.watched = None;
                    m
                })],
                &[0],
                &[]
            )
            .is_none()
        );
    }
}
