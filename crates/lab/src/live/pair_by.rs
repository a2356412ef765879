//! Reads the values by which the responses of a stream are paired with its messages.

use std::sync::Arc;

use rpcgauge_load as load;
use rpcgauge_message::{Limits, MessageType};
use rpcgauge_study::pair_by::PairBy;
use rpcgauge_study::settings::LiveCall;

use super::{LiveError, LiveInputs};
use crate::variant::call_spec::json;

/// Where to find the keys of messages and responses.
#[derive(Debug)]
struct Keys {
    paths: PairBy,
    /// The types of messages and of responses over gRPC; `None` if a message is JSON itself.
    types: Option<[MessageType; 2]>,
    limits: Limits,
}

/// How the responses of these calls are paired with their messages; `None` if they are in order.
///
/// # Errors
/// The messages cannot have values at the paths.
pub(super) fn keys(
    live: &LiveCall,
    inputs: &LiveInputs,
    limits: Limits,
) -> Result<Option<Arc<dyn load::PairBy>>, LiveError> {
    let Some(paths) = &live.service.stream.pair_by else {
        return Ok(None);
    };
    let wrong = |what: String| LiveError::Wrong(format!("pair-by: {what}"));
    let options = &live.options;
    if !options.request_compression.is_none() || !options.response_compression.is_none() {
        let what = "the values of compressed messages are not read; leave the compression out";
        return Err(wrong(what.to_owned()));
    }
    let Some(texts) = &inputs.texts else {
        let what = "the calls send no values; give them messages (--data or --rows)";
        return Err(wrong(what.to_owned()));
    };
    let types = texts.message_type.clone().zip(inputs.response_type.clone());
    if let Some((request, response)) = &types {
        request.check_pointer(&paths.request).map_err(wrong)?;
        response.check_pointer(&paths.response).map_err(wrong)?;
    }
    Ok(Some(Arc::new(Keys {
        paths: paths.clone(),
        types: types.map(<[_; 2]>::from),
        limits,
    })))
}

impl Keys {
    fn key(&self, of: Option<&MessageType>, message: &[u8], pointer: &str) -> Option<String> {
        let json = json(of, &self.limits, message).ok()?;
        let default = of.and_then(|of| of.default_at(pointer));
        PairBy::key(&json, pointer, default)
    }
}

impl load::PairBy for Keys {
    fn request_key(&self, message: &[u8]) -> Result<String, load::CodecError> {
        let of = self.types.as_ref().map(|[request, _]| request);
        let key = self.key(of, message, &self.paths.request);
        key.ok_or_else(|| {
            load::CodecError(format!(
                "pair-by {}: a message has no value there; check the path, or remove the messages that lack the value",
                self.paths
            ))
        })
    }

    fn response_key(&self, message: &[u8]) -> Option<String> {
        let of = self.types.as_ref().map(|[_, response]| response);
        self.key(of, message, &self.paths.response)
    }
}
