use buffa::Message as _;
use buffa::encoding::{Tag, WireType};
use buffa::types::encode_bytes;
use buffa_descriptor::generated::descriptor::field_descriptor_proto::{Label, Type};
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};
use proptest::prelude::*;

use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::__buffa::oneof::server_reflection_response::MessageResponse;
use super::proto::{
    ErrorResponse, ExtensionRequest, FileDescriptorResponse, ListServiceResponse,
    ServerReflectionRequest, ServerReflectionResponse, ServiceResponse,
};
use super::*;
use crate::Schema;

const HELLO: &str = "hello.Hello";

fn workloads() -> ReflectionServer {
    ReflectionServer::new(Schema::workloads(), [HELLO.to_owned()])
}

fn answer(question: ReflectionRequest<'_>) -> ReflectionResponse {
    let bytes = workloads().respond(&question.to_bytes()).unwrap();
    ReflectionResponse::from_bytes(&bytes).unwrap()
}

fn files(question: ReflectionRequest<'_>) -> Vec<Vec<u8>> {
    match answer(question) {
        ReflectionResponse::Files(files) => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_schema_is_built_from_what_a_server_sends() {
    let mut fetched = Files::default();
    for file in files(ReflectionRequest::FileContaining(HELLO)) {
        assert!(fetched.add(&file).unwrap());
        assert!(!fetched.add(&file).unwrap(), "it was added before");
    }
    assert_eq!(fetched.missing(), None);
    let method = fetched
        .into_schema()
        .unwrap()
        .method("hello.Hello/SayHello");
    let request = method.unwrap().request;
    assert_eq!(request.full_name(), "hello.HelloRequest");
}

#[test]
fn services_and_files_are_found_by_their_names() {
    let services = ["grpc.reflection.v1.ServerReflection", HELLO];
    assert_eq!(
        answer(ReflectionRequest::Services),
        ReflectionResponse::Services(services.map(str::to_owned).to_vec())
    );
    let by_name = files(ReflectionRequest::File("hello.proto"));
    for symbol in ["hello.Hello.SayHello", "hello.HelloRequest", HELLO] {
        assert_eq!(
            files(ReflectionRequest::FileContaining(symbol)),
            by_name,
            "{symbol}"
        );
    }
    assert_eq!(
        files(ReflectionRequest::FileContaining(services[0])).len(),
        1
    );
    for question in [
        ReflectionRequest::FileContaining("a.B"),
        ReflectionRequest::File("a.proto"),
    ] {
        match answer(question) {
            ReflectionResponse::Error { code, .. } => {
                assert_eq!(code, ReflectionResponse::NOT_FOUND)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Requests that only other clients send.
#[test]
fn every_kind_of_request_gets_a_response() {
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let reflected = ReflectionServer::new(&schema, []);
    let ask = |asked| {
        let request = ServerReflectionRequest {
            message_request: asked,
            ..Default::default()
        };
        reflected.respond(&request.encode_to_vec()).unwrap()
    };
    let extension = |number| {
        let bytes = ask(Some(MessageRequest::from(ExtensionRequest {
            containing_type: "reflected.Open".to_owned(),
            extension_number: number,
            ..Default::default()
        })));
        ReflectionResponse::from_bytes(&bytes).unwrap()
    };
    assert!(matches!(extension(100), ReflectionResponse::Files(files) if files.len() == 2));
    assert!(matches!(
        extension(101),
        ReflectionResponse::Error { code: 5, .. }
    ));
    let numbers = ask(Some(MessageRequest::AllExtensionNumbersOfType(
        "reflected.Open".to_owned(),
    )));
    assert_eq!(
        ReflectionResponse::from_bytes(&numbers)
            .unwrap_err()
            .to_string(),
        "sends a damaged reflection response: it lists extension numbers, which were not requested"
    );
    let nothing = ReflectionResponse::from_bytes(&ask(None)).unwrap();
    assert!(matches!(nothing, ReflectionResponse::Error { code: 3, .. }));
}

/// A server may send a file without its imports.
#[test]
fn a_missing_import_is_named_until_it_is_added() {
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let pool = &schema.types.pool;
    let encoded = |name: &str| pool.file_by_name(name).unwrap().encode_to_vec();
    let mut files = Files::default();
    files.add(&encoded("reflected.proto")).unwrap();
    let import = "google/protobuf/timestamp.proto";
    assert_eq!(files.missing(), Some((import, "reflected.proto")));
    assert!(files.add_well_known(import).unwrap());
    assert_eq!(files.missing(), None);
    assert!(!files.add_well_known("shop/orders.proto").unwrap());
    assert!(files.into_schema().is_ok());
}

/// Fetches a schema from a server that sends these responses in order.
fn asked_of(answers: &[&[u8]]) -> (Result<Schema, ReflectionError>, Vec<String>) {
    let mut answers = answers.iter();
    let mut asked = Vec::new();
    let schema = fetch_schema(HELLO, Files::at_most(10, 1 << 20), |question| {
        asked.push(format!("{question:?}"));
        Ok::<_, std::convert::Infallible>(answers.next().expect("an answer").to_vec())
    });
    let schema = schema.map_err(|error| match error {
        FetchError::Reflection(error) => error,
        FetchError::Call(never) => match never {},
    });
    (schema, asked)
}

/// A response with files that have these names and imports.
fn telling(files: &[(&str, &[&str])]) -> Vec<u8> {
    let encoded = files.iter().map(|(name, imports)| {
        FileDescriptorProto {
            name: Some((*name).to_owned()),
            dependency: imports.iter().map(|&import| import.to_owned()).collect(),
            ..Default::default()
        }
        .encode_to_vec()
    });
    said(MessageResponse::from(FileDescriptorResponse {
        file_descriptor_proto: encoded.collect(),
        ..Default::default()
    }))
}

fn said(response: MessageResponse) -> Vec<u8> {
    ServerReflectionResponse {
        message_response: Some(response),
        ..Default::default()
    }
    .encode_to_vec()
}

fn error(code: i32, message: &str) -> Vec<u8> {
    said(MessageResponse::from(ErrorResponse {
        error_code: code,
        error_message: message.to_owned(),
        ..Default::default()
    }))
}

fn services(names: &[&str]) -> Vec<u8> {
    let service = names.iter().map(|&name| ServiceResponse {
        name: name.to_owned(),
        ..Default::default()
    });
    said(MessageResponse::from(ListServiceResponse {
        service: service.collect(),
        ..Default::default()
    }))
}

#[test]
fn missing_files_are_requested_once_even_in_an_import_cycle() {
    let (schema, asked) = asked_of(&[
        &telling(&[("a.proto", &["b.proto", "c.proto", "a.proto"])]),
        &telling(&[("b.proto", &["c.proto"]), ("a.proto", &["d.proto"])]),
        &telling(&[("c.proto", &["a.proto"])]),
    ]);
    assert!(schema.is_ok(), "{schema:?}");
    assert_eq!(
        asked,
        [
            r#"FileContaining("hello.Hello")"#,
            r#"File("b.proto")"#,
            r#"File("c.proto")"#
        ]
    );
}

#[test]
fn an_endless_chain_of_imports_is_bounded() {
    let names: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    let chain: Vec<Vec<u8>> = names
        .windows(2)
        .map(|pair| telling(&[(&pair[0], &[&pair[1]])]))
        .collect();
    let chain: Vec<&[u8]> = chain.iter().map(Vec::as_slice).collect();
    let (schema, asked) = asked_of(&chain);
    let error = schema.unwrap_err().to_string();
    assert!(error.ends_with("response: more than 10 files"), "{error}");
    assert_eq!(asked.len(), 10);
    // A file with more imports than allowed is refused before any of them is requested.
    let imports: Vec<&str> = names.iter().map(String::as_str).collect();
    let (schema, asked) = asked_of(&[&telling(&[("a.proto", &imports)])]);
    assert!(schema.is_err());
    assert_eq!(asked.len(), 1);
}

/// Recursion is bounded, both through nested messages and along chains of imports.
#[test]
fn nesting_is_bounded_and_import_chains_are_not() {
    let within = |field: u32, bytes: &[u8], out: &mut Vec<u8>| {
        Tag::new(field, WireType::LengthDelimited).encode(out);
        encode_bytes(bytes, out);
    };
    let nested = |levels: usize| {
        let mut message = Vec::new();
        for _ in 0..levels {
            let mut outer = Vec::new();
            within(1, b"M", &mut outer);
            within(3, &message, &mut outer);
            message = outer;
        }
        let mut file = Vec::new();
        within(1, b"a.proto", &mut file);
        within(4, &message, &mut file);
        Files::default().add(&file)
    };
    assert!(nested(50).is_ok());
    let error = nested(5_000).unwrap_err().to_string();
    assert!(
        error.starts_with("a file descriptor is damaged: "),
        "{error}"
    );

    let mut files = Files::default();
    for number in 0..8_000 {
        let file = FileDescriptorProto {
            name: Some(number.to_string()),
            dependency: vec![((number + 1) % 8_000).to_string()],
            public_dependency: vec![0],
            ..Default::default()
        };
        assert!(files.add(&file.encode_to_vec()).unwrap());
    }
    assert!(files.into_schema().is_ok());
}

/// Go's registry returns a placeholder for an import that the program was built without.
#[test]
fn a_placeholder_is_named_or_replaced() {
    let needs = |import: &str, type_name: &str| {
        let field = FieldDescriptorProto {
            name: Some("field".to_owned()),
            number: Some(1),
            label: Some(Label::LABEL_OPTIONAL),
            r#type: Some(Type::TYPE_MESSAGE),
            type_name: Some(type_name.to_owned()),
            ..Default::default()
        };
        let message = DescriptorProto {
            name: Some("Message".to_owned()),
            field: vec![field],
            ..Default::default()
        };
        let file = FileDescriptorProto {
            name: Some("a.proto".to_owned()),
            dependency: vec![import.to_owned()],
            message_type: vec![message],
            ..Default::default()
        };
        let placeholder = FileDescriptorProto {
            name: Some(import.to_owned()),
            ..Default::default()
        };
        let told = said(MessageResponse::from(FileDescriptorResponse {
            file_descriptor_proto: vec![placeholder.encode_to_vec(), file.encode_to_vec()],
            ..Default::default()
        }));
        asked_of(&[&told, &told]).0
    };
    let error = needs("b.proto", ".b.Kind").unwrap_err().to_string();
    let named = r#"sends only a placeholder (a name without content) for the file "b.proto": "#;
    assert!(error.starts_with(named), "{error}");
    assert!(error.contains(".b.Kind"), "{error}");
    let well_known = needs(
        "google/protobuf/timestamp.proto",
        ".google.protobuf.Timestamp",
    );
    assert!(well_known.is_ok(), "{well_known:?}");
    let only = asked_of(&[&telling(&[("hello.proto", &[])])]).0;
    let named = r#"for the file "hello.proto": no file declares "hello.Hello""#;
    let error = only.unwrap_err().to_string();
    assert!(error.contains(named), "{error}");
}

#[test]
fn a_servers_message_adds_no_second_line() {
    let unknown = error(5, "no\nsuch symbol");
    let table: [(&[&[u8]], &str); 9] = [
        (&[b"\xff"], "sends a damaged reflection response: "),
        (
            &[&error(7, "only\u{1b}[31m for\nadmins")],
            r"refuses server reflection: status 7 (only\u{1b}[31m for\nadmins)",
        ),
        (
            &[&services(&[HELLO])],
            "sends a reflection response that was not requested",
        ),
        (
            &[&unknown, &services(&["hello.Hallo\n"])],
            r#"has no service "hello.Hello"; did you mean "hello.Hallo\n"?"#,
        ),
        (
            &[&unknown, &services(&[HELLO])],
            r#"lists "hello.Hello", but sends no descriptor for it (no\nsuch symbol)"#,
        ),
        (
            &[&unknown, &error(12, "")],
            "refuses server reflection: status 12",
        ),
        (
            &[&telling(&[("a\n", &[])])],
            r#"sends a damaged reflection response: "a\n" is not a valid name of a .proto file: "#,
        ),
        (
            &[&telling(&[("a", &["../b"])])],
            r#"sends a damaged reflection response: "../b" is not a valid name of a .proto file: "#,
        ),
        (
            &[&telling(&[("a", &["b"])]), &telling(&[("c", &[])])],
            r#"sends no descriptor for the file "b", which "a" imports"#,
        ),
    ];
    for (answers, text) in table {
        let error = asked_of(answers).0.unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
        assert!(!error.contains(char::is_control), "{error}");
    }
}

#[test]
fn files_that_are_not_a_schema_are_refused_with_the_reason() {
    let hello = &files(ReflectionRequest::FileContaining(HELLO))[0];
    let why = |result: Result<bool, FilesError>| result.unwrap_err().to_string();
    assert_eq!(
        why(Files::at_most(0, 1 << 20).add(hello)),
        "more than 0 files"
    );
    assert_eq!(
        why(Files::at_most(1, 7).add(hello)),
        "files of more than 7 bytes"
    );
    assert!(
        why(Files::default().add(b"")).starts_with("\"\" is not a valid name of a .proto file")
    );
    assert!(why(Files::default().add(&hello[..9])).starts_with("a file descriptor is damaged: "));
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let mut alone = Files::default();
    let file = schema
        .types
        .pool
        .file_by_name("reflected.proto")
        .unwrap()
        .encode_to_vec();
    alone.add(&file).unwrap();
    let unlinked = alone.into_schema().unwrap_err().to_string();
    assert!(
        unlinked.starts_with("the files are inconsistent: "),
        "{unlinked}"
    );
    let mut renamed = FileDescriptorProto::decode_from_slice(&file).unwrap();
    renamed.message_type[0].name = Some("2a".to_owned());
    let mut wrong = Files::default();
    wrong.add(&renamed.encode_to_vec()).unwrap();
    let wrong = wrong.into_schema().unwrap_err().to_string();
    assert!(
        wrong.contains("reflected.proto: \"2a\" is not a valid name of a message"),
        "{wrong}"
    );
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ReflectionResponse::from_bytes(&bytes);
        let _ = Files::default().add(&bytes);
        if let Ok(answer) = workloads().respond(&bytes) {
            prop_assert!(!answer.is_empty());
        }
    }
}
