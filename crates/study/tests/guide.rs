//! docs/studies.md shows every key, and its examples are valid studies.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_message::WorkloadSpec;
use rpcgauge_study::features::{WorkloadKind, embedded_only};
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::setting::{SETTINGS, Values};
use rpcgauge_study::settings::{Idle, Placement, Protocol, Settings, SubjectCall};
use rpcgauge_study::subject;
use rpcgauge_study::words::Named;

const GUIDE: &str = include_str!("../../../docs/studies.md");

/// The text of each ```toml block.
fn examples() -> Vec<&'static str> {
    let blocks = GUIDE.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// The keys that a table can have, as listed in the error about an unknown key.
fn known(refusal: &str) -> Vec<String> {
    let (_, keys) = refusal.split_once("; expected one of ").expect(refusal);
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_key_is_in_the_guide() {
    let pair = "of = \"a\"\nagainst = \"b\"";
    let tables = [
        "",
        "[[groups]]\nname = \"a\"",
        "[workload]\nname = \"hello\"",
        "[workload]\nmethod = \"a.B/C\"",
        "[service]",
        "[service.stream]",
        "[[service.calls]]\nname = \"a\"",
        "[capacity]",
        "[placement]",
        "[warm-up]",
        &format!("[[pairs]]\n{pair}"),
        &format!("[[claims]]\n{pair}"),
        &format!("[[claims]]\n{pair}\n[claims.published]"),
    ];
    let keys = tables.iter().flat_map(|table| {
        let refused = StudyFile::parse(&format!("# Is it?\n{table}\nqqqq = 1"), "study.toml");
        known(&refused.unwrap_err().to_string())
    });
    let settings = SETTINGS.iter().map(|row| row.name.to_owned());
    let missing: Vec<String> = keys
        .chain(settings)
        .filter(|key| !GUIDE.contains(&format!("`{key}`")) && !GUIDE.contains(&format!("{key} = ")))
        .filter(|key| !GUIDE.contains(&format!("[{key}]")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The guide's table of settings: the values of each, and its default.
fn documented() -> BTreeMap<&'static str, [&'static str; 2]> {
    let table = GUIDE.split("| setting | values | when left out |").nth(1);
    let rows = table.expect("a table of settings").lines().skip(2);
    let rows = rows.take_while(|row| row.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .flat_map(|cells| {
            let keys: Vec<&str> = cells[1].split(", ").collect();
            keys.into_iter()
                .map(move |key| (key.trim_matches('`'), [cells[2], cells[3]]))
        })
        .collect()
}

#[test]
fn the_guides_table_is_the_table_of_settings() {
    let documented = documented();
    let words: BTreeSet<&str> = SETTINGS.iter().map(|row| row.name).collect();
    assert_eq!(documented.keys().copied().collect::<BTreeSet<_>>(), words);
    let usual = [Protocol::Grpc, Protocol::Rest]
        .map(|protocol| Settings::new(SubjectCall::new(WorkloadSpec::Hello {}, protocol)));
    for row in &SETTINGS {
        let [values, left_out] = documented[row.name];
        if let Values::Words { all, .. } = &row.values {
            for word in all() {
                let shown = values.contains(&format!("\"{word}\""));
                assert!(shown, "{} = \"{word}\": {values}", row.name);
            }
        }
        for settings in usual.iter().filter(|_| left_out != "required") {
            let Some(value) = row.value(settings) else {
                continue;
            };
            let shown = left_out.contains(&value.to_string());
            let follows = left_out.starts_with("as ");
            assert!(shown || follows, "{} = {value}: {left_out}", row.name);
        }
    }
}

#[test]
fn every_key_of_a_subject_is_in_its_guide() {
    const GUIDE: &str = include_str!("../../../docs/add-a-subject.md");
    let whole = "name = \"a\"\nlanguage = \"A\"\nrun = [\"a\"]\n";
    let stack = "[[stacks]]\nname = \"a\"\nroles = [\"codec\"]\nencodings = [\"json\"]\n\
        workloads = [\"hello\"]\n";
    let tables = [
        format!("qqqq = 1\n{whole}{stack}"),
        format!("{whole}{stack}qqqq = 1"),
        format!("{whole}{stack}[[stacks.recommended]]\nqqqq = 1"),
        format!("{whole}{stack}[[toolchain]]\nqqqq = 1"),
    ];
    let keys = tables.iter().flat_map(|text| {
        let refused = subject::Manifest::parse(text, "subject.toml");
        known(&refused.unwrap_err().to_string())
    });
    let missing: Vec<String> = keys
        .filter(|key| !GUIDE.contains(&format!("{key}`")) && !GUIDE.contains(&format!("{key}]")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn words<T: Named>() -> BTreeMap<&'static str, &'static str> {
    T::NAMES.iter().map(|(word, _)| (*word, T::KIND)).collect()
}

#[test]
fn every_word_is_in_the_guide() {
    let mut all = words::<Metric>();
    all.extend(words::<Placement>());
    all.extend(words::<Idle>());
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
        loader: &FileLoader::default(),
        cores: 2,
        overrides: &Overrides::default(),
    };
    let plan = StudyFile::parse(examples[0], "small.toml")
        .unwrap()
        .resolve(&context)
        .unwrap();
    assert_eq!(plan.variants.len(), 3);
}
