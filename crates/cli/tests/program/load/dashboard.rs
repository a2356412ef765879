//! The Grafana dashboard of a load, with the metrics that a real Prometheus receives.

use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::Duration;

use rpcgauge_load::Fetch;
use serde_json::Value;

use super::{Service, figures, nobody};
use crate::common::{Place, json, report, wait_until};

const DASHBOARD: &str = include_str!("../../../../../docs/grafana/rpcgauge-load.json");

const LIMIT: Duration = Duration::from_secs(10);

/// Two neighboring bounds of a histogram differ by less than this factor, and so do two figures between them.
const BUCKET: f64 = 1.7;

/// A machine that stalls the client leaves some started calls unsent.
const UNSENT: f64 = 1.5;

/// A Prometheus that accepts pushes.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts it, or prints that the test is skipped because it is not installed.
    fn start(place: &Place) -> Option<Self> {
        let address = nobody();
        place.file("prometheus.yml", "global: {}\n");
        let log = File::create(place.path().join("prometheus.log")).expect("a file");
        let started = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .args(["--web.console.templates=x", "--web.console.libraries=x"])
            .arg("--web.enable-remote-write-receiver")
            .arg(format!("--web.listen-address={address}"))
            .current_dir(place.path())
            .stderr(log)
            .spawn();
        let child = match started {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!(
                    "left out: the dashboard's queries: there is no prometheus in PATH; apt install prometheus"
                );
                return None;
            }
            started => started.expect("Prometheus starts"),
        };
        let address = address.parse().expect("an address");
        let started = Self { child, address };
        wait_until("Prometheus to be ready", || {
            let ready = Fetch::get(address, "/-/ready").send(LIMIT);
            ready.is_ok_and(|ready| ready.status == 200)
        });
        Some(started)
    }

    /// The data that its API returns for `path` with this parameter.
    #[track_caller]
    fn data(&self, path: &str, name: &str, value: &str) -> Value {
        let value: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/v1/{path}?{name}={value}");
        let response = Fetch::get(self.address, &path).send(LIMIT);
        let text = String::from_utf8(response.expect("a response").body).expect("text");
        let answer = json(&text);
        assert_eq!(answer["status"], "success", "{answer}");
        answer["data"].clone()
    }

    /// The series of a query, each with its labels and its value.
    #[track_caller]
    fn ask(&self, query: &str) -> Vec<(Value, f64)> {
        let data = self.data("query", "query", query);
        let series = data["result"].as_array().expect("series").iter();
        let value = |series: &Value| {
            let text = series["value"][1].as_str().expect("a value");
            text.parse().expect("a number")
        };
        let series: Vec<_> = series
            .map(|one| (one["metric"].clone(), value(one)))
            .collect();
        assert!(!series.is_empty(), "no series: {query}");
        series
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_query_of_the_dashboard_has_the_figures_of_the_report() {
    let place = Place::new();
    let Some(prometheus) = Prometheus::start(&place) else {
        return;
    };
    let service = Service::start(&place, &[]);
    // The service refuses every fourth message.
    place.file(
        "rows.jsonl",
        &format!("{}{{\"name\":5}}\n", "{\"name\":\"a\"}\n".repeat(3)),
    );
    let (target, address) = (service.http(), prometheus.address);
    let finished = place.line(&format!(
        "load {target} --rows rows.jsonl --rate 100 --duration 6s --warmup 0s --quiet --out run \
         --metrics-push http://{address}/api/v1/write"
    ));
    assert!(
        !finished.stderr.contains("--metrics-push"),
        "{}",
        finished.stderr
    );
    finished.well();
    let report = report(&place.path().join("run"));
    let figures = figures(&report);

    let info = prometheus.ask("rpcgauge_load_target_info");
    assert_eq!(
        (&info[0].0["called"], &info[0].0["job"]),
        (&target.into(), &"rpcgauge".into())
    );
    let dashboard = json(DASHBOARD);
    let variable = &dashboard["templating"]["list"][1]["query"];
    assert_eq!(*variable, "label_values(rpcgauge_load_target_info, target)");
    let values = prometheus.data(
        "label/target/values",
        "match[]",
        "rpcgauge_load_target_info",
    );
    assert_eq!(values, serde_json::json!(["target"]));

    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let queries = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    for query in queries {
        let text = |key: &str| query[key].as_str().expect("a text");
        let asked = text("expr").replace("$target", "target");
        for (_, value) in prometheus.ask(&asked.replace("$__rate_interval", "1m")) {
            assert!(value.is_finite(), "{value}: {asked}");
        }
        // Of the whole run, without the extrapolation of a rate.
        let asked = asked
            .replace("rate(", "(")
            .replace("[$__rate_interval]", "");
        for (labels, value) in prometheus.ask(&asked) {
            let (calls, latency) = (&figures["calls"], &figures["latency"]);
            let kind = labels["kind"].as_str().unwrap_or_default();
            let (reported, unit, factor) = match text("legendFormat") {
                "{{target}}: sent" => (&calls["started"], 1.0, UNSENT),
                "{{target}}: succeeded" => (&calls["answered"], 1.0, 1.0),
                "{{target}}: {{kind}}" => (&calls["failed"][kind], 1.0, 1.0),
                "{{target}}: p50" => (&latency["p50_ns"], 1e9, BUCKET),
                "{{target}}: p90" => (&latency["p90_ns"], 1e9, BUCKET),
                "{{target}}: p99" => (&latency["p99_ns"], 1e9, BUCKET),
                "{{target}}: in flight" | "{{target}}: waiting" => (&Value::from(0), 1.0, 1.0),
                other => panic!("this test does not know what the report says about {other}"),
            };
            let reported = reported.as_f64().expect("a figure of the report");
            let value = value * unit;
            let is_same = reported <= value * factor && value <= reported * factor;
            assert!(is_same, "{value}, but {reported} in the report: {asked}");
        }
    }
    // A quarter of 600, unless the machine stalls the client.
    let refused = figures["calls"]["failed"]["http-400"].as_u64();
    assert!(refused.is_some_and(|calls| calls > 0), "{figures}");
}
