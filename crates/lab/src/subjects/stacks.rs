//! The commands that start the stacks of a run, or why some cannot be started.

use std::collections::BTreeMap;

use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::workload::MessageSet;
use rpcgauge_study::record::Fault;

use super::SubjectsError;
use crate::error::{TrialFailure, TrialResult};
use crate::subject::SubjectCommand;

/// How each stack is started, by the name SUBJECT/STACK that variants use.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// The inner key is the set of messages that a command is for; `None` if it is for all messages.
    stacks: BTreeMap<String, BTreeMap<Option<MessageSet>, TrialResult<SubjectCommand>>>,
}

impl Stacks {
    /// Adds a stack whose command is the same for all messages.
    pub fn add(&mut self, stack: &str, command: SubjectCommand) {
        let of_stack = self.stacks.entry(stack.to_owned()).or_default();
        of_stack.insert(None, Ok(command));
    }

    /// Adds the command that starts a stack for a set of messages. If the stack cannot be started, its
    /// trials fail with the reason.
    pub fn add_for(
        &mut self,
        stack: &str,
        messages: MessageSet,
        command: Result<&SubjectCommand, &SubjectsError>,
    ) {
        let of_stack = self.stacks.entry(stack.to_owned()).or_default();
        of_stack.insert(Some(messages), command.cloned().map_err(TrialFailure::from));
    }

    /// The reasons why stacks cannot be started.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        let commands = self.stacks.values().flat_map(BTreeMap::values);
        commands.filter_map(|command| Some(&*command.as_ref().err()?.reason))
    }

    /// Whether a stack can be started for some messages. The embedded stack always can.
    pub fn has(&self, stack: &str) -> bool {
        let of_stack = self.stacks.get(stack);
        !stack.contains('/') || of_stack.is_some_and(|all| all.values().any(Result::is_ok))
    }

    /// Adds all stacks of `others`.
    pub fn extend(&mut self, others: Self) {
        self.stacks.extend(others.stacks);
    }

    /// The command that starts a stack for a workload, or for any workload if `workload` is `None`.
    pub(crate) fn command(
        &self,
        stack: &str,
        workload: Option<&WorkloadSpec>,
    ) -> TrialResult<&SubjectCommand> {
        let of_stack = self.stacks.get(stack);
        let found = of_stack.and_then(|of_stack| {
            let messages = workload.and_then(|spec| of_stack.get(&Some(MessageSet::from(spec))));
            messages.or_else(|| of_stack.get(&None))
        });
        match found {
            Some(Ok(command)) => Ok(command),
            Some(Err(failure)) => Err(failure.clone()),
            None => {
                let known: Vec<&str> = self.stacks.keys().map(String::as_str).collect();
                let reason = format!(
                    "there is no subject \"{stack}\"; known: {}",
                    known.join(", ")
                );
                Err(TrialFailure::new(Fault::User, reason))
            }
        }
    }
}

impl From<&SubjectsError> for TrialFailure {
    fn from(error: &SubjectsError) -> Self {
        let failure = Self::new(error.fault(), error.to_string());
        match error {
            SubjectsError::Command(failed) => failure.with_log(failed.tail.clone()),
            _ => failure,
        }
    }
}
