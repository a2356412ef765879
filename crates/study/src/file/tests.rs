//! Messages for mistakes that are found without resolving the study.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::StudyFile;

fn refused(text: &str) -> String {
    StudyFile::parse(text, "my.toml")
        .expect_err("it should be refused")
        .to_string()
}

/// The error of a study whose first line is its question, so that `rest` begins in line 2.
fn with_question(rest: &str) -> String {
    refused(&format!("# Is it fast?\n{rest}"))
}

#[test]
fn the_smallest_study_is_read() {
    let text = "# Is it fast?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"grpc\"\n";
    let file = StudyFile::parse(text, "studies/my study.toml").unwrap();
    assert_eq!(file.name(), "my-study");
    assert_eq!(file.question(), "Is it fast?");
    assert_eq!(file.text(), text);
    let marked = StudyFile::parse(&format!("\u{feff}{text}"), "marked.toml").unwrap();
    assert_eq!(marked.question(), "Is it fast?");
}

#[test]
fn text_that_is_no_toml() {
    assert_snapshot!(with_question("[base\n"), @"my.toml:2:6: unclosed table, expected `]`");
    assert_snapshot!(with_question("seed = 1\nseed = 2\n"), @"my.toml:3:1: duplicate key");
}

#[test]
fn a_study_begins_with_its_question() {
    assert_snapshot!(refused("seed = 1\n"), @r#"my.toml:1:1: a study begins with its question; write question = "Is …?" or a comment in the first line"#);
    assert_snapshot!(refused("question = \"\"\n"), @"my.toml:1:12: this is empty");
    assert_snapshot!(refused("question = \"one\\ntwo\"\n"), @"my.toml:1:12: this must be one line without tabs");
}

#[test]
fn unknown_keys_get_the_nearest() {
    assert_snapshot!(with_question("sed = 1"), @r#"my.toml:2:1: the file has no key "sed"; did you mean "seed"?"#);
    assert_snapshot!(with_question("protocol = \"grpc\""), @r#"my.toml:2:1: the file has no key "protocol"; it is a setting: write it under [base]"#);
    assert_snapshot!(with_question("[base]\nprotcol = \"grpc\""), @r#"my.toml:3:1: [base] has no key "protcol"; did you mean "protocol"?"#);
    assert_snapshot!(with_question("[base]\nin_flight = 3"), @r#"my.toml:3:1: [base] has no key "in_flight"; did you mean "in-flight"?"#);
    assert_snapshot!(with_question("[workload]\nname = \"echo\"\nsize = 3"), @r#"my.toml:4:1: [workload] has no key "size"; expected one of name, n"#);
    assert_snapshot!(with_question("[[variants]]\nname = \"a\"\ntransprot = \"tcp\""), @r#"my.toml:4:1: [variants] has no key "transprot"; did you mean "transport"?"#);
    assert_snapshot!(with_question("[[pairs]]\nof = \"a\"\nagainst = \"b\"\nmetrics = \"goodput\""), @r#"my.toml:5:1: [pairs] has no key "metrics"; did you mean "metric"?"#);
    assert_snapshot!(with_question("[[groups]]\nname = \"a\"\nencoding = \"json\""), @r#"my.toml:4:1: [groups] has no key "encoding"; it is a setting: write it under [groups.base]"#);
    assert_snapshot!(with_question("placement = { mian = \"free\" }"), @r#"my.toml:2:15: [placement] has no key "mian"; did you mean "main"?"#);
    assert_snapshot!(with_question("warm-up = { tiem = \"1s\" }"), @r#"my.toml:2:13: [warm-up] has no key "tiem"; did you mean "time"?"#);
}

#[test]
fn wrong_types() {
    assert_snapshot!(with_question("seed = \"one\""), @r#"my.toml:2:8: "seed" must be a non-negative whole number, not a string"#);
    assert_snapshot!(with_question("base = 3"), @r#"my.toml:2:8: "base" must be a table"#);
    assert_snapshot!(with_question("variants = { name = \"a\" }"), @r#"my.toml:2:12: "variants" must be tables, each under [[variants]]"#);
    assert_snapshot!(with_question("[base]\nprotocol = 2"), @r#"my.toml:3:12: "protocol" must be one of "grpc", "rest", "connect", not 2"#);
    assert_snapshot!(with_question("[base]\nhttp = 2"), @r#"my.toml:3:8: "http" must be one of "1.1", "2", not 2"#);
    assert_snapshot!(with_question("[base]\ntime = 100"), @r#"my.toml:3:8: "time" must be a time with its unit, such as "150ms", not 100"#);
    assert_snapshot!(with_question("[factors]\nprotocol = \"grpc\""), @r#"my.toml:3:12: "protocol" must be a list"#);
    assert_snapshot!(with_question("margin = true"), @r#"my.toml:2:10: "margin" must be a number, not boolean true"#);
    assert_snapshot!(with_question("margin = 1e400"), @r#"my.toml:2:10: "margin" must be a number, not a number that is too large"#);
    assert_snapshot!(with_question("placement = { main = 5 }"), @r#"my.toml:2:22: "main" must be a string, not 5"#);
    assert_snapshot!(refused("question = 2026-01-31"), @r#"my.toml:1:12: "question" must be a string, not a date"#);
    assert_snapshot!(with_question("[[pairs]]\nof = \"a\"\nagainst = \"b\"\nheadline = \"yes\""), @r#"my.toml:5:12: "headline" must be true or false, not a string"#);
}

#[test]
fn bad_values() {
    assert_snapshot!(with_question("[base]\nprotocol = \"grcp\""), @r#"my.toml:3:12: unknown protocol "grcp"; did you mean "grpc"?"#);
    assert_snapshot!(with_question("[base]\nencoding = \"jsn\""), @r#"my.toml:3:12: unknown encoding "jsn"; did you mean "json"?"#);
    assert_snapshot!(with_question("[base]\ncompression = \"gzip:12\""), @r#"my.toml:3:15: "gzip:12": gzip has levels 1 to 9"#);
    assert_snapshot!(with_question("[base]\ncompression = \"gzp\""), @r#"my.toml:3:15: unknown compression "gzp"; did you mean "gzip"?"#);
    assert_snapshot!(with_question("[base]\ntime = \"5 parsecs\""), @r#"my.toml:3:8: "5 parsecs" is not a time; write it as 150ms, 10s or 1m30s"#);
    assert_snapshot!(with_question("[workload]\nname = \"ehco\""), @r#"my.toml:3:8: unknown value "ehco"; did you mean "echo"?"#);
    assert_snapshot!(with_question("placement = \"3-cores\""), @r#"my.toml:2:13: unknown value "3-cores"; did you mean "two-cores"?"#);
    assert_snapshot!(with_question("margin = 1.5"), @r#"my.toml:2:10: "margin" must be between 0 and 1, not 1.5"#);
    assert_snapshot!(with_question("confidence = 0.3"), @r#"my.toml:2:14: "confidence" must be between 0.5 and 1, not 0.3"#);
    assert_snapshot!(with_question("[[variants]]\nname = \"My Variant\""), @r#"my.toml:3:8: the name "My Variant" must consist of lower-case letters, digits and - . / : + = @, and not begin with -"#);
}

#[test]
fn zero_counts() {
    assert_snapshot!(with_question("blocks = 0"), @r#"my.toml:2:10: "blocks" must be a whole number from 1 to 4294967295, not 0"#);
    assert_snapshot!(with_question("invocations = 0"), @r#"my.toml:2:15: "invocations" must be a whole number from 1 to 4294967295, not 0"#);
    assert_snapshot!(with_question("[base]\ncalls = 0"), @r#"my.toml:3:9: "calls" must be a whole number from 1 to 9223372036854775807, not 0"#);
    assert_snapshot!(with_question("[base]\ntime = \"0s\""), @r#"my.toml:3:8: "0s" is too short; write at least 1ms"#);
    assert_snapshot!(with_question("[base]\nin-flight = 0"), @r#"my.toml:3:13: "in-flight" must be a whole number from 1 to 65536, not 0"#);
    assert_snapshot!(with_question("[base]\nrate = 0"), @r#"my.toml:3:8: "rate" must be more than 0 and at most 1e9 calls per second, not 0"#);
    assert_snapshot!(with_question("[base]\nconnections = -1"), @r#"my.toml:3:15: "connections" must be a whole number from 1 to 65536, not -1"#);
    assert_snapshot!(with_question("[base]\nin-flight = 4294967295"), @r#"my.toml:3:13: "in-flight" must be a whole number from 1 to 65536, not 4294967295"#);
    assert_snapshot!(with_question("[workload]\nname = \"echo\"\nn = 0"), @r#"my.toml:4:5: "n" must be a whole number from 1 to 4294967295, not 0"#);
    assert_snapshot!(with_question("[factors]\nn = []"), @r#"my.toml:3:5: "n" is an empty list"#);
}

#[test]
fn counts_beyond_their_bound() {
    assert_snapshot!(with_question("[base]\ncalls = 99999999999999999999"), @r#"my.toml:3:9: "calls" must be a whole number from 1 to 9223372036854775807, not 99999999999999999999"#);
    assert_snapshot!(with_question("[base]\nrate = 1e300"), @r#"my.toml:3:8: "rate" must be more than 0 and at most 1e9 calls per second, not 1e300"#);
    assert_snapshot!(with_question("[base]\nrate = inf"), @r#"my.toml:3:8: "rate" must be more than 0 and at most 1e9 calls per second, not inf"#);
    assert_snapshot!(with_question("[base]\ntime = \"25h\""), @r#"my.toml:3:8: "25h" is more than 24h"#);
    assert_snapshot!(with_question("blocks = 99999999999999999999"), @r#"my.toml:2:10: "blocks" must be a whole number from 1 to 4294967295, not 99999999999999999999"#);
}

#[test]
fn keys_that_contradict_each_other() {
    assert_snapshot!(with_question("[base]\nin-flight = 4\nrate = 100"), @r#"my.toml:4:8: calls are sent either at a "rate" or with a fixed number "in-flight"; keep one of the two"#);
    assert_snapshot!(with_question("[factors]\nrate = [100]\nin-flight = [4]"), @r#"my.toml:4:14: calls are sent either at a "rate" or with a fixed number "in-flight"; keep one of the two"#);
    assert_snapshot!(with_question("[base]\ncompression = \"gzip\"\nrequest-compression = \"none\""), @r#"my.toml:4:23: "compression" sets both directions; set it alone, or set each direction"#);
    assert_snapshot!(with_question("[workload]\nname = \"echo\"\nmethod = \"a.B/C\""), @r#"my.toml:4:1: [workload] has no key "method"; it is for your own method; a built-in workload does not need it"#);
    assert_snapshot!(with_question("[workload]\nproto = \"a.proto\"\ndescriptor-set = \"a.binpb\"\nmethod = \"a.B/C\"\nrequest = \"q.json\"\nresponse = \"p.json\""), @r#"my.toml:4:18: a message is described by "proto" or by "descriptor-set"; keep one of the two"#);
    assert_snapshot!(with_question("[workload]\nmethod = \"a.B/C\"\nrequest = \"q.json\"\nresponse = \"p.json\""), @r#"my.toml:2:1: [workload] needs "proto" or "descriptor-set"; write proto = "service.proto""#);
    assert_snapshot!(with_question("[workload]\n"), @r#"my.toml:2:1: [workload] has neither the "name" of a built-in workload nor a "method" of your own"#);
    assert_snapshot!(with_question("placement = { main = \"free\", others = [\"free\"] }"), @r#"my.toml:2:39: duplicate placement; "others" lists the placements besides "main""#);
    assert_snapshot!(with_question("[factors]\nn = [10, 20, 10]"), @"my.toml:3:14: duplicate value 10 in this list");
    assert_snapshot!(with_question("[[exclude]]"), @"my.toml:2:1: this [[exclude]] has no setting, so it would exclude everything");
    assert_snapshot!(with_question("[[pairs]]\nof = \"a\"\nagainst = \"a\""), @"my.toml:4:11: a variant is compared with itself; every study already has an A/A pair");
}

#[test]
fn names_that_are_no_names_any_more() {
    let named = |key: &str, length: usize| {
        with_question(&format!(
            "[[{key}]]\nname = \"{}\"\nx = 1",
            "a".repeat(length)
        ))
    };
    assert_snapshot!(named("variants", 201), @"my.toml:3:8: this name has 201 characters; the limit is 200");
    assert_snapshot!(named("groups", 70_000), @"my.toml:3:8: this name has 70000 characters; the limit is 200");
    assert!(named("variants", 200).contains("no key \"x\""));
}

#[test]
fn names_that_look_like_an_option() {
    assert_snapshot!(with_question("[[variants]]\nname = \"-grpc\""), @r#"my.toml:3:8: the name "-grpc" must consist of lower-case letters, digits and - . / : + = @, and not begin with -"#);
}

#[test]
fn a_value_of_the_wrong_type_is_not_shown_as_it_may_be_a_secret() {
    assert_snapshot!(with_question("[service]\nheaders = \"authorization: Bearer s3cret\""), @r#"my.toml:3:11: "headers" must be a list, not a string"#);
}

#[test]
fn what_is_missing() {
    assert_snapshot!(with_question("[[variants]]\nprotocol = \"grpc\""), @r#"my.toml:2:1: [variants] needs the key "name"; write name = "grpc-gzip""#);
    assert_snapshot!(with_question("[[pairs]]\nof = \"a\""), @r#"my.toml:2:1: [pairs] needs the key "against"; write against = "rest-json", a variant's name"#);
    assert_snapshot!(with_question("[[claims]]\nof = \"a\"\nagainst = \"b\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\""), @r#"my.toml:2:1: [claims] needs the key "published"; write published = { of = 1.5, against = 3.0, unit = "ms" }"#);
    assert_snapshot!(with_question("[[claims]]\nof = \"a\"\nagainst = \"b\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 0, against = 1, unit = \"ms\" }"), @"my.toml:8:13: the published figures must be more than 0, and have a unit");
    assert_snapshot!(with_question("[[claims]]\nof = \"a\"\nagainst = \"b\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 1, unit = \"ms\" }\nstacks = [\"grpc-go\"]"), @r#"my.toml:9:11: "grpc-go" is not a stack: write SUBJECT/STACK, such as "go/grpc-go""#);
    assert_snapshot!(with_question("[[groups]]\n[groups.base]"), @r#"my.toml:2:1: [groups] needs the key "name"; write name = "small-messages""#);
}

#[test]
fn a_mistake_is_one_line_even_if_what_is_quoted_is_not() {
    let message = with_question("[base]\nprotocol = \"a\\u001b[31m\\nb\"");
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

proptest! {
    #[test]
    fn random_text_never_panics(text in "\\PC*") {
        let _ = StudyFile::parse(&text, "my.toml");
    }

    #[test]
    fn random_lines_of_study_like_text_never_panic(
        lines in proptest::collection::vec(
            "(\\[\\[?(workload|base|factors|exclude|variants|pairs|claims|groups|groups\\.pairs)\\]\\]?|(name|n|protocol|http|rate|in-flight|time|of|against|metric|placement|warm-up|published|question) = (1|-1|0\\.5|\"grpc\"|\"a\"|\"1s\"|\\[\\]|\\[1, \"x\"\\]|\\{\\}|\\{ of = 1 \\}|nan|1979-05-27))",
            0..12,
        ),
    ) {
        let text = format!("# Is it fast?\n{}", lines.join("\n"));
        if let Err(error) = StudyFile::parse(&text, "my.toml") {
            let message = error.to_string();
            prop_assert!(message.starts_with("my.toml:"), "{}", message);
            let position = error.position.unwrap();
            prop_assert!(position.line >= 1 && position.column >= 1);
            prop_assert!(position.line <= text.lines().count() + 1);
        }
    }
}
