//! `load` without a schema, which is then fetched by server reflection.

use std::sync::{Arc, mpsc};

use rpcgauge_message::reflection::{METHOD_PATHS, ReflectionServer};
use rpcgauge_message::{Schema, WorkloadSpec};
use rpcgauge_reference::grpc::{Code, MethodCall, MethodResponse, Methods, Status};
use rpcgauge_reference::{Server, ServerOptions};

use crate::common::{Finished, Place, orders, report};
use crate::load::{HELLO, Service};

fn load(place: &Place, target: &str, more: &[&str]) -> Finished {
    let words = ["load", target, "--calls", "20", "--out", "run", "--quiet"];
    place.run(&[&words[..], more].concat())
}

#[test]
fn a_service_is_asked_what_its_messages_are() {
    let place = Place::new();
    let served = Service::start(&place, &[]);
    let target = served.grpc();
    let shown = load(&place, &target, &["--data", r#"{"name": "{{n}}"}"#]).well();
    assert!(
        shown.contains("20 started: 20 succeeded, 0 failed"),
        "{shown}"
    );
    let run = report(&place.path().join("run"));
    let figures = &run["variants"][0]["cells"][0]["figures"];
    assert_eq!(figures["calls"]["answered"], 20);
}

#[test]
fn a_method_of_ones_own_is_told_with_its_imports() {
    let place = Place::new();
    let (proto, request, answer) = (
        orders("orders.proto"),
        orders("request.json"),
        orders("response.json"),
    );
    let own = [
        "--proto",
        &proto,
        "--include",
        &orders("."),
        "--method",
        "shop.Orders/Get",
        "--request",
        &request,
        "--response",
        &answer,
        "--listen",
        "unix:s",
    ];
    let _served = Service::start(&place, &own);
    let data = format!("@{request}");
    let target = "grpc://shop:1/shop.Orders/Get";
    let more = ["--unix-socket", "s", "--data", &data];
    load(&place, target, &more).well();
}

#[test]
fn what_is_not_known_is_said_with_what_is_near() {
    let place = Place::new();
    let served = Service::start(&place, &[]);
    let refused = |method: &str, data: &str, parts: &[&str]| {
        let target = format!("grpc://{}/{method}", served.address);
        load(&place, &target, &["--data", data]).refused(parts);
    };
    refused(
        "hello.Helo/SayHello",
        "{}",
        &["no service \"hello.Helo\"", "did you mean \"hello.Hello\"?"],
    );
    refused(
        "hello.Hello/SayHalo",
        "{}",
        &["no method", "did you mean \"hello.Hello/SayHello\"?"],
    );
    refused(
        HELLO,
        r#"{"nam": 1}"#,
        &["data: ", "did you mean \"name\"?"],
    );
    assert!(!place.names().contains(&"run".to_owned()));
}

#[test]
fn reflection_that_is_switched_off_is_said() {
    let place = Place::new();
    let served = Service::start(&place, &["--no-reflection"]);
    let target = served.grpc();
    load(&place, &target, &["--data", "{}"]).refused(&[
        "does not offer server reflection",
        "--proto FILE or --descriptor-set FILE",
    ]);
    // An empty message needs no schema, so reflection is not used.
    load(&place, &target, &[]).well();
}

/// Computes the response to a reflection request.
type Told = fn(&ReflectionServer, Vec<u8>) -> Result<Vec<u8>, Status>;

/// The hello workload's server, with its own reflection method at `path`.
fn telling(path: &str, told: Told) -> (String, mpsc::Sender<()>) {
    let reflected = ReflectionServer::new(Schema::workloads(), ["hello.Hello".to_owned()]);
    let method = move |call: MethodCall| {
        let result = told(&reflected, call.message);
        async {
            MethodResponse {
                initial_metadata: Default::default(),
                result,
                trailing_metadata: Default::default(),
            }
        }
    };
    let methods = Methods::from([(path.to_owned(), Arc::new(method) as _)]);
    let settings = ServerOptions::new(WorkloadSpec::Hello {});
    let server = Server::bind_with(&settings, &methods).expect("a server");
    let address = server.address().to_string();
    let (stop, stopped) = mpsc::channel();
    std::thread::spawn(move || {
        server.serve_until(move || {
            // An error means that the sender was dropped, which also stops the server.
            let _ = stopped.recv();
        })
    });
    (format!("grpc://{address}/{HELLO}"), stop)
}

fn honest(reflected: &ReflectionServer, question: Vec<u8>) -> Result<Vec<u8>, Status> {
    let answer = reflected.respond(&question);
    answer.map_err(|error| Status::new(Code::Internal, error.to_string()))
}

#[test]
fn a_server_that_has_the_older_version_alone_is_asked_in_it() {
    let place = Place::new();
    let (target, _stop) = telling(METHOD_PATHS[1], honest);
    load(&place, &target, &["--data", r#"{"name": "Ada"}"#]).well();
}

#[test]
fn damage_and_refusals_are_said_in_one_line() {
    let place = Place::new();
    let cases: [(Told, &[&str]); 3] = [
        (|_, _| Ok(vec![0xff]), &["a damaged reflection response"]),
        // An empty response is not a valid answer.
        (
            |_, _| Ok(Vec::new()),
            &["a damaged reflection response", "it is empty"],
        ),
        (
            |_, _| Err(Status::new(Code::PermissionDenied, "only for\nadmins")),
            &["grpc-permission-denied", "only for admins"],
        ),
    ];
    for (told, parts) in cases {
        let (target, _stop) = telling(METHOD_PATHS[0], told);
        let parts = [parts, &["give --proto FILE"]].concat();
        load(&place, &target, &["--data", "{}"]).refused(&parts);
    }
}
