//! Tests of resolving studies, and the helpers that they share.

mod budget;
mod large;
mod link;
mod live;
mod map;
mod mix;
mod processes;
mod refused;
mod resolved;
mod streams;

use super::*;
use crate::features::{Adjustable, CompressionKind, Role, embedded_only};
use crate::settings::{
    ConnectionUse, DEFAULT_STOP, HttpVersion, Idle, Placement, Protocol, Style, SubjectCall,
};

/// Loads files, and defines the variable `TOKEN`.
fn loader() -> FileLoader {
    FileLoader {
        variables: [("TOKEN".to_owned(), "secret".to_owned())].into(),
        ..FileLoader::default()
    }
}

/// The subject call of a variant.
fn call<'p>(plan: &'p Plan, name: &str) -> &'p SubjectCall {
    match &plan.variant(name).unwrap().settings.target {
        Target::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

fn resolve_with(text: &str, cores: u32, overrides: &Overrides) -> Result<Plan, StudyError> {
    resolve_all(text, cores, overrides).map(|resolved| resolved.plan)
}

fn resolve_all(text: &str, cores: u32, overrides: &Overrides) -> Result<Resolved, StudyError> {
    let mut subjects = embedded_only();
    let plain = Features {
        roles: vec![Role::Server],
        protocols: [(Protocol::Grpc, vec![HttpVersion::Http2])].into(),
        compressions: vec![CompressionKind::None],
        programs: vec!["go/grpc".to_owned(), "go/services".to_owned()],
        ..Features::embedded()
    };
    let http = Features {
        roles: vec![Role::Server, Role::Client],
        protocols: [(Protocol::Rest, vec![HttpVersion::Http1])].into(),
        encodings: vec![Encoding::Json],
        codecs: [(Encoding::Json, "python/json".to_owned())].into(),
        styles: vec![Style::Blocking, Style::Future],
        connections: vec![ConnectionUse::Reuse],
        channels: 1,
        in_flight: 8,
        warm_up_ms: 3_000,
        warm_up_calls: 500,
        runtime: Adjustable {
            gc: vec!["g1".to_owned(), "zgc".to_owned()],
            heap: true,
            aot_cache: true,
            events: true,
        },
        programs: vec!["python/http".to_owned()],
        ..plain.clone()
    };
    let channels = Features {
        protocols: plain.protocols.clone(),
        channels: 4,
        programs: vec!["go/channels".to_owned(), "go/services".to_owned()],
        ..http.clone()
    };
    let json = Features {
        roles: vec![Role::Codec],
        encodings: vec![Encoding::Json],
        ..Features::embedded()
    };
    subjects.extend([
        ("go/channels".to_owned(), channels),
        ("go/grpc".to_owned(), plain),
        ("python/http".to_owned(), http),
        ("python/json".to_owned(), json),
    ]);
    let context = ResolveContext {
        subjects: &subjects,
        loader: &loader(),
        cores,
        overrides,
    };
    StudyFile::parse(text, "my.toml").and_then(|file| file.resolve_with_inputs(&context))
}

fn resolve(text: &str) -> Result<Plan, StudyError> {
    resolve_with(text, 2, &Overrides::default())
}

/// A study of two variants in eleven lines; `rest` begins in line 12.
const TWO: &str = r#"# Is gRPC faster?
[workload]
name = "echo"
n = 10
[[variants]]
name = "grpc"
protocol = "grpc"
[[variants]]
name = "rest-json"
protocol = "rest"

"#;

fn two_and(rest: &str) -> String {
    refused(&format!("{TWO}{rest}"))
}

fn refused(text: &str) -> String {
    match resolve(text) {
        Ok(plan) => panic!("it should be refused, not become {:?}", names(&plan)),
        Err(error) => error.to_string(),
    }
}

/// The error of a study of one variant, whose settings begin in line 5.
fn one_with(settings: &str) -> String {
    refused(&format!(
        "# Is it fast?\n[workload]\nname = \"hello\"\n[base]\n{settings}"
    ))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.variants
        .iter()
        .map(|variant| variant.name.as_str())
        .collect()
}
