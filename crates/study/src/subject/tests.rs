//! A complete `subject.toml`, and mistakes in changed ones.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use rpcgauge_message::Encoding;

use crate::features::CompressionKind;
use crate::settings::{HttpVersion, Protocol, Style, Transport};

const WHOLE: &str = r#"
name = "python"
language = "Python"
build = [["python3", "-m", "venv", "venv"]]
run = ["venv/bin/python", "main.py", "{messages}/code"]
ready-timeout = "1m"
[messages]
generate = [["venv/bin/python", "generate.py", "{messages}"]]
[[toolchain]]
name = "python3"
programs = ["python3.12", "python3"]
folders = ["$PYTHON_HOME/bin", "/opt/python*/bin"]
least = "3.10"
install = "apt install python3"
[versions]
grpcio = "1.66.2"
[[stacks]]
name = "http"
roles = ["server", "client"]
protocols = { rest = ["1.1", "2"] }
encodings = ["json"]
compressions = ["none", "gzip"]
transports = ["tcp"]
workloads = ["hello"]
styles = ["future", "blocking"]
connections = ["reuse", "per-call"]
in-flight = 8
threads = 4
disk = ["main.py", "{messages}"]
codecs = { json = "json" }
[[stacks.recommended]]
setting = "one connection for all calls"
guide = "https://example.org/guide"
[[stacks]]
name = "json"
roles = ["codec"]
encodings = ["json"]
workloads = ["hello"]
"#;

fn refused(from: &str, to: &str) -> String {
    assert!(WHOLE.contains(from), "{from}");
    let text = WHOLE.replacen(from, to, 1);
    Manifest::parse(&text, "subject.toml")
        .expect_err(&text)
        .to_string()
}

#[test]
fn samples_are_json_alone_unless_the_subject_asks_for_protobuf_too() {
    let parse = |text: &str| Manifest::parse(text, "subject.toml").unwrap();
    assert!(!parse(WHOLE).protobuf_samples);
    let asks = WHOLE.replacen("ready-timeout = \"1m\"", "protobuf-samples = true", 1);
    assert!(parse(&asks).protobuf_samples);
}

#[test]
fn a_whole_manifest_is_read() {
    let manifest = Manifest::parse(WHOLE, "subject.toml").unwrap();
    assert_eq!(manifest.ready_timeout_ms, 60_000);
    assert_eq!(manifest.versions["grpcio"], "1.66.2");
    let generate = &manifest.messages.as_ref().unwrap().generate;
    assert_eq!(
        generate[0],
        ["venv/bin/python", "generate.py", "{messages}"]
    );
    let tool = &manifest.toolchain[0];
    assert_eq!(tool.folders, ["$PYTHON_HOME/bin", "/opt/python*/bin"]);
    assert_eq!(tool.version, ["--version"]);
    assert_eq!(tool.least, Version::parse("3.10"));
    let stacks: BTreeMap<String, Features> = manifest.features().collect();
    let http = &stacks["python/http"];
    assert_eq!(http.styles, [Style::Future, Style::Blocking]);
    assert_eq!(
        (http.in_flight, http.threads, &http.transports[..]),
        (8, 4, &[Transport::Tcp][..])
    );
    assert_eq!(
        http.protocols[&Protocol::Rest],
        [HttpVersion::Http1, HttpVersion::Http2]
    );
    assert_eq!(manifest.stacks[0].disk, ["main.py", "{messages}"]);
    assert_eq!(http.codecs[&Encoding::Json], "python/json");
    let json = &stacks["python/json"];
    assert_eq!(json.compressions, [CompressionKind::None]);
    assert!(json.protocols.is_empty() && json.styles.is_empty());
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert_snapshot!(refused("run =", "runs ="), @r#"subject.toml:5:1: the file has no key "runs"; did you mean "run"?"#);
    assert_snapshot!(refused("ready-timeout", "ready-time"), @r#"subject.toml:6:1: the file has no key "ready-time"; did you mean "ready-timeout"?"#);
    assert_snapshot!(refused("build =", "encodings = [\"json\"]\nbuild ="), @r#"subject.toml:4:1: the file has no key "encodings"; it belongs to a stack: write it under [[stacks]]"#);
    assert_snapshot!(refused("least", "at-least"), @r#"subject.toml:13:1: [toolchain] has no key "at-least"; expected one of name, programs, folders, version, least, install"#);
    assert_snapshot!(refused("least = \"3.10\"", "least = \"3.x\""), @r#"subject.toml:13:9: "3.x" is not a version; write it as 3.10"#);
    assert_snapshot!(refused("setting =", "seting ="), @r#"subject.toml:32:1: [stacks.recommended] has no key "seting"; did you mean "setting"?"#);
    assert_snapshot!(refused("name = \"python\"", "name = \"My Python\""), @r#"subject.toml:2:8: the name "My Python" must consist of lower-case letters, digits and - or ., and begin with a letter or digit"#);
    assert_snapshot!(refused("roles = [\"server\", \"client\"]", "roles = [\"sever\"]"), @r#"subject.toml:19:10: unknown value "sever"; did you mean "server"?"#);
    assert_snapshot!(refused("roles = [\"server\", \"client\"]", "roles = [\"server\"]"), @r#"subject.toml:25:10: "styles" applies to clients; leave it out"#);
    assert_snapshot!(refused("roles = [\"codec\"]", "roles = [\"codec\"]\ntransports = [\"tcp\"]"), @r#"subject.toml:37:14: "transports" applies to servers and clients; leave it out"#);
    assert_snapshot!(refused("{ rest =", "{ rset ="), @r#"subject.toml:20:15: unknown value "rset"; did you mean "rest"?"#);
    assert_snapshot!(refused("{ rest =", "{ grpc = [\"1.1\"], rest ="), @r#"subject.toml:20:13: gRPC needs HTTP/2; write grpc = ["2"]"#);
    assert_snapshot!(refused("in-flight = 8", "in-flight = 0"), @r#"subject.toml:27:13: "in-flight" must be from 1 to 65536"#);
    assert_snapshot!(refused("in-flight = 8", "channels = 0"), @r#"subject.toml:27:12: "channels" must be from 1 to 65536"#);
    assert_snapshot!(refused("name = \"json\"", "name = \"http\""), @r#"subject.toml: duplicate stack "http""#);
    assert_snapshot!(refused("[[\"python3\", \"-m\", \"venv\", \"venv\"]]", "[\"make\"]"), @r#"subject.toml:4:10: "build" must be a list, not a string"#);
    assert_snapshot!(refused("language = \"Python\"\n", ""), @r#"subject.toml:1:1: the file needs the key "language"; write language = "Python""#);
    assert_snapshot!(refused("install = \"apt install python3\"\n", ""), @r#"subject.toml:9:1: [toolchain] needs the key "install"; write install = "apt install python3""#);
    assert_snapshot!(refused("threads = 4", "threads = 0"), @r#"subject.toml:28:11: "threads" must be from 1 to 1024"#);
    assert_snapshot!(refused("roles = [\"codec\"]", "roles = [\"codec\"]\nthreads = 2"), @r#"subject.toml:37:11: "threads" applies to servers; leave it out"#);
    assert_snapshot!(refused("\"venv\"]]", "\"{messages}\"]]"), @r#"subject.toml:4:9: {messages} does not exist yet when the subject is built; use it in "generate""#);
    assert_snapshot!(refused("[messages]\ngenerate = [[\"venv/bin/python\", \"generate.py\", \"{messages}\"]]\n", ""), @r#"subject.toml:5:7: {messages} needs [messages] with "generate", which fills that folder"#);
    assert_snapshot!(refused("generate = ", "generates = "), @r#"subject.toml:8:1: [messages] has no key "generates"; did you mean "generate"?"#);
    assert_snapshot!(refused("{ json = \"json\" }", "{ json = \"jsn\" }"), @r#"subject.toml:30:10: "codecs": "jsn" is not a codec of this subject with the encoding json; did you mean "json"?"#);
    assert_snapshot!(refused("{ json = \"json\" }", "{ json = \"http\" }"), @r#"subject.toml:30:10: "codecs": "http" is not a codec of this subject with the encoding json; expected one of json"#);
    assert_snapshot!(refused("{ json = \"json\" }", "{ cbor = \"json\" }"), @r#"subject.toml:30:10: "codecs" has cbor, which is not an encoding of "http""#);
    assert_snapshot!(refused("encodings = [\"json\"]\nworkloads", "encodings = [\"cbor\"]\nworkloads"), @r#"subject.toml:30:10: "codecs": "json" is not a codec of this subject with the encoding json"#);
    assert_snapshot!(refused("roles = [\"codec\"]", "roles = [\"codec\"]\ncodecs = { json = \"json\" }"), @r#"subject.toml:37:10: "codecs" applies to servers and clients; leave it out"#);
    for path in ["/", "../..", "venv/../..", "./x"] {
        let told = refused("disk = [\"main.py\"", &format!("disk = [\"{path}\""));
        assert!(told.contains("paths within the subject's folder"), "{told}");
    }
    let none = WHOLE.split("[[stacks]]").next().unwrap();
    assert_snapshot!(Manifest::parse(none, "subject.toml").unwrap_err().to_string(), @r#"subject.toml:1:1: the file has no stack; write [[stacks]] with name = "http" and roles = ["server"]"#);
}

#[test]
fn versions_are_found_in_what_programs_say() {
    for (said, version) in [
        ("Python 3.11.2", "3.11.2"),
        ("go version go1.22.5 linux/amd64", "1.22.5"),
        ("openjdk 21 2023-09-19", "21"),
        ("v20.11.1", "20.11.1"),
        ("ruby 3.3.0 (2023-12-25 revision 5124f9ac75)", "3.3.0"),
    ] {
        assert_eq!(Version::find(said), Version::parse(version), "{said}");
    }
    assert_eq!(Version::find("no number"), None);
    assert!(Version::parse("3.10") > Version::parse("3.9"));
    assert!(Version::parse("3.10.1") > Version::parse("3.10"));
}

proptest! {
    #[test]
    fn random_text_never_panics(
        lines in proptest::collection::vec(
            "\\PC*|(\\[\\[?(toolchain|stacks|versions|stacks\\.recommended)\\]\\]?|(name|run|build|roles|least|encodings|in-flight|protocols) = (1|\"a\"|\"1.2\"|\\[\\]|\\[\"server\"\\]|\\[\\[\\]\\]|\\{ rest = \\[\\] \\}))",
            0..12,
        ),
    ) {
        if let Err(error) = Manifest::parse(&lines.join("\n"), "subject.toml") {
            prop_assert!(!error.to_string().contains(char::is_control), "{}", error);
        }
    }
}

const RUNTIME: &str = r#"
[flags]
gc = { g1 = ["-XX:+UseG1GC"], serial = ["-XX:+UseSerialGC"] }
heap = ["-Xms{heap}", "-Xmx{heap}"]
aot-cache = { train = ["-write={aot-cache}"], load = ["-load={aot-cache}"] }
usual = { gc = "g1", heap = "512MiB" }
[events]
flags = ["-record={events}"]
read = ["java", "Events", "{events}"]
[messages]
"#;

fn with_runtime(run: &str, from: &str, to: &str) -> Result<Manifest, String> {
    let whole = WHOLE
        .replacen("main.py", run, 1)
        .replacen("[messages]\n", RUNTIME, 1);
    assert!(whole.contains(from), "{from}");
    let read = Manifest::parse(&whole.replacen(from, to, 1), "subject.toml");
    read.map_err(|error| error.to_string())
}

#[test]
fn the_flags_of_a_runtime_are_read_and_its_stacks_can_be_asked_for_them() {
    let manifest = with_runtime("{flags}", "name", "name").unwrap();
    assert_eq!(manifest.flags.gc["serial"], ["-XX:+UseSerialGC"]);
    assert_eq!(manifest.flags.heap, ["-Xms{heap}", "-Xmx{heap}"]);
    assert_eq!(manifest.flags.usual.heap_bytes, Some(512 << 20));
    assert_eq!(manifest.events.as_ref().unwrap().read[0], "java");
    for (_, features) in manifest.features() {
        let runtime = &features.runtime;
        assert_eq!(runtime.gc, ["g1", "serial"]);
        assert!(runtime.heap && runtime.aot_cache && runtime.events);
    }
}

#[test]
fn flags_that_would_come_nowhere_are_refused() {
    for (run, from, to, says) in [
        (
            "main.py",
            "name",
            "name",
            "\"run\" needs the word \"{flags}\" once",
        ),
        (
            "{flags}.py",
            "name",
            "name",
            "\"run\" needs the word \"{flags}\" once",
        ),
        (
            "{flags}",
            "heap = [\"-Xms{heap}\", \"-Xmx{heap}\"]",
            "heap = [\"-Xmx1g\"]",
            "\"heap\" needs {heap}",
        ),
        (
            "{flags}",
            "gc = \"g1\",",
            "gc = \"zgc\",",
            "\"usual\" sets a \"gc\"",
        ),
        (
            "{flags}",
            "-load={aot-cache}",
            "-load",
            "\"train\" and \"load\" need {aot-cache}",
        ),
        (
            "{flags}",
            "-record={events}",
            "-record",
            "need {events} in a word",
        ),
        (
            "{flags}",
            "g1 = ",
            "G1 = ",
            "the name \"G1\" must consist of lower-case letters",
        ),
        ("{flags}", "heap = ", "head = ", "has no key \"head\""),
    ] {
        let refused = with_runtime(run, from, to).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    }
    let alone = refused("main.py", "{flags}");
    assert!(
        alone.contains("{flags} needs [flags] or [events]"),
        "{alone}"
    );
}
