//! Identifies this build of rpcgauge.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::OnceLock;

use ring::digest::{Context, SHA256};

/// The SHA-256 of this program's executable, in hexadecimal; `None` if the file cannot be read. This is the
/// file of the running program, even if it has since been replaced.
pub(super) fn digest() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    let read = || File::open("/proc/self/exe").and_then(of_file).ok();
    DIGEST.get_or_init(read).clone()
}

fn of_file(mut file: File) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => context.update(&buffer[..count]),
        }
    }
    Ok(hexadecimal(context.finish().as_ref()))
}

/// Formats each byte as two hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
