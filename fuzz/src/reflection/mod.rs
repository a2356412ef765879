//! Fetches a service's schema from a server that may send arbitrary responses.

mod responses;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use buffa::Message as _;
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
};
use rpcgauge_message::reflection::{
    FetchError, Files, ReflectionError, ReflectionRequest, ReflectionResponse, ReflectionServer,
    fetch_schema,
};
use rpcgauge_message::{DecodeError, Encoding, Limits, MessageType, Schema, first_difference};

use self::responses::{Responses, answer_error, answer_files, importing};
pub use self::responses::{bit, option, step};
use crate::decode::{check_mapped, written_and_read};
use crate::meter;
use crate::script::{Args, Script};

/// Bits of the first byte.
pub mod setup {
    /// Limits files to a small number and total size.
    pub const SMALL: u8 = 0x01;
    /// When the responses are exhausted, each requested file imports another one.
    pub const ENDLESS: u8 = 0x02;
}

/// A method to look up in each schema that does not exist there.
const UNKNOWN: &str = "a.S/Unknown";

/// The maximum number of methods whose messages are checked.
const METHODS: usize = 4;

/// Runs a client that fetches a service's schema, given a server's responses. Setup: bits ([`setup`]), then the
/// service's name. Steps: see [`step`].
///
/// Checks that nothing is requested twice and nothing beyond the limits is accepted, however files arrive
/// (damaged, duplicated, in cycles, endlessly). Memory must be bounded by the size of the responses, and errors
/// must be one line without control characters. A schema must not depend on the order of its files, its
/// messages must be readable and writable, and it must be possible to fetch it again from a server that
/// describes it.
pub fn reflection(input: &[u8]) {
    let case = Case::read(input);
    check_kept(&case.responses);
    match case.ask() {
        Ok(schema) => check_schema(&schema, &case.service, &case.responses.payloads),
        Err(error) => check_line(&error),
    }
}

/// Returns the outcome of an input, for checking that seeds still do what their names say.
///
/// # Errors
/// Returns what the server does instead of sending a schema.
pub fn outcome(input: &[u8]) -> Result<Schema, ReflectionError> {
    Case::read(input).ask()
}

/// A server, and the service to request from it.
struct Case {
    is_small: bool,
    is_endless: bool,
    service: String,
    responses: Responses,
}

impl Case {
    fn read(input: &[u8]) -> Case {
        let script = Script::read(input);
        let mut setup = Args(&script.setup);
        let bits = setup.u8();
        Case {
            is_small: bits & setup::SMALL != 0,
            is_endless: bits & setup::ENDLESS != 0,
            service: String::from_utf8_lossy(setup.rest()).replace(char::is_control, ""),
            responses: Responses::read(&script),
        }
    }

    fn ask(&self) -> Result<Schema, ReflectionError> {
        let (max_files, max_bytes) = if self.is_small {
            (5, 1000)
        } else {
            (60, 1 << 20)
        };
        let mut server = Server {
            answers: self.responses.bodies.iter(),
            is_endless: self.is_endless,
            asked: BTreeSet::new(),
            bytes: 0,
        };
        meter::reset();
        let asked = meter::metered(|| {
            let files = Files::at_most(max_files, max_bytes);
            fetch_schema(&self.service, files, |question| server.answer(question))
        });
        let most = BASE_MEMORY + MEMORY_PER_BYTE * server.bytes;
        let peak = meter::peak();
        assert!(peak <= most as u64, "{peak} bytes held, {most} expected");
        let questions = server.asked.len();
        assert!(questions <= max_files + 2, "{questions} questions");
        asked.map_err(|error| match error {
            FetchError::Reflection(error) => error,
            FetchError::Call(never) => match never {},
        })
    }
}

/// The memory that fetching may use regardless of the responses: it compiles the well-known types.
const BASE_MEMORY: usize = 16 << 20;

/// The memory per byte of a response. A field of a message needs a few bytes in a descriptor but a few hundred
/// in a schema, where nested names are written in full.
const MEMORY_PER_BYTE: usize = 1000;

/// Responds according to the script.
struct Server<'a> {
    answers: std::slice::Iter<'a, Vec<u8>>,
    is_endless: bool,
    asked: BTreeSet<String>,
    bytes: usize,
}

impl Server<'_> {
    fn answer(&mut self, question: ReflectionRequest<'_>) -> Result<Vec<u8>, Infallible> {
        let is_new = meter::unmetered(|| self.asked.insert(format!("{question:?}")));
        assert!(is_new, "requested twice: {question:?}");
        let answer = match (self.answers.next(), question) {
            (Some(answer), _) => answer.clone(),
            (None, ReflectionRequest::File(name)) if self.is_endless => {
                answer_files(&[importing(name, format!("{name}+"))])
            }
            _ => answer_error(ReflectionResponse::NOT_FOUND as u8, b"no more"),
        };
        self.bytes += answer.len();
        Ok(answer)
    }
}

/// Checks that `Files` retains no more than the files' bytes and names.
fn check_kept(responses: &Responses) {
    let files: Vec<Vec<u8>> = responses
        .bodies
        .iter()
        .filter_map(|body| match ReflectionResponse::from_bytes(body) {
            Ok(ReflectionResponse::Files(files)) => Some(files),
            _ => None,
        })
        .flatten()
        .collect();
    meter::reset();
    let kept = meter::metered(|| {
        let mut kept = Files::default();
        for file in &files {
            if let Err(error) = kept.add(file) {
                check_line(&error);
            }
        }
        kept
    });
    let bytes: usize = files.iter().map(Vec::len).sum();
    let most = BASE_KEPT + KEPT_PER_BYTE * bytes;
    let held = meter::held();
    assert!(held <= most as u64, "{held} bytes kept of {bytes}");
    drop(kept);
}

/// The memory for the first node of a tree and similar overhead.
const BASE_KEPT: usize = 4 << 10;

/// An import needs at least three bytes in a file, and an entry in a tree.
const KEPT_PER_BYTE: usize = 50;

fn check_line(error: &dyn std::fmt::Display) {
    let line = error.to_string();
    assert!(!line.contains(char::is_control), "{line:?}");
}

fn check_schema(schema: &Schema, service: &str, payloads: &[Vec<u8>]) {
    check_order(schema);
    check_reflected(schema, service, payloads);
    let set = FileDescriptorSet::decode_from_slice(schema.descriptor_set()).expect("files");
    let is_plain = set.file.iter().all(is_plain);
    for name in schema.method_names().iter().take(METHODS) {
        let method = schema.method(name).expect("a method of the schema");
        for message_type in [&method.request, &method.response] {
            check_messages(message_type, payloads, is_plain);
        }
    }
    if let Err(error) = schema.method(UNKNOWN) {
        check_line(&error);
    }
}

/// Checks that the same files form the same schema in any order, even if they are added twice.
fn check_order(schema: &Schema) {
    let set = FileDescriptorSet::decode_from_slice(schema.descriptor_set()).expect("files");
    let mut again = Files::default();
    for file in set.file.iter().rev() {
        let file = file.encode_to_vec();
        assert_eq!(again.add(&file), Ok(true));
        assert_eq!(again.add(&file), Ok(false));
    }
    assert_eq!(again.missing(), None);
    let again = again.into_schema().expect("a schema as before");
    assert_eq!(again.descriptor_set(), schema.descriptor_set());
}

/// Checks that a server that describes the schema responds to any request.
fn check_reflected(schema: &Schema, service: &str, questions: &[Vec<u8>]) {
    let reflected = ReflectionServer::new(schema, [service.to_owned()]);
    let asked = fetch_schema(service, Files::default(), |question| {
        reflected.respond(&question.to_bytes())
    });
    match asked {
        Ok(_) => {}
        // A file may use a type that it does not import, and the service may not be in any file.
        Err(FetchError::Reflection(error)) => check_line(&error),
        Err(FetchError::Call(error)) => panic!("{error}"),
    }
    for question in questions {
        match reflected.respond(question) {
            Ok(answer) => {
                if let Err(error) = ReflectionResponse::from_bytes(&answer) {
                    check_line(&error);
                }
            }
            Err(error) => check_line(&error),
        }
    }
}

/// Checks that messages whose type comes from a server can be read and written.
fn check_messages(message_type: &MessageType, payloads: &[Vec<u8>], is_plain: bool) {
    let limits = Limits::DEFAULT;
    // The empty message is refused only if it lacks a required field.
    let nothing = Vec::new();
    for bytes in payloads.iter().chain([&nothing]) {
        match message_type.decode(bytes, Encoding::Protobuf, &limits) {
            Ok(message) => {
                let message = written_and_read(&message);
                let again = written_and_read(&message);
                assert_eq!(first_difference(&message, &again), None);
                if is_plain {
                    check_mapped(&message);
                }
            }
            Err(error) => check_refusal(&error, bytes),
        }
        let text = String::from_utf8_lossy(bytes);
        match message_type.from_json(&text) {
            Ok(message) => {
                written_and_read(&message);
            }
            Err(error) => check_line(&error),
        }
    }
}

/// Checks that a refusal is one line. For an empty message, it must name a required field.
fn check_refusal(error: &DecodeError, bytes: &[u8]) {
    check_line(error);
    let is_required = error.to_string().contains("a required field is missing");
    assert!(is_required || !bytes.is_empty(), "{error}");
}

/// Whether messages read back unchanged from encodings other than protobuf. They may not if two fields of a
/// message share a name, which proto2 allows, if a field and an extension share a number, or if the file is in
/// the package of the well-known types, which need not be the real ones.
fn is_plain(file: &FileDescriptorProto) -> bool {
    let package = file.package.as_deref().unwrap_or_default();
    package != "google.protobuf" && file.message_type.iter().all(is_plain_message)
}

fn is_plain_message(message: &DescriptorProto) -> bool {
    let mut owners = BTreeMap::new();
    let are_own = message.field.iter().enumerate().all(|(owner, field)| {
        let json = field
            .json_name
            .clone()
            .or_else(|| json_name(field.name.as_deref()?));
        let names = [field.name.clone(), json];
        names
            .into_iter()
            .flatten()
            .all(|name| !name.starts_with('[') && *owners.entry(name).or_insert(owner) == owner)
    });
    let may_be_extended = |field: &FieldDescriptorProto| {
        let mut ranges = message.extension_range.iter();
        ranges.any(|range| (range.start..range.end).contains(&field.number))
    };
    are_own
        && !message.field.iter().any(may_be_extended)
        && message.nested_type.iter().all(is_plain_message)
}

/// The default JSON name of a field.
fn json_name(name: &str) -> Option<String> {
    let mut parts = name.split('_');
    let mut json = parts.next()?.to_owned();
    for part in parts {
        let mut letters = part.chars();
        json.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        json.push_str(letters.as_str());
    }
    Some(json)
}
