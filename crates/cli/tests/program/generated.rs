//! A stack that needs code generated for the user's own messages. The code is generated once, and
//! the stack is left out if that fails. The subject is a small server whose generator reads the
//! descriptors that it is given.

use std::env;
use std::fs;
use std::iter;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{Finished, Place, report, trial_lines};

const MANIFEST: &str = r#"
name = "made"
language = "Python"
build = [["python3", "-c", "open('built', 'a').write('x')"]]
run = ["python3", "server.py", "{messages}", "{stack}"]

[messages]
generate = [["python3", "generate.py", "{messages}"]]

[[toolchain]]
name = "python3"
install = "apt install python3"

[versions]
bottle = "1.2.3"

[[stacks]]
name = "http"
roles = ["server"]
protocols = { rest = ["1.1"] }
encodings = ["json"]
transports = ["tcp"]
workloads = ["hello", "own"]
"#;

/// A generator that only writes a file. It rejects messages with "Reserved" in their name.
const GENERATOR: &str = r#"
import json, os, sys
folder = sys.argv[1]
files = json.load(open(f"{folder}/files.json"))
descriptors = open(f"{folder}/descriptors.binpb", "rb").read()
assert all(name.encode() in descriptors for name in files["generate"])
open(os.environ["COUNT"], "a").write("x")
print("looks at", files["generate"], flush=True)
if b"Reserved" in descriptors:
    print("shop.proto: \"Reserved\" is a word of this language", file=sys.stderr)
    sys.exit(1)
json.dump([method["path"] for method in files["methods"]], open(f"{folder}/code", "w"))
"#;

const SERVER: &str = r#"
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import threading

settings = json.loads(sys.stdin.readline())
methods = json.load(open(f"{sys.argv[1]}/code"))
workload = settings["workload"]
own = workload["name"] == "own"
assert sys.argv[2] == "http", sys.argv
assert not own or methods == ["/" + workload["method"]], methods
assert own or "/hello.Hello/SayHello" in methods, methods

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = workload["response"] if own else {"message": f"Hello, {asked['name']}."}
        body = json.dumps(message).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"contract": 1, "ready": True, "address": "%s:%d" % server.server_address,
                  "versions": {}, "code": "generated"}), flush=True)
sys.stdin.read()
"#;

const PROTO: &str = "syntax = \"proto3\";\npackage shop;\n\
    message Item { int64 big_id = 1; bytes raw = 2; }\n\
    message Order { repeated Item items = 1; }\n\
    service Orders { rpc Get(Item) returns (Order); }\n";

const STUDY: &str = r#"
question = "Is it?"
invocations = 1
blocks = 1
warm-up = { calls = 5 }
a-a = "reference"

[workload]
proto = "shop.proto"
method = "shop.Orders/Get"
request = "request.json"
response = "response.json"

[base]
protocol = "rest"
calls = 20

[factors]
server = ["reference", "made/http"]
"#;

pub(crate) fn place() -> Place {
    let place = Place::new();
    place.file("mine/made/subject.toml", MANIFEST);
    place.file("mine/made/generate.py", GENERATOR);
    place.file("mine/made/server.py", SERVER);
    place.file("shop.proto", PROTO);
    place.file("request.json", r#"{"bigId": "9007199254740993"}"#);
    place.file(
        "response.json",
        r#"{"items": [{"bigId": "-1", "raw": "AP8="}, {}]}"#,
    );
    place.file("study.toml", STUDY);
    place
}

/// [`place`] with `from` replaced by `to` in one of its files.
pub(crate) fn place_with(file: &str, from: &str, to: &str) -> Place {
    let place = place();
    let text = fs::read_to_string(place.path().join(file)).expect("a file");
    assert!(text.contains(from), "{from} is not in {file}");
    place.file(file, &text.replace(from, to));
    place
}

pub(crate) fn command(place: &Place, args: &[&str]) -> Finished {
    let mut command = place.command(args);
    command.env("COUNT", place.path().join("count"));
    command.output().expect("the program starts").into()
}

pub(crate) fn run(place: &Place, out: &str) -> Finished {
    let args = ["run", "study.toml", "--subjects", "mine", "--out", out];
    command(place, &args)
}

/// How many times the generator was started.
pub(crate) fn count(place: &Place) -> usize {
    fs::read(place.path().join("count")).map_or(0, |bytes| bytes.len())
}

/// Asserts that the run continued without the stack, and that the report and exit code show this.
#[track_caller]
pub(crate) fn left_out(place: &Place, reasons: &[&str]) -> Value {
    let finished = run(place, "run");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let made = variants.iter().find(|v| v["name"] == "made/http");
    let not_run = made.expect("its variant")["not_run"].to_string();
    let failed = trial_lines(&place.path().join("run"));
    for reason in reasons {
        assert!(
            finished.stderr.contains(reason),
            "{reason}: {}",
            finished.stderr
        );
        assert!(
            not_run.contains(&reason.replace('"', "\\\"")),
            "{reason}: {not_run}"
        );
    }
    let measured = |variant: &str| {
        let mut trials = failed.iter();
        trials.any(|t| t["variant"] == variant && t["outcome"]["outcome"] == "measured")
    };
    assert!(measured("reference") && !measured("made/http"));
    report
}

#[test]
fn code_is_made_again_once_a_program_that_the_generator_uses_is_installed() {
    let generate = r#"generate = [["python3", "generate.py", "{messages}"]]"#;
    let with_optional = format!("{generate}\noptional = [\"protoc-gen-made\"]");
    let place = place_with("mine/made/subject.toml", generate, &with_optional);
    for (out, made) in [("none", 1), ("still-none", 1)] {
        run(&place, out).well();
        assert_eq!(count(&place), made, "{out}");
    }
    place.file("bin/protoc-gen-made", "#!/bin/sh\n");
    let tool = place.path().join("bin/protoc-gen-made");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).expect("its owner's file");
    let found = env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(place.path().join("bin")).chain(env::split_paths(&found));
    let path = env::join_paths(folders).expect("no : in the paths");
    for (out, made) in [("installed", 2), ("still-installed", 2)] {
        let args = ["run", "study.toml", "--subjects", "mine", "--out", out];
        let mut command = place.command(&args);
        command
            .env("COUNT", place.path().join("count"))
            .env("PATH", &path);
        Finished::from(command.output().expect("the program starts")).well();
        assert_eq!(count(&place), made, "{out}");
    }
}

#[test]
fn code_for_a_set_of_messages_is_made_once() {
    let place = place();
    let first = run(&place, "one");
    assert!(
        first
            .stderr
            .contains("generating code for messages in made, 1 of 1: python3 generate.py /"),
        "{}",
        first.stderr
    );
    first.well();
    assert_eq!(count(&place), 1);
    run(&place, "two").well();
    assert_eq!(count(&place), 1, "the same messages");
    place.file("shop.proto", &PROTO.replace("big_id", "large_id"));
    place.file("request.json", r#"{"largeId": "1"}"#);
    place.file("response.json", r#"{"items": [{"largeId": "1"}]}"#);
    run(&place, "three").well();
    assert_eq!(count(&place), 2, "other messages");
}

#[test]
fn a_build_makes_the_code_for_the_built_in_messages() {
    let place = place();
    let build = || command(&place, &["subjects", "build", "made", "--subjects", "mine"]);
    let text = build().well();
    assert!(text.starts_with("made: built in "), "{text}");
    assert_eq!(count(&place), 1);
    let folder = PathBuf::from(text.trim().rsplit(": ").next().expect("a folder"));
    let sets = PathBuf::from(format!("{}.messages", folder.display()));
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&sets).expect("sets").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    };
    assert!(names().iter().all(|name| name.starts_with("builtin-")));
    let text = build().well();
    assert!(text.starts_with("made: already built, "), "{text}");
    assert_eq!(count(&place), 1);
    assert_eq!(fs::read(folder.join("built")).expect("built"), b"x");
    let check = ["subjects", "check", "made", "--subjects", "mine"];
    let text = command(&place, &check).stdout;
    assert!(text.contains("made/http as server: "), "{text}");
    assert_eq!(count(&place), 2, "own messages of the check");
}

#[test]
fn a_set_that_broke_off_is_made_anew() {
    let place = place();
    command(&place, &["subjects", "build", "made", "--subjects", "mine"]).well();
    let cache = place.path().join("cache/rpcgauge/subjects");
    let find = |folder: &PathBuf, is_it: &dyn Fn(&str) -> bool| -> PathBuf {
        let mut entries = fs::read_dir(folder).expect("a folder").flatten();
        let found = entries.find(|entry| is_it(&entry.file_name().to_string_lossy()));
        found.expect("it is there").path()
    };
    let sets = find(&cache, &|name| name.ends_with(".messages"));
    let set = find(&sets, &|name| {
        name.starts_with("builtin-") && !name.contains('.')
    });
    // Simulate a kill of rpcgauge during generation.
    fs::remove_file(set.join(".built")).expect("the mark of a whole folder");
    fs::write(set.join("left"), "").expect("a leftover");
    command(&place, &["subjects", "build", "made", "--subjects", "mine"]).well();
    assert_eq!(count(&place), 2);
    assert!(set.join("code").exists() && !set.join("left").exists());
}

#[test]
fn a_generator_that_refuses_leaves_its_stack_out_with_its_own_words() {
    let place = place();
    place.file("shop.proto", &PROTO.replace("Item", "Reserved"));
    let words = "shop.proto: \"Reserved\" is a word of this language";
    for _ in 0..2 {
        left_out(
            &place,
            &["the subject \"made\" has no code for these messages", words],
        );
        fs::remove_dir_all(place.path().join("run")).expect("removed");
    }
    place.file("shop.proto", PROTO);
    run(&place, "run").well();
}

#[test]
fn a_toolchain_that_is_too_old_leaves_its_stacks_out() {
    let from = "install = \"apt";
    let place = place_with(
        "mine/made/subject.toml",
        from,
        "least = \"99.1\"\ninstall = \"apt",
    );
    left_out(
        &place,
        &[
            "cannot be built here: ",
            "but 99.1 or newer is needed; apt install python3",
        ],
    );
    // Once the toolchain is installed, the run can be resumed.
    let place_again = [
        "run",
        "--resume",
        "run",
        "--retry-failed",
        "--subjects",
        "mine",
    ];
    place.file("mine/made/subject.toml", MANIFEST);
    command(&place, &place_again).well();
}

#[test]
fn a_check_of_all_says_which_it_leaves_out() {
    let manifest = MANIFEST.replace("install = \"apt", "least = \"99.1\"\ninstall = \"apt");
    let place = Place::new();
    place.file("mine/made/subject.toml", &manifest);
    // Without a PATH, no built-in subject can be built, either.
    let mut all = place.command(&["subjects", "check", "--subjects", "mine"]);
    let all: Finished = all.env("PATH", "").output().expect("it starts").into();
    let needed = "left out: made: there is no python3 in PATH; apt install python3";
    assert!(all.stderr.contains(needed), "{}", all.stderr);
    assert!(all.stderr.contains("left out: python: "), "{}", all.stderr);
    all.well();
    let one = place.run(&["subjects", "check", "made", "--subjects", "mine"]);
    assert_eq!(one.code, Some(3), "{one:?}");
    place
        .run(&["subjects", "check", "--stack", "http"])
        .refused(&["--stack", "give the subject's name"]);
}

#[test]
fn a_build_without_a_network_says_what_it_would_fetch() {
    let fetch = r#"build = [["sh", "-c", "echo 'dial tcp: lookup proxy.example: no such host' >&2; exit 1"]]"#;
    let build = r#"build = [["python3", "-c", "open('built', 'a').write('x')"]]"#;
    let place = place_with("mine/made/subject.toml", build, fetch);
    let report = left_out(
        &place,
        &[
            "could not be built: `sh -c ",
            "there seems to be no network, and a first build fetches bottle 1.2.3",
        ],
    );
    let log = report["failures"][0]["log"].to_string();
    assert!(log.contains("lookup proxy.example"), "{log}");
}

#[test]
fn threads_are_a_setting_that_a_stack_declares() {
    let place = place_with("study.toml", "calls = 20", "calls = 20\nthreads = 3");
    let args = ["plan", "study.toml", "--subjects", "mine"];
    let refused = place.run(&args);
    refused.refused(&["study.toml:17:11", "made/http", "has at most 1 threads"]);
    let manifest = MANIFEST.replace("[[stacks]]\n", "[[stacks]]\nthreads = 3\n");
    place.file("mine/made/subject.toml", &manifest);
    let text = place.run(&args).well();
    assert!(text.contains("3 threads"), "{text}");
    let server = SERVER.replace("own = ", "assert settings[\"threads\"] == 3\nown = ");
    place.file("mine/made/server.py", &server);
    run(&place, "run").well();
}
