//! Counts the bytes on a connection, by purpose.

/// Bytes of one direction of a connection, by purpose. All counts are in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteCount {
    /// Header and trailer bytes on the wire: HTTP/1.1 heads and trailer fields with their line
    /// ends; HTTP/2 field blocks encoded with HPACK, without frame headers.
    pub header: u64,
    /// Header and trailer fields that exist only for the measurement.
    /// [`crate::Client::count_received_marks`] moves them here from `header`.
    pub marks: u64,
    /// Body bytes, without chunking, frame headers, padding and the gRPC message prefix.
    pub body: u64,
    /// Everything else: the connection preface, frame headers, padding, chunk framing including its
    /// final empty line, the gRPC message prefix, and all SETTINGS, WINDOW_UPDATE, PING, GOAWAY and
    /// RST_STREAM frames.
    pub overhead: u64,
}

impl ByteCount {
    /// All bytes of this direction.
    #[inline]
    pub fn total(&self) -> u64 {
        self.header + self.marks + self.body + self.overhead
    }

    /// The bytes added since `earlier`, a count of the same connection and direction.
    pub fn since(&self, earlier: &ByteCount) -> ByteCount {
        ByteCount {
            // May be lower than before: `earlier` was taken inside a section that contained marks
            // or framing.
            header: self.header.saturating_sub(earlier.header),
            marks: self.marks.saturating_sub(earlier.marks),
            // May be lower than before: `earlier` was taken inside a message prefix, whose first
            // bytes were counted as body until the rest arrived.
            body: self.body.saturating_sub(earlier.body),
            overhead: self.overhead.saturating_sub(earlier.overhead),
        }
    }

    /// Moves `n` body bytes (or all, if there are fewer) to overhead, because they are framing of a
    /// layer above HTTP (see [`crate::grpc::Response::prefix_bytes`]).
    #[inline]
    pub fn body_to_overhead(&mut self, n: u64) {
        let moved = n.min(self.body);
        self.body -= moved;
        self.overhead += moved;
    }

    /// Moves `n` header bytes (or all, if there are fewer) to overhead, because they turned out to
    /// be framing once a section was complete.
    #[inline]
    pub(crate) fn header_to_overhead(&mut self, n: u64) {
        let moved = n.min(self.header);
        self.header -= moved;
        self.overhead += moved;
    }

    /// Moves `n` header bytes (or all, if there are fewer) to marks.
    #[inline]
    pub(crate) fn header_to_marks(&mut self, n: u64) {
        let moved = n.min(self.header);
        self.header -= moved;
        self.marks += moved;
    }
}

impl std::ops::AddAssign for ByteCount {
    fn add_assign(&mut self, other: ByteCount) {
        self.header += other.header;
        self.marks += other.marks;
        self.body += other.body;
        self.overhead += other.overhead;
    }
}

/// Both directions of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of output that the transport accepted ([`crate::Client::consume_output`]). Output that
    /// is still queued when a connection ends was never sent, so it is not counted.
    pub sent: ByteCount,
    /// Bytes of input that were parsed, including an incomplete head or frame. Bytes that arrive
    /// after the connection is closed are not counted.
    pub received: ByteCount,
}

impl Traffic {
    /// The bytes added since `earlier`, a count of the same connection.
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

    fn count(header: u64, marks: u64, body: u64, overhead: u64) -> ByteCount {
        ByteCount {
            header,
            marks,
            body,
            overhead,
        }
    }

    #[test]
    fn moving_from_class_to_class_keeps_the_total() {
        let mut bytes = count(30, 0, 10, 1);
        bytes.body_to_overhead(5);
        bytes.header_to_marks(20);
        assert_eq!(bytes, count(10, 20, 5, 6));
        bytes.body_to_overhead(100);
        bytes.header_to_overhead(3);
        assert_eq!(bytes, count(7, 20, 0, 14));
        bytes.header_to_marks(100);
        bytes.header_to_overhead(100);
        assert_eq!(bytes, count(0, 27, 0, 14));
        assert_eq!(bytes.total(), 41);
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
        let (first, more) = (count(1, 2, 3, 4), count(10, 20, 30, 40));
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
