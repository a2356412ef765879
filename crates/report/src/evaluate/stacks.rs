//! Compares servers with servers, and clients with clients, by the cost of the same message in each stack.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_stats::{Bootstrap, PairedRatios, compare};
use rpcgauge_study::features::Role;
use rpcgauge_study::plan::{Metric, Plan, Variant};
use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::{ENGINE, Target};

use super::compare::figure;
use crate::findings::describe::HowItCalls;
use crate::findings::stacks::{StackFindings, StackVariant, Typical};
use crate::findings::trial::TrialRow;
use crate::findings::{Figures, VariantFindings, named};

/// The minimum number of stacks, or of styles of one stack, for a table. With fewer, verdicts are enough.
const MIN_STACKS: usize = 3;

/// The settings that distinguish a stack's variants with few and with many calls in flight.
const OF_LOAD: [&str; 2] = ["in-flight", "connections"];

/// The variants of a stack that differ only in the number of calls in flight.
struct Way<'a> {
    stack: &'a str,
    called: String,
    how: BTreeMap<String, String>,
    /// By the number of calls in flight.
    variants: BTreeMap<u32, &'a Variant>,
}

/// The stacks of a study, servers before clients. A role with fewer than [`MIN_STACKS`] is left out.
pub(super) fn findings(
    plan: &Plan,
    environment: Option<&Environment>,
    variants: &[VariantFindings],
    rows: &[TrialRow],
) -> Vec<StackFindings> {
    let study = Study {
        plan,
        environment,
        variants,
        rows,
    };
    [Role::Server, Role::Client]
        .into_iter()
        .flat_map(|role| study.stacks(role))
        .collect()
}

struct Study<'a> {
    plan: &'a Plan,
    environment: Option<&'a Environment>,
    variants: &'a [VariantFindings],
    rows: &'a [TrialRow],
}

impl<'a> Study<'a> {
    fn stacks(&self, role: Role) -> Vec<StackFindings> {
        let ways = self.ways(role);
        let measured = |way: &&Way<'_>| way.variants.values().any(|v| self.is_measured(&v.name));
        let style = |way: &Way<'_>| way.how.get("style").cloned();
        let stacks: BTreeSet<(&str, Option<String>)> = ways
            .iter()
            .filter(measured)
            .map(|way| (way.stack, style(way)))
            .collect();
        let in_flight = || ways.iter().flat_map(|way| way.variants.keys().copied());
        let (Some(few), Some(many)) = (in_flight().min(), in_flight().max()) else {
            return Vec::new();
        };
        if stacks.len() < MIN_STACKS {
            return Vec::new();
        }
        let each = ways.iter();
        each.map(|way| self.stack(role, way, words(way, &ways), [few, many]))
            .collect()
    }

    /// The ways of all stacks in a role, in the study's order.
    fn ways(&self, role: Role) -> Vec<Way<'a>> {
        let targets = self
            .plan
            .variants
            .iter()
            .map(|variant| &variant.settings.target);
        let called = targets.filter_map(|target| match target {
            Target::Call(call) => call.client.as_ref().map(|_| &*call.server),
            Target::Codec(_) | Target::Live(_) => None,
        });
        let servers: BTreeSet<&str> = called.collect();
        let mut ways: Vec<Way<'_>> = Vec::new();
        for variant in self.plan.variants.iter().filter(|v| v.repeats.is_none()) {
            let Target::Call(call) = &variant.settings.target else {
                continue;
            };
            let Some(in_flight) = call.options.schedule.in_flight() else {
                continue;
            };
            let server = &*call.server;
            let stack = match (role, &call.client) {
                (Role::Server, None) => server,
                (Role::Client, Some(client)) => &*client.stack,
                // The engine is one of the clients if it calls a server that other clients call.
                (Role::Client, None) if servers.contains(server) => ENGINE,
                _ => continue,
            };
            let mut how = HowItCalls::of(&variant.settings).settings;
            how.retain(|key, _| !OF_LOAD.contains(&&**key));
            let called = variant.settings.target.called();
            let same =
                |way: &&mut Way<'_>| way.stack == stack && way.called == called && way.how == how;
            match ways.iter_mut().find(same) {
                Some(way) => {
                    way.variants.entry(in_flight).or_insert(variant);
                }
                None => ways.push(Way {
                    stack,
                    called,
                    how,
                    variants: BTreeMap::from([(in_flight, variant)]),
                }),
            }
        }
        ways
    }

    /// Whether a variant has its own process in a role.
    fn has_own_process(&self, role: Role, name: &str) -> bool {
        let place = self.plan.place(name);
        let shared = place.and_then(|place| self.plan.processes_of(place));
        let program = shared.and_then(|shared| match role {
            Role::Server => shared.server.as_ref(),
            Role::Client | Role::Codec => shared.client.as_ref(),
        });
        program.is_none()
    }

    fn stack(
        &self,
        role: Role,
        way: &Way<'_>,
        words: String,
        [few, many]: [u32; 2],
    ) -> StackFindings {
        let variant = |in_flight| {
            let variant = way.variants.get(&in_flight)?;
            Some(StackVariant {
                variant: variant.name.clone(),
                in_flight,
            })
        };
        let is_engine = way.stack == ENGINE;
        let (few, many) = (variant(few), variant(many));
        let both: Vec<StackVariant> = few.iter().chain(&many).cloned().collect();
        // The figures of a shared process do not belong to a single stack.
        let own: Vec<StackVariant> = both
            .iter()
            .filter(|one| self.has_own_process(role, &one.variant))
            .cloned()
            .collect();
        let of = |variant: &Option<StackVariant>, metric| {
            self.typical(variant.as_slice(), |row| figure(row, metric))
        };
        let own_cpu = match role {
            Role::Server => Metric::ServerCpu,
            Role::Client | Role::Codec => Metric::ClientCpu,
        };
        let own_startup = |row: &TrialRow| match role {
            Role::Server => row.server_startup_ns,
            Role::Client | Role::Codec => row.client_startup_ns,
        };
        let own_process = |figures: &Figures| {
            let (memory, threads) = (figures.memory, figures.threads);
            match role {
                Role::Server => (memory.server_peak, threads.server),
                Role::Client | Role::Codec => (Some(memory.client_peak), Some(threads.client)),
            }
        };
        let processes = own
            .iter()
            .filter_map(|v| self.figures(&v.variant))
            .map(own_process);
        let (peaks, threads): (Vec<Option<u64>>, Vec<Option<u64>>) = processes.unzip();
        let most = |values: Vec<Option<u64>>| values.into_iter().flatten().max();
        let disk = self.environment.and_then(|e| e.disk.get(way.stack));
        StackFindings {
            role,
            stack: way.stack.to_owned(),
            way: words,
            called: way.called.clone(),
            latency_p50: of(&few, Metric::LatencyP50),
            latency_p99: of(&few, Metric::LatencyP99),
            goodput: of(&many, Metric::Goodput),
            cpu: of(&many, own_cpu),
            startup: self.typical(&own, |row| own_startup(row).map(|ns| ns as f64)),
            peak_bytes: most(peaks).filter(|_| !is_engine),
            threads: most(threads).filter(|_| !is_engine),
            disk_bytes: disk.copied().filter(|_| !is_engine),
            few,
            many,
        }
    }

    /// The typical value of a figure over the trials of these variants. Each figure is treated as a ratio to 1, so the
    /// interval is computed in the same way as for a comparison.
    fn typical(
        &self,
        variants: &[StackVariant],
        figure: impl Fn(&TrialRow) -> Option<f64>,
    ) -> Option<Typical> {
        let placement = *self.plan.placements.first()?;
        let mut invocations: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let rows = self.rows.iter().filter(|row| row.placement == placement);
        let is_one = |row: &&TrialRow| variants.iter().any(|one| one.variant == row.variant);
        for row in rows.filter(is_one) {
            if let Some(value) = figure(row) {
                invocations.entry(row.invocation).or_default().push(value);
            }
        }
        let figures: Vec<Vec<f64>> = invocations.into_values().collect();
        let bootstrap = Bootstrap::new(self.plan.confidence, self.plan.seed);
        let estimate = compare(&PairedRatios::from_ratios(&figures).ok()?, &bootstrap).ok()?;
        Some(Typical {
            value: estimate.ratio(),
            interval: estimate.ends(),
        })
    }

    fn is_measured(&self, variant: &str) -> bool {
        let found = named(self.variants, variant);
        found.is_some_and(|variant| variant.measured().next().is_some())
    }

    /// The figures of a variant under the study's first placement.
    fn figures(&self, variant: &str) -> Option<&Figures> {
        named(self.variants, variant)?.figures(*self.plan.placements.first()?)
    }
}

/// The values of the first settings that distinguish a way from the other ways of its stack.
fn words(way: &Way<'_>, ways: &[Way<'_>]) -> String {
    const FIRST: [&str; 3] = ["protocol", "encoding", "transport"];
    let mut others: Vec<&Way<'_>> = ways
        .iter()
        .filter(|other| (other.stack, &other.called) == (way.stack, &way.called))
        .filter(|other| other.how != way.how)
        .collect();
    let mut words = Vec::new();
    for key in FIRST.into_iter().chain(way.how.keys().map(String::as_str)) {
        let value = way.how.get(key);
        if others.iter().any(|other| other.how.get(key) != value) {
            words.extend(value.map(|value| told(key, value)));
            others.retain(|other| other.how.get(key) == value);
        }
    }
    words.join(" ")
}

/// A value that is understood without its key, or both.
fn told(key: &str, value: &str) -> String {
    match value {
        "true" => key.to_owned(),
        number if number.parse::<f64>().is_ok() => format!("{key}={number}"),
        word => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Spec};

    fn stacks() -> Vec<StackFindings> {
        fixture::findings(&fixture::stacks()).stacks
    }

    #[test]
    fn one_row_has_a_stack_with_few_and_with_many_calls_in_flight() {
        let all = stacks();
        let rows: Vec<(Role, &str, &str)> = all
            .iter()
            .map(|row| (row.role, &*row.stack, &*row.way))
            .collect();
        assert_eq!(
            rows,
            [
                (Role::Server, "reference", "grpc"),
                (Role::Server, "reference", "rest"),
                (Role::Server, "go/grpc-go", ""),
                (Role::Server, "python/http", ""),
            ]
        );
        let grpc_go = &all[2];
        let in_flight = [&grpc_go.few, &grpc_go.many].map(|v| v.as_ref().unwrap().in_flight);
        assert_eq!(in_flight, [1, 64]);
        let p50 = grpc_go.latency_p50.unwrap();
        let [low, high] = p50.interval.unwrap();
        assert!(low < p50.value && p50.value < high && high < 1.1 * low);
        assert!(
            grpc_go
                .startup
                .is_some_and(|ns| (ns.value - 20e6).abs() < 1.0)
        );
        assert_eq!(grpc_go.disk_bytes, Some(16_300_000));
        assert_eq!(all[3].goodput, None);
    }

    #[test]
    fn two_stacks_are_compared_by_their_verdicts() {
        let mut two = fixture::stacks();
        two.trials
            .retain(|trial| !trial.variant.starts_with("python"));
        assert_eq!(fixture::findings(&two).stacks, []);
        let plain = fixture::two(2.0).spec(Spec::new("third", 1e5)).build();
        assert_eq!(fixture::findings(&plain).stacks, []);
    }
}
