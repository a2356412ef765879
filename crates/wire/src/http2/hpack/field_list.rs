//! An ordered list of fields in one allocation.

/// Fields in order, with names and values.
#[derive(Debug, Clone, Default)]
pub struct FieldList {
    text: Vec<u8>,
    fields: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    name_end: usize,
    value_end: usize,
}

/// A field: its name, in lower case, and its value.
pub type Field<'a> = (&'a [u8], &'a [u8]);

impl FieldList {
    /// Adds a field at the end.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name_end = self.text.len();
        self.text.extend_from_slice(value);
        self.fields.push(Entry {
            name_end,
            value_end: self.text.len(),
        });
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let mut start = 0;
        self.fields.iter().map(move |entry| {
            let name = &self.text[start..entry.name_end];
            let value = &self.text[entry.name_end..entry.value_end];
            start = entry.value_end;
            (name, value)
        })
    }

    /// Size as RFC 9113 §6.5.2 counts it: name + value + 32 bytes each.
    pub fn list_size(&self) -> u64 {
        self.text.len() as u64 + 32 * self.fields.len() as u64
    }
}
