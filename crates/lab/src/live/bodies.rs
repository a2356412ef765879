//! The bodies of a live service's calls. They are built before the first call if they fit into memory;
//! otherwise they are built ahead of the calls while these run.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rpcgauge_load as load;
use rpcgauge_message::data::{DataError, Writer};
use rpcgauge_message::{Codec, Compression, Compressor, EncodeError, Encoding, Limits};
use rpcgauge_study::settings::CallOptions;
use rpcgauge_trial::{RampPart, Schedule, Stop, Streaming};

use super::{Extent, LiveError, Texts};

/// The number of texts to check in advance if every call has its own text and the bodies do not fit into
/// memory. A later text that cannot be sent fails its call.
const CHECKED: u64 = 1_000;

/// The memory that a body uses in addition to its bytes.
const BODY_BYTES: u64 = 64;

/// The memory that the head of a request uses if it differs from the others.
const HEAD_BYTES: u64 = 1_024;

/// The bodies of a live service's trials. Cheap to clone.
#[derive(Clone)]
pub(crate) enum LiveBodies {
    /// All distinct bodies; calls cycle through them.
    Ready(Arc<[load::Body]>),
    /// The bodies do not fit into memory or their number is unknown: they are built again for each trial.
    Ahead(Arc<Recipe>),
}

impl LiveBodies {
    /// The bodies for one trial, or for a thread's part of it. A thread generates all and uses its part, since rows of
    /// a large file can only be read in order.
    pub(crate) fn for_trial(&self, shard: load::Shard) -> Result<load::MixBodies, String> {
        Ok(match self {
            Self::Ready(bodies) => load::MixBodies::Prepared(shard.pick(bodies)),
            Self::Ahead(recipe) => {
                let mut maker = Maker::new(recipe).map_err(|error| error.to_string())?;
                let made = move |call| maker.body(call);
                let sendable = |made: Result<load::Body, LiveError>| {
                    made.map_err(|error| load::CodecError(without_value(&error.to_string())))
                };
                let all = (0..).map(made).map(sendable);
                let part = all.skip(shard.index()).step_by(shard.of());
                load::MixBodies::Streamed(Box::new(part))
            }
        })
    }
}

pub(super) struct Made {
    pub(super) bodies: LiveBodies,
    /// The body of the call that probes the service. If every call has its own text and their number is known,
    /// no other call uses this text.
    pub(super) probe: load::Body,
}

/// Which share of a trial's calls use the bodies: those of a call of a mix, or all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) weight: u32,
    /// The sum of all weights.
    pub(super) all: u32,
    /// The number of threads that divide the calls evenly.
    pub(super) threads: u32,
}

impl Share {
    /// The maximum number of bodies that this share of a warm-up and of a measured part needs. Each thread has a cycle
    /// of the mix of its own, and may end within it.
    fn of(self, [warmup, measured]: [u64; 2]) -> u64 {
        let [weight, all, threads] = [self.weight, self.all, self.threads].map(u64::from);
        let each = warmup
            .div_ceil(threads)
            .saturating_add(measured.div_ceil(threads))
            .max(1);
        let cycles = each / all + 1;
        cycles
            .saturating_mul(weight)
            .min(each)
            .saturating_mul(threads)
    }
}

/// Builds every distinct body once if they all fit into memory; otherwise checks the texts. Each message of a
/// streaming call has a body. This can take several seconds.
///
/// # Errors
/// Fails if a text cannot be sent or `stop` is set ([`LiveError::Interrupted`]).
pub(super) fn make(
    options: &CallOptions,
    texts: Option<&Texts>,
    streaming: Option<&Streaming>,
    extent: &Extent,
    share: Share,
    stop: &AtomicBool,
) -> Result<Made, LiveError> {
    let Some(texts) = texts else {
        let empty = load::Body {
            bytes: Vec::new(),
            compressed: false,
            plain_len: 0,
            fields: Vec::new(),
        };
        return Ok(Made {
            bodies: LiveBodies::Ready(Arc::new([empty.clone()])),
            probe: empty,
        });
    };
    let recipe = Arc::new(Recipe {
        texts: texts.clone(),
        compression: options.request_compression,
        limits: extent.limits,
    });
    let mut maker = Maker::new(&recipe)?;
    let distinct = texts.data.distinct();
    let calls = max_calls(&options.schedule, extent).map(|calls| share.of(calls));
    let messages = streaming.map_or(Some(1), |streaming| streaming.messages);
    let calls = calls.zip(messages);
    let calls = calls.map(|(calls, messages)| calls.saturating_mul(messages));
    let probe = maker.body(match (distinct, calls) {
        (None, Some(calls)) => calls,
        _ => 0,
    })?;
    let ready = match distinct.or(calls) {
        Some(count) => Maker::new(&recipe)?.within(extent.prepared_bytes, count, stop)?,
        None => None,
    };
    let bodies = match ready {
        Some(all) => LiveBodies::Ready(all.into()),
        None => {
            // A new maker starts again with the first row of a file.
            let mut maker = Maker::new(&recipe)?;
            let mut checked = maker.first(distinct.unwrap_or(CHECKED), stop);
            checked.try_for_each(|body| body.map(drop))?;
            LiveBodies::Ahead(recipe)
        }
    };
    Ok(Made { bodies, probe })
}

/// The maximum number of calls in the warm-up and in the measured part; `None` if the schedule does not determine it.
fn max_calls(schedule: &Schedule, extent: &Extent) -> Option<[u64; 2]> {
    let most = |stop: Stop| {
        let by_time = match (schedule, stop.time_ms) {
            (Schedule::Rate { per_second, .. }, Some(ms)) => {
                Some(arrivals(per_second * ms as f64 / 1_000.0))
            }
            // A ramp ends with its last part; its parts together last as long as the trial.
            (Schedule::Ramp { parts, .. }, _) => {
                Some(arrivals(parts.iter().map(RampPart::calls).sum()))
            }
            _ => None,
        };
        match (stop.calls, by_time) {
            (Some(calls), Some(by_time)) => Some(calls.min(by_time)),
            (calls, by_time) => calls.or(by_time),
        }
    };
    let before = match extent.warmup.time_ms {
        Some(0) => Some(0),
        _ => most(extent.warmup),
    };
    Some([before?, most(extent.measured)?])
}

/// An upper bound on the number of arrivals, almost never exceeded if the mean is `mean`: the standard
/// deviation of random arrivals is the square root of the mean.
fn arrivals(mean: f64) -> u64 {
    const DEVIATIONS: f64 = 7.0;
    (mean + DEVIATIONS * mean.sqrt()).ceil() as u64 + 1
}

pub(crate) struct Recipe {
    texts: Texts,
    compression: Compression,
    limits: Limits,
}

struct Maker {
    recipe: Arc<Recipe>,
    /// Encodes messages that have a type; `None` if texts are sent verbatim.
    codec: Option<Codec>,
    compressor: Option<Compressor>,
    writer: Writer,
    /// The current text, kept to reuse its memory.
    text: String,
}

impl Maker {
    fn new(recipe: &Arc<Recipe>) -> Result<Self, LiveError> {
        let compression = recipe.compression;
        let wrong =
            |error: EncodeError| LiveError::Wrong(format!("compression of requests: {error}"));
        let of = recipe.texts.message_type.clone();
        let codec = of.map(|of| Codec::new(of, Encoding::Protobuf, compression, recipe.limits));
        let compressor = (!compression.is_none()).then(|| Compressor::new(compression));
        Ok(Self {
            recipe: Arc::clone(recipe),
            codec: codec.transpose().map_err(wrong)?,
            compressor: compressor.transpose().map_err(wrong)?,
            writer: recipe
                .texts
                .data
                .writer()
                .map_err(|error| of_rows(recipe, &error))?,
            text: String::new(),
        })
    }

    /// The bodies of the first `count` calls; `None` if their total size exceeds `max_bytes`.
    fn within(
        &mut self,
        max_bytes: u64,
        count: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<load::Body>>, LiveError> {
        let mut bodies = Vec::new();
        let mut taken = 0;
        for body in self.first(count, stop) {
            let body = body?;
            let head = if body.fields.is_empty() {
                0
            } else {
                HEAD_BYTES
            };
            taken += body.bytes.len() as u64 + BODY_BYTES + head;
            if taken > max_bytes {
                return Ok(None);
            }
            bodies.push(body);
        }
        Ok(Some(bodies))
    }

    /// The bodies of the first `count` calls. Yields an error once `stop` is set.
    fn first(
        &mut self,
        count: u64,
        stop: &AtomicBool,
    ) -> impl Iterator<Item = Result<load::Body, LiveError>> {
        (0..count).map(|call| {
            if stop.load(Ordering::Relaxed) {
                Err(LiveError::Interrupted)
            } else {
                self.body(call)
            }
        })
    }

    fn body(&mut self, call: u64) -> Result<load::Body, LiveError> {
        self.text.clear();
        self.writer
            .text(call, &mut self.text)
            .map_err(|error| of_rows(&self.recipe, &error))?;
        let body = self.of_text().map_err(|what| {
            let (source, place) = (&self.recipe.texts.source, self.writer.place());
            LiveError::Wrong(format!("{source}{place}: {what}"))
        })?;
        let names = self.recipe.texts.fields.iter().cloned();
        Ok(load::Body {
            fields: names.zip(self.writer.fields().iter().cloned()).collect(),
            ..body
        })
    }

    /// A body with the current text: the bytes of its message, or the text itself if it has no type.
    fn of_text(&mut self) -> Result<load::Body, Box<dyn Error>> {
        let mut bytes = Vec::new();
        let has_text = self.recipe.texts.data.has_text();
        match (&mut self.codec, &self.recipe.texts.message_type) {
            (Some(codec), Some(of)) if has_text => {
                let message = of.from_json(&self.text).map_err(|error| {
                    let unquoted = error
                        .is_of_value()
                        .then(|| self.recipe.texts.data.unquoted());
                    format!("{error}{}", unquoted.unwrap_or_default())
                })?;
                codec.encode(&message, &mut bytes)?;
            }
            _ => bytes.extend_from_slice(self.text.as_bytes()),
        }
        let plain_len = bytes.len() as u64;
        let mut compressor = self.compressor.as_mut().filter(|_| has_text);
        if let Some(compressor) = &mut compressor {
            let plain = std::mem::take(&mut bytes);
            compressor.compress(&plain, &mut bytes)?;
        }
        Ok(load::Body {
            bytes,
            compressed: compressor.is_some(),
            plain_len,
            fields: Vec::new(),
        })
    }
}

/// Removes the value from an error message about an invalid value, because error texts of failed calls are
/// recorded and the value may be secret.
fn without_value(said: &str) -> String {
    match (said.find("invalid "), said.rfind(", expected")) {
        (Some(from), Some(to)) if from < to => {
            format!("{}invalid value{}", &said[..from], &said[to..])
        }
        _ => said.to_owned(),
    }
}

/// The error for a row that cannot be read. Its text names the row.
fn of_rows(recipe: &Recipe, error: &DataError) -> LiveError {
    LiveError::Wrong(format!("{}: {error}", recipe.texts.source))
}
