//! Workers of a real Locust master.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Place, interrupt, json, wait_until};
use crate::load::{BUSY, OK, answer_each, answering, answering_after, nobody, serving};

/// The users of rpcgauge, and those of a Python worker, whose requests take no time.
pub(crate) const LOCUSTFILE: &str = r#"
from locust import User, constant, task

class Rpcgauge(User):
    wait_time = constant(1)

    @task
    def nothing(self):
        pass

class Python(User):
    wait_time = constant(0.1)

    @task
    def call(self):
        self.environment.events.request.fire(
            request_type="PY", name="python", response_time=1, response_length=0, exception=None, context={})
"#;

/// The start of a locustfile whose master collects figures.
pub(crate) const COLLECT: &str = r#"
import rpcgauge_locust
# FORMAT
rpcgauge_locust.collect("runs", "orders")
"#;

/// A program that is running, whose standard error is in a file.
pub(crate) struct Running {
    pub(crate) child: Child,
    errors: PathBuf,
}

impl Running {
    /// Starts a worker with these arguments, separated by spaces.
    pub(crate) fn worker(place: &Place, name: &str, port: &str, line: &str) -> Running {
        let line = format!("worker --master 127.0.0.1:{port} --name {name} {line}");
        let args: Vec<&str> = line.split_whitespace().collect();
        Running::start(place, name, place.command(&args))
    }

    /// Starts Locust with these arguments, separated by spaces.
    pub(crate) fn locust(place: &Place, name: &str, line: &str) -> Running {
        place.file("locustfile.py", LOCUSTFILE);
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rpcgauge-locust");
        place.file("collecting.py", &format!("{COLLECT}{LOCUSTFILE}"));
        let mut locust = Command::new("locust");
        locust
            .current_dir(place.path())
            .env("PYTHONPATH", package)
            .args(line.split_whitespace());
        Running::start(place, name, locust)
    }

    fn start(place: &Place, name: &str, mut command: Command) -> Running {
        let errors = place.path().join(format!("{name}.err"));
        let file = File::create(&errors).expect("a file");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?} does not start ({error}); `make tools` installs Locust")
        });
        Running { child, errors }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.errors).expect("its standard error")
    }

    /// Waits until it has said this a number of times.
    #[track_caller]
    pub(crate) fn says(&mut self, what: &str, times: usize) {
        wait_until(&format!("\"{what}\" in {}", self.errors.display()), || {
            let has_ended = self.child.try_wait().expect("its state").is_some();
            let said = self.said();
            let found = said.matches(what).count() >= times;
            assert!(found || !has_ended, "it ended without \"{what}\":\n{said}");
            found
        });
    }

    /// Waits until it ends. Returns its exit code and what it said.
    pub(crate) fn ends(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("it ends");
        (status.code(), self.said())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers of calls and of failed calls that a worker printed at the end of each load.
pub(crate) fn printed(said: &str) -> Vec<(u64, u64)> {
    let number = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number")
    };
    let ended = said
        .lines()
        .filter_map(|line| line.split_once("has ended: "));
    let figures = ended.map(|(_, figures)| {
        let (calls, rest) = figures.split_once(" call").expect("calls");
        let failed = rest.split_once("failed: ").map_or(0, |(_, failed)| {
            number(failed.split(" × ").next().expect("a count"))
        });
        (number(calls), failed)
    });
    figures.collect()
}

/// A port on which nothing listens.
pub(crate) fn port() -> String {
    let address = nobody();
    let (_, port) = address.rsplit_once(':').expect("a port");
    port.to_owned()
}

/// The response of the master's web server.
pub(crate) fn web(port: &str, request: &str, body: &str) -> String {
    let address = format!("127.0.0.1:{port}");
    let mut stream = None;
    // Workers can join before there is a page.
    wait_until("the master's page", || {
        stream = TcpStream::connect(&address).ok();
        stream.is_some()
    });
    let mut stream = stream.expect("it is connected");
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.contains(" 200 "), "{request}: {response}");
    let (_, body) = response.split_once("\r\n\r\n").expect("a body");
    body.to_owned()
}

/// The calls of the first row on the master's page, and the errors. The page may be some seconds old.
fn figures(port: &str) -> (u64, Value) {
    let page = json(&web(port, "GET /stats/requests", ""));
    let requests = page["stats"][0]["num_requests"].as_u64();
    (requests.unwrap_or(0), page["errors"].clone())
}

#[test]
fn a_master_counts_every_call() {
    let place = Place::new();
    let service = answering_after(OK, Duration::from_millis(1));
    let master = port();
    let line = format!("http://{}/hello --class Rpcgauge", service.address);
    let mut workers = [
        Running::worker(&place, "one", &master, &line),
        Running::worker(
            &place,
            "two",
            &master,
            &format!("{line} --rate-per-user 20"),
        ),
    ];
    // These workers are there before the master.
    workers[0].says("waiting: cannot connect to the Locust master", 1);
    let mut locust = Running::locust(
        &place,
        "master",
        &format!(
            "-f locustfile.py --master --master-bind-port {master} --headless --expect-workers 3 -u 12 -r 12 \
             -t 4s --csv figures"
        ),
    );
    let line = format!("-f locustfile.py --worker --master-port {master}");
    let _python = Running::locust(&place, "python", &line);
    let mut calls = Vec::new();
    for worker in &mut workers {
        let (code, said) = worker.ends();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("joined the Locust master"), "{said}");
        let [(of_worker, 0)] = printed(&said)[..] else {
            panic!("one load without failures:\n{said}");
        };
        calls.push(of_worker);
    }
    let (code, said) = locust.ends();
    assert_eq!(code, Some(0), "{said}");
    let csv = fs::read_to_string(place.path().join("figures_stats.csv")).expect("the CSV");
    let requests = |name: &str| -> u64 {
        let row = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let row = row.into_iter().find(|row| row[1] == name);
        row.unwrap_or_else(|| panic!("no {name} in:\n{csv}"))[2]
            .parse()
            .expect("a number")
    };
    let (ours, python) = (requests("/hello"), requests("python"));
    assert_eq!(ours, calls.iter().sum::<u64>(), "{calls:?}\n{csv}");
    assert!(calls.iter().all(|calls| *calls > 0) && python > 0, "{csv}");
    assert_eq!(requests("Aggregated"), ours + python, "{csv}");
}

#[test]
fn a_master_begins_several_loads_and_shows_failures() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let place = Place::new();
    // The first call is the worker's own.
    let service = serving(|stream| {
        answer_each(stream, |_| {
            thread::sleep(Duration::from_millis(1));
            if CALLS.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
                BUSY
            } else {
                OK
            }
        });
    });
    let (master, page) = (port(), port());
    let locust = format!(
        "-f locustfile.py --master --master-bind-port {master} --web-host 127.0.0.1 --web-port {page}"
    );
    let _master = Running::locust(&place, "master", &locust);
    let target = format!("orders=http://{service}/orders");
    let mut worker = Running::worker(&place, "one", &master, &target);
    worker.says("joined the Locust master", 1);
    let swarm = || web(&page, "POST /swarm", "user_count=4&spawn_rate=4");
    swarm();
    worker.says("the load begins", 1);
    wait_until("failures", || figures(&page).1[0].is_object());
    web(&page, "POST /stop", "");
    worker.says("has ended", 1);
    let (calls, failed) = printed(&worker.said())[0];
    assert!(failed > 0 && calls > failed, "{}", worker.said());
    wait_until(&format!("{calls} calls"), || figures(&page).0 == calls);
    let (_, errors) = figures(&page);
    let error = ["method", "name", "error", "occurrences"].map(|key| errors[0][key].clone());
    assert_eq!(
        Value::from(error.to_vec()),
        json(&format!(r#"["GET", "orders", "http-503", {failed}]"#))
    );

    // A worker that joins, one whose class nobody has, and one that is killed.
    let mut other = Running::worker(&place, "two", &master, &target);
    let mut idle = Running::worker(
        &place,
        "three",
        &master,
        &format!("{target} --class Nobody"),
    );
    other.says("joined the Locust master", 1);
    idle.says("joined the Locust master", 1);
    swarm();
    other.says("the load begins", 1);
    worker.says("the load begins", 2);
    idle.says(
        "--class: the load has no users of the class Nobody; it has Python, Rpcgauge",
        1,
    );
    other.child.kill().expect("it is killed");
    let (before, _) = figures(&page);
    wait_until("more calls", || figures(&page).0 > before);
    interrupt(&worker.child);
    let (code, said) = worker.ends();
    assert_eq!(code, Some(130), "{said}");
    let loads = printed(&said);
    assert!(loads.len() == 2 && loads[1].0 > 0, "{said}");
}

#[test]
fn a_master_that_restarts_is_joined_again() {
    let place = Place::new();
    let service = answering(OK);
    let master = port();
    let locust = format!(
        "-f locustfile.py --master --master-bind-port {master} --headless --expect-workers 1 -u 1 -t 1m"
    );
    let mut first = Running::locust(&place, "first", &locust);
    let target = format!("http://{}/", service.address);
    let mut worker = Running::worker(&place, "one", &master, &target);
    worker.says("the load begins", 1);
    first.child.kill().expect("it is killed");
    first.ends();
    worker.says("waiting: the Locust master", 1);
    let _second = Running::locust(&place, "second", &locust);
    worker.says("has ended", 1);
    worker.says("joined the Locust master", 2);
    worker.says("the load begins", 2);
}

#[test]
fn two_workers_cannot_have_one_name() {
    let place = Place::new();
    let service = answering(OK);
    let master = port();
    let locust = format!(
        "-f locustfile.py --master --master-bind-port {master} --headless --expect-workers 2 -u 1 -t 1m"
    );
    let _locust = Running::locust(&place, "master", &locust);
    let line = format!("http://{}/ --name one", service.address);
    let command = |name: &str| {
        let line = format!("worker --master 127.0.0.1:{master} {line}");
        let args: Vec<&str> = line.split_whitespace().collect();
        Running::start(&place, name, place.command(&args))
    };
    let mut first = command("first");
    first.says("joined the Locust master", 1);
    let mut second = command("second");
    second.says("no other worker has the same name", 1);
    assert!(!second.said().contains("joined"), "{}", second.said());
    let said = first.said();
    let after = said.split("joined the Locust master").last();
    assert!(
        !after.is_some_and(|after| after.contains("waiting")),
        "{said}"
    );
}

#[test]
fn a_worker_that_cannot_work_is_refused() {
    let place = Place::new();
    let service = answering(OK);
    let worker = |line: &str| place.line(&format!("worker http://{}/ {line}", service.address));
    worker("").refused(&["--master"]);
    worker("--master localhost").refused(&["--master", "HOST:PORT"]);
    worker("--master h:1 --rate-per-user 0").refused(&["--rate-per-user", "more than 0"]);
    worker("--master h:1 --poisson").refused(&["--rate-per-user"]);
    worker("--master h:1 --connections 0").refused(&["--connections"]);
    worker(&format!("--master h:1 --name {}", "x".repeat(256))).refused(&["--name", "255 bytes"]);
    let none = place.line(&format!("worker --master h:1 http://{}/", nobody()));
    none.refused(&["cannot connect to", "refused"]);
}
