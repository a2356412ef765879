//! Compiles .proto files. The workloads' files become a descriptor set and message types that derive serde's
//! traits for JSON, MessagePack and CBOR. The files of server reflection and of the tests become plain message
//! types.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use buffa_build::{Config, MapRepr};
use protox::prost_reflect::{DescriptorPool, Kind};

/// The messages of the built-in workloads.
const WORKLOADS: [&str; 7] = [
    "several.proto",
    "hello.proto",
    "list.proto",
    "records.proto",
    "profile.proto",
    "followers.proto",
    "hybrid.proto",
];

/// Messages with every kind of field, for the tests.
const KITCHEN_SINK: [&str; 1] = ["kitchen_sink.proto"];

/// The messages of server reflection, which are only ever encoded as protobuf.
const REFLECTION: [&str; 1] = ["grpc/reflection/v1/reflection.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let crate_root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let folder = |path| crate_root.join(path);
    generate(&folder("proto"), &REFLECTION, "reflection", |_, code| code)?;
    generate(
        &folder("tests/proto"),
        &KITCHEN_SINK,
        "kitchen_sink",
        |_, code| code,
    )?;
    let code = generate(
        &folder("../../contract/proto"),
        &WORKLOADS,
        "workloads",
        with_serde,
    )?;
    skip_unknown_fields(&code)
}

/// Compiles files in one folder into `NAME.binpb` and `NAME/mod.rs`, and returns the path of `NAME`.
fn generate(
    folder: &Path,
    files: &[&str],
    name: &str,
    with: fn(&DescriptorPool, Config) -> Config,
) -> Result<PathBuf, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut compiler = protox::Compiler::new([folder])?;
    compiler.include_imports(true).open_files(files)?;
    let set = out.join(format!("{name}.binpb"));
    fs::write(&set, compiler.encode_file_descriptor_set())?;

    let code = out.join(name);
    fs::create_dir_all(&code)?;
    let config = Config::new()
        .descriptor_set(&set)
        .files(files)
        .generate_views(false)
        // Sorted maps make the encoding of a message deterministic.
        .map_type(MapRepr::BTreeMap)
        .out_dir(&code)
        .include_file("mod.rs");
    with(&compiler.descriptor_pool(), config).compile()?;
    Ok(code)
}

/// Derives serde's traits as an application would on its own structs: lowerCamelCase names, unknown fields
/// rejected, unset fields omitted. 64-bit integers are written as numbers, and read from numbers or strings.
fn with_serde(pool: &DescriptorPool, config: Config) -> Config {
    let config = config.message_attribute(
        ".",
        "#[derive(::serde::Serialize, ::serde::Deserialize)]
         #[serde(default, rename_all = \"camelCase\", deny_unknown_fields)]",
    );
    let messages: Vec<_> = pool.all_messages().filter(|m| !m.is_map_entry()).collect();
    let fields = messages.iter().flat_map(|message| message.fields());
    fields.fold(config, |config, field| {
        let mut keys = vec![format!("alias = {:?}", field.name())];
        let unset = match field.kind() {
            Kind::Message(_) if !field.is_list() && !field.is_map() => {
                "::buffa::MessageField::is_unset"
            }
            _ => "crate::generated::is_default",
        };
        keys.push(format!("skip_serializing_if = {unset:?}"));
        if field.kind() == Kind::Int64 {
            let form = if field.is_list() { "list" } else { "one" };
            keys.push(format!(
                "deserialize_with = \"crate::generated::int64::{form}\""
            ));
        }
        let attribute = format!("#[serde({})]", keys.join(", "));
        config.field_attribute(format!(".{}", field.full_name()), attribute)
    })
}

/// Marks the unknown-fields field `#[serde(skip)]`: it is the only field to which `buffa` cannot add
/// attributes.
fn skip_unknown_fields(code: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(code)? {
        let path = entry?.path();
        let field = "pub __buffa_unknown_fields:";
        let text = fs::read_to_string(&path)?.replace(field, &format!("#[serde(skip)] {field}"));
        fs::write(&path, text)?;
    }
    Ok(())
}
