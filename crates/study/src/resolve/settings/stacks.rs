//! The stacks of a variant: its server, client or codec, and what they declare.

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::{Compression, WorkloadSpec};

use super::{
    DEFAULT_DEADLINE_MS, Subject, compression, encoding, operation, sample, stop, style, text,
};
use crate::error::StudyError;
use crate::features::{ENGINE, Features, Role};
use crate::file::{CALL_KEYS, Key};
use crate::settings::{
    Callee, Client, ConnectionUse, HttpVersion, Protocol, Sample, Schedule, Settings, Style,
    Transport,
};
use crate::words::Word as _;

impl Subject<'_, '_> {
    /// The client subject; none for the engine.
    pub(super) fn client(&self) -> Result<Option<Client>, StudyError> {
        let stack = text(self.layer, Key::Client).filter(|client| client != ENGINE);
        let asked = style(self.layer, Key::Style);
        let Some(stack) = stack else {
            let why = "is a client subject's, and the engine calls here; write client = \"…\"";
            return self.refuse(&[Key::Style], why).map(|()| None);
        };
        let why = "is the engine's: a client subject opens as many as it needs";
        self.refuse(&[Key::Connections], why)?;
        let first = self.features(Key::Client, &stack)?.styles.first().copied();
        // One without any is no client, which is told when it is checked.
        let style = asked.or(first).unwrap_or(Style::Blocking);
        Ok(Some(Client { stack, style }))
    }

    /// The settings of a codec, which calls nothing.
    pub(super) fn codec(
        &self,
        codec: String,
        workload: WorkloadSpec,
    ) -> Result<Settings, StudyError> {
        let layer = self.layer;
        self.refuse(
            &CALL_KEYS,
            "is a call's, and a codec calls nothing; leave it out",
        )?;
        let features = self.features(Key::Codec, &codec)?;
        let Some(operation) = operation(layer, Key::Operation) else {
            let message = "it has no operation; write operation = \"encode\" or \"decode\"";
            return Err(self.error(Some(Key::Codec), message));
        };
        let encoding = match (encoding(layer, Key::Encoding), &features.encodings[..]) {
            (Some(encoding), _) | (None, &[encoding]) => encoding,
            (None, _) => {
                let message =
                    "it has no encoding, and the codec has several; write encoding = \"json\"";
                return Err(self.error(Some(Key::Codec), message));
            }
        };
        let compression = compression(layer, Key::Compression).unwrap_or(Compression::None);
        let settings = Settings {
            callee: Callee::Codec {
                codec: codec.clone(),
                operation,
                sample: sample(layer, Key::Sample).unwrap_or(Sample::Response),
                workload,
            },
            protocol: Protocol::Rest,
            http: HttpVersion::Http1,
            encoding: Some(encoding),
            request_compression: compression,
            response_compression: compression,
            transport: Transport::Tcp,
            connection: ConnectionUse::Reuse,
            connections: 1,
            schedule: Schedule::Closed { in_flight: 1 },
            stop: stop(layer),
            deadline_ms: DEFAULT_DEADLINE_MS,
        };
        self.has(Key::Codec, &codec, Role::Codec, &settings)?;
        Ok(settings)
    }

    /// Refuses the first of these settings that is written.
    pub(super) fn refuse(&self, keys: &[Key], why: &str) -> Result<(), StudyError> {
        match keys.iter().find(|key| self.layer.get(**key).is_some()) {
            None => Ok(()),
            Some(key) => Err(self.error(Some(*key), format!("\"{}\" {why}", key.word()))),
        }
    }

    /// What the stack can do that `key` names.
    fn features(&self, key: Key, stack: &str) -> Result<&Features, StudyError> {
        let stacks = self.resolver.context.subjects;
        stacks.get(stack).ok_or_else(|| {
            let mut fitting = stacks.clone();
            fitting.retain(|_, features| features.roles.iter().any(|r| r.word() == key.word()));
            let hint = Nearest::or_known(stack, fitting.keys().map(String::as_str));
            let message = format!(
                "there is no {} \"{stack}\"{hint} (--subjects DIR adds your own)",
                key.word()
            );
            self.error(Some(key), message)
        })
    }

    /// Whether the stack has all that the settings need of it.
    pub(super) fn has(
        &self,
        key: Key,
        stack: &str,
        role: Role,
        settings: &Settings,
    ) -> Result<(), StudyError> {
        match self.features(key, stack)?.lack(role, settings) {
            None => Ok(()),
            Some(lack) => {
                let message = format!("the {} \"{stack}\" {}", role.word(), lack.sentence);
                Err(self.error(Key::from_word(lack.setting).or(Some(key)), message))
            }
        }
    }
}
