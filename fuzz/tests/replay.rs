//! Runs every target on its seeds and on mutated seeds: a short run without the fuzzer.

use std::fs;
use std::path::Path;

use rpcgauge_fuzz::{TARGETS, reflection};

/// The number of mutated inputs for each target.
const CHANGED: u64 = 3000;

/// The maximum length of a mutated input in bytes. Seeds themselves may be longer.
const MAX: usize = 4096;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let read = |path| fs::read(path).expect("a seed");
    paths.iter().map(read).collect()
}

/// Pseudo-random numbers that are the same on every run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// A seed with a few bytes changed, inserted, removed or duplicated, or with a part of another seed.
fn changed(seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut input = seeds[numbers.below(seeds.len())].clone();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(input.len() + 1);
        let end = (at + numbers.below(16)).min(input.len());
        match numbers.below(5) {
            0 => {
                input.drain(at..end);
            }
            1 => input.insert(at, numbers.next() as u8),
            2 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            3 => {
                let other = &seeds[numbers.below(seeds.len())];
                let part = other[numbers.below(other.len())..].to_vec();
                input.splice(at.., part);
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
    }
    input.truncate(MAX);
    input
}

#[test]
fn every_target_holds_on_its_seeds_and_changes_of_them() {
    std::thread::scope(|scope| {
        for (name, target) in TARGETS {
            let run = move || {
                let seeds = seeds(name);
                assert!(!seeds.is_empty(), "{name} has no seeds");
                seeds.iter().for_each(|seed| target(seed));
                let mut numbers = Numbers(7);
                for _ in 0..CHANGED {
                    target(&changed(&seeds, &mut numbers));
                }
            };
            let named = std::thread::Builder::new().name(name.to_owned());
            named.spawn_scoped(scope, run).expect("a thread");
        }
    });
}

#[test]
fn seeds_of_reflection_reach_a_schema_or_are_refused() {
    const REACH_A_SCHEMA: [&str; 10] = [
        "circle",
        "clashing-names",
        "doubled",
        "edition",
        "every-kind",
        "extension",
        "message-set",
        "one-by-one",
        "orders",
        "well-known-untold",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/reflection");
    let entries = fs::read_dir(folder).expect("seeds").flatten();
    let mut reach_a_schema: Vec<String> = entries
        .filter(|entry| reflection::outcome(&fs::read(entry.path()).expect("a seed")).is_ok())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    reach_a_schema.sort();
    assert_eq!(reach_a_schema, REACH_A_SCHEMA);
}
