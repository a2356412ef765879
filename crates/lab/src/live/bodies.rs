//! The bodies of a live service's calls, all made before the first is sent.

use rpcgauge_load as load;
use rpcgauge_message::{Codec, Compressor, Encoding};
use rpcgauge_study::ramp::RampPart;
use rpcgauge_study::settings::{Schedule, Settings, Stop};

use super::{Extent, LiveError, Texts};

/// Memory that all bodies together may take.
const MOST_BYTES: u64 = 256 << 20;

/// What a body takes beside its bytes.
const BODY_BYTES: u64 = 64;

/// Bodies made ready.
pub(super) struct Made {
    /// Those of the trials, used in turn.
    pub(super) all: Vec<load::Body>,
    /// That of the call that looks at the service. Where every call's text is its own, no other
    /// call has this one.
    pub(super) probe: load::Body,
}

/// Makes every body that differs, once.
pub(super) fn make(
    settings: &Settings,
    texts: Option<&Texts>,
    extent: &Extent,
) -> Result<Made, LiveError> {
    let Some(texts) = texts else {
        let empty = load::Body {
            bytes: Vec::new(),
            compressed: false,
            plain_len: 0,
        };
        return Ok(Made {
            all: vec![empty.clone()],
            probe: empty,
        });
    };
    let mut maker = Maker::new(settings, texts, extent)?;
    match texts.data.distinct() {
        Some(distinct) => {
            let all = maker.bodies(distinct)?;
            let probe = all[0].clone();
            Ok(Made { all, probe })
        }
        None => {
            let calls = most_calls(settings, extent.warmup)
                .ok_or_else(|| LiveError::Endless(texts.source.clone()))?;
            let mut all = maker.bodies(calls + 1)?;
            let probe = all.swap_remove(calls as usize);
            Ok(Made { all, probe })
        }
    }
}

/// How many calls a trial makes at most, its warm-up included, where that can be told.
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

/// Makes bodies out of texts.
struct Maker<'a> {
    texts: &'a Texts,
    /// For messages that have a type.
    codec: Option<Codec>,
    compressor: Option<Compressor>,
    /// One text, its memory used again and again.
    text: String,
}

impl<'a> Maker<'a> {
    fn new(settings: &Settings, texts: &'a Texts, extent: &Extent) -> Result<Self, LiveError> {
        let compression = settings.request_compression;
        let wrong = |error: rpcgauge_message::EncodeError| LiveError::Text {
            source_name: "--request-compression".to_owned(),
            place: String::new(),
            what: error.to_string(),
        };
        let codec = match &texts.message_type {
            None => None,
            Some(of) => {
                let codec = Codec::new(of.clone(), Encoding::Protobuf, compression, extent.limits);
                Some(codec.map_err(wrong)?)
            }
        };
        let compressor = match compression.is_none() {
            true => None,
            false => Some(Compressor::new(compression).map_err(wrong)?),
        };
        Ok(Self {
            texts,
            codec,
            compressor,
            text: String::new(),
        })
    }

    fn bodies(&mut self, count: u64) -> Result<Vec<load::Body>, LiveError> {
        let mut bodies = Vec::new();
        let mut taken = 0;
        for call in 0..count {
            let body = self.body(call)?;
            taken += body.bytes.len() as u64 + BODY_BYTES;
            if taken > MOST_BYTES {
                return Err(LiveError::TooMuch {
                    source_name: self.texts.source.clone(),
                    calls: count,
                    most_mib: MOST_BYTES >> 20,
                });
            }
            bodies.push(body);
        }
        Ok(bodies)
    }

    fn body(&mut self, call: u64) -> Result<load::Body, LiveError> {
        self.text.clear();
        self.texts.data.text(call, &mut self.text);
        let plain = self.plain().map_err(|what| self.wrong(call, what))?;
        let plain_len = plain.len() as u64;
        let (bytes, compressed) = match &mut self.compressor {
            None => (plain, false),
            Some(compressor) => {
                let mut carried = Vec::new();
                compressor
                    .compress(&plain, &mut carried)
                    .map_err(|error| error.to_string())
                    .map_err(|what| self.wrong(call, what))?;
                (carried, true)
            }
        };
        Ok(load::Body {
            bytes,
            compressed,
            plain_len,
        })
    }

    /// The text as the bytes of its message, or as it is.
    fn plain(&mut self) -> Result<Vec<u8>, String> {
        let (Some(codec), Some(of)) = (&mut self.codec, &self.texts.message_type) else {
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

    fn wrong(&self, call: u64, what: String) -> LiveError {
        LiveError::Text {
            source_name: self.texts.source.clone(),
            place: self.texts.data.place(call),
            what,
        }
    }
}
