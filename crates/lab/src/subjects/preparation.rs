//! Prepares the stacks that plans measure: builds their subjects and generates code for the plans' messages.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::workload::MessageSet;
use rpcgauge_study::plan::Plan;

use super::{Built, Package, Stacks, Step, Subjects, SubjectsError};

/// A step of a preparation, or a failure. The name is the subject's.
#[derive(Debug, Clone, Copy)]
pub enum BuildEvent<'a> {
    /// A step of the subject's build.
    Building(&'a str, Step<'a>),
    /// A step of generating code for a set of messages.
    MakingCode(&'a str, Step<'a>),
    /// Stacks are left out for this reason.
    Failed(&'a SubjectsError),
}

/// The stacks that plans measure, and which of them can be started.
#[derive(Debug)]
pub struct Preparation {
    /// All stacks. Trials of a stack that is left out fail with the reason.
    pub stacks: Stacks,
    /// The reasons for leaving out stacks, each with its stacks in the form SUBJECT/STACK.
    pub left_out: Vec<(Rc<SubjectsError>, Vec<String>)>,
    /// Why the first variant cannot be measured, if no variant can be.
    pub failure: Option<Rc<SubjectsError>>,
}

impl Subjects {
    /// Prepares each stack that plans measure once: builds it and generates code for its messages, unless
    /// that is already in the cache. The embedded stack is part of this program and needs no preparation.
    ///
    /// # Errors
    /// Fails if it was interrupted, there is no cache folder, or a plan names an unknown subject. A stack
    /// that cannot be built is not an error: it is left out.
    pub fn prepare<'p>(
        &self,
        plans: impl IntoIterator<Item = &'p Plan>,
        report: &mut dyn FnMut(BuildEvent<'_>),
        stop: &AtomicBool,
    ) -> Result<Preparation, SubjectsError> {
        let mut needed = Needed {
            subjects: self,
            report,
            stop,
            built: BTreeMap::new(),
            known: BTreeMap::new(),
            failed: BTreeMap::new(),
            stacks: Stacks::default(),
        };
        let (mut failure, mut can_run) = (None, false);
        let variants = plans.into_iter();
        let variants = variants.flat_map(|plan| plan.variants.iter().map(move |one| (plan, one)));
        for (plan, variant) in variants {
            let mut lacks = None;
            let workload = variant.settings.target.workload();
            for (_, program) in plan.programs_of(variant) {
                // The embedded stack has no / in its name and needs no preparation.
                if let (Some(program), Some(workload)) = (program.split_once('/'), workload) {
                    lacks = lacks.or(needed.add(program, workload)?);
                }
            }
            can_run |= lacks.is_none();
            failure = failure.or(lacks);
        }
        Ok(Preparation {
            left_out: needed.left_out(),
            stacks: needed.stacks,
            failure: failure.filter(|_| !can_run),
        })
    }
}

/// The stacks of a run during their preparation.
struct Needed<'a> {
    subjects: &'a Subjects,
    report: &'a mut dyn FnMut(BuildEvent<'_>),
    stop: &'a AtomicBool,
    /// The subjects built so far, by name.
    built: BTreeMap<&'a str, Result<Built, Rc<SubjectsError>>>,
    /// By SUBJECT/STACK and set of messages: why the stack is left out; `None` if it is ready.
    known: BTreeMap<(String, MessageSet), Option<Rc<SubjectsError>>>,
    /// By subject and set of messages: why some of the subject's stacks have no code for these messages.
    failed: BTreeMap<(&'a str, MessageSet), Vec<Rc<SubjectsError>>>,
    stacks: Stacks,
}

impl Needed<'_> {
    /// Prepares a stack for a workload. Returns the reason if the stack is left out.
    fn add(
        &mut self,
        (subject, stack): (&str, &str),
        workload: &WorkloadSpec,
    ) -> Result<Option<Rc<SubjectsError>>, SubjectsError> {
        let (name, messages) = (format!("{subject}/{stack}"), MessageSet::from(workload));
        let key = (name.clone(), messages.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let (package, stack) = self.subjects.package_of((subject, stack))?;
        let manifest = package.manifest();
        let (report, stop) = (&mut *self.report, self.stop);
        let built = match self.built.entry(&manifest.name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut show = |step: Step<'_>| report(BuildEvent::Building(subject, step));
                let built = package.build(&mut show, stop);
                new.insert(keep(built, report)?)
            }
        };
        let failed = (&*manifest.name, messages.clone());
        let failed = self.failed.entry(failed).or_default();
        let of_stack = manifest.stack(stack);
        let is_of_this =
            |error: &&Rc<SubjectsError>| of_stack.is_some_and(|stack| error.is_of(stack));
        let command = match (built, failed.iter().find(is_of_this)) {
            (Err(error), _) => Err(Rc::clone(error)),
            (_, Some(error)) => Err(Rc::clone(error)),
            (Ok(built), None) => {
                let mut show = |step: Step<'_>| report(BuildEvent::MakingCode(subject, step));
                let command = built.command(manifest, stack, &messages, &mut show, stop);
                keep(command, report)?
            }
        };
        let error = command.as_ref().err().cloned();
        failed.extend(error.clone());
        let command = command.as_ref().map_err(|error| &**error);
        self.stacks.add_for(&name, messages, command);
        self.known.insert(key, error.clone());
        Ok(error)
    }

    /// The reasons, each with the stacks that it leaves out.
    fn left_out(&self) -> Vec<(Rc<SubjectsError>, Vec<String>)> {
        let mut reasons: Vec<(Rc<SubjectsError>, Vec<String>)> = Vec::new();
        for ((stack, _), error) in &self.known {
            let Some(error) = error else {
                continue;
            };
            match reasons
                .iter_mut()
                .find(|(known, _)| Rc::ptr_eq(known, error))
            {
                Some((_, stacks)) if stacks.contains(stack) => {}
                Some((_, stacks)) => stacks.push(stack.clone()),
                None => reasons.push((Rc::clone(error), vec![stack.clone()])),
            }
        }
        reasons
    }
}

/// Reports an error that only leaves a stack out, and returns it as the inner result. Other errors abort the
/// preparation.
fn keep<T>(
    made: Result<T, SubjectsError>,
    report: &mut dyn FnMut(BuildEvent<'_>),
) -> Result<Result<T, Rc<SubjectsError>>, SubjectsError> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(
            error @ (SubjectsError::Missing { .. }
            | SubjectsError::Command(_)
            | SubjectsError::Incomplete { .. }),
        ) => {
            report(BuildEvent::Failed(&error));
            Ok(Err(Rc::new(error)))
        }
        Err(error) => Err(error),
    }
}

impl Package {
    /// Builds the subject, and generates code for the built-in messages for all of its stacks.
    ///
    /// # Errors
    /// See [`Package::build`]. Also fails if a command of the generator fails; its log is kept.
    pub fn build_with_code(
        &self,
        report: &mut dyn FnMut(BuildEvent<'_>),
        stop: &AtomicBool,
    ) -> Result<Built, SubjectsError> {
        let manifest = self.manifest();
        let name = &manifest.name;
        let mut show = |step: Step<'_>| report(BuildEvent::Building(name, step));
        let built = self.build(&mut show, stop)?;
        let mut show = |step: Step<'_>| report(BuildEvent::MakingCode(name, step));
        for program in manifest.program_names() {
            built.generate(manifest, program, &MessageSet::BuiltIn, &mut show, stop)?;
        }
        Ok(built)
    }
}
