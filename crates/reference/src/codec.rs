//! The role `codec`: encodes or decodes a sample repeatedly, slice by slice.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_contract::{
    CodecSettings, Failed, Fault, JsonText, Operation, Record, SliceAsk, SliceDone, Until, Verified,
};
use rpcgauge_message::error::{DecodeError, EncodeError};
use rpcgauge_message::{CodeKind, Codec, Encoding, Limits, Message, Sample, Workload};

use crate::clock::{monotonic_ns, process_cpu_ns};

/// A sample, its encoded bytes, and buffers that are reused between operations.
pub(crate) struct Bench {
    codec: Codec,
    operation: Operation,
    message: Message,
    sample: Vec<u8>,
    plain: Vec<u8>,
    compressed: Vec<u8>,
    records: File,
}

impl Bench {
    /// Builds the sample's message, encodes it, and checks that it decodes.
    pub(crate) fn new(asked: &CodecSettings) -> Result<Self, Failed> {
        let workload = Workload::new(&asked.workload).map_err(refused)?;
        let message_type = match asked.sample {
            Sample::Request => workload.request_type(),
            Sample::Response => workload.response_type(),
        };
        let message = message_type
            .from_json(asked.message.as_str())
            .map_err(refused)?;
        let limits = Limits::try_from(asked.limits).map_err(refused)?;
        let codec = Codec::new(
            message_type.clone(),
            asked.encoding,
            asked.compression,
            limits,
        )
        .map_err(refused)?;
        let records = File::create(&asked.records).map_err(|error| {
            let error = format!("cannot create {}: {error}", asked.records.display());
            failed(Fault::Machine, error)
        })?;
        let mut bench = Self {
            codec,
            operation: asked.operation,
            message,
            sample: Vec::new(),
            plain: Vec::new(),
            compressed: Vec::new(),
            records,
        };
        bench.encode().map_err(refused)?;
        bench.sample.clone_from(&bench.compressed);
        bench.decode().map_err(refused)?;
        Ok(bench)
    }

    /// Whether the code being timed is generated or dynamic.
    pub(crate) fn code(&self) -> CodeKind {
        self.message.code()
    }

    /// Runs the operation once and returns its result, for comparison with the expected one.
    pub(crate) fn verify(&mut self) -> Result<Verified, Failed> {
        match self.operation {
            Operation::Encode => {
                self.encode().map_err(broke)?;
                Ok(Verified::Bytes(STANDARD.encode(&self.compressed)))
            }
            Operation::Decode => {
                let message = self.decode().map_err(broke)?;
                let json = message.to_bytes(Encoding::Json).map_err(broke)?;
                let json = String::from_utf8(json).map_err(broke)?;
                Ok(Verified::Message(JsonText::new(json).map_err(broke)?))
            }
        }
    }

    /// Runs one slice of batches and appends its records to the file.
    pub(crate) fn slice(&mut self, asked: &SliceAsk) -> Result<SliceDone, Failed> {
        let operations = asked.batch.unwrap_or(1);
        for _ in 0..asked.skip {
            self.batch(operations)?;
        }
        let mut batches = Vec::new();
        let (cpu, start) = (process_cpu_ns(), monotonic_ns());
        loop {
            let record = self.batch(operations)?;
            batches.push(record);
            let is_over = match asked.until {
                Until::Calls(calls) => batches.len() as u64 >= calls,
                Until::Time(time) => u128::from(record.end - start) >= time.as_nanos(),
            };
            if is_over {
                break;
            }
        }
        let cpu = process_cpu_ns().saturating_sub(cpu);
        let bytes: Vec<u8> = batches.iter().flat_map(Record::to_bytes).collect();
        self.records.write_all(&bytes).map_err(|error| {
            let error = format!("cannot write records: {error}");
            failed(Fault::Machine, error)
        })?;
        Ok(SliceDone {
            records: batches.len() as u64,
            cpu_ns: Some(cpu),
            ..SliceDone::default()
        })
    }

    fn batch(&mut self, operations: u32) -> Result<Record, Failed> {
        let begin = monotonic_ns();
        for _ in 0..operations {
            match self.operation {
                Operation::Encode => self.encode().map_err(broke)?,
                Operation::Decode => {
                    black_box(self.decode().map_err(broke)?);
                }
            }
        }
        Ok(Record {
            begin,
            encoded: None,
            sent: None,
            first_byte: None,
            received: None,
            end: monotonic_ns(),
            handler_start: None,
            handler_end: None,
            request_bytes: None,
            response_bytes: None,
            failed: false,
            operations,
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

fn failed(fault: Fault, error: impl ToString) -> Failed {
    Failed {
        error: error.to_string(),
        fault,
    }
}

fn refused(error: impl ToString) -> Failed {
    failed(Fault::User, error)
}

fn broke(error: impl ToString) -> Failed {
    failed(Fault::Subject, error)
}
