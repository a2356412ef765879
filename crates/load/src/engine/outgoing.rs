//! A request that is ready to be sent.

use bytes::Bytes;
use rpcgauge_wire::{Head, grpc};

use crate::bodies::Body;
use crate::error::LoadError;
use crate::trial::{CallStyle, Trial};

/// A request's message in the form in which it is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The bytes passed to the connection, including gRPC's prefix.
    pub(super) body: Bytes,
    /// Length of the message before compression, bytes.
    pub(super) plain: u64,
    /// Length of the message after compression, bytes.
    pub(super) carried: u64,
    /// The request's own head, and the fields by which it differs from that of the trial.
    pub(super) own: Option<Box<OwnHead>>,
}

#[derive(Debug)]
pub(super) struct OwnHead {
    pub(super) head: Head,
    pub(super) fields: Vec<(String, String)>,
}

/// Frames the body of a call of the mix, and encodes its request's own head in advance.
pub(super) fn framed(body: Body, mix_call: usize, trial: &Trial) -> Result<Outgoing, LoadError> {
    let carried = body.bytes.len() as u64;
    let bytes = if let CallStyle::Grpc { .. } = trial.request.style {
        grpc::frame_message(&body.bytes, body.compressed)?
    } else {
        Bytes::from(body.bytes)
    };
    Ok(Outgoing {
        body: bytes,
        plain: body.plain_len,
        carried,
        own: match body.fields {
            fields if fields.is_empty() => None,
            fields => Some(Box::new(OwnHead {
                head: trial.head(mix_call, &fields)?,
                fields,
            })),
        },
    })
}
