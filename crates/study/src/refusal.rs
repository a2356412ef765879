//! What serde says of a value that it refuses, without the names of our types. The forms of its
//! sentences are part of its interface (`serde::de::Error`).

/// What must stand in a place, and what stands there instead.
pub(crate) struct Refusal {
    pub(crate) wanted: String,
    pub(crate) found: String,
}

impl Refusal {
    /// Takes a sentence apart; none of one that is not about a value's type. `object` is what the
    /// format calls a group of named values.
    pub(crate) fn of(sentence: &str, object: &str) -> Option<Self> {
        let sentence = sentence.strip_prefix("invalid ")?;
        let (found, wanted) = sentence.rsplit_once(", expected ")?;
        let found = found.split_once(": ").map_or(found, |(_, found)| found);
        let found = match found {
            "sequence" => "a list",
            "map" => object,
            // It may be a secret.
            found if found.starts_with("string ") => "a string",
            found => found.strip_prefix("integer ").unwrap_or(found),
        };
        let wanted = match wanted {
            "a nonzero u32" => "a whole number from 1 to 4294967295",
            "a nonzero u64" => "a whole number from 1 on",
            "i8" | "i16" | "i32" | "i64" => "a whole number",
            "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
            "f32" | "f64" => "a number",
            "a boolean" => "true or false",
            "a sequence" => "a list",
            "a borrowed string" => "a string",
            "a map" => object,
            wanted if wanted.starts_with("struct ") || wanted.contains("enum ") => object,
            wanted if wanted.contains("variant") || wanted.contains("map") => "a known word",
            wanted => wanted,
        };
        Some(Self {
            wanted: wanted.to_owned(),
            found: found.trim_end_matches(" as i128").replace('`', ""),
        })
    }
}
