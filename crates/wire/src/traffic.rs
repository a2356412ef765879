//! What crossed the connection, counted by what the bytes were for.

/// Bytes of one direction of a connection, by purpose. All counts are in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteCount {
    /// Header and trailer bytes as they are on the wire: HTTP/1.1 heads and trailer sections with
    /// their line ends; HTTP/2 field blocks after HPACK, without frame headers.
    pub header: u64,
    /// Body bytes, without chunking, frame headers, padding and the gRPC message prefix.
    pub body: u64,
    /// Everything else: the connection preface, frame headers, padding, chunk framing, the gRPC
    /// message prefix, and whole SETTINGS, WINDOW_UPDATE, PING, GOAWAY and RST_STREAM frames.
    pub overhead: u64,
}

impl ByteCount {
    /// All bytes of this direction.
    pub fn total(&self) -> u64 {
        self.header + self.body + self.overhead
    }

    /// What was added since `earlier`, a count of the same connection and direction.
    pub fn since(&self, earlier: &ByteCount) -> ByteCount {
        ByteCount {
            header: self.header.saturating_sub(earlier.header),
            // Fewer than before where a message's prefix was cut in two by `earlier`: its first
            // bytes were counted as body until the rest told what they are.
            body: self.body.saturating_sub(earlier.body),
            overhead: self.overhead.saturating_sub(earlier.overhead),
        }
    }

    /// Counts `n` body bytes as overhead instead: what a layer above HTTP spent on its own framing
    /// (see [`crate::grpc::UnaryAnswer::prefix_bytes`]). At most all body bytes are moved.
    pub fn body_to_overhead(&mut self, n: u64) {
        let moved = n.min(self.body);
        self.body -= moved;
        self.overhead += moved;
    }
}

impl std::ops::AddAssign for ByteCount {
    fn add_assign(&mut self, other: ByteCount) {
        self.header += other.header;
        self.body += other.body;
        self.overhead += other.overhead;
    }
}

/// Both directions of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes put into the connection's output, whether or not they are written yet.
    pub sent: ByteCount,
    /// Bytes of input that were interpreted. Bytes that come after the connection is given up are
    /// not counted.
    pub received: ByteCount,
}

impl Traffic {
    /// What was added since `earlier`, a count of the same connection.
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            sent: self.sent.since(&earlier.sent),
            received: self.received.since(&earlier.received),
        }
    }
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_to_overhead_keeps_the_total() {
        let mut count = ByteCount {
            header: 3,
            body: 10,
            overhead: 1,
        };
        count.body_to_overhead(5);
        assert_eq!(
            count,
            ByteCount {
                header: 3,
                body: 5,
                overhead: 6
            }
        );
        count.body_to_overhead(100);
        assert_eq!(
            count,
            ByteCount {
                header: 3,
                body: 0,
                overhead: 11
            }
        );
        assert_eq!(count.total(), 14);
    }

    #[test]
    fn a_prefix_cut_in_two_makes_no_absurd_count() {
        let earlier = ByteCount {
            body: 3,
            ..ByteCount::default()
        };
        let mut later = ByteCount {
            body: 5,
            ..ByteCount::default()
        };
        later.body_to_overhead(5);
        assert_eq!(later.since(&earlier).body, 0);
    }

    #[test]
    fn since_undoes_add() {
        let first = ByteCount {
            header: 1,
            body: 2,
            overhead: 3,
        };
        let more = ByteCount {
            header: 10,
            body: 20,
            overhead: 30,
        };
        let mut both = Traffic {
            sent: first,
            received: more,
        };
        let before = both;
        both += Traffic {
            sent: more,
            received: first,
        };
        assert_eq!(
            both.since(&before),
            Traffic {
                sent: more,
                received: first
            }
        );
    }
}
