//! A client or codec subject, kept for its variant's trials, and what stands in a variant's slot.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_message::Workload;
use rpcgauge_message::contract::Verified;
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::Operation;

use crate::error::TrialFailure;
use crate::server::Server;
use crate::subject::{Asked, Subject};
use crate::verify::{self, Sample};

/// A client or codec that is up.
pub(crate) struct Caller {
    pub(crate) asked: Asked,
    proof: Proof,
    is_right: bool,
}

/// What it is proved right by.
pub(crate) enum Proof {
    /// The answer to a client's first request.
    Answer(Workload),
    /// What a codec makes.
    Sample(Box<Sample>),
}

impl Caller {
    /// Takes a subject that is up, with its file of records.
    ///
    /// # Errors
    /// It has made no such file.
    pub(crate) fn new(
        subject: Subject,
        records: &Path,
        proof: Proof,
    ) -> Result<Self, TrialFailure> {
        Ok(Self {
            asked: Asked::new(subject, records)?,
            proof,
            is_right: false,
        })
    }

    /// What a codec does; none of a client.
    pub(crate) fn operation(&self) -> Option<Operation> {
        match &self.proof {
            Proof::Answer(_) => None,
            Proof::Sample(sample) => Some(sample.operation),
        }
    }

    /// Proves it right, before anything of it is timed.
    ///
    /// # Errors
    /// What it makes is wrong, or it does not say.
    pub(crate) fn prove(&mut self, limit: Duration, stop: &AtomicBool) -> Result<(), TrialFailure> {
        if self.is_right {
            return Ok(());
        }
        let verified: Verified = self.asked.subject.verify(limit, stop)?;
        let right = match &self.proof {
            Proof::Answer(workload) => verify::right_answer(&verified, workload),
            Proof::Sample(sample) => sample.right(&verified),
        };
        let wrong = |reason| {
            let failure = TrialFailure::new(Fault::Subject, reason);
            failure.with_log(self.asked.subject.log_tail())
        };
        right.map_err(wrong)?;
        self.is_right = true;
        Ok(())
    }
}

/// What a variant is measured with.
pub(crate) enum Up {
    /// A server that the engine calls.
    Server(Box<Server>),
    /// A server that a client subject calls.
    Client(Box<Server>, Box<Caller>),
    /// A codec.
    Codec(Box<Caller>),
}

impl Up {
    /// The processes of subjects behind it: the server's first.
    fn processes(&self) -> impl Iterator<Item = &Subject> {
        let (server, caller) = match self {
            Self::Server(server) => (server.process(), None),
            Self::Client(server, client) => (server.process(), Some(client)),
            Self::Codec(codec) => (None, Some(codec)),
        };
        server
            .into_iter()
            .chain(caller.map(|caller| &caller.asked.subject))
    }

    /// What its processes said of their versions, the server's first.
    pub(crate) fn versions(&self) -> Vec<BTreeMap<String, String>> {
        self.processes()
            .map(|process| process.ready().versions.clone())
            .collect()
    }

    /// How one of its processes ended, if one did.
    pub(crate) fn ended(&self) -> Option<String> {
        self.processes().find_map(Subject::ended)
    }

    /// Asks its processes to end.
    pub(crate) fn ask_to_end(&mut self) {
        match self {
            Self::Server(server) => server.ask_to_end(),
            Self::Client(server, client) => {
                client.asked.subject.ask_to_end();
                server.ask_to_end();
            }
            Self::Codec(codec) => codec.asked.subject.ask_to_end(),
        }
    }
}
