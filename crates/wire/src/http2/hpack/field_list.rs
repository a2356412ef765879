//! An ordered list of fields in one allocation.

/// Fields in order, with names and values.
#[derive(Debug, Clone, Default)]
pub struct FieldList {
    text: Vec<u8>,
    /// The end of each field's name and value in `text`.
    ends: Vec<(usize, usize)>,
}

/// A field: its name, in lower case, and its value.
pub type Field<'a> = (&'a [u8], &'a [u8]);

impl FieldList {
    /// Adds a field at the end.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name_end = self.text.len();
        self.text.extend_from_slice(value);
        self.ends.push((name_end, self.text.len()));
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&(name_end, value_end)| {
            let name = &self.text[start..name_end];
            let value = &self.text[name_end..value_end];
            start = value_end;
            (name, value)
        })
    }

    /// Size as defined in RFC 9113 §6.5.2: name + value + 32 bytes per field.
    pub fn list_size(&self) -> u64 {
        self.text.len() as u64 + 32 * self.ends.len() as u64
    }
}
