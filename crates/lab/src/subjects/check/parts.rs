//! Checks processes with several parts: one for each way of a stack, or for each stack of a program.

use std::collections::BTreeSet;

use rpcgauge_contract::{Address, SettingsLine, Several};
use rpcgauge_study::features::Role;
use rpcgauge_study::subject::Stack;

use super::client::{PLAIN, REQUESTS};
use super::{LIMITS, PATIENCE, StackCheck, Way, workload, wrong};
use crate::error::TrialResult;
use crate::subject::Subject;
use crate::subjects::SubjectsError;
use crate::variant::caller::Caller;
use crate::variant::server::Up;
use crate::variant::settings_line;

/// The maximum number of parts to start in one process, which has the memory of one.
const MAX_PARTS: usize = 16;

impl StackCheck<'_> {
    /// Tries ways to make calls: as parts of one process if the subject supports that, which starts fewer
    /// processes. Each way gets its own process if that fails, and otherwise one of each form of connection,
    /// because a process with one part replies in another form.
    pub(super) fn ways(&mut self, ways: &[Way], role: Role) -> Result<(), SubjectsError> {
        let has_parts = self.asked.package.manifest.parts;
        let stack = &self.task.declared;
        // A process is started for one set of messages.
        let mut forms = BTreeSet::new();
        let (own, built_in): (Vec<&Way>, _) = ways.iter().partition(|way| way.is_own());
        for group in built_in.chunks(MAX_PARTS).chain(own.chunks(MAX_PARTS)) {
            let mut parts: Vec<(&Stack, Way)> =
                group.iter().map(|way| (stack, (*way).clone())).collect();
            if let [only] = &parts[..] {
                parts.push(only.clone());
            }
            let together = has_parts.then(|| self.in_one_process(&parts, role));
            for way in group {
                let is_first = forms.insert(way.form());
                self.attempt(&way.to_string(), |check| match (&together, role) {
                    (Some(Ok(())), _) if !is_first => Ok(()),
                    (_, Role::Server) => check.responds(way),
                    (_, Role::Client | Role::Codec) => check.calls(way, PLAIN),
                })?;
            }
            if let Some(Err(failure)) = together {
                let what = format!("{} parts in one process", parts.len());
                self.attempt(&what, |_| Err(failure))?;
            }
        }
        Ok(())
    }

    fn in_one_process(&mut self, ways: &[(&Stack, Way)], role: Role) -> TrialResult {
        match role {
            Role::Server => self.serves_parts(ways),
            Role::Client | Role::Codec => self.calls_in_parts(ways),
        }
    }

    /// Tries a process with one part for each stack that supports this role, or with two parts of the same
    /// stack if there is only one.
    pub(super) fn parts(&mut self, stacks: &[&Stack], role: Role) -> Result<(), SubjectsError> {
        let mut able: Vec<&Stack> = stacks
            .iter()
            .copied()
            .filter(|stack| stack.features.roles.contains(&role))
            .collect();
        if let [only] = able[..] {
            able.push(only);
        }
        let ways = able.iter().filter_map(|stack| {
            let way = Way::calls(&stack.features, role).into_iter().next()?;
            Some((*stack, way))
        });
        let ways: Vec<(&Stack, Way)> = ways.collect();
        if ways.len() < 2 {
            return Ok(());
        }
        let names: Vec<&str> = ways.iter().map(|(stack, _)| &*stack.name).collect();
        let what = format!("{} in one process", names.join(", "));
        self.attempt(&what, |check| check.in_one_process(&ways, role))
    }

    fn serves_parts(&mut self, ways: &[(&Stack, Way)]) -> TrialResult {
        let mut calls = Vec::new();
        let mut parts = Vec::new();
        for (stack, way) in ways {
            let call = way.call(None)?;
            let listen = settings_line::listen(way.transport, self.path());
            let command = self.stacks.command(self.stack, Some(&call.workload))?;
            let command = command.with_stack(&self.part_of(stack));
            let workload = workload(&call.workload)?;
            parts.push(settings_line::server(
                &call, &workload, listen, &command, LIMITS,
            )?);
            calls.push(call);
        }
        let line = SettingsLine::Servers(Several { parts });
        let mut ups = Vec::new();
        for (subject, call) in self.start_parts(&line)?.into_iter().zip(&calls) {
            ups.push(Up::new(
                subject,
                workload(&call.workload)?,
                call,
                LIMITS,
                None,
            )?);
        }
        for up in &mut ups {
            self.prove(up)?;
        }
        let sockets: Vec<_> = ups
            .iter()
            .filter_map(|up| match &up.subject.said().address {
                Some(Address::Unix(path)) => Some(path.clone()),
                Some(Address::Tcp(_)) | None => None,
            })
            .collect();
        end_well(ups.into_iter().map(|up| up.subject))?;
        if sockets.iter().any(|path| path.exists()) {
            return Err(wrong("it left its socket file behind"));
        }
        Ok(())
    }

    fn calls_in_parts(&mut self, ways: &[(&Stack, Way)]) -> TrialResult {
        let mut servers = Vec::new();
        let mut parts = Vec::new();
        let mut workloads = Vec::new();
        for (stack, way) in ways {
            let path = self.path();
            let server = self.serve(way, path)?;
            let call = way.call(PLAIN.style)?;
            let workload = workload(&call.workload)?;
            let command = self.stacks.command(self.stack, Some(&call.workload))?;
            let command = command.with_stack(&self.part_of(stack));
            let records = self.path();
            let requests = (&workload, REQUESTS);
            let settings =
                settings_line::client(&call, requests, server.said(), &command, &records, LIMITS)?;
            servers.push(server);
            parts.push(settings);
            workloads.push(workload);
        }
        let line = SettingsLine::Clients(Several {
            parts: parts.clone(),
        });
        let subjects = self.start_parts(&line)?;
        let mut clients = Vec::new();
        for ((subject, settings), workload) in subjects.into_iter().zip(&parts).zip(workloads) {
            clients.push(Caller::client(subject, settings, workload)?);
        }
        // In alternation, so that the first client is asked again after another one has been.
        for client in &mut clients {
            client.prove(PATIENCE, self.stop)?;
            client.slice(&super::client::calls(2), PATIENCE, self.stop, || ())?;
        }
        for client in &mut clients {
            self.try_slices(client, None, PLAIN.in_flight)?;
        }
        end_well(clients.into_iter().map(|client| client.subject))
    }

    /// The name of one of the program's stacks, as studies write it.
    fn part_of(&self, stack: &Stack) -> String {
        let subject = self
            .stack
            .split_once('/')
            .map_or("", |(subject, _)| subject);
        format!("{subject}/{}", stack.name)
    }
}

/// Ends the parts of one process, and checks that the process exits as the contract requires.
fn end_well(parts: impl Iterator<Item = Subject>) -> TrialResult {
    let mut parts: Vec<Subject> = parts.collect();
    let last = parts.pop();
    parts.iter_mut().for_each(Subject::ask_to_end);
    last.map_or(Ok(()), Subject::end_well)
}
