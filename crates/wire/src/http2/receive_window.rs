//! How much the server may send (RFC 9113 §5.2).

/// A receive window, of one stream or of the connection.
#[derive(Debug, Default)]
pub(super) struct ReceiveWindow {
    /// Number of bytes that the server may send. A stream's is negative after the setting was
    /// lowered (RFC 9113 §6.9.2).
    left: i64,
    /// Number of bytes that the server may send again, but that no WINDOW_UPDATE has announced yet.
    unannounced: u32,
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

    /// Returns received bytes to the window. The result is the increment to announce with
    /// WINDOW_UPDATE, if any. Updates are batched: when half of `size` is used, the server still has
    /// the other half.
    #[inline]
    pub(super) fn give_back(&mut self, bytes: u32, size: u32) -> Option<u32> {
        self.unannounced += bytes;
        if self.unannounced == 0 || self.unannounced < size / 2 {
            return None;
        }
        let increment = std::mem::take(&mut self.unannounced);
        self.left += i64::from(increment);
        Some(increment)
    }

    /// Applies a change of the initial window.
    pub(super) fn change(&mut self, by: i64) {
        self.left += by;
    }
}
