//! Inputs with structure, as bytes.
//!
//! An input is some setup bytes, then steps. Each step begins with [`MARK`] and the number of what
//! it does; its payload continues to the next mark. A mark inside a payload is doubled. So bytes can
//! be put in, taken out and changed anywhere, as fuzzers do, and what follows stays what it was.

/// Begins a step.
pub const MARK: u8 = 0xfe;

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to do; each target has its own numbers.
    pub kind: u8,
    /// With what.
    pub payload: Vec<u8>,
}

/// A script taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What stands before the first step.
    pub setup: Vec<u8>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

impl Script {
    /// Takes any bytes apart.
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

/// Reads numbers off the front of bytes; zeros when there are no more.
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

    /// The next two bytes, the higher first.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// The next four bytes, the highest first.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.u8()) % from.len()]
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// How the bytes of one step reach a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut(pub usize);

impl Cut {
    /// In one piece.
    pub const WHOLE: Cut = Cut(usize::MAX);

    /// The pieces, none of them empty.
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
            // A mark at the end is nothing.
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
