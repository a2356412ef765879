//! The operating system's description of an error, for use inside a sentence.

use std::io;

/// Returns the description without the error number, beginning with a lower-case letter.
pub fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_capitals_are_left_out() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(sentence(&error), "no such file or directory");
        assert_eq!(sentence(&io::Error::other("Odd")), "odd");
    }
}
