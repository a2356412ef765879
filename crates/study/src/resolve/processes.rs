//! Which variants are called in the same processes.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_contract::MAX_PARTS;
use rpcgauge_message::workload::MessageSet;

use crate::features::Features;
use crate::file::{Processes, StudyFile};
use crate::plan::{Plan, SharedProcesses, Variant};
use crate::settings::{SubjectCall, Target};

/// A variant of a group that shares processes, and its place in the plan.
struct Sharer<'p> {
    place: u32,
    variant: &'p Variant,
    call: &'p SubjectCall,
    /// The trials that it is measured in turn with.
    rotation: Option<u32>,
}

impl StudyFile {
    /// Whether the variants of a group, or those of no group, share processes where they can.
    fn shares(&self, group: Option<&str>) -> bool {
        let of_group = self.groups.iter();
        let mut of_group = of_group.filter(|of| Some(&*of.name.get_ref().0) == group);
        let own = of_group.next().and_then(|group| group.part.processes);
        own.or(self.part.processes) == Some(Processes::Shared)
    }

    /// Puts the variants of a plan that are to share processes into the fewest that carry them, and notes why others
    /// have their own.
    pub(super) fn share_processes(&self, plan: &mut Plan, stacks: &BTreeMap<String, Features>) {
        let mut shared = Vec::new();
        let mut apart = BTreeMap::new();
        for group in plan
            .variants
            .iter()
            .map(|one| &one.group)
            .collect::<BTreeSet<_>>()
        {
            if !self.shares(group.as_deref()) {
                continue;
            }
            let all = sharers(plan, group.as_ref());
            let mut left: Vec<&Sharer<'_>> = all.iter().collect();
            while let Some((processes, reason)) = next(&left, &all, stacks) {
                let (taken, rest): (Vec<_>, Vec<_>) = left
                    .into_iter()
                    .partition(|one| processes.variants.contains(&one.place));
                left = rest;
                match reason {
                    None => shared.push(processes),
                    Some(reason) => {
                        let names = taken.iter().map(|one| one.variant.name.clone());
                        apart.extend(names.map(|name| (name, reason.to_owned())));
                    }
                }
            }
        }
        shared.sort_by_key(|one| one.variants.first().copied());
        plan.shared = shared;
        plan.apart = apart;
    }
}

/// The variants of a group that call subjects.
fn sharers<'p>(plan: &'p Plan, group: Option<&String>) -> Vec<Sharer<'p>> {
    let variants = (0..).zip(&plan.variants);
    let of_group = variants.filter(|(_, variant)| variant.group.as_ref() == group);
    let calls = of_group.filter_map(|(place, variant)| match &variant.settings.target {
        Target::Call(call) => Some((place, variant, &**call)),
        Target::Codec(_) | Target::Live(_) => None,
    });
    let rotation = |place| {
        let mut trials = plan.trials.iter();
        trials
            .find(|trial| trial.variant == place)
            .map(|trial| trial.rotation)
    };
    calls
        .map(|(place, variant, call)| Sharer {
            place,
            variant,
            call,
            rotation: rotation(place),
        })
        .collect()
}

/// The next variants that share processes: the first one with as many others as can be, or alone, with the reason.
fn next(
    left: &[&Sharer<'_>],
    all: &[Sharer<'_>],
    stacks: &BTreeMap<String, Features>,
) -> Option<(SharedProcesses, Option<&'static str>)> {
    let first = *left.first()?;
    let programs = |stack: &str| {
        let features = stacks.get(stack);
        features.map_or(&[][..], |features| &features.programs)
    };
    let fitting: Vec<&Sharer<'_>> = left
        .iter()
        .copied()
        .filter(|other| conflict(first, other).is_none())
        .collect();
    let servers = |of: &Sharer<'_>| programs(&of.call.server).to_vec();
    let clients = |of: &Sharer<'_>| {
        let client = of.call.client.as_ref();
        client.map_or(Vec::new(), |client| programs(&client.stack).to_vec())
    };
    let by_server = most(&fitting, servers);
    let by_client = most(&fitting, clients);
    if let Some((server, members)) = by_server {
        let client = most(&members, clients);
        return Some((
            SharedProcesses {
                variants: places(&members),
                server: Some(server),
                client: client
                    .filter(|(_, all)| all.len() == members.len())
                    .map(|(name, _)| name),
            },
            None,
        ));
    }
    if let Some((client, members)) = by_client {
        return Some((
            SharedProcesses {
                variants: places(&members),
                server: None,
                client: Some(client),
            },
            None,
        ));
    }
    let could = all.iter().filter(|other| other.place != first.place);
    let carried = could.filter(|other| {
        let both = |of: &dyn Fn(&Sharer<'_>) -> Vec<String>| {
            let other = of(other);
            of(first).iter().any(|name| other.contains(name))
        };
        both(&servers) || both(&clients)
    });
    let reason = carried.filter_map(|other| conflict(first, other)).next();
    let alone = SharedProcesses {
        variants: vec![first.place],
        server: None,
        client: None,
    };
    Some((alone, Some(reason.unwrap_or(NO_PROGRAM))))
}

const NO_PROGRAM: &str = "no program carries these stacks and those of another variant";

/// Why two variants cannot be called in one process, whatever their stacks.
fn conflict(a: &Sharer<'_>, b: &Sharer<'_>) -> Option<&'static str> {
    let (one, other) = (a.call, b.call);
    if a.rotation != b.rotation {
        Some("it is not compared with another variant of its program, so they do not take turns")
    } else if MessageSet::from(&one.workload) != MessageSet::from(&other.workload) {
        Some("its messages differ, and a program is built for one set of messages")
    } else if one.runtime != other.runtime {
        Some("the settings of its runtime differ from those of another variant of its program")
    } else if one.runtime.events {
        Some("the events of a runtime are those of a whole process")
    } else if one.threads != 1 || other.threads != 1 {
        Some("the threads of a process would serve all of its variants")
    } else if one.link.is_some() || other.link.is_some() {
        Some("a link carries the packets of one variant")
    } else if one.cold_calls > 0 || other.cold_calls > 0 {
        Some("first calls after a start are those of a whole process")
    } else {
        None
    }
}

/// The program that carries the first of some variants and most of the others, at least one; of several the first.
fn most<'s, 'p>(
    all: &[&'s Sharer<'p>],
    programs: impl Fn(&Sharer<'p>) -> Vec<String>,
) -> Option<(String, Vec<&'s Sharer<'p>>)> {
    let first = all.first()?;
    let carried = programs(first).into_iter().map(|program| {
        let is_carried = |one: &&&Sharer<'p>| programs(one).contains(&program);
        let members = all.iter().filter(is_carried).copied();
        let members: Vec<_> = members.take(MAX_PARTS).collect();
        (program, members)
    });
    let mut best: Option<(String, Vec<&Sharer<'p>>)> = None;
    for (program, members) in carried.filter(|(_, members)| members.len() > 1) {
        if best
            .as_ref()
            .is_none_or(|(_, most)| members.len() > most.len())
        {
            best = Some((program, members));
        }
    }
    best
}

fn places(members: &[&Sharer<'_>]) -> Vec<u32> {
    members.iter().map(|one| one.place).collect()
}
