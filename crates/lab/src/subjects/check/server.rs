//! Checks servers by letting the engine call them.

use rpcgauge_contract as contract;
use rpcgauge_load as load;
use rpcgauge_study::features::{Role, WorkloadKind};
use rpcgauge_study::settings::SubjectCall;
use rpcgauge_trial::{FailureKind, Timing};
use serde_json::json;

use super::{LIMITS, StackCheck, Way, broken, workload, wrong};
use crate::error::TrialResult;
use crate::subjects::SubjectsError;
use crate::variant::server::Up;
use crate::variant::settings_line;
use crate::variant::verify;

/// Not a message in any encoding: an unterminated number in protobuf, not text in JSON, not an object in
/// MessagePack, and a stop code without a start in CBOR.
const NO_MESSAGE: [u8; 3] = [0xff; 3];

/// gRPC's INVALID_ARGUMENT.
const INVALID_ARGUMENT: u32 = 3;

/// HTTP's 400 Bad Request.
const BAD_REQUEST: u16 = 400;

impl StackCheck<'_> {
    pub(super) fn server(&mut self) -> Result<(), SubjectsError> {
        let ways = self.chosen(Way::calls(self.features, Role::Server), Way::values);
        self.ways(&ways, Role::Server)?;
        let Some(first) = ways.first() else {
            return Ok(());
        };
        let threads = self.features.threads;
        if threads > 1 {
            let what = format!("{threads} threads");
            let threads = Way {
                threads,
                ..first.clone()
            };
            self.attempt(&what, |check| check.responds(&threads))?;
        }
        self.attempt("refuses a body that is not a message", |check| {
            let body = NO_MESSAGE.to_vec();
            check.turns_down(first, body, |kind| match kind {
                FailureKind::HttpStatus(status) => (400..500).contains(&status),
                kind => matches!(kind, FailureKind::GrpcStatus(_)),
            })
        })?;
        let is_list = |way: &&Way| way.coding.workload == WorkloadKind::List;
        let list = ways.iter().find(is_list);
        if let Some(list) = list {
            self.attempt("refuses a request that has no answer", |check| {
                check.turns_down(list, too_few(list)?, |kind| {
                    matches!(
                        kind,
                        FailureKind::HttpStatus(BAD_REQUEST)
                            | FailureKind::GrpcStatus(INVALID_ARGUMENT)
                    )
                })
            })?;
        }
        match self.server_line(first) {
            Ok((line, _)) => {
                self.refusals(&line)?;
                self.runtimes(&line)
            }
            Err(failure) => self.attempt("settings", |_| Err(failure)),
        }
    }

    /// Checks that the server's responses are as expected, its marks plausible, and its exit orderly.
    pub(super) fn responds(&mut self, way: &Way) -> TrialResult {
        let mut up = self.up(way)?;
        self.prove(&mut up)?;
        let path = match up.subject.said().address.clone() {
            Some(contract::Address::Unix(path)) => Some(path),
            _ => None,
        };
        up.subject.end_well()?;
        match path {
            Some(path) if path.exists() => Err(wrong("it left its socket file behind")),
            _ => Ok(()),
        }
    }

    /// Checks that the server refuses a request with a kind of failure that `is_right` accepts, and that it
    /// still responds to the next one.
    fn turns_down(
        &mut self,
        way: &Way,
        body: Vec<u8>,
        is_right: impl Fn(FailureKind) -> bool,
    ) -> TrialResult {
        let mut up = self.up(way)?;
        let bodies = load::Bodies::Prepared {
            bodies: vec![load::Body {
                plain_len: body.len() as u64,
                fields: Vec::new(),
                bytes: body,
                compressed: false,
            }],
            verifier: None,
        };
        let trial = load::Trial {
            timing: Timing::Load,
            ..up.calls.trial()
        };
        let settle = &mut |_| load::Settling::Settled;
        let measured = load::measure(&trial, bodies, settle, self.stop).map_err(verify::failure)?;
        let mut failed = measured.figures.calls.failed.keys();
        match failed.next() {
            Some(kind) if is_right(*kind) => self.prove(&mut up),
            Some(kind) => Err(wrong(format!("it responds to this request with {kind}"))),
            None => Err(wrong("it responds to this request as if it were valid")),
        }
        .map_err(|failure| failure.with_log(up.subject.log_tail()))
    }

    fn up(&mut self, way: &Way) -> TrialResult<Up> {
        let (line, call) = self.server_line(way)?;
        let subject = self.start(&line)?;
        Up::new(subject, workload(&call.workload)?, &call, LIMITS, None)
    }

    pub(super) fn prove(&self, up: &mut Up) -> TrialResult {
        let trial = up.calls.trial();
        let calls = load::Trial {
            timing: match trial.streaming {
                None => Timing::Stages,
                Some(_) => Timing::Load,
            },
            ..trial
        };
        let (measured, _) = verify::prove(&mut up.workload_calls, &calls, 0, self.stop)
            .map_err(|failure| up.subject.explain(failure))?;
        match measured.marks.implausible {
            0 => Ok(()),
            _ => Err(wrong(
                "its marks are not timestamps of the host's monotonic clock within the call",
            )),
        }
    }

    fn server_line(&mut self, way: &Way) -> TrialResult<(contract::SettingsLine, SubjectCall)> {
        let call = way.call(None)?;
        let listen = settings_line::listen(way.transport, self.path());
        let command = self.stacks.command(self.stack, Some(&call.workload))?;
        let workload = workload(&call.workload)?;
        let settings = settings_line::server(&call, &workload, listen, command, LIMITS)?;
        let line = contract::SettingsLine::Server(Box::new(settings));
        Ok((line, call))
    }
}

/// A request for a negative number of items.
fn too_few(way: &Way) -> TrialResult<Vec<u8>> {
    let workload = workload(&way.coding.spec()?)?;
    let request = json!({"id": -1}).to_string();
    let request = workload.request_type().from_json(&request);
    let request = request.map_err(broken)?;
    request.to_bytes(way.coding.encoding).map_err(broken)
}
