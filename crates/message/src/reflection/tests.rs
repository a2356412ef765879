use buffa::Message as _;
use proptest::prelude::*;

use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::{ExtensionRequest, ServerReflectionRequest};
use super::*;
use crate::Schema;

const HELLO: &str = "hello.Hello";

fn workloads() -> Reflected {
    Reflected::new(Schema::workloads(), [HELLO.to_owned()])
}

fn answer(question: Question<'_>) -> Answer {
    let bytes = workloads().answer(&question.to_bytes()).unwrap();
    Answer::from_bytes(&bytes).unwrap()
}

fn files(question: Question<'_>) -> Vec<Vec<u8>> {
    match answer(question) {
        Answer::Files(files) => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_server_tells_of_a_service_makes_a_schema() {
    let mut told = Files::default();
    for file in files(Question::FileContaining(HELLO)) {
        assert!(told.add(&file).unwrap());
        assert!(!told.add(&file).unwrap(), "it is there already");
    }
    assert_eq!(told.missing(), None);
    let method = told.into_schema().unwrap().method("hello.Hello/SayHello");
    let request = method.unwrap().request;
    assert_eq!(request.full_name(), "hello.HelloRequest");
}

#[test]
fn services_and_files_are_told_by_their_names() {
    let services = ["grpc.reflection.v1.ServerReflection", HELLO];
    assert_eq!(
        answer(Question::Services),
        Answer::Services(services.map(str::to_owned).to_vec())
    );
    let by_name = files(Question::File("hello.proto"));
    for symbol in ["hello.Hello.SayHello", "hello.HelloRequest", HELLO] {
        assert_eq!(files(Question::FileContaining(symbol)), by_name, "{symbol}");
    }
    assert_eq!(files(Question::FileContaining(services[0])).len(), 1);
    for question in [Question::FileContaining("a.B"), Question::File("a.proto")] {
        match answer(question) {
            Answer::Error { code, .. } => assert_eq!(code, Answer::NOT_FOUND),
            other => panic!("{other:?}"),
        }
    }
}

/// What only other clients ask.
#[test]
fn every_kind_of_question_has_an_answer() {
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let reflected = Reflected::new(&schema, []);
    let ask = |asked| {
        let request = ServerReflectionRequest {
            message_request: asked,
            ..Default::default()
        };
        reflected.answer(&request.encode_to_vec()).unwrap()
    };
    let extension = |number| {
        let bytes = ask(Some(MessageRequest::from(ExtensionRequest {
            containing_type: "reflected.Open".to_owned(),
            extension_number: number,
            ..Default::default()
        })));
        Answer::from_bytes(&bytes).unwrap()
    };
    assert!(matches!(extension(100), Answer::Files(files) if files.len() == 2));
    assert!(matches!(extension(101), Answer::Error { code: 5, .. }));
    let numbers = ask(Some(MessageRequest::AllExtensionNumbersOfType(
        "reflected.Open".to_owned(),
    )));
    assert_eq!(
        Answer::from_bytes(&numbers).unwrap_err().to_string(),
        "it lists extension numbers, which were not asked for"
    );
    let nothing = Answer::from_bytes(&ask(None)).unwrap();
    assert!(matches!(nothing, Answer::Error { code: 3, .. }));
}

/// A server may tell a file without its imports.
#[test]
fn a_missing_import_is_named_until_it_is_there() {
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let pool = schema.pool();
    let encoded = |name: &str| pool.file_by_name(name).unwrap().encode_to_vec();
    let mut told = Files::default();
    told.add(&encoded("reflected.proto")).unwrap();
    let import = "google/protobuf/timestamp.proto";
    assert_eq!(told.missing(), Some((import, "reflected.proto")));
    assert!(told.add_well_known(import).unwrap());
    assert_eq!(told.missing(), None);
    assert!(!told.add_well_known("shop/orders.proto").unwrap());
    assert!(told.into_schema().is_ok());
}

#[test]
fn what_is_no_schema_says_why() {
    let hello = &files(Question::FileContaining(HELLO))[0];
    let why = |result: Result<bool, FilesError>| result.unwrap_err().to_string();
    assert_eq!(
        why(Files::at_most(0, 1 << 20).add(hello)),
        "more than 0 files"
    );
    assert_eq!(
        why(Files::at_most(1, 7).add(hello)),
        "files of more than 7 bytes"
    );
    assert_eq!(
        why(Files::default().add(b"")),
        "a file descriptor has no name"
    );
    assert!(why(Files::default().add(&hello[..9])).starts_with("a file descriptor is damaged: "));
    let schema = Schema::compile(&["tests/proto/reflected.proto".into()], &[]).unwrap();
    let mut alone = Files::default();
    let file = schema
        .pool()
        .file_by_name("reflected.proto")
        .unwrap()
        .encode_to_vec();
    alone.add(&file).unwrap();
    let unlinked = alone.into_schema().unwrap_err().to_string();
    assert!(
        unlinked.starts_with("the files do not fit together: "),
        "{unlinked}"
    );
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Answer::from_bytes(&bytes);
        let _ = Files::default().add(&bytes);
        if let Ok(answer) = workloads().answer(&bytes) {
            prop_assert!(!answer.is_empty());
        }
    }
}
