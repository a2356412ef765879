//! `--lb-strategy`: the addresses behind a name.

use std::net::ToSocketAddrs as _;

use super::{OK, answering, short};
use crate::common::{Place, report, trial_lines};

#[test]
fn all_addresses_of_a_name_are_called_and_named() {
    let place = Place::new();
    let server = answering(OK);
    let port = server.address.rsplit_once(':').expect("a port").1;
    let target = format!("http://localhost:{port}/");
    let found = ("localhost", 0).to_socket_addrs().expect("its addresses");
    // The server listens on IPv4 only.
    let is_ipv4_only = found.into_iter().all(|address| address.is_ipv4());
    let ran = place.run(&short(&target, &["--lb-strategy", "round-robin"]));
    if !is_ipv4_only {
        ran.refused(&["cannot connect to http://localhost", "[::1]"]);
        return;
    }
    let shown = ran.well();
    let addresses = format!("round-robin over 127.0.0.1:{port}");
    assert!(shown.contains("round-robin"), "{shown}");
    let run = place.path().join("run");
    let line = report(&run)["variants"][0]["how"]["line"].to_string();
    assert!(line.contains(&addresses), "{line}");
    assert_eq!(trial_lines(&run).len(), 1);
    let print = ["--lb-strategy", "round-robin", "--print-study"];
    let study = place.run(&short(&target, &print)).well();
    assert!(study.contains("lb-strategy = \"round-robin\""), "{study}");
}

#[test]
fn what_has_no_name_is_refused() {
    let place = Place::new();
    let more = ["--lb-strategy", "round-robin", "--unix-socket", "s"];
    place
        .run(&short("http://127.0.0.1:9/", &more))
        .refused(&["--lb-strategy", "host name"]);
}
