//! How much the server may send (RFC 9113 §5.2).

/// A receive window, of one stream or of the connection.
#[derive(Debug, Default)]
pub(super) struct ReceiveWindow {
    /// Number of bytes that the server may send. A stream's is negative after the setting was
    /// lowered (RFC 9113 §6.9.2).
    left: i64,
    /// Number of bytes that the server may send again, but that no WINDOW_UPDATE has announced yet.
    /// Negative while received bytes are withheld: their frame was not given back yet.
    unannounced: i64,
}

impl ReceiveWindow {
    pub(super) fn new(size: i64) -> ReceiveWindow {
        ReceiveWindow {
            left: size,
            unannounced: 0,
        }
    }

    /// Subtracts a frame. Returns false if the server was not allowed to send it.
    #[inline]
    pub(super) fn take(&mut self, length: u32) -> bool {
        let allowed = i64::from(length) <= self.left;
        if allowed {
            self.left -= i64::from(length);
        }
        allowed
    }

    /// Withholds received bytes of a frame that will be given back.
    pub(super) fn withhold(&mut self, bytes: u32) {
        self.unannounced -= i64::from(bytes);
    }

    /// Returns received bytes to the window. The result is the increment to announce with
    /// WINDOW_UPDATE, if any. Updates are batched: when half of `size` is used, the server still has
    /// the other half. If bytes are withheld, it may have less, but at least as much again.
    #[inline]
    pub(super) fn give_back(&mut self, bytes: u32, size: u32) -> Option<u32> {
        self.unannounced += i64::from(bytes);
        let enough = self.left.min(i64::from(size / 2)).max(1);
        if self.unannounced < enough {
            return None;
        }
        let increment = std::mem::take(&mut self.unannounced);
        self.left += increment;
        // Cannot truncate: no window is larger than 2^31-1 bytes.
        Some(increment as u32)
    }

    /// Applies a change of the initial window.
    pub(super) fn change(&mut self, by: i64) {
        self.left += by;
    }
}
