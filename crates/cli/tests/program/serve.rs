//! The `serve` command.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use crate::common::{Place, interrupt, json, orders};

#[test]
fn the_server_answers_until_it_is_interrupted() {
    let place = Place::new();
    let mut child = place.start(&["serve", "--json"]);
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("the ready line");
    let announcement = json(&line);
    let address = announcement["address"]
        .as_str()
        .expect("an address")
        .to_owned();
    assert!(
        address.starts_with("127.0.0.1:"),
        "it listens on loopback unless told otherwise"
    );
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let body = r#"{"name":"Ada"}"#;
    write!(
        stream,
        "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        announcement["rest"].as_str().expect("a path"),
        body.len()
    )
    .expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a response");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("Hello, Ada."), "{answer}");
    interrupt(&child);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn methods_that_stream_are_announced() {
    let place = Place::new();
    let mut child = place.start(&["serve", "--workload", "items"]);
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let lines = output.lines().skip(1).map(|line| line.expect("text"));
    let shown: Vec<_> = lines
        .take_while(|line| !line.starts_with("Press"))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
      gRPC (h2c)  /ItemService/GetItem
                  /ItemService/ListItems (server stream of 100 messages)
                  /ItemService/PutItems (client stream)
                  /ItemService/ExchangeItems (bidirectional stream)
      Connect     POST /ItemService/GetItem
      REST        POST /items
                  with accept: application/x-ndjson or text/event-stream, 100 messages
      WebSocket   /items
    ");
    interrupt(&child);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn what_a_served_workload_would_ignore_is_refused() {
    let place = Place::new();
    place
        .run(&["serve", "--workload", "hello", "--n", "5"])
        .refused(&["--n", "one size"]);
    place
        .run(&["serve", "--proto", &orders("orders.proto")])
        .refused(&["--proto", "--method"]);
}

#[test]
fn addresses_that_cannot_be_listened_on_are_refused() {
    let place = Place::new();
    place
        .run(&["serve", "--listen", "nowhere"])
        .refused(&["nowhere"]);
    let long = format!("unix:/tmp/{}", "x".repeat(120));
    place.run(&["serve", "--listen", &long]).refused(&["107"]);
    let file = place.file("plain.sock", "not a socket");
    place
        .run(&["serve", "--listen", &format!("unix:{}", file.display())])
        .refused(&["plain.sock", "not a socket"]);
    assert_eq!(
        fs::read_to_string(&file).expect("still there"),
        "not a socket"
    );
}
