//! Role `codec`: a sample encoded or decoded again and again, timed by the batch.

use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::contract::{Batch, Code, CodecSettings, Fault, Operation, Sample};
use rpcgauge_message::error::{DecodeError, EncodeError};
use rpcgauge_message::{Codec, Message, Workload};

use crate::clock::monotonic_ns;
use crate::subject::{Ended, checked};

/// A sample, its bytes, and the buffers that are kept from operation to operation.
pub(crate) struct Bench {
    codec: Codec,
    operation: Operation,
    message: Message,
    sample: Vec<u8>,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl Bench {
    /// Makes the sample ready in both forms, and checks that it decodes.
    pub(crate) fn new(asked: &CodecSettings) -> Result<Self, Ended> {
        let refused = |error: String| Ended::Refused(error, Fault::User);
        if asked.batches == 0 || asked.batch_size == 0 {
            return Err(refused(
                "batches and batch_size must be 1 or more".to_owned(),
            ));
        }
        let workload =
            Workload::new(&asked.workload).map_err(|error| refused(error.to_string()))?;
        let (message, message_type) = match asked.sample {
            Sample::Request => (workload.request(0), workload.request_type()),
            Sample::Response => (workload.expected(0), workload.response_type()),
        };
        let limits = checked(asked.limits)?;
        let codec = Codec::new(
            message_type.clone(),
            asked.encoding,
            asked.compression,
            limits,
        )
        .map_err(|error| refused(error.to_string()))?;
        let mut bench = Self {
            codec,
            operation: asked.operation,
            message,
            sample: Vec::new(),
            plain: Vec::new(),
            compressed: Vec::new(),
        };
        bench.encode().map_err(|error| refused(error.to_string()))?;
        bench.sample.clone_from(&bench.compressed);
        bench.decode().map_err(|error| refused(error.to_string()))?;
        Ok(bench)
    }

    /// Whether generated or dynamic code is timed.
    pub(crate) fn code(&self) -> Code {
        self.message.code()
    }

    /// The encoded and compressed sample.
    pub(crate) fn sample_base64(&self) -> String {
        STANDARD.encode(&self.sample)
    }

    /// Times one batch.
    pub(crate) fn run_batch(&mut self, batch: u32, operations: u32) -> Result<Batch, Ended> {
        let broke = |error: String| Ended::Broke(error, Fault::Subject);
        let start = monotonic_ns();
        for _ in 0..operations {
            match self.operation {
                Operation::Encode => self.encode().map_err(|error| broke(error.to_string()))?,
                Operation::Decode => {
                    black_box(self.decode().map_err(|error| broke(error.to_string()))?);
                }
            }
        }
        let elapsed_ns = monotonic_ns().saturating_sub(start);
        Ok(Batch {
            batch,
            operations,
            elapsed_ns,
        })
    }

    fn encode(&mut self) -> Result<(), EncodeError> {
        self.plain.clear();
        self.compressed.clear();
        self.codec
            .encode(black_box(&self.message), &mut self.plain)?;
        self.codec.compress(&self.plain, &mut self.compressed)?;
        black_box(&self.compressed);
        Ok(())
    }

    fn decode(&mut self) -> Result<Message, DecodeError> {
        self.codec
            .decompress(black_box(&self.sample), &mut self.plain)?;
        self.codec.decode(&self.plain)
    }
}
