//! Structured inputs, encoded as bytes.
//!
//! An input consists of setup bytes followed by steps. Each step begins with [`MARK`] and the number of its
//! kind, and its payload extends to the next mark. A mark inside a payload is doubled. Fuzzers can therefore
//! insert, remove and change bytes anywhere without affecting the steps that follow.

/// The byte that begins a step.
pub const MARK: u8 = 0xfe;

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the step does. Each target has its own numbers.
    pub kind: u8,
    /// The step's arguments.
    pub payload: Vec<u8>,
}

/// A parsed script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The bytes before the first step.
    pub setup: Vec<u8>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

impl Script {
    /// Parses arbitrary bytes.
    pub fn read(input: &[u8]) -> Script {
        let mut setup = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        let mut rest = input;
        while let [first, after @ ..] = rest {
            rest = after;
            let mut byte = *first;
            if byte == MARK {
                let Some((kind, after)) = rest.split_first() else {
                    break;
                };
                rest = after;
                if *kind != MARK {
                    steps.push(Step {
                        kind: *kind,
                        payload: Vec::new(),
                    });
                    continue;
                }
                byte = MARK;
            }
            match steps.last_mut() {
                Some(step) => step.payload.push(byte),
                None => setup.push(byte),
            }
        }
        Script { setup, steps }
    }
}

/// Reads numbers from the front of a byte slice. When no bytes are left, reads zeros.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a>(pub &'a [u8]);

impl<'a> Args<'a> {
    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    /// The next two bytes, big-endian.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// The next four bytes, big-endian.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// One of these values, selected by the next byte.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.u8()) % from.len()]
    }

    /// The remaining bytes.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// How the bytes of a step are cut for a parser: the length of the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut(pub usize);

impl Cut {
    /// Leaves the bytes whole.
    pub const WHOLE: Cut = Cut(usize::MAX);

    /// Returns the pieces, none of which is empty.
    pub fn pieces(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        bytes.chunks(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_begin_with_a_mark_and_a_doubled_one_is_a_byte() {
        let input = [
            &[1, MARK, MARK, 2, MARK, 3, MARK, MARK, 7][..],
            &[MARK, 0, MARK, 255, b'a'],
            // A mark at the end is ignored.
            &[MARK],
        ];
        let step = |kind, payload: &[u8]| Step {
            kind,
            payload: payload.to_vec(),
        };
        let script = Script {
            setup: vec![1, MARK, 2],
            steps: vec![step(3, &[MARK, 7]), step(0, b""), step(255, b"a")],
        };
        assert_eq!(Script::read(&input.concat()), script);
    }
}
