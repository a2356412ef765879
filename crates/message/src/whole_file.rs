//! Reads whole files up to a size limit, because a path may lead to an endless device.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum size of a file in bytes: far above any message limit.
pub const MAX_BYTES: u64 = 256 << 20;

/// Removes the byte order mark that some editors put before text.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a file of at most [`MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_within(File::open(path)?, MAX_BYTES)
}

/// Reads a text file of at most [`MAX_BYTES`].
pub fn read_text(path: &Path) -> io::Result<String> {
    text_within(File::open(path)?, MAX_BYTES)
}

/// Reads text of at most `most` bytes. Fails if there is more.
pub fn text_within(from: impl Read, most: u64) -> io::Result<String> {
    String::from_utf8(read_within(from, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn read_within(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB", most >> 20),
        ))
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_device_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 256 MiB");
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
    }

    #[test]
    fn text_may_have_exactly_the_maximum_size() {
        let most = 1 << 20;
        let text = |bytes: usize| "x".repeat(bytes);
        assert_eq!(
            text_within(text(most).as_bytes(), most as u64).unwrap(),
            text(most)
        );
        let error = text_within(text(most + 1).as_bytes(), most as u64).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 1 MiB");
        let error = text_within(&b"\xff"[..], 1).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8 text");
    }
}
