//! When and how a call is answered.

use crate::arguments::{Arguments, duration};
use crate::clock::{MILLISECOND, Nanos, SECOND};

/// The response to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// The message.
    Message,
    /// HTTP status 503, or gRPC status `UNAVAILABLE`.
    Refusal,
}

/// A call's response and when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The earliest time for the response.
    pub at: Nanos,
    /// The response.
    pub response: Response,
}

/// When calls are answered.
#[derive(Debug, Clone)]
pub enum Behaviour {
    /// Immediately.
    Bare,
    /// Like a server that stalls in every period.
    Stall(Stall),
    /// Each call after a delay of its own.
    Delay(Delay),
}

impl Behaviour {
    /// Parses a server's name and arguments.
    ///
    /// # Errors
    /// If they are invalid.
    pub fn read(name: &str, arguments: &mut Arguments, start: Nanos) -> Result<Self, String> {
        match name {
            "bare" => Ok(Self::Bare),
            "stall" => Ok(Self::Stall(Stall::read(arguments, start)?)),
            "delay" => {
                let shape = arguments.text("shape").ok_or("shape=… is missing")?;
                Ok(Self::Delay(Delay {
                    shape: Shape::read(&shape)?,
                    calls: 0,
                }))
            }
            _ => Err(format!(
                "{name} is not a server: it must be bare, stall or delay"
            )),
        }
    }

    /// Whether it refuses calls.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self, Self::Stall(stall) if stall.refuse_one_in > 0)
    }

    /// Whether responses have due times and calls are recorded.
    pub fn is_timed(&self) -> bool {
        !matches!(self, Self::Bare)
    }

    /// Decides when and how to answer a call that arrived at `now`.
    pub fn decide(&mut self, now: Nanos) -> Due {
        match self {
            Self::Bare => Due {
                at: now,
                response: Response::Message,
            },
            Self::Stall(stall) => stall.decide(now),
            Self::Delay(delay) => Due {
                at: now + delay.next(),
                response: Response::Message,
            },
        }
    }
}

/// A server that does nothing in the last part of every period, as if it were collecting garbage.
#[derive(Debug, Clone)]
pub struct Stall {
    start: Nanos,
    every: Nanos,
    length: Nanos,
    /// The time that a call takes, one call at a time; `None` serves all calls concurrently, in no time.
    service: Option<Nanos>,
    /// When the service of the last call ends.
    free_at: Nanos,
    /// One in this many calls is refused; 0 refuses none.
    refuse_one_in: u64,
    calls: u64,
}

impl Stall {
    fn read(arguments: &mut Arguments, start: Nanos) -> Result<Self, String> {
        let stall = Self {
            start,
            every: arguments.duration("every")?.unwrap_or(SECOND),
            length: arguments.duration("length")?.unwrap_or(100 * MILLISECOND),
            service: arguments.duration("service")?,
            free_at: 0,
            refuse_one_in: arguments.value("refuse-one-in")?.unwrap_or(0),
            calls: 0,
        };
        if stall.length >= stall.every {
            return Err("length must be less than every".to_owned());
        }
        Ok(stall)
    }

    fn decide(&mut self, now: Nanos) -> Due {
        self.calls += 1;
        let is_refused = self.refuse_one_in > 0 && self.calls.is_multiple_of(self.refuse_one_in);
        let at = match self.service {
            None => self.working_from(now),
            Some(service) => {
                self.free_at = self.work(now.max(self.free_at), service);
                self.free_at
            }
        };
        Due {
            at,
            response: if is_refused {
                Response::Refusal
            } else {
                Response::Message
            },
        }
    }

    /// The first time, from `now` on, at which the server is not stalling.
    fn working_from(&self, now: Nanos) -> Nanos {
        let phase = (now - self.start) % self.every;
        if phase < self.every - self.length {
            now
        } else {
            now + self.every - phase
        }
    }

    /// When work of this length ends if it can start at `now`. Stalls interrupt it.
    fn work(&self, now: Nanos, length: Nanos) -> Nanos {
        let (mut at, mut left) = (self.working_from(now), length);
        loop {
            let until_stall = self.every - self.length - (at - self.start) % self.every;
            if left <= until_stall {
                return at + left;
            }
            left -= until_stall;
            at += until_stall + self.length;
        }
    }
}

/// A delay for each call, from a known distribution.
#[derive(Debug, Clone)]
pub struct Delay {
    shape: Shape,
    calls: u64,
}

impl Delay {
    fn next(&mut self) -> Nanos {
        self.calls += 1;
        self.shape.nth(self.calls)
    }
}

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Always the same.
    Constant(Nanos),
    /// Every time in a range equally often.
    Uniform {
        /// The shortest time.
        low: Nanos,
        /// The longest time.
        high: Nanos,
    },
    /// One of two times.
    Bimodal {
        /// The shorter time.
        low: Nanos,
        /// The longer time.
        high: Nanos,
        /// The fraction of longer times.
        high_part: f64,
    },
}

impl Shape {
    /// Parses `constant:10ms`, `uniform:5ms:25ms` or `bimodal:5ms:50ms:0.2`. The last number is the fraction of
    /// longer times.
    ///
    /// # Errors
    /// If it does not have this form.
    pub fn read(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let shape = match parts[..] {
            ["constant", delay] => Self::Constant(duration(delay)?),
            ["uniform", low, high] => Self::Uniform {
                low: duration(low)?,
                high: duration(high)?,
            },
            ["bimodal", low, high, part] => Self::Bimodal {
                low: duration(low)?,
                high: duration(high)?,
                high_part: part
                    .parse()
                    .map_err(|_| format!("{part} is not a fraction"))?,
            },
            _ => return Err(format!("{text} is not a distribution")),
        };
        match shape {
            Self::Uniform { low, high } | Self::Bimodal { low, high, .. } if low > high => {
                Err(format!("{text}: the first time must not exceed the second"))
            }
            shape => Ok(shape),
        }
    }

    /// The n-th time: the quantile at the fractional part of n times the golden ratio. This sequence fills the
    /// distribution evenly, so the truth needs no sampling: after N times, each percentile is accurate to about
    /// 1/N.
    pub(crate) fn nth(&self, n: u64) -> Nanos {
        // 2^64 divided by the golden ratio. The product wraps around just like the fractional part.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        self.quantile(n.wrapping_mul(STEP) as f64 / 2f64.powi(64))
    }

    fn quantile(&self, part: f64) -> Nanos {
        match *self {
            Self::Constant(delay) => delay,
            Self::Uniform { low, high } => low + (part * (high - low) as f64) as Nanos,
            Self::Bimodal {
                low,
                high,
                high_part,
            } => {
                if part < 1.0 - high_part {
                    low
                } else {
                    high
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = 7 * SECOND;

    fn stall(service: Option<Nanos>, refuse_one_in: u64) -> Stall {
        Stall {
            start: START,
            every: SECOND,
            length: 100 * MILLISECOND,
            service,
            free_at: 0,
            refuse_one_in,
            calls: 0,
        }
    }

    /// When a call that arrives `came_ms` after the start is answered, in ms after the start.
    fn answered_ms(stall: &mut Stall, came_ms: u64) -> f64 {
        let due = stall.decide(START + came_ms * MILLISECOND);
        (due.at - START) as f64 / MILLISECOND as f64
    }

    #[test]
    fn calls_in_a_stall_wait_for_its_end() {
        let mut stall = stall(None, 0);
        for (came, answered) in [(0, 0.0), (899, 899.0), (900, 1000.0), (1950, 2000.0)] {
            assert_eq!(answered_ms(&mut stall, came), answered);
        }
    }

    #[test]
    fn one_call_at_a_time_waits_for_the_one_before() {
        let mut stall = stall(Some(2 * MILLISECOND), 0);
        assert_eq!(answered_ms(&mut stall, 10), 12.0);
        assert_eq!(answered_ms(&mut stall, 11), 14.0);
        // A stall interrupts a call at 900 ms, with 1 ms of work left.
        assert_eq!(answered_ms(&mut stall, 899), 1001.0);
        assert_eq!(answered_ms(&mut stall, 950), 1003.0);
    }

    #[test]
    fn every_nth_call_is_refused() {
        let mut stall = stall(None, 3);
        let responses: Vec<Response> = (0..6).map(|n| stall.decide(START + n).response).collect();
        let (message, refusal) = (Response::Message, Response::Refusal);
        assert_eq!(
            responses,
            [message, message, refusal, message, message, refusal]
        );
    }

    #[test]
    fn delays_fill_their_distribution_evenly() {
        const CALLS: usize = 10_000;
        for (text, wanted) in [
            ("constant:10ms", [10.0, 10.0, 10.0]),
            ("uniform:5ms:25ms", [15.0, 24.8, 24.98]),
            ("bimodal:5ms:50ms:0.2", [5.0, 50.0, 50.0]),
        ] {
            let mut delay = Delay {
                shape: Shape::read(text).unwrap(),
                calls: 0,
            };
            let mut delays: Vec<Nanos> = (0..CALLS).map(|_| delay.next()).collect();
            delays.sort_unstable();
            for (quantile, wanted) in [0.5, 0.99, 0.999].into_iter().zip(wanted) {
                let got = delays[(CALLS as f64 * quantile) as usize] as f64 / MILLISECOND as f64;
                assert!(
                    (got - wanted).abs() < 0.01,
                    "{text} at {quantile}: {got} ms"
                );
            }
        }
    }

    #[test]
    fn an_invalid_distribution_is_refused() {
        for text in [
            "",
            "constant",
            "uniform:5ms",
            "uniform:9ms:5ms",
            "bimodal:1ms:2ms:x",
        ] {
            assert!(Shape::read(text).is_err(), "{text}");
        }
    }
}
