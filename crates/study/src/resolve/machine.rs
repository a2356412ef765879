//! Where a study's trials run, how often, and within which bounds: of subjects, and of live services.

use std::num::NonZeroU32;
use std::ops::Range;

use toml::Spanned;

use super::{
    Combined, DEFAULT_BLOCKS, DEFAULT_INVOCATIONS, DEFAULT_WARMUP, Overrides, Resolver, capacity,
};
use crate::capacity::MOST_TRIALS;
use crate::error::StudyError;
use crate::file::{Others, Part, PlacementWritten, ServiceWritten, StudyFile};
use crate::plan::Capacity;
use crate::plan::draft::Checks;
use crate::plan::order::Rounds;
use crate::setting::Key;
use crate::settings::{
    HttpVersion, Idle, LiveService, Placement, Schedule, Settings, Stop, Transport,
};

/// Longest warm-up of a live service where none is given: long enough for one of some 100 ms a call to
/// settle.
const LONGEST_WARMUP_MS: u64 = 5_000;
/// Blocks of a comparison of live services where no number is given.
const DEFAULT_LIVE_BLOCKS: u32 = 10;

/// Where a plan's trials run, how often its headline pairs are checked elsewhere, and their bounds.
pub(super) struct Machine {
    pub(super) main: Placement,
    pub(super) checks: Checks,
    pub(super) idle: Idle,
    pub(super) warmup: Stop,
    pub(super) capacity: Option<Capacity>,
}

impl Resolver<'_> {
    /// Of a study of subjects.
    pub(super) fn subjects(&self, study: &StudyFile) -> Result<Machine, StudyError> {
        let top = &study.top;
        let of_live = [
            (top.capacity.as_ref().map(Spanned::span), "capacity"),
            (top.objectives.as_ref().map(Spanned::span), "objectives"),
        ];
        for (place, word) in of_live {
            if let Some(place) = place {
                let message =
                    format!("\"{word}\" is for live services; write [service], or leave it out");
                return Err(self.source.error(place, message));
            }
        }
        let (main, placements) = self.placements(study)?;
        Ok(Machine {
            main,
            checks: Checks {
                placements,
                rounds: self.check_rounds(study),
            },
            idle: top.idle.as_ref().map_or(Idle::Held, |idle| *idle.get_ref()),
            warmup: DEFAULT_WARMUP,
            capacity: None,
        })
    }

    /// Of a study of live services, which run where they run and are never started afresh.
    pub(super) fn live(
        &mut self,
        study: &StudyFile,
        combined: &mut [Combined],
        kept: usize,
    ) -> Result<Machine, StudyError> {
        let is_subject = |one: &&Combined| one.variant.settings.target.live().is_none();
        if let Some(one) = combined.iter().find(is_subject) {
            let message = format!(
                "variant \"{}\" calls a subject, and others call live services; make two studies of them",
                one.variant.name
            );
            return Err(self.source.error(one.span.clone(), message));
        }
        let (asked, top) = (self.context.overrides, &study.top);
        let of_parts = |of: fn(&Part) -> &Count| study.sections().find_map(|s| place(of(s.part)));
        let of_subjects = [
            (study.placement.place.clone(), "placement"),
            (place(&top.idle), "idle"),
            (place(&top.budget), "budget"),
            (of_parts(|part| &part.invocations), "invocations"),
        ];
        for (place, word) in of_subjects {
            if place.is_some() || word == "invocations" && asked.invocations.is_some() {
                let why = "is of subjects, and live services are called here; leave it out";
                return Err(self.at(place, format!("\"{word}\" {why}")));
            }
        }
        let blocks = of_parts(|part| &part.blocks);
        if top.capacity.is_some() && (blocks.is_some() || asked.blocks.is_some()) {
            let message = "a search has as many trials as it needs; leave \"blocks\" out";
            return Err(self.at(blocks, message));
        }
        self.check_services(combined)?;
        let capacity = study.top.capacity.as_ref();
        let capacity = capacity.map(|written| self.search(study, written, combined));
        let capacity = capacity.transpose()?;
        let rounds = |group: Option<&str>| match capacity {
            Some(_) => Rounds {
                invocations: 1,
                blocks: MOST_TRIALS,
            },
            None => study.live_rounds(kept, asked, group),
        };
        for one in combined.iter_mut() {
            one.rounds = rounds(one.variant.group.as_deref());
        }
        let has_ramp =
            |one: &Combined| matches!(one.variant.settings.schedule, Schedule::Ramp { .. });
        if let Some(a_a) = &top.a_a
            && (capacity.is_some() || combined.iter().any(has_ramp))
        {
            let message = "a search or a ramp is compared with nothing, not with itself either; leave \"a-a\" out";
            return Err(self.source.error(a_a.span(), message));
        }
        Ok(Machine {
            main: Placement::Free,
            checks: Checks {
                placements: Vec::new(),
                rounds: rounds(None),
            },
            idle: Idle::AsIs,
            warmup: match &capacity {
                Some(search) => capacity::warmup(search),
                None => self.live_warmup(study, combined, kept)?,
            },
            capacity,
        })
    }

    /// Refuses keys that none of the services can have: gRPC and HTTP may be compared, and each has keys
    /// of its own.
    pub(super) fn check_services(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let all: Vec<_> = combined.iter().filter_map(Combined::service).collect();
        let none_is = |is: fn(&Settings, &LiveService) -> bool| {
            all.iter()
                .all(|(_, settings, service)| !is(settings, service))
        };
        let is_grpc = |_: &Settings, service: &LiveService| service.url.scheme.is_grpc();
        let is_http = |_: &Settings, service: &LiveService| !service.url.scheme.is_grpc();
        let is_tls = |_: &Settings, service: &LiveService| service.url.scheme.is_tls();
        let can_be_silent = |settings: &Settings, _: &LiveService| {
            settings.http == HttpVersion::Http2 || settings.transport == Transport::Tcp
        };
        type Place = fn(&ServiceWritten) -> Option<Range<usize>>;
        let rules: [(bool, Place, &str); 5] = [
            (
                none_is(is_http),
                |s| Some(s.http_method.as_ref()?.span()),
                "is called by gRPC, which has its own; leave it out",
            ),
            (
                none_is(is_grpc),
                |s| Some(s.method.as_ref()?.span()),
                "is called by HTTP; the path behind its host says what is called",
            ),
            (
                none_is(is_grpc),
                |s| {
                    Some(s.proto.as_ref()?.span())
                        .or_else(|| Some(s.descriptor_set.as_ref()?.span()))
                },
                "is called by HTTP, where bodies are sent as they are given; leave the description of messages out",
            ),
            (
                none_is(is_tls),
                ServiceWritten::tls,
                "is called without TLS; write grpcs:// or https://",
            ),
            (
                none_is(can_be_silent),
                |s| Some(s.keepalive.as_ref()?.span()),
                "is called by HTTP/1.1 over a Unix socket, where there is nothing to keep alive; leave it out",
            ),
        ];
        for (is_refused, place, why) in rules {
            let mut said = all.iter().filter(|_| is_refused);
            if let Some((place, service)) =
                said.find_map(|(w, _, service)| Some((place(w)?, service)))
            {
                let message = format!("{} {why}", service.url);
                return Err(self.source.error(place, message));
            }
        }
        self.check_concurrency(combined)
    }

    /// Refuses services of which one has as many calls in flight as are asked for, and another cannot: they
    /// would be compared under different loads.
    fn check_concurrency(&self, combined: &[Combined]) -> Result<(), StudyError> {
        let fewer = |settings: &Settings| match settings.schedule {
            Schedule::Closed { in_flight } => settings.at_a_time().filter(|most| *most < in_flight),
            Schedule::Rate { .. } | Schedule::Ramp { .. } => None,
        };
        let limited = combined.iter().find_map(|one| {
            let settings = &one.variant.settings;
            let place = one.layer.span(Key::Connections);
            Some((fewer(settings)?, &settings.schedule, place))
        });
        let Some((least, schedule @ Schedule::Closed { in_flight }, place)) = limited else {
            return Ok(());
        };
        match combined.iter().any(|one| {
            let settings = &one.variant.settings;
            settings.schedule == *schedule && fewer(settings).is_none()
        }) {
            false => Ok(()),
            true => Err(self.at(place, format!(
                "one service carries many calls on a connection and another one call, so that {in_flight} \
                 calls would be in flight to one and {least} to the other; write {in_flight}, or leave it out"
            ))),
        }
    }

    /// The bounds of the warm-up of trials of live services: no longer than what it prepares for, unless
    /// that was asked for. A ramp has none: its first part can be one, and is then measured like the others.
    pub(super) fn live_warmup(
        &self,
        study: &StudyFile,
        combined: &[Combined],
        kept: usize,
    ) -> Result<Stop, StudyError> {
        const NONE: Stop = Stop {
            calls: None,
            time_ms: Some(0),
        };
        let settings = || combined.iter().map(|one| &one.variant.settings);
        let is_ramp =
            |one: &&Combined| matches!(one.variant.settings.schedule, Schedule::Ramp { .. });
        if let Some(ramp) = combined.iter().find(is_ramp) {
            let warm_up = study.top.warm_up.as_ref();
            let stop = warm_up.and_then(|written| written.get_ref().stop());
            if stop.is_some_and(|stop| stop != NONE) {
                let message = "a ramp has no warm-up beside it; begin the ramp with one, as in \
                    100:5s,100..1000:30s, and leave this out";
                return Err(self.at(warm_up.map(Spanned::span), message));
            }
            if kept > 1 {
                let message = "a ramp is compared with nothing; leave the other variants out";
                return Err(self.at(ramp.layer.span(Key::Rate), message));
            }
            return Ok(NONE);
        }
        let longest = settings().filter_map(|s| s.stop.time_ms).max();
        Ok(Stop {
            calls: settings().filter_map(|s| s.stop.calls).max(),
            time_ms: Some(longest.unwrap_or(LONGEST_WARMUP_MS).min(LONGEST_WARMUP_MS)),
        })
    }

    /// The study's own placement, then those that check its headline pairs.
    pub(super) fn placements(
        &self,
        study: &StudyFile,
    ) -> Result<(Placement, Vec<Placement>), StudyError> {
        let written = &study.placement;
        let cores = self.context.cores;
        let fits = |placement: Placement| placement != Placement::TwoCores || cores >= 2;
        let main = written
            .main
            .as_ref()
            .map(|main| (*main.get_ref(), main.span()));
        let others = written.others.iter().flat_map(|others| {
            let Others(all) = others.get_ref();
            all.iter().map(|other| (*other, others.span()))
        });
        let mut all = main.clone().into_iter().chain(others);
        if let Some((_, place)) = all.find(|(placement, _)| !fits(*placement)) {
            return Err(self.source.error(
                place,
                format!("two-cores needs 2 cores, and this program may use {cores}; write \"one-core\" or \"free\""),
            ));
        }
        let default = if fits(Placement::TwoCores) {
            Placement::TwoCores
        } else {
            Placement::OneCore
        };
        let main = main.map_or(default, |(main, _)| main);
        let others: Vec<Placement> = match &written.others {
            Some(others) => others.get_ref().0.clone(),
            None if main == Placement::OneCore && fits(Placement::TwoCores) => {
                vec![Placement::TwoCores]
            }
            None if main == Placement::OneCore => vec![Placement::Free],
            None => vec![Placement::OneCore],
        };
        // The machine may have made an "other" the default main. Where it was the only one, the
        // scheduler's own placement checks the pairs.
        let mut besides: Vec<Placement> =
            others.into_iter().filter(|other| *other != main).collect();
        if besides.is_empty() {
            besides.push(Placement::Free);
        }
        Ok((main, besides))
    }

    /// The repetitions of the study, or of a group that has its own.
    pub(super) fn rounds(&self, study: &Part, group: Option<&Part>) -> Rounds {
        let overrides = self.context.overrides;
        let study = Rounds {
            invocations: overrides
                .invocations
                .or(count(&study.invocations))
                .unwrap_or(DEFAULT_INVOCATIONS),
            blocks: overrides
                .blocks
                .or(count(&study.blocks))
                .unwrap_or(DEFAULT_BLOCKS),
        };
        let Some(group) = group else { return study };
        own_rounds(study, overrides, &group.invocations, &group.blocks)
    }

    /// The repetitions under other placements.
    pub(super) fn check_rounds(&self, study: &StudyFile) -> Rounds {
        let PlacementWritten {
            invocations,
            blocks,
            ..
        } = &study.placement;
        let all = self.rounds(&study.part, None);
        own_rounds(all, self.context.overrides, invocations, blocks)
    }

    /// An error at a place, or of the whole where the command line said it, or nobody.
    pub(super) fn at(&self, place: Option<Range<usize>>, message: impl Into<String>) -> StudyError {
        match place {
            Some(place) => self.source.error(place, message),
            None => self.source.whole(message),
        }
    }
}

/// A number of repetitions as written.
pub(super) type Count = Option<Spanned<NonZeroU32>>;

fn count(written: &Count) -> Option<u32> {
    written.as_ref().map(|count| count.get_ref().get())
}

/// Where a value stands that is written.
pub(super) fn place<T>(written: &Option<Spanned<T>>) -> Option<Range<usize>> {
    written.as_ref().map(Spanned::span)
}

impl Combined {
    /// The live service that it calls, as written and as resolved.
    fn service(&self) -> Option<(&ServiceWritten, &Settings, &LiveService)> {
        let settings = &self.variant.settings;
        Some((self.service.as_ref()?, settings, settings.target.live()?))
    }
}

impl StudyFile {
    /// Whether live services are called.
    pub(super) fn is_live(&self) -> bool {
        self.sections().any(|section| {
            let variants = &section.part.variants;
            section.part.service.is_some() || variants.iter().any(|one| one.service.is_some())
        })
    }

    /// Repetitions of a study of so many live services, or of a group of it. Nothing is started afresh.
    fn live_rounds(&self, variants: usize, asked: &Overrides, group: Option<&str>) -> Rounds {
        let usual = if variants == 1 {
            1
        } else {
            DEFAULT_LIVE_BLOCKS
        };
        let whole = Rounds {
            invocations: 1,
            blocks: asked.blocks.or(count(&self.part.blocks)).unwrap_or(usual),
        };
        let groups = self.groups.iter();
        let mut own = groups.filter(|one| Some(one.name.get_ref().as_str()) == group);
        own.next().map_or(whole, |group| {
            own_rounds(whole, asked, &None, &group.part.blocks)
        })
    }
}

/// A part's own repetitions; a command line's number is an upper bound of them.
fn own_rounds(study: Rounds, overrides: &Overrides, invocations: &Count, blocks: &Count) -> Rounds {
    let own = |own: &Count, study: u32, overridden: bool| match count(own) {
        None => study,
        Some(own) if overridden => study.min(own),
        Some(own) => own,
    };
    Rounds {
        invocations: own(
            invocations,
            study.invocations,
            overrides.invocations.is_some(),
        ),
        blocks: own(blocks, study.blocks, overrides.blocks.is_some()),
    }
}
