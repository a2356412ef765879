//! Codecs: held against this program's own.

use std::fmt;

use rpcgauge_message::Message;
use rpcgauge_message::contract::{CodecSettings, Operation, Sample, Settings};
use rpcgauge_study::words::Word as _;

use super::{LIMITS, PATIENCE, Stopped, Trial, Trialled, Way, workload, wrong};
use crate::subject::Asked;
use crate::verify;

/// Operations of a batch.
const BATCH: u32 = 4;

/// One thing that a codec does.
struct Task {
    way: Way,
    operation: Operation,
    sample: Sample,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, sample) = (self.operation.word(), self.sample.word());
        write!(f, "{operation} the {sample}, ")?;
        self.way.coded(f)
    }
}

impl Trial<'_> {
    pub(super) fn codec(&mut self) -> Result<(), Stopped> {
        let mut tasks = Vec::new();
        for way in Way::codecs(self.features) {
            for (_, operation) in Operation::WORDS {
                for (_, sample) in Sample::WORDS {
                    tasks.push(Task {
                        way: way.clone(),
                        operation: *operation,
                        sample: *sample,
                    });
                }
            }
        }
        for task in &tasks {
            self.attempt(&task.to_string(), |trial| trial.codes(task))?;
        }
        let Some(first) = tasks.first() else {
            return Ok(());
        };
        self.attempt("refuses a slice that it does not understand", |trial| {
            let (_, mut asked) = trial.ready(first)?;
            let line = r#"{"slice":{"skip":0,"calls":1,"batch":1,"pace":3}}"#;
            asked.subject.refuses(line, PATIENCE, trial.stop)
        })?;
        match self.asks_codec(first) {
            Ok((settings, ..)) => self.refusals(&settings),
            Err(failure) => self.attempt("settings", |_| Err(failure)),
        }
    }

    fn codes(&mut self, task: &Task) -> Trialled {
        let (message, mut asked) = self.ready(task)?;
        let verified = asked.subject.verify(PATIENCE, self.stop)?;
        let sample = verify::Sample {
            message,
            operation: task.operation,
            encoding: task.way.encoding,
            compression: task.way.compression,
            limits: LIMITS,
        };
        sample
            .right(&verified)
            .map_err(|reason| wrong(reason).with_log(asked.subject.log_tail()))?;
        asked.try_all(self, Some(BATCH), 1)
    }

    /// The sample, and a codec that is ready for it.
    fn ready(&mut self, task: &Task) -> Trialled<(Message, Asked)> {
        let (settings, message, records) = self.asks_codec(task)?;
        Ok((message, Asked::new(self.start(&settings)?, &records)?))
    }

    fn asks_codec(&mut self, task: &Task) -> Trialled<(Settings, Message, std::path::PathBuf)> {
        let spec = task.way.spec()?;
        let workload = workload(&spec)?;
        let message = match task.sample {
            Sample::Request => workload.request(0),
            Sample::Response => workload.expected(0),
        };
        let records = self.path();
        let settings = CodecSettings {
            stack: self.command.stack.clone(),
            workload: spec,
            sample: task.sample,
            message: verify::as_json(&message)?,
            encoding: task.way.encoding,
            operation: task.operation,
            compression: task.way.compression,
            records: records.clone(),
            limits: Default::default(),
        };
        Ok((Settings::Codec(Box::new(settings)), message, records))
    }
}
