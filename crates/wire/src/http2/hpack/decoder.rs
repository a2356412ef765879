//! Decodes field blocks (RFC 7541 §3.2, §6).

use super::table::DynamicTable;
use super::{DEFAULT_TABLE_SIZE, ENTRY_OVERHEAD, HpackError, huffman, integer};
use crate::event::{FieldRange, Fields};

/// The decoding side of a connection: its dynamic table and the table's negotiated limits.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// The largest allowed size update: our SETTINGS_HEADER_TABLE_SIZE, once acknowledged.
    allowed: u32,
    /// Whether the limit was lowered below the table's size. The next block must then begin with a
    /// size update.
    update_required: bool,
    /// Incremented by every change that can alter the meaning of a block.
    changes: u64,
}

/// The fields of one block. Reused for all blocks, so that decoding does not allocate in steady
/// state.
#[derive(Debug, Default)]
pub struct DecodedFields {
    text: Vec<u8>,
    ranges: Vec<FieldRange>,
    list_size: u64,
    max_list_size: u64,
}

impl DecodedFields {
    /// Accepts field lists of up to `max_list_size` bytes. A field's size is name + value + 32.
    pub fn new(max_list_size: u32) -> DecodedFields {
        DecodedFields {
            max_list_size: u64::from(max_list_size),
            ..DecodedFields::default()
        }
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ranges.clear();
        self.list_size = 0;
    }

    /// Whether the list exceeded the limit. If so, some fields are missing.
    pub fn is_over_limit(&self) -> bool {
        self.list_size > self.max_list_size
    }

    /// All fields, including pseudo-header fields.
    #[inline]
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.text, &self.ranges)
    }

    /// All fields but the first `n`.
    #[inline]
    pub(crate) fn fields_after(&self, n: usize) -> Fields<'_> {
        Fields::new(&self.text, &self.ranges[n.min(self.ranges.len())..])
    }

    /// Adds a field's size. Returns false if the list now exceeds its limit.
    fn count(&mut self, text_length: usize) -> bool {
        self.list_size += (text_length + ENTRY_OVERHEAD) as u64;
        !self.is_over_limit()
    }

    /// Adds a field that occupied `wire_bytes` of the block.
    fn push(&mut self, name: &[u8], value: &[u8], wire_bytes: usize) {
        // Nothing is stored beyond the limit, because a block can repeat a large entry at the cost
        // of one byte per repetition.
        if self.count(name.len() + value.len()) {
            let name_start = self.text.len();
            self.text.extend_from_slice(name);
            self.text.extend_from_slice(value);
            self.push_range(name_start, name_start + name.len(), wire_bytes);
        }
    }

    /// Adds the field whose text was just appended.
    fn push_range(&mut self, name_start: usize, value_start: usize, wire_bytes: usize) {
        self.ranges.push(FieldRange {
            name_start: name_start as u32,
            name_end: value_start as u32,
            value_start: value_start as u32,
            value_end: self.text.len() as u32,
            wire_bytes: wire_bytes as u32,
        });
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}

impl Decoder {
    /// Creates a decoder with a table of the protocol's default size.
    pub fn new() -> Decoder {
        Decoder {
            table: DynamicTable::new(),
            allowed: DEFAULT_TABLE_SIZE,
            update_required: false,
            changes: 0,
        }
    }

    /// Sets the table's maximum size, in bytes, once the peer has acknowledged it.
    pub fn set_allowed_size(&mut self, allowed: u32) {
        self.allowed = allowed;
        self.update_required = self.table.max_size() > allowed as usize;
        self.changes += 1;
    }

    /// While this number is unchanged, decoding a block again yields the same fields and leaves the
    /// table unchanged.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Decodes one complete block into `fields`, which is cleared first.
    ///
    /// # Errors
    /// The block is malformed, which ends the connection. A list over its limit is not an error
    /// here, since both tables still agree: see [`DecodedFields::is_over_limit`].
    pub fn decode(
        &mut self,
        mut block: &[u8],
        fields: &mut DecodedFields,
    ) -> Result<(), HpackError> {
        fields.clear();
        let mut updates = 0;
        while let Some(&first) = block.first() {
            // The bit patterns of RFC 7541 §6.
            if first & 0b1110_0000 == 0b0010_0000 {
                updates += 1;
                if updates > 2 || fields.list_size > 0 {
                    return Err(HpackError::TableSizePosition);
                }
                self.update_size(&mut block)?;
                continue;
            }
            if self.update_required {
                return Err(HpackError::TableSize);
            }
            if first & 0b1000_0000 != 0 {
                let before = block.len();
                let index = integer::decode(&mut block, 7)?;
                let (name, value) = self.entry(index)?;
                fields.push(name, value, before - block.len());
            } else if first & 0b0100_0000 != 0 {
                self.literal(&mut block, 6, true, fields)?;
            } else {
                self.literal(&mut block, 4, false, fields)?;
            }
        }
        if self.update_required {
            Err(HpackError::TableSize)
        } else {
            Ok(())
        }
    }

    fn update_size(&mut self, block: &mut &[u8]) -> Result<(), HpackError> {
        let size = integer::decode(block, 5)?;
        if size > self.allowed {
            return Err(HpackError::TableSize);
        }
        self.table.set_max_size(size as usize);
        self.update_required = false;
        self.changes += 1;
        Ok(())
    }

    fn literal(
        &mut self,
        block: &mut &[u8],
        prefix_bits: u32,
        index_it: bool,
        fields: &mut DecodedFields,
    ) -> Result<(), HpackError> {
        let before = block.len();
        let name_start = fields.text.len();
        match integer::decode(block, prefix_bits)? {
            0 => string(block, &mut fields.text)?,
            index => fields.text.extend_from_slice(self.entry(index)?.0),
        }
        let value_start = fields.text.len();
        string(block, &mut fields.text)?;
        if index_it {
            let (name, value) = fields.text[name_start..].split_at(value_start - name_start);
            self.table.insert(name, value);
            self.changes += 1;
        }
        if fields.count(fields.text.len() - name_start) {
            fields.push_range(name_start, value_start, before - block.len());
        } else {
            fields.text.truncate(name_start);
        }
        Ok(())
    }

    fn entry(&self, index: u32) -> Result<(&[u8], &[u8]), HpackError> {
        self.table.entry(index as usize).ok_or(HpackError::Index)
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &DynamicTable {
        &self.table
    }
}

/// Reads a string (RFC 7541 §5.2) off the front of `block` and appends it to `text`.
fn string(block: &mut &[u8], text: &mut Vec<u8>) -> Result<(), HpackError> {
    let huffman_coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::decode(block, 7)? as usize;
    if length > block.len() {
        return Err(HpackError::Truncated);
    }
    let (encoded, rest) = block.split_at(length);
    *block = rest;
    if huffman_coded {
        huffman::decode(encoded, text)
    } else {
        text.extend_from_slice(encoded);
        Ok(())
    }
}
