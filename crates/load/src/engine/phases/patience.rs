//! How long nothing but failures has come.

/// The failures since the last call that succeeded in this part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failing {
    /// When the first of them ended, ns.
    since: Option<u64>,
    /// How long after it the last one ended, ns. Time in which no call ends says nothing: those in
    /// flight may be slow and good.
    pub(super) lasted: u64,
}

impl Failing {
    /// Leaves a pause out in which no call was made.
    pub(super) fn pause(&mut self, lasted: u64) {
        self.since = self.since.map(|since| since.saturating_add(lasted));
    }

    /// Takes note of a call's end.
    pub(super) fn note_end(&mut self, at: u64, succeeded: bool) {
        if succeeded {
            *self = Failing::default();
        } else {
            let since = *self.since.get_or_insert(at);
            self.lasted = at.saturating_sub(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_last_from_the_first_after_a_success_to_the_last() {
        let mut failing = Failing::default();
        let ends = [
            (10, false),
            (20, false),
            (30, true),
            (40, false),
            (55, false),
        ];
        let seen = ends.map(|(at, succeeded)| {
            failing.note_end(at, succeeded);
            failing.lasted
        });
        assert_eq!(seen, [0, 10, 0, 0, 15]);
    }
}
