//! Counts messages in a stream of bytes.

/// Finds the ends of messages that follow a prefix of `PREFIX` bytes with their length.
#[derive(Debug)]
pub struct Deframer<const PREFIX: usize> {
    /// The length of a message by its prefix.
    length: fn(&[u8; PREFIX]) -> usize,
    prefix: [u8; PREFIX],
    /// The number of bytes of the current message's prefix that have arrived.
    filled: usize,
    /// The number of bytes of the current message that have not arrived, once the prefix is complete.
    left: usize,
}

impl<const PREFIX: usize> Deframer<PREFIX> {
    /// A deframer at the start of a message.
    pub fn new(length: fn(&[u8; PREFIX]) -> usize) -> Self {
        Self {
            length,
            prefix: [0; PREFIX],
            filled: 0,
            left: 0,
        }
    }

    /// The number of messages that `data` completes.
    pub fn completed(&mut self, mut data: &[u8]) -> u64 {
        let mut messages = 0;
        loop {
            let rest = &mut self.prefix[self.filled..];
            let taken = rest.len().min(data.len());
            rest[..taken].copy_from_slice(&data[..taken]);
            data = &data[taken..];
            self.filled += taken;
            if self.filled < PREFIX {
                return messages;
            }
            if taken > 0 {
                self.left = (self.length)(&self.prefix);
            }
            let taken = self.left.min(data.len());
            data = &data[taken..];
            self.left -= taken;
            if self.left > 0 {
                return messages;
            }
            messages += 1;
            self.filled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_they_are_split() {
        let stream = b"\0\x02ab\0\0\0\x01c";
        for first in 0..stream.len() {
            for second in first..stream.len() {
                let mut deframer = Deframer::new(|prefix: &[u8; 2]| usize::from(prefix[1]));
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                let found: u64 = pieces.map(|piece| deframer.completed(piece)).iter().sum();
                assert_eq!(found, 3, "split at {first} and {second}");
                assert_eq!(deframer.filled, 0);
            }
        }
    }
}
