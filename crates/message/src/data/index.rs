//! Where rows begin, so that any of them can be read.

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
    /// One row in `every` has its place here.
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
    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the next row. If there are `most` places already, every other one is dropped.
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

    /// The place to go to for a row, and how many rows lie between.
    pub(super) fn find(&self, row: u64) -> Option<(FilePlace, u64)> {
        let place = self.places.get((row / self.every) as usize)?;
        Some((*place, row % self.every))
    }
}
