//! docs/studies.md shows every key, and its examples are studies.

use std::collections::BTreeMap;

use rpcgauge_message::Encoding;
use rpcgauge_study::features::{WorkloadKind, embedded_only};
use rpcgauge_study::file::{StudyFile, known_keys};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::resolve::own::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::settings::{
    Arrivals, ConnectionUse, Idle, Operation, Placement, Protocol, Sample, Style, Transport,
};
use rpcgauge_study::subject;
use rpcgauge_study::words::Word;

const GUIDE: &str = include_str!("../../../docs/studies.md");

/// The text of every ```toml block.
fn examples() -> Vec<&'static str> {
    let blocks = GUIDE.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

#[test]
fn every_key_is_in_the_guide() {
    let missing: Vec<&str> = known_keys()
        .into_iter()
        .filter(|key| !GUIDE.contains(&format!("`{key}`")) && !GUIDE.contains(&format!("{key} = ")))
        .filter(|key| !GUIDE.contains(&format!("[{key}]")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_key_of_a_subject_is_in_its_guide() {
    const GUIDE: &str = include_str!("../../../docs/add-a-subject.md");
    let missing: Vec<&str> = subject::known_keys()
        .into_iter()
        .filter(|key| !GUIDE.contains(&format!("{key}`")) && !GUIDE.contains(&format!("{key}]")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn words<T: Word>() -> BTreeMap<&'static str, &'static str> {
    T::WORDS.iter().map(|(word, _)| (*word, T::WHAT)).collect()
}

#[test]
fn every_word_is_in_the_guide() {
    let mut all = words::<Protocol>();
    all.extend(words::<Encoding>());
    all.extend(words::<Transport>());
    all.extend(words::<ConnectionUse>());
    all.extend(words::<Style>());
    all.extend(words::<Operation>());
    all.extend(words::<Sample>());
    all.extend(words::<Arrivals>());
    all.extend(words::<Placement>());
    all.extend(words::<Idle>());
    all.extend(words::<Metric>());
    all.extend(words::<WorkloadKind>());
    all.remove("own");
    for (word, what) in all {
        let shown =
            GUIDE.contains(&format!("`\"{word}\"`")) || GUIDE.contains(&format!("`{word}`"));
        assert!(shown, "the {what} {word}");
    }
}

#[test]
fn the_examples_are_parsed_and_the_first_is_a_whole_study() {
    let examples = examples();
    assert!(examples.len() >= 7, "{}", examples.len());
    for example in &examples {
        let text = format!("# Is it?\n{example}");
        StudyFile::parse(&text, "example.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
    let context = ResolveContext {
        subjects: &embedded_only(),
        loader: &FileLoader { folder: ".".into() },
        cores: 2,
        overrides: &Overrides::default(),
    };
    let plan = StudyFile::parse(examples[0], "small.toml")
        .unwrap()
        .resolve(&context)
        .unwrap();
    assert_eq!(plan.variants.len(), 3);
}
