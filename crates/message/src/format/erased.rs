//! Generated messages whose type is known only while the program runs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{decode_generated, encode_generated};
use crate::error::{DecodeError, EncodeError};
use crate::generated::GeneratedMessage;
use crate::{Encoding, Limits};

/// A generated message of any type.
pub(crate) trait Generated: fmt::Debug + Send + Sync {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError>;
    fn as_any(&self) -> &dyn Any;
}

/// Reads a generated message of one type.
pub(crate) type DecodeFn = fn(&[u8], Encoding, &Limits) -> Result<Arc<dyn Generated>, DecodeError>;

/// What reads messages of a type.
pub(crate) const fn decode_fn<M: GeneratedMessage>() -> DecodeFn {
    |bytes, encoding, limits| Ok(Arc::new(decode_generated::<M>(bytes, encoding, limits)?))
}

impl<M: GeneratedMessage> Generated for M {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_generated(self, encoding, out)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
