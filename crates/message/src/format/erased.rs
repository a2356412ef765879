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

/// What the code of one generated type can do.
#[derive(Clone, Copy)]
pub(crate) struct GeneratedType {
    pub(crate) full_name: &'static str,
    pub(crate) decode: DecodeFn,
}

type DecodeFn = fn(&[u8], Encoding, &Limits) -> Result<Arc<dyn Generated>, DecodeError>;

impl fmt::Debug for GeneratedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneratedType({})", self.full_name)
    }
}

impl GeneratedType {
    pub(crate) const fn of<M: GeneratedMessage>() -> Self {
        Self {
            full_name: M::FULL_NAME,
            decode: |bytes, encoding, limits| {
                Ok(Arc::new(decode_generated::<M>(bytes, encoding, limits)?))
            },
        }
    }
}

impl<M: GeneratedMessage> Generated for M {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_generated(self, encoding, out)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
