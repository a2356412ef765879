//! Where rows begin, for random access.

/// Where a row begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub(super) byte: u64,
    /// From 1.
    pub(super) line: u64,
}

/// Where each row, or every n-th row, begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Index {
    pub(super) places: Vec<FilePlace>,
    /// Only every `every`-th row has an entry.
    every: u64,
    rows: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            every: 1,
            rows: 0,
        }
    }
}

impl Index {
    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the next row. If there are already `most` entries, first drops every other one.
    pub(super) fn add(&mut self, place: FilePlace, most: usize) {
        if self.rows.is_multiple_of(self.every) && self.places.len() == most {
            let mut keep = false;
            self.places.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
        if self.rows.is_multiple_of(self.every) {
            self.places.push(place);
        }
        self.rows += 1;
    }

    /// Returns the last indexed place at or before a row, and the number of rows to skip from there.
    pub(super) fn find(&self, row: u64) -> Option<(FilePlace, u64)> {
        let place = self.places.get((row / self.every) as usize)?;
        Some((*place, row % self.every))
    }
}
