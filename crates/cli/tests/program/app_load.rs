//! Load for an application: by Locust users, or one request at a rate.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::app::{run, shop, shop_with};
use crate::common::{Finished, Place};

/// The shortest possible load of the example.
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
    // The application's own metrics: each page makes five calls to the catalogue, and both services
    // use CPU.
    let within = |title: &str| -> f64 {
        let cells = row(title);
        let rate = cells[cells.len() - 3].replace(',', "");
        rate.parse().expect("a rate")
    };
    let [pages, calls] = [
        "the shop's handler for a page",
        "one of the five calls to the catalogue for a page",
    ]
    .map(within);
    assert!((3.0..7.0).contains(&(calls / pages)), "{printed}");
    assert!(printed.contains("\nprocess    cores"), "{printed}");
    // A locustfile that cannot be imported, one that exits, and one whose requests fail.
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
    let told = "the load generator: exited on its own (exit code 7); check locustfile.py, which it runs; it printed nothing";
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
    let line = "no task of the locustfile has the tag \"two\"; available tags: one";
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
    // An error response that a check expects is a success.
    let printed = load(&shop(), "no such product", "20").well();
    assert_eq!(row(&printed, "no such product")[..2], ["20", "0"]);
    // A lock admits one request at a time, for 50 ms: about 20 per second.
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
    assert!(printed.contains("the service did not keep up"), "{printed}");
    // After some correct responses, a status or body other than the check expects fails.
    let turns =
        "served = service.METRICS.values.get(('handler_seconds', '{path=\"offers\"}'), (0, 0))[1]";
    for (then, said) in [
        ("return 503, {}", "HTTP status 503 instead of 200: {}"),
        ("return 200, {\"id\": 8}", "/id is 8, not 7"),
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

#[test]
fn without_locust_nothing_is_started_and_the_error_says_what_to_do() {
    let place = shop();
    let python = place.file(
        "bin/python3",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Python 3.10.2'\n",
    );
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("permissions");
    // These commands use an empty cache, in which Locust is not installed.
    let mut too_old = place.command(&SHORT_LOAD);
    too_old.env("PATH", python.parent().expect("a folder"));
    let mut offline = place.command(&SHORT_LOAD);
    offline
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_INDEX_URL", "http://127.0.0.1:1/")
        .env("PIP_RETRIES", "1")
        .env("NO_PROXY", "127.0.0.1")
        .env_remove("PIP_FIND_LINKS");
    let cases: [(Command, &[&str]); 2] = [
        (
            too_old,
            &[
                "rpcgauge: Locust 2.47.0, which sends the load,",
                "python3 is 3.10.2, but 3.11 or newer is needed; apt install python3 python3-venv",
            ],
        ),
        (
            offline,
            &[
                "Connection refused",
                "rpcgauge: Locust 2.47.0, which sends the load, could not be installed: ",
                "; there seems to be no network, and a first build fetches locust 2.47.0; its log is ",
            ],
        ),
    ];
    for (mut command, parts) in cases {
        let failed: Finished = command.output().expect("the program starts").into();
        failed.failed(3, parts);
        assert!(!failed.stderr.contains("starting"), "{failed:?}");
    }
}
