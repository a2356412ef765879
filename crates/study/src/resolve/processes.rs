//! Which variants are called in the same processes.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use rpcgauge_contract::MAX_PARTS;
use rpcgauge_message::workload::MessageSet;

use crate::features::{Features, Role};
use crate::file::{Processes, StudyFile};
use crate::plan::{Plan, SharedProcesses, Variant};
use crate::settings::{REFERENCE, SubjectCall, Target};

/// A variant of a group that shares processes, and its place in the plan.
struct Sharer<'p> {
    place: u32,
    variant: &'p Variant,
    call: &'p SubjectCall,
    /// The trials that it is measured in turn with.
    rotation: Option<u32>,
}

impl Sharer<'_> {
    /// The programs that can run its server or its client together with others.
    fn programs<'s>(&self, role: Role, stacks: &'s BTreeMap<String, Features>) -> &'s [String] {
        let stack = match role {
            Role::Server => Some(&self.call.server),
            Role::Client | Role::Codec => self.call.client.as_ref().map(|client| &client.stack),
        };
        let features = stack.and_then(|stack| stacks.get(stack));
        features.map_or(&[], |features| &features.programs)
    }
}

impl StudyFile {
    /// Whether the variants of a group, or those of no group, share processes where they can.
    fn shares(&self, group: Option<&str>) -> bool {
        let of_group = self.groups.iter();
        let mut of_group = of_group.filter(|of| Some(&*of.name.get_ref().0) == group);
        let of_group = of_group.next().and_then(|group| group.part.processes);
        of_group.or(self.part.processes) == Some(Processes::Shared)
    }

    /// Puts the variants of a plan that are to share processes into the fewest that carry them, and notes why others
    /// have their own, unless the plan already says so.
    pub(super) fn assign_processes(&self, plan: &mut Plan, stacks: &BTreeMap<String, Features>) {
        let pairs = plan.pairs.iter().filter(|pair| !pair.a_a);
        let pairs = pairs.map(|pair| (&*pair.of, &*pair.against));
        let claims = plan.claims.iter();
        let claims = claims.map(|claim| (&*claim.of, &*claim.against));
        let compared: Vec<(&str, &str)> = pairs.chain(claims).collect();
        let mut shared = Vec::new();
        let mut own = mem::take(&mut plan.own_processes);
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
            let undecided = |one: &&Sharer<'_>| !own.contains_key(&one.variant.name);
            let mut left: Vec<&Sharer<'_>> = all.iter().filter(undecided).collect();
            while let Some(first) = left.first().copied() {
                if let Some(processes) = best(first, &left, &compared, stacks) {
                    left.retain(|one| !processes.variants.contains(&one.place));
                    shared.push(processes);
                } else {
                    let reason = reason(first, &all, stacks);
                    own.insert(first.variant.name.clone(), reason.to_owned());
                    left.remove(0);
                }
            }
        }
        shared.sort_by_key(|one| one.variants.first().copied());
        plan.shared_processes = shared;
        plan.own_processes = own;
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

/// The first variant and those that share processes with it; `None` if none can. A set that shares both processes of
/// subjects is better than a larger one that shares only one of them, because what a start changes cancels only
/// between variants that share it. The embedded server hardly varies from start to start, so it only decides between
/// equal sets. A set contains variants that are compared with each other: an A/A pair in one process would be no control
/// of variants with their own processes.
fn best(
    first: &Sharer<'_>,
    left: &[&Sharer<'_>],
    compared: &[(&str, &str)],
    stacks: &BTreeMap<String, Features>,
) -> Option<SharedProcesses> {
    let choices = |role| {
        let programs = first.programs(role, stacks).iter().map(Some);
        programs.chain([None])
    };
    let mut best: Option<((usize, usize, usize), SharedProcesses)> = None;
    for server in choices(Role::Server) {
        for client in choices(Role::Client) {
            let carries = |one: &Sharer<'_>| {
                let has = |role, program: Option<&String>| {
                    program.is_none_or(|program| one.programs(role, stacks).contains(program))
                };
                has(Role::Server, server) && has(Role::Client, client)
            };
            let fitting = left.iter().filter(|one| conflict(first, one).is_none());
            let members = fitting.filter(|one| carries(one)).take(MAX_PARTS);
            let members: Vec<&Sharer<'_>> = members.copied().collect();
            let has = |name: &str| members.iter().any(|one| one.variant.name == name);
            let are_compared = compared.iter().any(|(of, against)| has(of) && has(against));
            let members: Vec<u32> = members.iter().map(|one| one.place).collect();
            let programs = [server, client].into_iter().flatten();
            let of_subjects = programs.clone().filter(|program| *program != REFERENCE);
            let worth = (of_subjects.count(), members.len(), programs.count());
            let (_, _, shared) = worth;
            if shared > 0 && are_compared && best.as_ref().is_none_or(|(of, _)| worth > *of) {
                let processes = SharedProcesses {
                    variants: members,
                    server: server.cloned(),
                    client: client.cloned(),
                };
                best = Some((worth, processes));
            }
        }
    }
    best.map(|(_, processes)| processes)
}

const NOT_COMPARED: &str = "no other variant of its program is compared with it";
const NO_PROGRAM: &str = "no program combines these stacks with those of another variant";

/// Why a variant of a group shares no process.
fn reason(
    first: &Sharer<'_>,
    all: &[Sharer<'_>],
    stacks: &BTreeMap<String, Features>,
) -> &'static str {
    let of_one_program = all.iter().filter(|other| {
        let have_one = |role| {
            let programs = other.programs(role, stacks);
            let mut own = first.programs(role, stacks).iter();
            own.any(|program| programs.contains(program))
        };
        other.variant.original() != first.variant.original()
            && (have_one(Role::Server) || have_one(Role::Client))
    });
    let mut reasons = of_one_program.map(|other| conflict(first, other).unwrap_or(NOT_COMPARED));
    reasons.next().unwrap_or(NO_PROGRAM)
}

/// Why two variants cannot be called in one process, whatever their stacks.
fn conflict(a: &Sharer<'_>, b: &Sharer<'_>) -> Option<&'static str> {
    let (one, other) = (a.call, b.call);
    if a.rotation != b.rotation {
        Some(NOT_COMPARED)
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
