//! Checks the project's wording in code, comments, messages and documents: it must use the
//! established terms that an engineer would search for.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Phrases to avoid, and what to write instead. Each word of a phrase matches in any case, or
/// exactly if it has capitals. `a|b` is either word, `a*` any word with this prefix, `!a|b`
/// anything but these words, including the end of a sentence. A phrase may continue on the next
/// line of a comment.
const ADVICE: [(&str, &str); 28] = [
    ("MOST_*|LONGEST_*|LARGEST_*|DEEPEST_*", "MAX_"),
    ("LEAST_*|SHORTEST_*|SMALLEST_*|FEWEST_*", "MIN_"),
    (
        "calls|requests|responses|bytes|packets|connections|instructions|times|ns|µs|ms a second|minute|call",
        "per second, per call",
    ),
    (
        "!there is|are|was|were no valid|sound|regular|whole|target|number|time|size|rate|ramp|word|name|url|path|file|folder",
        "is not a valid …",
    ),
    ("is|are|was|were none of", "is not one of, must be one of"),
    ("so many !that", "the number itself: n, `limit`, this many"),
    ("stand|stands|is|are|was|were there|in twice", "duplicate"),
    ("stand|stands twice", "duplicate"),
    ("taken|take|takes|took up again", "resumed"),
    ("mend|mends|mended|mending", "fix, repair"),
    ("mood|moods", "run-to-run variation, drift"),
    ("in truth", "actually"),
    ("for want of", "for lack of, without"),
    ("proved|proven right", "verified"),
    ("amiss", "wrong"),
    ("heed|heeds|heeded", "follow, obey"),
    ("thousand million", "billion"),
    ("sees|see|seen|saw to it", "checks, ensures"),
    (
        "likewise|thereby|therein|thereof|herein|whereof",
        "leave it out, or say which",
    ),
    (
        "is|are|was|were told !to|not|apart",
        "is reported, is shown",
    ),
    (
        "nought|naught|aught|ere|lest",
        "nothing, before, so that … not",
    ),
    ("afresh|anew", "again, from the start"),
    ("goes|went|gone wrong with", "fails"),
    (
        "break|breaks|broke|broken off",
        "interrupted, closed, failed",
    ),
    ("stand|stands|stood still", "stopped, stalled"),
    ("go|goes|went round", "take turns, rotate"),
    ("look|looks|looked after", "maintain, check"),
    (
        "what it|this|these|they|a come|comes|came to",
        "the outcome, the result",
    ),
];

/// Exceptions: files in which a phrase is correct, each with the phrase.
const RIGHT: [(&str, &str); 0] = [];

#[test]
fn texts_use_the_words_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the checkout");
    let mut found = Vec::new();
    for file in texts(&root) {
        let shown = file.display().to_string();
        let text = fs::read_to_string(root.join(&file)).expect("a text");
        for (line, phrase, advice) in review(&text) {
            if !RIGHT.contains(&(&*shown, &*phrase)) {
                found.push(format!("{shown}:{line}: \"{phrase}\": write {advice}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The tracked files that people write, excluding this one.
fn texts(root: &Path) -> Vec<PathBuf> {
    const KINDS: [&str; 9] = ["rs", "md", "py", "go", "kt", "ts", "proto", "toml", "sh"];
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "the checkout is a git repository");
    let all = String::from_utf8(output.stdout).expect("names in UTF-8");
    let is_text = |name: &&str| {
        let name = Path::new(name);
        let kind = name.extension().and_then(|kind| kind.to_str());
        kind.map_or(
            name.starts_with("scripts") || name.ends_with("Makefile"),
            |kind| KINDS.contains(&kind),
        )
    };
    all.split_terminator('\0')
        .filter(is_text)
        .filter(|name| !name.ends_with("tests/wording.rs"))
        .map(PathBuf::from)
        .collect()
}

/// Finds all phrases to avoid, each with its line and what to write instead.
fn review(text: &str) -> Vec<(usize, String, &'static str)> {
    let words = words(text);
    let phrases = ADVICE.map(|(phrase, advice)| {
        let parts: Vec<&str> = phrase.split_whitespace().collect();
        (parts, advice)
    });
    // Most words occur many times, and begin no phrase.
    let mut begun: HashMap<&str, Vec<&(Vec<&str>, &'static str)>> = HashMap::new();
    let mut found = Vec::new();
    for (at, (line, first)) in words.iter().enumerate() {
        let begun = begun.entry(first).or_insert_with(|| {
            let begins = phrases.iter().filter(|(parts, _)| fits(parts[0], first));
            begins.collect()
        });
        for (parts, advice) in begun {
            let Some(all) = words.get(at..at + parts.len()) else {
                continue;
            };
            if parts
                .iter()
                .zip(all)
                .all(|(part, (_, word))| fits(part, word))
            {
                let phrase: Vec<&str> = all.iter().map(|(_, word)| *word).collect();
                found.push((*line, phrase.join(" ").trim_end().to_owned(), *advice));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Whether a word matches a part of a phrase.
fn fits(part: &str, word: &str) -> bool {
    if let Some(others) = part.strip_prefix('!') {
        return !others.split('|').any(|other| fits(other, word));
    }
    let same = |known: &str, word: &str| {
        if known.contains(char::is_uppercase) {
            known == word
        } else {
            known.eq_ignore_ascii_case(word)
        }
    };
    part.split('|').any(|known| match known.strip_suffix('*') {
        Some(begin) => word
            .get(..begin.len())
            .is_some_and(|start| same(begin, start)),
        None => same(known, word),
    })
}

/// The words of a text with their lines. An empty word separates words with anything between them
/// other than space or the beginning of a comment line.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let line = line.trim_start_matches(['/', '!', '#', '*', '>']);
        let mut rest = line;
        while let Some(start) = rest.find(is_of_word) {
            if !rest[..start].trim().is_empty() {
                all.push((number, ""));
            }
            rest = &rest[start..];
            let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            all.push((number, &rest[..end]));
            rest = &rest[end..];
        }
        if !rest.trim().is_empty() {
            all.push((number, ""));
        }
    }
    all.push((0, ""));
    all
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "_-'’".contains(c)
}

#[test]
fn a_phrase_is_found_across_lines_and_in_any_case() {
    let found = |text: &str| -> Vec<(usize, String)> {
        let all = review(text).into_iter();
        all.map(|(line, phrase, _)| (line, phrase)).collect()
    };
    let at = |line, phrase: &str| vec![(line, phrase.to_owned())];
    assert_eq!(found("\n// So\n// many of them"), at(2, "So many of"));
    assert_eq!(found("const MOST_BYTES"), at(1, "MOST_BYTES"));
    assert_eq!(found("5 calls a second."), at(1, "calls a second"));
    for right in [
        "so many that it overflows",
        "a second connection; all calls. A second one",
        "most_in_flight and MAX_BYTES",
        "there is no file",
        "the server is told to stop",
    ] {
        assert_eq!(found(right), [], "{right}");
    }
}
