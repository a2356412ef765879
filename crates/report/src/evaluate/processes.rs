//! The figures of processes that several variants share.

use rpcgauge_study::features::Role;
use rpcgauge_study::plan::{Plan, SharedProcesses};

use crate::findings::processes::ProcessFindings;
use crate::findings::{Figures, VariantFindings};

/// The shared processes of a plan, server before client.
pub(super) fn findings(plan: &Plan, variants: &[VariantFindings]) -> Vec<ProcessFindings> {
    let process = |shared: &SharedProcesses, role, program: &Option<String>| {
        let program = program.clone()?;
        Some(process(plan, shared, (role, program), variants))
    };
    let shared = plan.shared_processes.iter();
    let shared = shared.filter(|shared| shared.are_shared());
    let both = shared.flat_map(|shared| {
        [
            process(shared, Role::Server, &shared.server),
            process(shared, Role::Client, &shared.client),
        ]
    });
    both.flatten().collect()
}

fn process(
    plan: &Plan,
    shared: &SharedProcesses,
    (role, program): (Role, String),
    variants: &[VariantFindings],
) -> ProcessFindings {
    let main = plan.placements.first().copied();
    let names = shared.variants.iter();
    let names = names.filter_map(|place| Some(plan.variants.get(*place as usize)?.name.clone()));
    let names: Vec<String> = names.collect();
    let figures = || {
        let members = variants.iter().filter(|one| names.contains(&one.name));
        let cells = members.flat_map(|one| &one.cells);
        let cells = cells.filter(|cell| Some(cell.placement) == main);
        cells.filter_map(|cell| cell.figures.as_deref())
    };
    let memory_peak = |figures: &Figures| match role {
        Role::Server => figures.memory.server_peak,
        Role::Client | Role::Codec => Some(figures.memory.client_peak),
    };
    let threads = |figures: &Figures| match role {
        Role::Server => figures.threads.server,
        Role::Client | Role::Codec => Some(figures.threads.client),
    };
    let startup = |figures: &Figures| match role {
        Role::Server => figures.startup.server_ns,
        Role::Client | Role::Codec => figures.startup.client_ns,
    };
    ProcessFindings {
        program,
        role,
        memory_peak: figures().filter_map(memory_peak).max(),
        threads: figures().filter_map(threads).max(),
        startup_ns: figures().find_map(startup),
        variants: names,
    }
}
