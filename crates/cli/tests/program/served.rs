//! The embedded server, started as a user would start it.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use crate::common::{Place, json};

/// The method of its smallest workload.
pub(crate) const HELLO: &str = "hello.Hello/SayHello";

/// `rpcgauge serve`, ended with the value.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
}

impl Served {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        let words = [&["serve", "--json"], more].concat();
        let mut child = place.start(&words);
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut text = String::new();
        output.read_line(&mut text).expect("the ready line");
        let address = json(&text)["address"].as_str().expect("a text").to_owned();
        Self { child, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
