//! Which variants take turns, and in what slices.
//!
//! Variants of the same kind that are compared with each other take turns: one slice each, in a new
//! random order in every round. Changes of the machine's speed therefore affect all of them equally
//! (docs/method.md).

use std::collections::BTreeMap;

pub use rpcgauge_trial::Slice;

use super::{Claim, Pair, Plan, Variant};
use crate::settings::{ConnectionUse, Settings, Target, Timing};

/// The default length of a slice, µs: short compared with changes of the machine's speed, which last 0.1 to 2 s, and
/// long compared with the disturbance from a change of variant.
pub const SLICE_US: u64 = 2_000;

/// The factor by which slices are longer if each call opens a connection: the kernel is still closing it after the
/// call has completed.
const PER_CALL_FACTOR: u64 = 10;

/// The factor by which slices of a client or codec subject are longer. The lab requests each slice from the subject,
/// which reads the request, flushes its records and replies. That disturbs the first calls and takes time that belongs
/// to no call.
const ASKED_FACTOR: u64 = 5;

/// With one call in flight, at least this many calls of a slice are counted.
const MIN_CALLS: u64 = 4;

/// With several calls in flight, at least this many are counted for each of them, because the slice ends as they drain.
const MIN_CALLS_IN_FLIGHT: u64 = 20;

/// The first calls after a change of variant are left out of the figures until this time has passed and the number of
/// completed calls has reached the number in flight. `make bench-slices` shows how long the first calls are disturbed.
const SKIP_US: u64 = 200;

/// The minimum time of a call to a service on this machine, µs: about that of a bare loop over TCP.
const MIN_CALL_US: u64 = 10;

impl Settings {
    /// How a trial is cut into slices of about `slice_us`. `None` for a trial at a rate, which is measured in one piece
    /// because its arrivals cannot pause between slices.
    pub fn slice(&self, slice_us: u64) -> Option<Slice> {
        let in_flight = u64::from(self.target.in_flight()?);
        let connection = self.target.options().map(|options| options.connection);
        let per_call = match connection {
            Some(ConnectionUse::PerCall) => PER_CALL_FACTOR,
            Some(ConnectionUse::Reuse) | None => 1,
        };
        let asked = if self.target.is_slice_driven() {
            ASKED_FACTOR
        } else {
            1
        };
        Some(Slice {
            skip_calls: in_flight,
            skip_us: SKIP_US,
            least_calls: match in_flight {
                1 => MIN_CALLS,
                _ => MIN_CALLS_IN_FLIGHT * in_flight,
            },
            time_us: slice_us.saturating_mul(per_call).saturating_mul(asked),
        })
    }

    /// Only variants of the same kind take turns. Codecs are a separate kind because their operations are not calls.
    fn kind(&self) -> Option<(Timing, u32, bool)> {
        let is_codec = matches!(self.target, Target::Codec(_));
        Some((self.timing(), self.target.in_flight()?, is_codec))
    }
}

impl Plan {
    /// How a trial with these settings is cut into slices. `None` if it is measured in one piece, like a single live
    /// service, which does not even have a floor to take turns with.
    pub fn slice(&self, settings: &Settings) -> Option<Slice> {
        let is_alone = self.variants.len() == 1 && matches!(settings.target, Target::Live(_));
        settings.slice(self.slice_us).filter(|_| !is_alone)
    }

    /// The minimum number of requests with which a trial measures anything: one or, in slices, twice the number that
    /// the first slice leaves out, because the warm-up may use half of them.
    pub(crate) fn least_requests(&self, settings: &Settings) -> u64 {
        let of_slice = |slice: Slice| 2 * slice.skip_calls * (1 + SKIP_US / MIN_CALL_US);
        self.slice(settings).map_or(1, of_slice)
    }
}

/// The rotation of each variant: the smallest index among the variants that it takes turns with.
/// `compared` yields pairs of names.
pub(super) fn rotations<'n>(
    variants: &[&Variant],
    compared: impl Iterator<Item = (&'n str, &'n str)>,
) -> Vec<u32> {
    let names = variants.iter().map(|variant| &*variant.name);
    let places: BTreeMap<&str, u32> = names.zip(0..).collect();
    let kinds: Vec<_> = variants.iter().map(|v| v.settings.kind()).collect();
    // For each variant, a smaller index of a variant that it takes turns with, or its own index.
    let mut smaller: Vec<u32> = (0..variants.len() as u32).collect();
    for (of, against) in compared {
        let (Some(&of), Some(&against)) = (places.get(of), places.get(against)) else {
            continue;
        };
        let kind = &kinds[of as usize];
        if kind.is_none() || *kind != kinds[against as usize] {
            continue;
        }
        let [first, second] = [of, against].map(|place| smallest(&mut smaller, place));
        smaller[first.max(second) as usize] = first.min(second);
    }
    let all = 0..variants.len() as u32;
    all.map(|place| smallest(&mut smaller, place)).collect()
}

/// The smallest index of the variants that take turns with a variant (union-find). Halves the path to it, which speeds
/// up later calls.
fn smallest(smaller: &mut [u32], mut place: u32) -> u32 {
    while smaller[place as usize] != place {
        let next = smaller[place as usize];
        smaller[place as usize] = smaller[next as usize];
        place = next;
    }
    place
}

/// The names that pairs and claims compare.
pub(super) fn compared<'n>(
    pairs: &'n [Pair],
    claims: &'n [Claim],
) -> impl Iterator<Item = (&'n str, &'n str)> {
    let pairs = pairs.iter().map(|pair| (&*pair.of, &*pair.against));
    let claims = claims.iter().map(|claim| (&*claim.of, &*claim.against));
    pairs.chain(claims)
}

#[cfg(test)]
mod tests {
    use rpcgauge_message::{Encoding, WorkloadSpec};

    use super::*;
    use crate::settings::{Arrivals, Client, CodecWork, Protocol, Schedule, Style, SubjectCall};

    fn call() -> SubjectCall {
        SubjectCall::new(WorkloadSpec::Hello {}, Protocol::Grpc)
    }

    fn variant(name: &str, schedule: Schedule) -> Variant {
        let mut call = call();
        call.options.schedule = schedule;
        Variant {
            name: name.to_owned(),
            group: None,
            repeats: None,
            scale: None,
            warm_up: None,
            settings: Settings::new(call),
        }
    }

    const ONE: Schedule = Schedule::Closed { in_flight: 1 };
    const EIGHT: Schedule = Schedule::Closed { in_flight: 8 };
    const RATE: Schedule = Schedule::Rate {
        per_second: 10.0,
        arrivals: Arrivals::Constant,
    };

    #[test]
    fn compared_variants_of_one_kind_go_round_together() {
        let all = [
            variant("a", ONE),
            variant("b", ONE),
            variant("c", EIGHT),
            variant("d", ONE),
            variant("e", ONE),
            variant("f", RATE),
            variant("g", RATE),
        ];
        let all: Vec<&Variant> = all.iter().collect();
        let compared = [
            ("e", "d"),
            ("d", "b"),
            ("c", "a"),
            ("f", "g"),
            ("a", "nobody"),
        ];
        assert_eq!(
            rotations(&all, compared.into_iter()),
            [0, 1, 2, 1, 1, 5, 6],
            "c has more in flight than a, and arrivals do not stop"
        );
    }

    #[test]
    fn a_slice_follows_from_the_settings() {
        let of = |schedule| variant("a", schedule).settings.slice(SLICE_US);
        assert_eq!(of(ONE).map(|slice| slice.least_calls), Some(4));
        let eight = of(EIGHT).expect("a closed loop");
        assert_eq!((eight.skip_calls, eight.least_calls), (8, 160));
        assert_eq!(eight.time_us, 2_000);
        assert_eq!(of(RATE), None);
        let mut per_call = call();
        per_call.options.connection = ConnectionUse::PerCall;
        let per_call = Settings::new(per_call)
            .slice(1_000)
            .map(|slice| slice.time_us);
        assert_eq!(per_call, Some(10_000));
        let (client, codec) = (asked(Some("python/http")), asked(None));
        assert_eq!(client.slice(1_000).map(|slice| slice.time_us), Some(5_000));
        assert_eq!(codec.slice(1_000).map(|slice| slice.time_us), Some(5_000));
    }

    /// A client's settings, or a codec's.
    fn asked(client: Option<&str>) -> Settings {
        let Some(stack) = client else {
            let hello = WorkloadSpec::Hello {};
            return Settings::new(CodecWork::new("python/json", hello, Encoding::Json));
        };
        Settings::new(SubjectCall {
            client: Some(Client {
                stack: stack.to_owned(),
                style: Style::Blocking,
            }),
            ..call()
        })
    }

    #[test]
    fn a_codec_does_not_go_round_with_calls() {
        let [mut client, mut codec] = ["client", "codec"].map(|name| variant(name, ONE));
        client.settings = asked(Some("python/http"));
        codec.settings = asked(None);
        let all = [&variant("engine", ONE), &client, &codec];
        let compared = [("client", "engine"), ("codec", "engine")];
        assert_eq!(rotations(&all, compared.into_iter()), [0, 0, 2]);
    }
}
