//! Applications of several services: the one of docs/measure-an-application.md, and what can be wrong with one.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Finished, Place, interrupt, wait_until};

/// The example in `shop`, with folders of its own for what is temporary.
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

/// The example with something else in one of its files.
pub(crate) fn shop_with(file: &str, from: &str, to: &str) -> Place {
    let place = shop();
    let name = format!("shop/{file}");
    let text = fs::read_to_string(place.path().join(&name)).expect("a file of the example");
    assert!(text.contains(from), "{from} is not in {file}");
    place.file(&name, &text.replacen(from, to, 1));
    place
}

/// rpcgauge with temporary folders of the place's own, and a cache that holds Locust for all tests.
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

/// A load of the example, as short as one can be.
pub(crate) const SHORT_LOAD: [&str; 7] = [
    "app",
    "load",
    "./shop",
    "--duration",
    "1s",
    "--warm-up",
    "1ms",
];

#[test]
fn every_response_is_right_in_every_configuration() {
    let checked = run(&shop(), &["app", "check", "./shop"]).well();
    for line in [
        "connections=kept, delay=0: 3 of 3 checks right",
        "connections=per-call, delay=0: 3 of 3 checks right",
        "connections=kept, delay=5: 3 of 3 checks right",
        "shop: right, and alike, in 3 configurations",
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
                "catalogue (connections=kept, delay=0) ended by itself (exit code 1)",
            ],
        ),
        (
            "app.toml",
            "path = \"/health\" }",
            "path = \"/healthy\" }\nready-within = \"4s\"",
            &["was not ready after 4 s: GET /healthy is answered with 404 and not with 200"],
        ),
        (
            "service.py",
            "\"127.0.0.1\"",
            "\"203.0.113.1\"",
            &["Cannot assign requested address", "ended by itself"],
        ),
        (
            "app.toml",
            "\"catalogue.py\", \"${port.http}\"",
            &listens_elsewhere,
            &[
                "Address already in use",
                "ended by itself (exit code 1); a port is taken: have it listen on its ${port.NAME}",
            ],
        ),
        (
            "shop.py",
            "MARGIN_PERCENT = 10",
            "MARGIN_PERCENT = 10 if KEPT else 11",
            &[
                "the check \"offer\" with connections=per-call, delay=0: /price is 1053 and not 1043",
            ],
        ),
        (
            "shop.py",
            "found[\"stock\"] > 0",
            "KEPT",
            &[
                "the check \"offer\": with connections=per-call, delay=0 /in_stock is false and not true",
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
                "catalogue (connections=kept, delay=0) holds ",
                "and may hold 2MiB",
            ],
        ),
    ];
    for (file, from, to, parts) in cases {
        let place = shop_with(file, from, to);
        let checked = run(&place, &["app", "check", "./shop"]);
        assert_eq!(checked.code, Some(3), "{to}: {checked:?}");
        for part in parts {
            assert!(
                checked.stderr.contains(part),
                "{part} is not in:\n{}",
                checked.stderr
            );
        }
        let last = checked.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("rpcgauge: "), "{last}");
        let left = fs::read_dir(place.path().join("tmp")).expect("the folder");
        assert_eq!(left.count(), 0, "{to}: a folder is left");
    }
}

#[test]
fn processes_start_at_once_and_may_wait_for_each_other() {
    let alone = r#"run = ["python3", "catalogue.py", "${port.http}", "${delay}"]"#;
    let connects = "import socket; socket.create_connection(('127.0.0.1', ${shop.port.http}))";
    let waits = format!(
        r#"run = ["sh", "-c", "until python3 -c \"{connects}\"; do sleep 0.1; done; exec python3 catalogue.py ${{port.http}} ${{delay}}"]"#
    );
    // The catalogue is the first in the file.
    let place = shop_with("app.toml", alone, &waits);
    let checked = run(&place, &["app", "check", "./shop"]).well();
    assert!(checked.contains("shop: right, and alike"), "{checked}");
}

/// A database of a kind: files in a folder of its own, and a seed.
fn with_store(seed: &str) -> Place {
    let place = shop();
    let name = place.path().join("shop/app.toml");
    let text = fs::read_to_string(&name).expect("the example's app.toml");
    let store = format!(
        r#"
[[backing]]
name = "store"
run = ["python3", "-m", "http.server", "${{port.http}}", "--bind", "127.0.0.1", "--directory", "${{data}}"]
ports = ["http"]
seed = ["sh", "-c", "{seed}"]
"#
    );
    let asks = r#"run = ["python3", "shop.py", "${port.http}"]"#;
    assert!(text.contains(asks));
    // A service finds the store seeded.
    let read = "import urllib.request as r; r.urlopen('http://127.0.0.1:${store.port.http}/stock')";
    let waits = format!(
        r#"run = ["sh", "-c", "python3 -c \"{read}\" && exec python3 shop.py ${{port.http}}"]"#
    );
    place.file("shop/app.toml", &(text.replace(asks, &waits) + &store));
    place
}

#[test]
fn what_backs_an_application_is_seeded_once_and_its_data_goes_with_it() {
    let place = with_store("echo 1000 > ${data}/stock; echo once >> ${build}/seeded");
    let checked = run(&place, &["app", "check", "./shop"]);
    let built = run(&place, &["app", "build", "./shop"]).well();
    checked.well();
    let folder = built.trim_end().rsplit(": ").next().expect("a folder");
    let seeded = fs::read_to_string(Path::new(folder).join("seeded")).expect("the seed's note");
    // Once for all configurations; the cache may hold the note of an earlier test.
    assert!(seeded.lines().all(|line| line == "once"), "{seeded}");
    let left = |place: &Place| {
        fs::read_dir(place.path().join("tmp"))
            .expect("the folder")
            .count()
    };
    assert_eq!(left(&place), 0, "data is left");
    let place = with_store("echo the disk is full >&2; exit 3");
    let failed = run(&place, &["app", "check", "./shop"]);
    assert_eq!(failed.code, Some(3), "{failed:?}");
    for part in [
        "  the disk is full",
        "store could not be seeded: `sh -c ",
        "ended with exit status: 3",
    ] {
        assert!(
            failed.stderr.contains(part),
            "{part} is not in:\n{}",
            failed.stderr
        );
    }
    assert_eq!(left(&place), 0, "data is left");
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

/// The example, up; the addresses of its services and of its Prometheus, and the folder of its logs.
fn up(place: &Place) -> (Child, Vec<String>, PathBuf) {
    let mut command = command(place, &["app", "up", "./shop"]);
    let mut rpcgauge = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut addresses, mut logs) = (Vec::new(), PathBuf::new());
    let mut lines = BufReader::new(rpcgauge.stdout.take().expect("its output"));
    let mut line = String::new();
    while !line.starts_with("Ctrl-C") {
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
        // Not every machine has a Prometheus.
        assert!(addresses.len() >= 2, "{addresses:?}");
        let is_there = |address: &String| TcpStream::connect(address).is_ok();
        assert!(addresses.iter().all(is_there));
        match is_killed {
            true => {
                kill_process(Pid::from_child(&rpcgauge), Signal::KILL).expect("a signal is sent")
            }
            false => interrupt(&rpcgauge),
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
            assert_eq!(rest, "shop is stopped\n");
        }
    }
    // The folders of the killed one are removed by the next. Two at once have their own.
    let both = [up(&place), up(&place)];
    assert!(both[0].2.is_dir() && both[0].2 != both[1].2, "{both:?}");
    for (mut rpcgauge, _, _) in both {
        interrupt(&rpcgauge);
        rpcgauge.wait().expect("it ends");
    }
    let left = fs::read_dir(place.path().join("tmp")).expect("the folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_load_is_what_the_users_see() {
    let place = shop();
    let args = [
        "app",
        "load",
        "./shop",
        "--duration",
        "2s",
        "--warm-up",
        "500ms",
    ];
    let printed = run(&place, &args).well();
    let row = |name: &str| -> Vec<String> {
        let line = printed.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in:\n{printed}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert!(printed.starts_with("8 users, "), "{printed}");
    let [offers, pages] =
        ["offer", "page"].map(|name| row(name)[1].parse::<u64>().expect("a count"));
    assert!(offers > pages && pages > 0, "{printed}");
    assert_eq!((&*row("offer")[2], &*row("page")[2]), ("0", "0"));
    // A locustfile that cannot be imported, and one whose requests fail.
    place.file("shop/locustfile.py", "import no_such_module\n");
    let refused = run(&place, &args);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("No module named 'no_such_module'"),
        "{refused:?}"
    );
    place.file("shop/locustfile.py", "import os\nos._exit(7)\n");
    let ended = run(&place, &args);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let told = "the load generator: ended by itself (exit code 7)";
    assert!(ended.stderr.contains(told), "{ended:?}");
    place.file(
        "shop/locustfile.py",
        "from locust import HttpUser, constant, task\nclass Visitor(HttpUser):\n    wait_time = constant(0.05)\n    \
         @task\n    def nothing(self):\n        self.client.get('/nothing', name='nothing')\n",
    );
    let failed = run(&place, &args);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed
            .stdout
            .contains("nothing: the first failure: HTTPError('404"),
        "{failed:?}"
    );
}

#[test]
fn tags_choose_what_users_do() {
    let place = shop_with(
        "locustfile.py",
        "    @task(3)",
        "    @tag(\"one\")\n    @task(3)",
    );
    let name = place.path().join("shop/locustfile.py");
    let text = fs::read_to_string(name).expect("the locustfile");
    let text = text.replacen("between, task", "between, tag, task", 1);
    place.file("shop/locustfile.py", &text);
    let load = |tags: &str| run(&place, &[&SHORT_LOAD[..], &["--tags", tags]].concat());
    let printed = load("one").well();
    assert!(printed.contains("\noffer "), "{printed}");
    assert!(!printed.contains("\npage "), "{printed}");
    let refused = load("one,two");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let line = "no task of the locustfile has the tag \"two\"; known are one";
    assert!(refused.stderr.contains(line), "{refused:?}");
}

#[test]
fn a_request_at_a_rate_is_sent_so_often_whatever_becomes_of_it() {
    let load = |place: &Place, call: &str, rate: &str| {
        let args = ["app", "load", "./shop", "--call", call, "--rate", rate];
        let times = ["--duration", "990ms", "--warm-up", "200ms"];
        run(place, &[&args[..], &times].concat())
    };
    let row = |printed: &str, name: &str| -> Vec<String> {
        let line = printed.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in:\n{printed}"));
        let cells = line[name.len()..].split_whitespace();
        cells.map(str::to_owned).collect()
    };
    let printed = load(&shop(), "offer", "50").well();
    let head = "50 requests \"offer\" per second (open loop), 1.0 s, connections=kept, delay=0";
    assert!(printed.starts_with(head), "{printed}");
    assert_eq!(row(&printed, "offer")[..2], ["50", "0"], "{printed}");
    // An error that a check asks for is a good response.
    let printed = load(&shop(), "no such product", "20").well();
    assert_eq!(row(&printed, "no such product")[..2], ["20", "0"]);
    // A lock lets through one request at a time, and each holds it for 50 ms: about 20 a second.
    let slow = "LOCK = threading.Lock()\n\n\ndef offers(product):\n    with LOCK:\n        time.sleep(0.05)";
    let printed = load(
        &shop_with("shop.py", "def offers(product):", slow),
        "offer",
        "40",
    );
    let printed = printed.well();
    let cells = row(&printed, "offer");
    assert_eq!(cells[..2], ["40", "0"], "{printed}");
    assert!(cells[2].parse::<f64>().expect("a rate") < 30.0, "{printed}");
    assert!(printed.contains("it did not keep up"), "{printed}");
    // Another status and another body than the check asks for fail, once it has been right.
    let turns =
        "served = service.METRICS.values.get(('handler_seconds', '{path=\"offers\"}'), (0, 0))[1]";
    for (then, said) in [
        ("return 503, {}", "HTTP status 503: {}"),
        ("return 200, {\"id\": 8}", "/id is 8 and not 7"),
    ] {
        let wrong = format!(
            "def offers(product):\n    {turns}\n    if served > 5 and served % 2:\n        {then}"
        );
        let place = shop_with("shop.py", "def offers(product):", &wrong);
        let failed = load(&place, "offer", "50");
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert_eq!(row(&failed.stdout, "offer")[0], "50");
        let said = format!("offer: the first failure: {said}");
        assert!(
            failed.stdout.contains(&said),
            "{said} is not in:\n{}",
            failed.stdout
        );
    }
    let refused = |args: &[&str], parts: &[&str]| {
        shop()
            .run(&[&["app", "load", "./shop"], args].concat())
            .refused(parts);
    };
    refused(
        &["--call", "ofer", "--rate", "5"],
        &["--call: shop has no check \"ofer\"; did you mean \"offer\"?"],
    );
    refused(
        &["--call", "offer", "--rate", "0"],
        &["--rate: must be more than 0"],
    );
}
