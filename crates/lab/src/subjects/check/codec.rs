//! Checks codecs by comparing their output with that of this program's own codec.

use std::fmt;

use rpcgauge_contract::{CodecSettings, Operation, SettingsLine};
use rpcgauge_message::Sample;
use rpcgauge_study::settings::CodecWork;
use rpcgauge_study::words::Named as _;

use super::{Coding, LIMITS, PATIENCE, StackCheck, workload};
use crate::error::TrialResult;
use crate::subjects::SubjectsError;
use crate::variant::caller::Caller;
use crate::variant::settings_line;
use crate::variant::verify::CodecSample;

/// The number of operations in a batch.
const BATCH: u32 = 4;

/// One task for a codec.
struct Task {
    coding: Coding,
    operation: Operation,
    sample: Sample,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, sample) = (self.operation.as_str(), self.sample.as_str());
        write!(f, "{operation} the {sample}, {}", self.coding)
    }
}

impl StackCheck<'_> {
    pub(super) fn codec(&mut self) -> Result<(), SubjectsError> {
        let mut tasks = Vec::new();
        for coding in Coding::all(self.features) {
            for (_, operation) in Operation::NAMES {
                for (_, sample) in Sample::NAMES {
                    tasks.push(Task {
                        coding: coding.clone(),
                        operation: *operation,
                        sample: *sample,
                    });
                }
            }
        }
        let tasks = self.chosen(tasks, |task| {
            let done = [task.operation.as_str(), task.sample.as_str()].map(str::to_owned);
            [&done[..], &task.coding.values()].concat()
        });
        for task in &tasks {
            self.attempt(&task.to_string(), |check| check.codes(task))?;
        }
        let Some(first) = tasks.first() else {
            return Ok(());
        };
        self.attempt("refuses a slice that it does not understand", |check| {
            let mut codec = check.up_codec(first)?;
            let line = r#"{"slice":{"skip":0,"calls":1,"batch":1,"pace":3}}"#;
            codec.subject.refuses(line, PATIENCE, check.stop)
        })?;
        match self.codec_settings(first) {
            Ok((settings, ..)) => {
                let line = codec(settings);
                self.refusals(&line)?;
                self.runtimes(&line)
            }
            Err(failure) => self.attempt("settings", |_| Err(failure)),
        }
    }

    fn codes(&mut self, task: &Task) -> TrialResult {
        let mut codec = self.up_codec(task)?;
        codec.prove(PATIENCE, self.stop)?;
        self.try_slices(&mut codec, Some(BATCH), 1)?;
        codec.subject.end_well()
    }

    /// Starts a codec and waits until it is ready.
    fn up_codec(&mut self, task: &Task) -> TrialResult<Caller> {
        let (settings, sample) = self.codec_settings(task)?;
        let subject = self.start(&codec(settings.clone()))?;
        Caller::codec(subject, &settings, sample)
    }

    fn codec_settings(&mut self, task: &Task) -> TrialResult<(CodecSettings, CodecSample)> {
        let spec = task.coding.spec()?;
        let workload = workload(&spec)?;
        let work = CodecWork {
            operation: task.operation,
            sample: task.sample,
            compression: task.coding.compression,
            ..CodecWork::new("", spec, task.coding.encoding)
        };
        let records = self.path();
        let command = self.stacks.command(self.stack, Some(&work.workload))?;
        settings_line::codec(&work, &workload, command, &records, LIMITS)
    }
}

fn codec(settings: CodecSettings) -> SettingsLine {
    SettingsLine::Codec(Box::new(settings))
}
