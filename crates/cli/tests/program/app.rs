//! Applications of several services: the one in docs/measure-an-application.md, and faulty ones.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Finished, Place, interrupt, wait_until};

/// A place with a copy of the example in `shop`, and its own temporary folder.
pub(crate) fn shop() -> Place {
    let place = Place::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/app-shop");
    for entry in fs::read_dir(example).expect("the example") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path).expect("a file of the example");
            place.file(&format!("shop/{name}"), &text);
        }
    }
    fs::create_dir(place.path().join("tmp")).expect("a folder");
    place
}

/// The example with `from` replaced by `to` in one of its files.
pub(crate) fn shop_with(file: &str, from: &str, to: &str) -> Place {
    let place = shop();
    let name = format!("shop/{file}");
    let text = fs::read_to_string(place.path().join(&name)).expect("a file of the example");
    assert!(text.contains(from), "{from} is not in {file}");
    place.file(&name, &text.replacen(from, to, 1));
    place
}

/// rpcgauge with the place's temporary folder, and a cache with Locust that all tests share.
pub(crate) fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.env("TMPDIR", place.path().join("tmp"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

pub(crate) fn run(place: &Place, args: &[&str]) -> Finished {
    let output = command(place, args).output();
    output.expect("the program starts").into()
}

/// Asserts that no process left its folder behind.
#[track_caller]
pub(crate) fn nothing_is_left(place: &Place) {
    let left = fs::read_dir(place.path().join("tmp")).expect("the folder");
    let left: Vec<PathBuf> = left.flatten().map(|one| one.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn every_response_is_right_in_every_configuration() {
    let checked = run(&shop(), &["app", "check", "./shop"]).well();
    for line in [
        "connections=kept, delay=0: 3 of 3 checks passed",
        "connections=per-call, delay=0: 3 of 3 checks passed",
        "connections=kept, delay=5: 3 of 3 checks passed",
        "shop: responses are correct and identical in 3 configurations",
    ] {
        assert!(checked.contains(line), "{line} is not in:\n{checked}");
    }
}

#[test]
fn what_is_wrong_is_one_line_with_the_process_and_its_log_and_nothing_is_left() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address").port();
    let listens_elsewhere = format!("\"catalogue.py\", \"{taken}\"");
    let cases: [(&str, &str, &str, &[&str]); 8] = [
        (
            "catalogue.py",
            "PRODUCTS = 1000",
            "raise SystemExit('no stock today')",
            &[
                "  no stock today",
                "catalogue (connections=kept, delay=0) exited on its own (exit code 1)",
            ],
        ),
        (
            "app.toml",
            "path = \"/health\" }",
            "path = \"/healthy\" }\nready-within = \"4s\"",
            &["was not ready after 4 s: GET /healthy responds with 404, not 200"],
        ),
        (
            "service.py",
            "\"127.0.0.1\"",
            "\"203.0.113.1\"",
            &["Cannot assign requested address", "exited on its own"],
        ),
        (
            "app.toml",
            "\"catalogue.py\", \"${port.http}\"",
            &listens_elsewhere,
            &[
                "Address already in use",
                "exited on its own (exit code 1); a port is taken: have it listen on its ${port.NAME}",
            ],
        ),
        (
            "shop.py",
            "MARGIN_PERCENT = 10",
            "MARGIN_PERCENT = 10 if KEPT else 11",
            &["the check \"offer\" with connections=per-call, delay=0: /price is 1053, not 1043"],
        ),
        (
            "shop.py",
            "found[\"stock\"] > 0",
            "KEPT",
            &[
                "the check \"offer\": with connections=per-call, delay=0 /in_stock is false, but true with connections=",
            ],
        ),
        (
            "app.toml",
            "memory = \"128MiB\"",
            "memory = \"100000GiB\"",
            &["shop needs 100000.1 GiB of memory for 1 of its sets"],
        ),
        (
            "app.toml",
            "memory = \"128MiB\"",
            "memory = \"2MiB\"",
            &[
                "catalogue (connections=kept, delay=0) uses ",
                "but its limit is 2MiB",
            ],
        ),
    ];
    for (file, from, to, parts) in cases {
        let place = shop_with(file, from, to);
        let checked = run(&place, &["app", "check", "./shop"]);
        checked.failed(3, parts);
        let last = checked.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("rpcgauge: "), "{last}");
        nothing_is_left(&place);
    }
}

#[test]
fn processes_start_at_once_and_may_wait_for_each_other() {
    let alone = r#"run = ["python3", "catalogue.py", "${port.http}", "${delay}"]"#;
    let connects = "import socket; socket.create_connection(('127.0.0.1', ${shop.port.http}))";
    let waits = format!(
        r#"run = ["sh", "-c", "until python3 -c \"{connects}\"; do sleep 0.1; done; exec python3 catalogue.py ${{port.http}} ${{delay}}"]"#
    );
    // The catalogue is the first service in the file.
    let place = shop_with("app.toml", alone, &waits);
    let checked = run(&place, &["app", "check", "./shop"]).well();
    assert!(
        checked.contains("shop: responses are correct and identical"),
        "{checked}"
    );
}

/// The command that runs the store of [`with_store`].
pub(crate) const STORE: &str =
    "exec python3 -m http.server ${port.http} --bind 127.0.0.1 --directory ${data}";

/// The example with a simple database: a file server with its own folder, and a seed command.
pub(crate) fn with_store(run: &str, seed: &str) -> Place {
    let place = shop();
    let name = place.path().join("shop/app.toml");
    let text = fs::read_to_string(&name).expect("the example's app.toml");
    let store = format!(
        r#"
[[backing]]
name = "store"
run = ["sh", "-c", "{run}"]
ports = ["http"]
seed = ["sh", "-c", "{seed}"]
"#
    );
    let asks = r#"run = ["python3", "shop.py", "${port.http}"]"#;
    assert!(text.contains(asks));
    // The service starts only after the store is seeded.
    let read = "import urllib.request as r; r.urlopen('http://127.0.0.1:${store.port.http}/stock')";
    let waits = format!(
        r#"run = ["sh", "-c", "python3 -c \"{read}\" && exec python3 shop.py ${{port.http}}"]"#
    );
    place.file("shop/app.toml", &(text.replace(asks, &waits) + &store));
    place
}

#[test]
fn what_backs_an_application_is_seeded_once_and_its_data_goes_with_it() {
    let place = with_store(
        STORE,
        "echo 1000 > ${data}/stock; echo once >> ${build}/seeded",
    );
    let checked = run(&place, &["app", "check", "./shop"]);
    let built = run(&place, &["app", "build", "./shop"]).well();
    checked.well();
    let folder = built.trim_end().rsplit(": ").next().expect("a folder");
    let seeded = fs::read_to_string(Path::new(folder).join("seeded")).expect("the seed's note");
    // The store is seeded once for all configurations. The cache may also contain lines from
    // earlier tests.
    assert!(seeded.lines().all(|line| line == "once"), "{seeded}");
    nothing_is_left(&place);
}

#[test]
fn a_database_that_does_not_start_is_told_with_its_log() {
    let cases = [
        (
            STORE,
            "echo the disk is full >&2; exit 3",
            [
                "  the disk is full",
                "store could not be seeded: `sh -c ",
                "failed with exit status: 3",
            ],
        ),
        (
            "echo no such cluster >&2; exit 1",
            "true",
            [
                "  no such cluster",
                "rpcgauge: store exited on its own (exit code 1)",
                "; its log is ",
            ],
        ),
    ];
    for (run, seed, parts) in cases {
        let place = with_store(run, seed);
        let failed = self::run(&place, &["app", "check", "./shop"]);
        failed.failed(3, &parts);
        nothing_is_left(&place);
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let place = shop();
    let refused = |args: &[&str], parts: &[&str]| place.run(args).refused(parts);
    refused(
        &["app", "up", "./shop", "--set", "connection=kept"],
        &["--set: shop has no setting \"connection\"; did you mean \"connections\"?"],
    );
    refused(
        &["app", "up", "./shop", "--set", "connections"],
        &["--set connections: write it as SETTING=VALUE"],
    );
    refused(
        &["app", "up", "shop"],
        &["there is no application \"shop\"", "as in ./shop"],
    );
    refused(
        &["app", "up", "./"],
        &["there is no app.toml in this folder"],
    );
    shop_with("app.toml", "[entry]", "[entri]")
        .run(&["app", "check", "./shop"])
        .refused(&["app.toml:", "has no key \"entri\"; did you mean \"entry\"?"]);
}

/// Starts the example. Returns its process, the addresses of its services and Prometheus, and the
/// folder of its logs.
fn up(place: &Place) -> (Child, Vec<String>, PathBuf) {
    let mut command = command(place, &["app", "up", "./shop"]);
    let mut rpcgauge = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut addresses, mut logs) = (Vec::new(), PathBuf::new());
    let mut lines = BufReader::new(rpcgauge.stdout.take().expect("its output"));
    let mut line = String::new();
    while !line.starts_with("Press Ctrl-C") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "it ended");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["catalogue" | "shop", "http", address, ..] | ["Prometheus:", address, ..] => {
                addresses.push(address.trim_start_matches("http://").to_owned());
            }
            ["logs", folder] => logs = folder.into(),
            _ => {}
        }
    }
    rpcgauge.stdout = Some(lines.into_inner());
    (rpcgauge, addresses, logs)
}

#[test]
fn what_is_up_ends_with_rpcgauge_however_that_ends() {
    let place = shop();
    for is_killed in [false, true] {
        let (mut rpcgauge, addresses, _) = up(&place);
        // Not every machine has Prometheus.
        assert!(addresses.len() >= 2, "{addresses:?}");
        let is_there = |address: &String| TcpStream::connect(address).is_ok();
        assert!(addresses.iter().all(is_there));
        if is_killed {
            kill_process(Pid::from_child(&rpcgauge), Signal::KILL).expect("a signal is sent")
        } else {
            interrupt(&rpcgauge)
        }
        let ended = rpcgauge.wait().expect("it ends");
        wait_until("the end of the services", || {
            !addresses.iter().any(is_there)
        });
        if !is_killed {
            assert!(ended.success());
            let mut rest = String::new();
            let mut stdout = rpcgauge.stdout.take().expect("its output");
            stdout.read_to_string(&mut rest).expect("its last line");
            assert_eq!(rest, "shop has stopped\n");
        }
    }
    // The next start removes the folders of the killed instance. Two instances that run at the same
    // time have separate folders.
    let both = [up(&place), up(&place)];
    assert!(both[0].2.is_dir() && both[0].2 != both[1].2, "{both:?}");
    for (mut rpcgauge, _, _) in both {
        interrupt(&rpcgauge);
        rpcgauge.wait().expect("it ends");
    }
    nothing_is_left(&place);
}
