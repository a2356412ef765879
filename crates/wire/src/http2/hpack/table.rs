//! The dynamic table (RFC 7541 §2.3.2, §4), and the index space that it shares with the static
//! table (§2.3.3).

use std::collections::VecDeque;

use super::static_table::STATIC_TABLE;
use super::{DEFAULT_TABLE_SIZE, ENTRY_OVERHEAD};

/// A dynamic table with a bounded total size. Its text is in one reused buffer, so the table does
/// not allocate in steady state.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// Text of all entries, oldest first. Bytes before the oldest entry are free.
    text: Vec<u8>,
    /// Oldest first.
    entries: VecDeque<Entry>,
    size: usize,
    max_size: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    name_length: usize,
    value_length: usize,
}

/// How a field matches the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// Name and value match the entry at this index.
    Field(usize),
    /// Only the name matches the entry at this index.
    Name(usize),
    None,
}

impl Entry {
    fn size(&self) -> usize {
        self.name_length + self.value_length + ENTRY_OVERHEAD
    }
}

impl DynamicTable {
    /// An empty table of the protocol's default size.
    pub(super) fn new() -> DynamicTable {
        DynamicTable {
            text: Vec::new(),
            entries: VecDeque::new(),
            size: 0,
            max_size: DEFAULT_TABLE_SIZE as usize,
        }
    }

    /// Total size of the entries as defined in RFC 7541 §4.1, in bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    /// Sets the maximum size and evicts entries that no longer fit.
    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.evict_to(max_size);
    }

    /// The entry at `position`, where 0 is the newest.
    pub(super) fn get(&self, position: usize) -> Option<(&[u8], &[u8])> {
        let at = self.entries.len().checked_sub(position + 1)?;
        let entry = self.entries[at];
        let text = &self.text[entry.start..];
        let (name, rest) = text.split_at(entry.name_length);
        Some((name, &rest[..entry.value_length]))
    }

    /// Adds an entry, evicting the oldest ones until it fits. An entry larger than the table's
    /// maximum empties the table and is not added (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        self.evict_to(self.max_size.saturating_sub(size));
        if size > self.max_size {
            return;
        }
        self.compact();
        let entry = Entry {
            start: self.text.len(),
            name_length: name.len(),
            value_length: value.len(),
        };
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.entries.push_back(entry);
        self.size += size;
    }

    /// The entry of either table at `index`, where 1 is the first of the static table.
    pub(super) fn entry(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let at = index.checked_sub(1)?;
        match STATIC_TABLE.get(at) {
            Some(entry) => Some(*entry),
            None => self.get(at - STATIC_TABLE.len()),
        }
    }

    /// Finds this name and value in either table, or otherwise the name alone.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Match {
        let dynamic = (0..self.entries.len()).filter_map(|position| self.get(position));
        let all = STATIC_TABLE.iter().copied().chain(dynamic);
        let mut found = Match::None;
        for (index, (n, v)) in (1..).zip(all) {
            if n == name && v == value {
                return Match::Field(index);
            }
            if n == name && found == Match::None {
                found = Match::Name(index);
            }
        }
        found
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            match self.entries.pop_front() {
                Some(entry) => self.size -= entry.size(),
                None => break,
            }
        }
        if self.entries.is_empty() {
            self.text.clear();
        }
    }

    /// Moves the text to the front once the free part is at least the table's maximum size, so that
    /// each inserted byte costs at most one moved byte.
    fn compact(&mut self) {
        let free = self.entries.front().map_or(0, |oldest| oldest.start);
        if free >= self.max_size {
            self.text.drain(..free);
            for entry in &mut self.entries {
                entry.start -= free;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::static_table::CONTENT_LENGTH;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_are_found_at_their_published_indices() {
        let find = |name, value| DynamicTable::new().find(name, value);
        assert_eq!(find(b":method", b"POST"), Match::Field(3));
        assert_eq!(find(b":path", b"/x"), Match::Name(4));
        assert_eq!(find(b"accept-encoding", b"gzip, deflate"), Match::Field(16));
        assert_eq!(find(b"content-length", b"5"), Match::Name(CONTENT_LENGTH));
        assert_eq!(find(b"www-authenticate", b""), Match::Field(61));
        assert_eq!(find(b"grpc-status", b"0"), Match::None);
    }

    #[test]
    fn an_entry_larger_than_the_table_empties_it() {
        let mut table = DynamicTable::new();
        table.set_max_size(40);
        table.insert(b"a", b"b");
        assert_eq!((table.len(), table.size()), (1, 34));
        table.insert(b"abcdefgh", b"i");
        assert_eq!((table.len(), table.size()), (0, 0));
    }

    proptest! {
        /// Compares the table with a plain list as a model.
        #[test]
        fn keeps_the_newest_that_fit(
            steps in prop::collection::vec((0usize..40, 0usize..40, any::<u8>(), 0u8..8), 0..300),
        ) {
            let mut table = DynamicTable::new();
            table.set_max_size(300);
            let mut max_size = 300;
            let mut model: VecDeque<(Vec<u8>, Vec<u8>)> = VecDeque::new();
            let size = |model: &VecDeque<(Vec<u8>, Vec<u8>)>| -> usize {
                model.iter().map(|(n, v)| n.len() + v.len() + 32).sum()
            };
            for (name, value, byte, choice) in steps {
                if choice == 0 {
                    max_size = usize::from(byte) * 2;
                    table.set_max_size(max_size);
                } else {
                    let (name, value) = (vec![byte; name], vec![byte.wrapping_add(1); value]);
                    table.insert(&name, &value);
                    model.push_front((name, value));
                }
                while size(&model) > max_size {
                    // An entry larger than the table is evicted with all others.
                    model.pop_back();
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.size(), size(&model));
                for (i, (name, value)) in model.iter().enumerate() {
                    prop_assert_eq!(table.get(i), Some((&name[..], &value[..])));
                }
                prop_assert_eq!(table.get(model.len()), None);
                prop_assert!(table.text.len() <= 2 * 512 + 80, "the buffer stays bounded");
            }
        }
    }
}
