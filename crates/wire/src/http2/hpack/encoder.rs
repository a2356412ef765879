//! Encodes field blocks (RFC 7541 §6).

use super::field_list::Field;
use super::static_table::CONTENT_LENGTH;
use super::table::{DynamicTable, Match};
use super::{DEFAULT_TABLE_SIZE, ENTRY_OVERHEAD, huffman, integer};

/// The encoding side of a connection. Fields are added to the table on first use, so that encoding
/// the same list again produces only indices.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    /// The maximum table size that this client wants to use, in bytes.
    preferred: u32,
    /// The smallest and the latest table size since the last block, if it changed. Both must be
    /// sent (RFC 7541 §4.2).
    pending_sizes: Option<(u32, u32)>,
    /// Counts changes of the table. A block of only indices is valid until this changes.
    generation: u64,
}

impl Encoder {
    /// Creates an encoder that uses a table of at most `preferred_size` bytes.
    pub fn new(preferred_size: u32) -> Encoder {
        let mut encoder = Encoder {
            table: DynamicTable::new(),
            preferred: preferred_size,
            pending_sizes: None,
            generation: 0,
        };
        if preferred_size < DEFAULT_TABLE_SIZE {
            encoder.set_allowed_size(DEFAULT_TABLE_SIZE);
        }
        encoder
    }

    /// Sets the maximum table size that the peer allows (its SETTINGS_HEADER_TABLE_SIZE).
    pub fn set_allowed_size(&mut self, allowed: u32) {
        let size = allowed.min(self.preferred);
        let current = self
            .pending_sizes
            .map_or(self.table.max_size() as u32, |(_, last)| last);
        if size == current {
            return;
        }
        let smallest = self
            .pending_sizes
            .map_or(size, |(smallest, _)| smallest.min(size));
        self.pending_sizes = Some((smallest, size));
        self.generation += 1;
    }

    /// Changes whenever earlier blocks can no longer be reused unmodified.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Writes the pending size updates at the start of a block.
    fn begin(&mut self, out: &mut Vec<u8>) {
        let Some((smallest, last)) = self.pending_sizes.take() else {
            return;
        };
        // A smaller size in between evicts entries that would fit the latest size.
        if smallest < last {
            self.table.set_max_size(smallest as usize);
            integer::encode(out, 0b0010_0000, 5, smallest as usize);
        }
        self.table.set_max_size(last as usize);
        integer::encode(out, 0b0010_0000, 5, last as usize);
        self.generation += 1;
    }

    /// Appends a block of these fields. One block may be encoded in several calls if nothing else
    /// is encoded in between.
    pub fn encode<'a>(&mut self, fields: impl Iterator<Item = Field<'a>>, out: &mut Vec<u8>) {
        self.begin(out);
        for field in fields {
            self.encode_field(field, out);
        }
    }

    fn encode_field(&mut self, (name, value): Field<'_>, out: &mut Vec<u8>) {
        let index = match self.table.find(name, value) {
            Match::Field(index) => return integer::encode(out, 0x80, 7, index),
            Match::Name(index) => index,
            Match::None => 0,
        };
        let fits = name.len() + value.len() + ENTRY_OVERHEAD <= self.table.max_size();
        if fits {
            integer::encode(out, 0b0100_0000, 6, index)
        } else {
            integer::encode(out, 0, 4, index)
        }
        if index == 0 {
            string(name, out);
        }
        string(value, out);
        if fits {
            self.table.insert(name, value);
            self.generation += 1;
        }
    }

    /// Appends `content-length` without adding it to the table, for lengths that vary.
    pub fn encode_content_length(digits: &[u8], out: &mut Vec<u8>) {
        integer::encode(out, 0, 4, CONTENT_LENGTH);
        string(digits, out);
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &DynamicTable {
        &self.table
    }
}

/// Appends a string (RFC 7541 §5.2), Huffman-coded if that is shorter.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_length(text);
    if coded < text.len() {
        integer::encode(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer::encode(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
