//! The static table (RFC 7541 Appendix A).

/// Names and values; the entry at position `i` has index `i + 1`.
pub(super) const STATIC_TABLE: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Index of `content-length`, whose value is written for each call.
pub(super) const CONTENT_LENGTH: usize = 28;

/// Index of an entry with this name and value, or else of one with this name.
pub(super) fn find(name: &[u8], value: &[u8]) -> Match {
    let mut found = Match::None;
    for (i, (n, v)) in STATIC_TABLE.iter().enumerate() {
        if *n == name {
            if *v == value {
                return Match::Field(i + 1);
            }
            if found == Match::None {
                found = Match::Name(i + 1);
            }
        }
    }
    found
}

/// What a table holds of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// Name and value, at this index.
    Field(usize),
    /// Only the name, at this index.
    Name(usize),
    /// Neither.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_at_their_published_indices() {
        assert_eq!(find(b":method", b"POST"), Match::Field(3));
        assert_eq!(find(b":path", b"/x"), Match::Name(4));
        assert_eq!(find(b"accept-encoding", b"gzip, deflate"), Match::Field(16));
        assert_eq!(find(b"content-length", b"5"), Match::Name(CONTENT_LENGTH));
        assert_eq!(find(b"www-authenticate", b""), Match::Field(61));
        assert_eq!(find(b"grpc-status", b"0"), Match::None);
    }
}
