//! A request that is ready to be sent.

use std::sync::Arc;

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
    /// The key of the message, if responses are paired with messages by keys.
    pub(super) key: Option<Key>,
}

/// The key that a message and its response share.
pub(super) type Key = Arc<str>;

#[derive(Debug)]
pub(super) struct OwnHead {
    pub(super) head: Head,
    pub(super) fields: Vec<(String, String)>,
}

/// Frames the body of a call of the mix, and encodes its request's own head in advance.
pub(super) fn framed(body: Body, mix_call: usize, trial: &Trial) -> Result<Outgoing, LoadError> {
    let carried = body.bytes.len() as u64;
    let by = trial.pair_by.as_ref();
    let key = by.map(|by| by.request_key(&body.bytes)).transpose();
    let key = key.map_err(LoadError::Inputs)?.map(Key::from);
    let bytes = if let CallStyle::Grpc { .. } = trial.request.style {
        grpc::frame_message(&body.bytes, body.compressed)?
    } else {
        Bytes::from(body.bytes)
    };
    Ok(Outgoing {
        body: bytes,
        plain: body.plain_len,
        carried,
        key,
        own: match body.fields {
            fields if fields.is_empty() => None,
            fields => Some(Box::new(OwnHead {
                head: trial.head(mix_call, &fields)?,
                fields,
            })),
        },
    })
}
