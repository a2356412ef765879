//! The plan of measurements that check a map: ways to call from another plan, with messages of other sizes, over emulated
//! networks (docs/map.md).

use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_trial::Random;

use super::draft::{Control, Draft, DraftError};
use super::order::Rounds;
use super::{Metric, Pair, Plan, SharedProcesses, Variant};
use crate::link::{self, NamedLink};
use crate::scale::{self, ScaleError};
use crate::settings::{ConnectionUse, Stop, Target};

/// The calls of a way at a point: their median is compared with one computed time.
const CALLS: u64 = 8;

/// Enough for the window of a kept connection to hold the message.
const WARM_UP_CALLS: u64 = 3;

/// A network and a size of the message at which a map is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct MapPoint {
    /// The value of the key whose values are the sizes, `n` or `scale`.
    pub size: u32,
    /// The emulated network.
    pub network: Box<NamedLink>,
    /// Whether each call opens a connection.
    pub new_connection: bool,
    /// The ways to call: their names, and the variants of the plan that have their other settings. Those of a user's own
    /// method have the scale 1.
    pub ways: Vec<(String, String)>,
}

/// Random points, without ways to call. They follow from a seed.
#[derive(Debug)]
pub struct MapDraws {
    random: Random,
    /// The smallest and the largest size.
    pub sizes: [u32; 2],
    /// The lowest and the highest rate, bit/s.
    pub bits_per_second: [u64; 2],
    /// The shortest and the longest round trip, ns.
    pub round_trips_ns: [u64; 2],
}

impl MapDraws {
    /// Points between the same bounds for the same seed.
    pub fn new(
        seed: u64,
        sizes: [u32; 2],
        bits_per_second: [u64; 2],
        round_trips_ns: [u64; 2],
    ) -> Self {
        Self {
            random: Random::new(seed),
            sizes,
            bits_per_second,
            round_trips_ns,
        }
    }

    /// A number between two others, whose logarithm is uniformly distributed.
    fn between(&mut self, [low, high]: [u64; 2]) -> f64 {
        let [low, high] = [low, high].map(|end| end as f64);
        low * (high / low).powf(self.random.unit())
    }
}

impl Iterator for MapDraws {
    type Item = MapPoint;

    fn next(&mut self) -> Option<MapPoint> {
        let size = self.between(self.sizes.map(u64::from)).round() as u32;
        // Rounded, so that the link's name is short.
        let rate = (self.between(self.bits_per_second) / 1e4).round() as u64 * 10_000;
        let delay = (self.between(self.round_trips_ns) / 2e4).round() as u64 * 10_000;
        let new_connection = self.random.unit() < 0.5;
        // The longest queue holds every message.
        let link = format!(
            "rate={}+delay={}+queue=10s",
            link::format_rate(rate),
            link::format_delay(delay)
        );
        Some(MapPoint {
            size,
            network: link::named(&link).ok()??,
            new_connection,
            ways: Vec::new(),
        })
    }
}

/// Why points cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapPointError {
    /// A way is not a call whose size can change.
    #[error("the variant \"{0}\" is not a call of the plan whose size can change")]
    NoCall(String),
    /// The response of that size cannot be made.
    #[error("{0}")]
    Scale(#[from] ScaleError),
    /// There are no points, or points without ways.
    #[error("there is nothing to check")]
    Empty,
}

impl Plan {
    /// A plan that measures these points, each in a group of its own, whose ways take turns.
    ///
    /// # Errors
    /// [`MapPointError`]
    pub fn at_points(&self, points: &[MapPoint]) -> Result<Plan, MapPointError> {
        let once = Rounds {
            invocations: 1,
            blocks: 1,
        };
        let (mut variants, mut pairs, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, point) in (1..).zip(points) {
            let group = point_group(number);
            let ways = point.ways.iter();
            let ways = ways.map(|(way, variant)| self.at_point(&group, way, variant, point));
            let ways: Vec<Variant> = ways.collect::<Result<_, _>>()?;
            let names = ways.iter().map(|variant| &variant.name);
            let others = ways.first().into_iter().flat_map(|first| {
                let against = move |of: &String| pair(of, &first.name);
                names.clone().skip(1).map(against)
            });
            pairs.extend(others);
            // Each way has processes of its own, of the programs that were measured before.
            let places = (variants.len() as u32..).zip(&point.ways);
            processes.extend(places.filter_map(|(place, (_, variant))| {
                let programs = self.processes_of(self.place(variant)?)?;
                Some(SharedProcesses {
                    variants: vec![place],
                    ..programs.clone()
                })
            }));
            variants.extend(ways.into_iter().map(|variant| (variant, once)));
        }
        let draft = Draft {
            plan: Plan {
                name: format!("{}-check", self.name),
                question: "How accurate is the map of sizes and networks?".to_owned(),
                variants: Vec::new(),
                shared_processes: processes,
                own_processes: Default::default(),
                pairs,
                claims: Vec::new(),
                codecs: Default::default(),
                objectives: Vec::new(),
                placements: self.placements.iter().take(1).copied().collect(),
                warmup: Stop {
                    calls: Some(WARM_UP_CALLS),
                    time_ms: None,
                },
                trials: Vec::new(),
                ..self.clone()
            },
            variants,
            check_rounds: once,
            control: Control::Absent,
            own_controls: Default::default(),
        };
        draft.finish().map_err(|error| match error {
            DraftError::Empty => MapPointError::Empty,
            DraftError::Taken(name) | DraftError::NoStages { variant: name, .. } => {
                MapPointError::NoCall(name)
            }
        })
    }

    fn at_point(
        &self,
        group: &str,
        way: &str,
        variant: &str,
        point: &MapPoint,
    ) -> Result<Variant, MapPointError> {
        let no_call = || MapPointError::NoCall(variant.to_owned());
        let mut settings = self.variant(variant).ok_or_else(no_call)?.settings.clone();
        let Target::Call(call) = &mut settings.target else {
            return Err(no_call());
        };
        let mut scaled = None;
        match &mut call.workload {
            WorkloadSpec::Echo { n }
            | WorkloadSpec::List { n }
            | WorkloadSpec::Records { n }
            | WorkloadSpec::Followers { n } => *n = point.size,
            WorkloadSpec::Own(own) => {
                scaled = Some(point.size);
                let longer: OwnWorkload = scale::response(own, point.size, self.limits)?;
                **own = longer;
            }
            WorkloadSpec::Hello {} | WorkloadSpec::Items {} | WorkloadSpec::Profile {} => {
                return Err(no_call());
            }
        }
        call.link = Some(point.network.clone());
        if point.new_connection {
            call.options.connection = ConnectionUse::PerCall;
        }
        settings.stop = Stop {
            calls: Some(CALLS),
            time_ms: None,
        };
        Ok(Variant {
            name: format!("{group}-{way}"),
            group: Some(group.to_owned()),
            repeats: None,
            scale: scaled,
            warm_up: None,
            settings,
        })
    }
}

/// The group of a point, by its number from 1.
fn point_group(number: u32) -> String {
    format!("point-{number:02}")
}

fn pair(of: &str, against: &str) -> Pair {
    Pair {
        name: of.to_owned(),
        question: format!("Is {of} faster than {against}?"),
        of: of.to_owned(),
        against: against.to_owned(),
        metric: Metric::LatencyP50,
        headline: false,
        a_a: false,
    }
}

impl Variant {
    /// The name of the way to call that the variant measures at a point of a map ([`Plan::at_points`]).
    pub fn way_at_point(&self) -> Option<&str> {
        let (_, way) = self.name.split_at_checked(self.group.as_deref()?.len())?;
        way.strip_prefix('-')
    }
}
