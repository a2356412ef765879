//! Where a study's trials run, how often, and within what bounds, for subjects and for live services.

use std::num::NonZeroU32;
use std::ops::Range;

use toml::Spanned;

use super::{
    Combined, DEFAULT_BLOCKS, DEFAULT_INVOCATIONS, DEFAULT_WARMUP, Overrides, Resolver, capacity,
};
use crate::capacity::MAX_TRIALS;
use crate::error::StudyError;
use crate::file::{Others, Part, ServiceWritten, StudyFile};
use crate::plan::Capacity;
use crate::plan::order::Rounds;
use crate::read::{place, value};
use crate::setting::Key;
use crate::settings::{
    HttpVersion, Idle, LiveCall, LiveWire, Placement, RampPart, Settings, Stop, Target, Transport,
};

/// The default maximum warm-up of a live service: long enough for a service that takes about 100 ms per call to settle.
const MAX_WARMUP_MS: u64 = 5_000;
/// The default number of blocks of a comparison of live services.
const DEFAULT_LIVE_BLOCKS: u32 = 10;
/// The same for a ramp, of which each block runs the whole.
const DEFAULT_RAMP_BLOCKS: u32 = 3;

/// Where a plan's trials run, how often its headline pairs are checked under other placements, and the bounds of
/// trials.
pub(super) struct Machine {
    /// The study's own placement, then those that check its headline pairs.
    pub(super) placements: Vec<Placement>,
    pub(super) check_rounds: Rounds,
    pub(super) idle: Idle,
    pub(super) warmup: Stop,
    pub(super) capacity: Option<Capacity>,
}

impl Resolver<'_> {
    /// The machine settings of a study of subjects.
    pub(super) fn subjects(&self) -> Result<Machine, StudyError> {
        let top = &self.study.top;
        let of_live = [
            (place(&top.capacity), "capacity"),
            (place(&top.objectives), "objectives"),
        ];
        for (place, word) in of_live {
            if let Some(place) = place {
                let message =
                    format!("\"{word}\" is for live services; write [service], or leave it out");
                return Err(self.source.error(place, message));
            }
        }
        Ok(Machine {
            placements: self.placements()?,
            check_rounds: self.check_rounds(),
            idle: value(&top.idle).unwrap_or(Idle::Held),
            warmup: DEFAULT_WARMUP,
            capacity: None,
        })
    }

    /// The machine settings of a study of live services. rpcgauge places and restarts only those that it starts.
    pub(super) fn live(
        &mut self,
        combined: &mut [Combined],
        kept: usize,
    ) -> Result<Machine, StudyError> {
        let is_subject = |one: &&Combined| one.live().is_none();
        if let Some(one) = combined.iter().find(is_subject) {
            let message = format!(
                "variant \"{}\" calls a subject, and others call live services; split them into two studies",
                one.variant.name
            );
            return Err(self.source.error(one.span.clone(), message));
        }
        let starts = |one: &Combined| one.live().is_some_and(|live| live.service.start.is_some());
        let is_started = combined.iter().any(starts);
        if is_started && let Some(one) = combined.iter().find(|one| !starts(one)) {
            let message = format!(
                "variant \"{}\" is already running, but a command starts others, which are measured over fresh starts; \
                 give it a \"command\" too",
                one.variant.name
            );
            return Err(self.source.error(one.span.clone(), message));
        }
        let (study, top, asked) = (self.study, &self.study.top, self.context.overrides);
        let of_parts = |of: fn(&Part) -> &Count| study.sections().find_map(|s| place(of(s.part)));
        let of_subjects = [
            (study.placement.place.clone(), "placement"),
            (place(&top.idle), "idle"),
            (place(&top.budget), "budget"),
            (of_parts(|part| &part.invocations), "invocations"),
        ];
        let refused = of_subjects.into_iter();
        for (place, word) in refused.filter(|(_, word)| !is_started || *word == "budget") {
            if place.is_some() || word == "invocations" && asked.invocations.is_some() {
                let why = "is for subjects, but live services are called here; leave it out";
                return Err(self.at(place, format!("\"{word}\" {why}")));
            }
        }
        let blocks = of_parts(|part| &part.blocks);
        if top.capacity.is_some() && (blocks.is_some() || asked.blocks.is_some()) {
            let message = "a search has as many trials as it needs; leave \"blocks\" out";
            return Err(self.at(blocks, message));
        }
        if let (true, Some(place)) = (is_started, place(&top.capacity)) {
            let message = "a search needs a service that is already running; remove \"command\" or \"capacity\"";
            return Err(self.source.error(place, message));
        }
        self.check_services(combined)?;
        self.check_ramps(combined)?;
        let has_threads = |one: &&Combined| one.live().is_some_and(|live| live.threads > 1);
        if let Some(one) = combined.iter().find(has_threads)
            && (kept > 1 || is_started)
        {
            let message = "several threads are for one service that is already running: variants that are compared \
                take turns on one thread; leave \"threads\" out";
            return Err(self.at(one.layer.span(Key::Threads), message));
        }
        if let (true, Some(others)) = (is_started, &study.placement.others) {
            let message = "services that a command starts are measured under one placement; leave \"others\" out";
            return Err(self.source.error(others.span(), message));
        }
        if is_started {
            return Ok(Machine {
                placements: self.placements()?.into_iter().take(1).collect(),
                check_rounds: self.check_rounds(),
                idle: value(&top.idle).unwrap_or(Idle::Held),
                warmup: self.live_warmup(combined)?,
                capacity: None,
            });
        }
        let capacity = top.capacity.as_ref();
        let capacity = capacity.map(|written| self.search(written, combined));
        let capacity = capacity.transpose()?;
        let is_ramp = combined.iter().any(|one| !one.ramp().is_empty());
        let usual = match (kept, is_ramp) {
            (1, _) => 1,
            (_, true) => DEFAULT_RAMP_BLOCKS,
            (_, false) => DEFAULT_LIVE_BLOCKS,
        };
        let rounds = |group: Option<&str>| match capacity {
            Some(_) => Rounds {
                invocations: 1,
                blocks: MAX_TRIALS,
            },
            None => study.live_rounds(usual, asked, group),
        };
        for one in combined.iter_mut() {
            one.rounds = rounds(one.variant.group.as_deref());
        }
        if let Some(a_a) = &top.a_a
            && capacity.is_some()
        {
            let message =
                "a search is compared with nothing, not even with itself; leave \"a-a\" out";
            return Err(self.source.error(a_a.span(), message));
        }
        Ok(Machine {
            placements: vec![Placement::Free],
            check_rounds: rounds(None),
            idle: Idle::AsIs,
            warmup: match &capacity {
                Some(search) => capacity::warmup(search),
                None => self.live_warmup(combined)?,
            },
            capacity,
        })
    }

    /// Refuses keys that apply to none of the services. A key that applies to only some of them is fine, because gRPC
    /// may be compared with HTTP.
    fn check_services(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let all: Vec<_> = combined.iter().filter_map(Combined::service).collect();
        type IsUseless = fn(&LiveCall) -> bool;
        type Place = fn(&ServiceWritten) -> Option<Range<usize>>;
        let rules: [(IsUseless, Place, &str); 6] = [
            (
                |live| live.service.url.scheme.is_grpc(),
                |written| place(&written.http_method),
                "is called over gRPC, which sets the HTTP method itself; leave it out",
            ),
            (
                |live| live.wire == LiveWire::WebSocket,
                |written| place(&written.http_method),
                "is a WebSocket, which is opened by GET; leave the HTTP method out",
            ),
            (
                |live| !live.service.url.scheme.is_grpc(),
                |written| place(&written.method),
                "is called over HTTP; the path after its host selects what is called",
            ),
            (
                |live| !live.service.url.scheme.is_grpc(),
                |written| place(&written.proto).or_else(|| place(&written.descriptor_set)),
                "is called over HTTP, where bodies are sent as they are given; leave the description of messages out",
            ),
            (
                |live| !live.service.url.scheme.is_tls(),
                ServiceWritten::tls,
                "is called without TLS; write grpcs://, https:// or wss://",
            ),
            (
                |live| live.wire.http() != HttpVersion::Http2 && live.transport() != Transport::Tcp,
                |written| place(&written.keepalive),
                "is called over HTTP/1.1 on a Unix socket, where there is nothing to keep alive; leave it out",
            ),
        ];
        for (is_useless, place, why) in rules {
            let mut said = all.iter();
            if all.iter().all(|(_, live)| is_useless(live))
                && let Some((place, live)) =
                    said.find_map(|(written, live)| Some((place(written)?, live)))
            {
                let message = format!("{} {why}", live.service.url);
                return Err(self.source.error(place, message));
            }
        }
        self.check_concurrency(combined)
    }

    /// Refuses services if one can have the requested number of calls in flight and another cannot: they would be
    /// compared under different loads.
    fn check_concurrency(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let fewer = |settings: &Settings| {
            let in_flight = settings.target.in_flight()?;
            let most = settings.target.at_a_time();
            most.filter(|most| *most < in_flight)
        };
        let limited = combined.iter().find_map(|one| {
            let settings = &one.variant.settings;
            let place = one.layer.span(Key::Connections);
            Some((fewer(settings)?, settings.target.in_flight()?, place))
        });
        let Some((least, in_flight, place)) = limited else {
            return Ok(());
        };
        let has_all = |one: &Combined| {
            let settings = &one.variant.settings;
            settings.target.in_flight() == Some(in_flight) && fewer(settings).is_none()
        };
        if combined.iter().any(has_all) {
            Err(self.at(place, format!(
                "one service carries many calls on a connection and another only one, so {in_flight} \
                 calls would be in flight to one and {least} to the other; write {in_flight}, or leave it out"
            )))
        } else {
            Ok(())
        }
    }

    /// Refuses different ramps: services are compared step by step.
    fn check_ramps(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let differing = combined
            .array_windows()
            .find(|[one, other]| one.ramp() != other.ramp());
        let Some([one, other]) = differing else {
            return Ok(());
        };
        let place = other.layer.span(Key::Rate).or(one.layer.span(Key::Rate));
        let message = "a ramp is compared step by step, so all variants must have the same one; write it in [base]";
        Err(self.at(place, message))
    }

    /// The default bounds of the warm-up for live services: no longer than the trial. A ramp has no warm-up: its first
    /// part can serve as one, but is measured like the others.
    fn live_warmup(&self, combined: &[Combined]) -> Result<Stop, StudyError> {
        const NONE: Stop = Stop::after_ms(0);
        if combined.iter().any(|one| !one.ramp().is_empty()) {
            let warm_ups = self
                .study
                .sections()
                .filter_map(|one| one.part.warm_up.as_ref());
            let mut warm_ups =
                warm_ups.filter(|one| one.get_ref().stop().is_some_and(|stop| stop != NONE));
            if let Some(warm_up) = warm_ups.next() {
                let message = "a ramp has no separate warm-up; begin the ramp with one, as in \
                    100:5s,100..1000:30s, and leave this out";
                return Err(self.source.error(warm_up.span(), message));
            }
            return Ok(NONE);
        }
        let stops = || combined.iter().map(|one| one.variant.settings.stop);
        let longest = stops().filter_map(|stop| stop.time_ms).max();
        Ok(Stop {
            calls: stops().filter_map(|stop| stop.calls).max(),
            time_ms: Some(longest.unwrap_or(MAX_WARMUP_MS).min(MAX_WARMUP_MS)),
        })
    }

    /// The study's own placement, then those that check its headline pairs.
    fn placements(&self) -> Result<Vec<Placement>, StudyError> {
        let written = &self.study.placement;
        let cores = self.context.cores;
        let fits = |placement: Placement| placement != Placement::TwoCores || cores >= 2;
        let main = written
            .main
            .iter()
            .map(|main| (*main.get_ref(), main.span()));
        let others = written.others.iter().flat_map(|others| {
            let Others(all) = others.get_ref();
            all.iter().map(|other| (*other, others.span()))
        });
        if let Some((_, place)) = main.chain(others).find(|(placement, _)| !fits(*placement)) {
            return Err(self.source.error(
                place,
                format!("two-cores needs 2 cores, and this program may use {cores}; write \"one-core\" or \"free\""),
            ));
        }
        let usual = if fits(Placement::TwoCores) {
            Placement::TwoCores
        } else {
            Placement::OneCore
        };
        let main = value(&written.main).unwrap_or(usual);
        let others = match value(&written.others) {
            Some(Others(others)) => others,
            None if main != Placement::OneCore => vec![Placement::OneCore],
            None if fits(Placement::TwoCores) => vec![Placement::TwoCores],
            None => vec![Placement::Free],
        };
        // On this machine, the default main placement may be among `others`. If it was the only one of them, the pairs
        // are checked under the scheduler's own placement.
        let mut all = vec![main];
        all.extend(others.into_iter().filter(|other| *other != main));
        if all.len() == 1 {
            all.push(Placement::Free);
        }
        Ok(all)
    }

    /// The repetitions of the study, or of a group that has its own.
    pub(super) fn rounds(&self, group: Option<&Part>) -> Rounds {
        let (part, asked) = (&self.study.part, self.context.overrides);
        let invocations = asked.invocations.or(count(&part.invocations));
        let blocks = asked.blocks.or(count(&part.blocks));
        let study = Rounds {
            invocations: invocations.unwrap_or(DEFAULT_INVOCATIONS),
            blocks: blocks.unwrap_or(DEFAULT_BLOCKS),
        };
        group.map_or(study, |group| {
            own_rounds(study, asked, &group.invocations, &group.blocks)
        })
    }

    /// The repetitions under other placements.
    fn check_rounds(&self) -> Rounds {
        let own = &self.study.placement;
        own_rounds(
            self.rounds(None),
            self.context.overrides,
            &own.invocations,
            &own.blocks,
        )
    }
}

/// A number of repetitions as written.
pub(super) type Count = Option<Spanned<NonZeroU32>>;

fn count(written: &Count) -> Option<u32> {
    written.as_ref().map(|count| count.get_ref().get())
}

impl Combined {
    /// The parts of its ramp; empty for other schedules.
    fn ramp(&self) -> &[RampPart] {
        let options = self.variant.settings.target.options();
        options.map_or(&[], |options| options.schedule.ramp())
    }

    pub(super) fn live(&self) -> Option<&LiveCall> {
        match &self.variant.settings.target {
            Target::Live(live) => Some(live),
            Target::Call(_) | Target::Codec(_) => None,
        }
    }

    /// The live service that it calls, as written and as resolved.
    fn service(&self) -> Option<(&ServiceWritten, &LiveCall)> {
        Some((self.service.as_ref()?, self.live()?))
    }
}

impl StudyFile {
    /// Whether the study calls live services.
    pub(super) fn is_live(&self) -> bool {
        self.sections().any(|section| {
            let variants = &section.part.variants;
            section.part.service.is_some() || variants.iter().any(|one| one.service.is_some())
        })
    }

    /// How often a study of live services, or one of its groups, is repeated. It has one invocation, because nothing is
    /// restarted.
    fn live_rounds(&self, usual: u32, asked: &Overrides, group: Option<&str>) -> Rounds {
        let whole = Rounds {
            invocations: 1,
            blocks: asked.blocks.or(count(&self.part.blocks)).unwrap_or(usual),
        };
        let mut groups = self.sections().skip(1);
        let own = groups.find(|section| section.group == group);
        own.map_or(whole, |own| {
            own_rounds(whole, asked, &None, &own.part.blocks)
        })
    }
}

/// A part's own repetitions, or else the study's; a number on the command line is an upper bound.
fn own_rounds(study: Rounds, overrides: &Overrides, invocations: &Count, blocks: &Count) -> Rounds {
    let own = |own: &Count, study: u32, overridden: bool| match count(own) {
        None => study,
        Some(own) if overridden => study.min(own),
        Some(own) => own,
    };
    let is_asked = (overrides.invocations.is_some(), overrides.blocks.is_some());
    Rounds {
        invocations: own(invocations, study.invocations, is_asked.0),
        blocks: own(blocks, study.blocks, is_asked.1),
    }
}
