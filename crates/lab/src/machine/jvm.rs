//! Reads a JVM's performance counters: garbage collections, safepoint pauses, compilations, and heap use.
//!
//! HotSpot stores its counters in a memory-mapped file, `/tmp/hsperfdata_USER/PID` (perfMemory.hpp), unless
//! started with `-XX:-UsePerfData`. Reading them costs the JVM nothing and needs no agent.
//!
//! The just-in-time compilers run in threads of their own, whose priority can be set from outside.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use rpcgauge_study::app::JvmRecord;
use rustix::process::{Pid, setpriority_process};

use crate::files::regular;

/// Where HotSpot creates its files, regardless of `TMPDIR`.
const FOLDER: &str = "/tmp";

/// The maximum number of bytes to read; 32 KiB is typical.
const MAX_BYTES: u64 = 1 << 20;

/// The magic number, then the byte order and major version that this reader supports.
const BEGIN: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN_2: [u8; 2] = [1, 2];

/// The counters since the start of the JVM with this process id; `None` if it exposes none.
pub(crate) fn read(pid: u32) -> Option<JvmRecord> {
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut folders = folders.filter(|folder| {
        let name = folder.file_name();
        name.as_encoded_bytes().starts_with(b"hsperfdata_")
    });
    folders.find_map(|folder| read_file(&folder.path().join(pid.to_string())))
}

/// Sets the nice value of the JVM's compiler threads, from -20 (highest priority) to 19. Compiler threads
/// started later inherit it. Without the privilege to raise a priority, this does nothing.
pub(crate) fn set_compiler_nice(pid: u32, nice: i32) {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
        // The kernel truncates the name "C2 CompilerThread0" to 15 bytes.
        let is_compiler = name.contains(" CompilerThre");
        if let Some(id) = id.and_then(Pid::from_raw).filter(|_| is_compiler) {
            let _ = setpriority_process(Some(id), nice);
        }
    }
}

fn read_file(path: &Path) -> Option<JvmRecord> {
    let mut bytes = Vec::new();
    let file = regular::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    record(&counters(&bytes)?)
}

/// The counters with integer values, by name.
fn counters(bytes: &[u8]) -> Option<BTreeMap<&str, u64>> {
    if bytes.get(..4)? != BEGIN || bytes.get(4..6)? != LITTLE_ENDIAN_2 {
        return None;
    }
    let mut at = number(bytes, 24)?;
    let mut all = BTreeMap::new();
    for _ in 0..number(bytes, 28)? {
        let entry = bytes.get(at..)?;
        at += number(entry, 0)?;
        let (name, data) = (number(entry, 4)?, number(entry, 16)?);
        let (length, kind) = (number(entry, 8)?, entry.get(12)?);
        if (length, *kind) == (0, b'J') {
            let name = entry.get(name..)?.split(|byte| *byte == 0).next()?;
            let value = entry.get(data..data + 8)?.try_into().ok()?;
            all.insert(std::str::from_utf8(name).ok()?, u64::from_le_bytes(value));
        }
    }
    Some(all)
}

/// The 32-bit number at an offset.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

fn record(counters: &BTreeMap<&str, u64>) -> Option<JvmRecord> {
    let per_second = *counters
        .get("sun.os.hrt.frequency")
        .filter(|rate| **rate > 0)?;
    let sum = |begin: &str, end: &str| {
        let all = counters.iter();
        let of = all.filter(|(name, _)| name.starts_with(begin) && name.ends_with(end));
        of.map(|(_, value)| value).sum::<u64>()
    };
    let ns = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(per_second)) as u64;
    Some(JvmRecord {
        collections: sum("sun.gc.collector.", ".invocations"),
        collecting_ns: ns(sum("sun.gc.collector.", ".time")),
        // Both the time to reach safepoints and the time spent in them.
        stopped_ns: ns(sum("sun.rt.safepoint", "Time")),
        compilations: sum("sun.ci.totalCompiles", ""),
        compiling_ns: ns(sum("java.ci.totalTime", "")),
        heap_bytes: sum("sun.gc.generation.", ".used"),
    })
}

#[cfg(test)]
mod tests {
    use std::process;
    use std::sync::Barrier;
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn compilers_get_the_nice_value_and_no_other_thread() {
        let own = getpriority_process(None).unwrap();
        let [named, set] = [Barrier::new(3), Barrier::new(3)];
        // On Linux, each thread has its own nice value.
        let nice = || {
            named.wait();
            set.wait();
            getpriority_process(None).unwrap()
        };
        thread::scope(|scope| {
            let names = ["C2 CompilerThread0", "GC Thread#0"];
            let [compiler, other] = names.map(|name| {
                let named = thread::Builder::new().name(name.to_owned());
                named.spawn_scoped(scope, nice).unwrap()
            });
            named.wait();
            // Lowering a priority needs no privilege.
            set_compiler_nice(process::id(), 15);
            set.wait();
            assert_eq!(compiler.join().unwrap(), 15);
            assert_eq!(other.join().unwrap(), own);
        });
    }

    /// A file with these counters, in HotSpot's format.
    fn file(counters: &[(&str, u64)]) -> Vec<u8> {
        let mut bytes = [&BEGIN[..], &LITTLE_ENDIAN_2, &[0, 1], &[0; 16]].concat();
        bytes.extend(32_u32.to_le_bytes());
        bytes.extend((counters.len() as u32 + 1).to_le_bytes());
        let mut entry = |name: &str, kind: u8, length: u32, data: &[u8]| {
            // The name starts at offset 20, and the data at a multiple of 8.
            let begin = (20 + name.len() + 1).next_multiple_of(8);
            let all = (begin + data.len()).next_multiple_of(8);
            for number in [all as u32, 20, length] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend([kind, 0, 1, 1]);
            bytes.extend((begin as u32).to_le_bytes());
            let mut rest = name.as_bytes().to_vec();
            rest.resize(begin - 20, 0);
            rest.extend(data);
            rest.resize(all - 20, 0);
            bytes.extend(rest);
        };
        entry("java.property.java.version", b'B', 5, b"17.0\0");
        for (name, value) in counters {
            entry(name, b'J', 0, &value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_jvm_s_counters_are_read_from_its_file() {
        let all = file(&[
            ("sun.os.hrt.frequency", 1_000),
            ("sun.gc.collector.0.invocations", 3),
            ("sun.gc.collector.0.time", 20),
            ("sun.gc.collector.1.invocations", 1),
            ("sun.gc.collector.1.time", 5),
            ("sun.gc.generation.0.space.0.used", 100),
            ("sun.gc.generation.1.space.0.used", 900),
            ("sun.gc.generation.1.space.0.capacity", 5_000),
            ("sun.rt.safepoints", 9),
            ("sun.rt.safepointSyncTime", 1),
            ("sun.rt.safepointTime", 30),
            ("sun.ci.totalCompiles", 700),
            ("java.ci.totalTime", 2_000),
        ]);
        let read = |bytes: &[u8]| record(&counters(bytes)?);
        let expected = JvmRecord {
            collections: 4,
            collecting_ns: 25_000_000,
            stopped_ns: 31_000_000,
            compilations: 700,
            compiling_ns: 2_000_000_000,
            heap_bytes: 1_000,
        };
        assert_eq!(read(&all), Some(expected));
        // A truncated or foreign file yields nothing.
        for length in 0..all.len() {
            assert_eq!(read(&all[..length]), None, "{length}");
        }
        assert_eq!(read(&file(&[("sun.os.hrt.frequency", 0)])), None);
        assert_eq!(read(b"#!/bin/sh\nexec java -jar gateway.jar\n"), None);
    }
}
