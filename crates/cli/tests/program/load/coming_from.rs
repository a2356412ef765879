//! The lines of docs/coming-from.md.

use std::process::Command;

use super::Service;
use crate::common::{Finished, Place};

const PAGE: &str = include_str!("../../../../../docs/coming-from.md");

/// The page's lines that run rpcgauge.
fn lines() -> impl Iterator<Item = &'static str> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("    "));
    lines.filter(|line| line.starts_with("rpcgauge load "))
}

#[test]
fn every_line_for_users_of_other_tools_runs() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    assert!(lines().count() > 10);
    for line in lines() {
        let mut short = line.replace("localhost:8080", &service.address);
        for (long, brief) in [
            ("-z 5s", "-z 300ms"),
            ("-z 2s", "-z 500ms"),
            ("-n 2000", "-n 200"),
            ("200:3s,200:2s", "200:300ms,200:200ms"),
        ] {
            short = short.replace(long, brief);
        }
        let words = format!("rpcgauge() {{ \"$PROGRAM\" \"$@\"; }}; {short} --quiet");
        let output = Command::new("sh")
            .args(["-c", &words])
            .env("PROGRAM", env!("CARGO_BIN_EXE_rpcgauge"))
            .current_dir(place.path())
            .output()
            .expect("a shell");
        let finished = Finished::from(output);
        assert_eq!(finished.code, Some(0), "{line}: {finished:?}");
        let none = |line: &str| line.split_whitespace().eq(["failed", "0", "0"]);
        let has_failed = !finished.stdout.contains(" 0 failed");
        // Two targets have a column each.
        let has_failed = has_failed && !finished.stdout.lines().any(none);
        assert!(!has_failed, "{line}: {finished:?}");
    }
}
