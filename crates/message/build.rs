//! Compiles the workloads' .proto files: their descriptor set, the protobuf code, and the lines
//! that put each message into the mapping of JSON, MessagePack and CBOR; and server reflection's.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use buffa_build::MapRepr;
use protox::prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

/// What the program itself uses.
const WORKLOADS: [&str; 7] = [
    "several.proto",
    "hello.proto",
    "list.proto",
    "records.proto",
    "profile.proto",
    "followers.proto",
    "hybrid.proto",
];

/// Every kind of field, for the tests.
const KITCHEN_SINK: [&str; 1] = ["kitchen_sink.proto"];

/// Server reflection's, which only protobuf carries.
const REFLECTION: [&str; 1] = ["grpc/reflection/v1/reflection.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let crate_root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    generate_code(&crate_root.join("proto"), &REFLECTION, "reflection")?;
    generate(
        &crate_root.join("../../contract/proto"),
        &WORKLOADS,
        "workloads",
    )?;
    generate(
        &crate_root.join("tests/proto"),
        &KITCHEN_SINK,
        "kitchen_sink",
    )
}

/// Writes `NAME.binpb`, `NAME/mod.rs` and `NAME/mapping.rs` for the files of one folder.
fn generate(folder: &Path, files: &[&str], name: &str) -> Result<(), Box<dyn Error>> {
    let pool = generate_code(folder, files, name)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join(name).join("mapping.rs"), mapping(&pool))?;
    Ok(())
}

/// Writes `NAME.binpb` and `NAME/mod.rs` for the files of one folder.
fn generate_code(
    folder: &Path,
    files: &[&str],
    name: &str,
) -> Result<DescriptorPool, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut compiler = protox::Compiler::new([folder])?;
    compiler.include_imports(true).open_files(files)?;
    let set = out.join(format!("{name}.binpb"));
    fs::write(&set, compiler.encode_file_descriptor_set())?;

    let code = out.join(name);
    fs::create_dir_all(&code)?;
    buffa_build::Config::new()
        .descriptor_set(&set)
        .files(files)
        .generate_views(false)
        // Sorted maps, so that a message has the same bytes every time.
        .map_type(MapRepr::BTreeMap)
        .out_dir(&code)
        .include_file("mod.rs")
        .compile()?;
    Ok(compiler.descriptor_pool())
}

/// One `mapped_message!` for each message.
fn mapping(pool: &DescriptorPool) -> String {
    let mut out = String::new();
    for message in pool.all_messages().filter(|m| !m.is_map_entry()) {
        assert!(
            message.fields().count() < 64,
            "{}: 63 fields at most",
            message.full_name()
        );
        let _ = write!(
            out,
            "mapped_message! {{ {}, {:?}",
            rust_path(&message),
            message.full_name()
        );
        for (place, field) in fields(&message).enumerate() {
            let (json, proto) = (field.json_name(), field.name());
            let _ = write!(
                out,
                "\n    {place} {} {json:?} {proto:?}",
                identifier(proto)
            );
        }
        out.push_str(" }\n");
    }
    out
}

/// Fields in the order of the file. What the mapping of generated code does not have is refused.
fn fields(message: &MessageDescriptor) -> impl Iterator<Item = FieldDescriptor> {
    let mut order: Vec<(usize, FieldDescriptor)> = message
        .fields()
        .map(|field| {
            let in_oneof = field
                .containing_oneof()
                .is_some_and(|oneof| !oneof.is_synthetic());
            let well_known = match field.kind() {
                Kind::Message(m) => m.full_name().starts_with("google.protobuf."),
                _ => false,
            };
            assert!(
                !in_oneof && !well_known && !field.is_group(),
                "{}: generated code has no mapping of oneofs, groups and well-known types",
                field.full_name()
            );
            (
                field.path().last().map_or(0, |index| *index as usize),
                field,
            )
        })
        .collect();
    order.sort_by_key(|(index, _)| *index);
    order.into_iter().map(|(_, field)| field)
}

fn rust_path(message: &MessageDescriptor) -> String {
    let package = message.package_name();
    let mut path: Vec<String> = package
        .split('.')
        .filter(|p| !p.is_empty())
        .map(identifier)
        .collect();
    path.push(message.name().to_owned());
    assert!(
        message.parent_message().is_none(),
        "{}: no nested types",
        message.full_name()
    );
    path.join("::")
}

/// Names that Rust keeps for itself, of those that the .proto files use.
fn identifier(name: &str) -> String {
    if ["enum", "type", "match", "ref", "use"].contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}
