//! Counts the bytes of TLS records by parsing record headers.

/// Size of a record's header: its type, a version, and its length (RFC 8446, 5.1).
const HEADER: usize = 5;

/// Follows the records in a stream of bytes, so that only the bytes of complete records are counted.
#[derive(Debug, Default)]
pub(super) struct Records {
    header: [u8; HEADER],
    /// Bytes of the current header received so far.
    have: usize,
    /// Bytes of the current record's content that are still missing.
    left: usize,
    /// Bytes of all complete records, including headers.
    pub(super) complete: u64,
}

impl Records {
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.have < HEADER {
                let n = bytes.len().min(HEADER - self.have);
                self.header[self.have..self.have + n].copy_from_slice(&bytes[..n]);
                self.have += n;
                self.left = self.content();
                bytes = &bytes[n..];
            } else {
                let n = bytes.len().min(self.left);
                self.left -= n;
                bytes = &bytes[n..];
            }
            if self.have == HEADER && self.left == 0 {
                self.complete += (HEADER + self.content()) as u64;
                self.have = 0;
            }
        }
    }

    fn content(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[3], self.header[4]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_once_it_is_whole_however_it_is_cut() {
        let mut stream = Vec::new();
        for length in [0u16, 1, 300, 16_384] {
            stream.extend([23, 3, 3]);
            stream.extend(length.to_be_bytes());
            stream.resize(stream.len() + usize::from(length), 0xff);
        }
        for step in [1, 2, 5, 7, 4096, stream.len()] {
            let mut records = Records::default();
            let mut seen = vec![0];
            for piece in stream.chunks(step) {
                records.take(piece);
                seen.push(records.complete);
            }
            seen.dedup();
            let whole = [0, 5, 11, 316, 16_705];
            assert!(seen.iter().all(|count| whole.contains(count)), "{seen:?}");
            assert_eq!(seen.last(), Some(&16_705), "in steps of {step}");
        }
    }
}
