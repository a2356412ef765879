//! The bodies of a live service's calls: made before the first is sent where they fit into memory,
//! and otherwise ahead of the calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rpcgauge_load as load;
use rpcgauge_message::data::{DataError, Writer};
use rpcgauge_message::{Codec, Compression, Compressor, EncodeError, Encoding, Limits};
use rpcgauge_study::settings::Settings;
use rpcgauge_trial::{RampPart, Schedule, Stop};

use super::{Extent, LiveError, Texts};

/// Texts that are checked in advance where each call has its own and they are not kept. A later one
/// that cannot be sent fails its call.
const CHECKED: u64 = 1_000;

/// What a body takes beside its bytes.
const BODY_BYTES: u64 = 64;

/// The bodies of a live service's trials. Cheap to clone.
#[derive(Clone)]
pub(crate) enum LiveBodies {
    /// All that differ, used in turn.
    Ready(Arc<[load::Body]>),
    /// More than fit into memory, or an unknown number: made anew for each trial.
    Ahead(Arc<Recipe>),
}

impl LiveBodies {
    /// The bodies for one more trial.
    pub(crate) fn for_trial<'a>(&self) -> Result<load::Bodies<'a>, String> {
        Ok(match self {
            Self::Ready(bodies) => load::Bodies::Prepared {
                bodies: bodies.to_vec(),
                verifier: None,
            },
            Self::Ahead(recipe) => {
                let mut maker = Maker::new(recipe).map_err(|error| error.to_string())?;
                let made = move |call| maker.body(call);
                let sendable = |made: Result<load::Body, LiveError>| {
                    made.map_err(|error| load::CodecError(without_value(&error.to_string())))
                };
                load::Bodies::Streamed(Box::new((0..).map(made).map(sendable)))
            }
        })
    }
}

pub(super) struct Made {
    pub(super) bodies: LiveBodies,
    /// The body of the call that tries the service. Where every call's text is its own and their
    /// number is known, no other call has this one.
    pub(super) probe: load::Body,
}

/// Makes every body that differs, once, or as many as fit into memory, which can take seconds.
///
/// # Errors
/// A text that cannot be sent, and [`LiveError::Interrupted`] when `stop` became true meanwhile.
pub(super) fn make(
    settings: &Settings,
    texts: Option<&Texts>,
    extent: &Extent,
    stop: &AtomicBool,
) -> Result<Made, LiveError> {
    let Some(texts) = texts else {
        let empty = load::Body {
            bytes: Vec::new(),
            compressed: false,
            plain_len: 0,
        };
        return Ok(Made {
            bodies: LiveBodies::Ready(Arc::new([empty.clone()])),
            probe: empty,
        });
    };
    let recipe = Arc::new(Recipe {
        texts: texts.clone(),
        compression: settings.request_compression,
        limits: extent.limits,
    });
    let mut maker = Maker::new(&recipe)?;
    let distinct = texts.data.distinct();
    let calls = most_calls(settings, extent.warmup);
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
            // Each begins with the first row of a file again.
            Maker::new(&recipe)?.check(distinct.unwrap_or(CHECKED), stop)?;
            LiveBodies::Ahead(recipe)
        }
    };
    Ok(Made { bodies, probe })
}

/// How many calls a trial makes at most, its warm-up included, where that follows from its schedule.
fn most_calls(settings: &Settings, warmup: Stop) -> Option<u64> {
    let most = |stop: Stop| {
        let by_time = match (&settings.schedule, stop.time_ms) {
            (Schedule::Rate { per_second, .. }, Some(ms)) => {
                Some(arrivals(per_second * ms as f64 / 1_000.0))
            }
            // It ends with its parts, which are as long as the trial.
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
    let before = if warmup.time_ms == Some(0) {
        Some(0)
    } else {
        most(warmup)
    };
    Some(most(settings.stop)?.saturating_add(before?).max(1))
}

/// Arrivals that will hardly ever be exceeded where there are `mean` on average: arrivals at random
/// vary by the square root of their number.
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
    /// For messages that have a type.
    codec: Option<Codec>,
    compressor: Option<Compressor>,
    writer: Writer,
    /// One text, its memory used again and again.
    text: String,
}

impl Maker {
    fn new(recipe: &Arc<Recipe>) -> Result<Self, LiveError> {
        let compression = recipe.compression;
        let wrong =
            |error: EncodeError| LiveError::Wrong(format!("compression of requests: {error}"));
        let codec = match &recipe.texts.message_type {
            None => None,
            Some(of) => {
                let codec = Codec::new(of.clone(), Encoding::Protobuf, compression, recipe.limits);
                Some(codec.map_err(wrong)?)
            }
        };
        let compressor = match compression.is_none() {
            true => None,
            false => Some(Compressor::new(compression).map_err(wrong)?),
        };
        Ok(Self {
            recipe: Arc::clone(recipe),
            codec,
            compressor,
            writer: recipe
                .texts
                .data
                .writer()
                .map_err(|error| of_rows(recipe, &error))?,
            text: String::new(),
        })
    }

    /// The bodies of the first calls, if they are no larger together.
    fn within(
        &mut self,
        most_bytes: u64,
        count: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<load::Body>>, LiveError> {
        let mut bodies = Vec::new();
        let mut taken = 0;
        for call in 0..count {
            let body = self.body_unless(stop, call)?;
            taken += body.bytes.len() as u64 + BODY_BYTES;
            if taken > most_bytes {
                return Ok(None);
            }
            bodies.push(body);
        }
        Ok(Some(bodies))
    }

    /// Makes the bodies of the first calls and keeps none of them.
    fn check(&mut self, count: u64, stop: &AtomicBool) -> Result<(), LiveError> {
        (0..count).try_for_each(|call| self.body_unless(stop, call).map(drop))
    }

    /// One of many bodies that are made before anything else is done.
    fn body_unless(&mut self, stop: &AtomicBool, call: u64) -> Result<load::Body, LiveError> {
        match stop.load(Ordering::Relaxed) {
            true => Err(LiveError::Interrupted),
            false => self.body(call),
        }
    }

    fn body(&mut self, call: u64) -> Result<load::Body, LiveError> {
        self.text.clear();
        self.writer
            .text(call, &mut self.text)
            .map_err(|error| of_rows(&self.recipe, &error))?;
        self.of_text().map_err(|what| {
            let (source, place) = (&self.recipe.texts.source, self.writer.place());
            LiveError::Wrong(format!("{source}{place}: {what}"))
        })
    }

    fn of_text(&mut self) -> Result<load::Body, String> {
        let plain = self.plain()?;
        let plain_len = plain.len() as u64;
        let (mut bytes, mut compressed) = (plain, false);
        if let Some(compressor) = &mut self.compressor {
            let mut carried = Vec::new();
            compressor
                .compress(&bytes, &mut carried)
                .map_err(|error| error.to_string())?;
            (bytes, compressed) = (carried, true);
        }
        Ok(load::Body {
            bytes,
            compressed,
            plain_len,
        })
    }

    /// The text as the bytes of its message, or as it is.
    fn plain(&mut self) -> Result<Vec<u8>, String> {
        let of = &self.recipe.texts.message_type;
        let (Some(codec), Some(of)) = (&mut self.codec, of) else {
            return Ok(self.text.as_bytes().to_vec());
        };
        let message = of
            .from_json(&self.text)
            .map_err(|error| error.to_string())?;
        let mut plain = Vec::new();
        codec
            .encode(&message, &mut plain)
            .map_err(|error| error.to_string())?;
        Ok(plain)
    }
}

/// The message about a value that does not fit, without the value: the texts of failed calls are kept, and
/// it may be a secret.
fn without_value(said: &str) -> String {
    match (said.find("invalid "), said.rfind(", expected")) {
        (Some(from), Some(to)) if from < to => {
            format!("{}invalid value{}", &said[..from], &said[to..])
        }
        _ => said.to_owned(),
    }
}

/// The error of a row that cannot be read; its text has the place.
fn of_rows(recipe: &Recipe, error: &DataError) -> LiveError {
    LiveError::Wrong(format!("{}: {error}", recipe.texts.source))
}
