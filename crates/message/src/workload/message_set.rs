//! The messages that a stack's code is generated for, as files for generators.

use buffa::Message as _;
use serde_json::json;

use super::{WorkloadError, WorkloadSpec, own};
use crate::schema::names::change_fields;
use crate::schema::{Schema, SchemaError, descriptor_set, in_order};

/// A set of messages: those of all built-in workloads, or those of one method of a user's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageSet {
    /// Those of the built-in workloads.
    BuiltIn,
    /// A user's own.
    Own {
        /// As in the workload.
        descriptor_set: String,
        /// As in the workload.
        method: String,
    },
}

/// A set of messages as its generators get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFiles {
    /// A `google.protobuf.FileDescriptorSet`: each file after those that it imports.
    pub descriptors: Vec<u8>,
    /// Which of its files need code, and which methods are called, as JSON.
    pub list: String,
}

/// Where the files of the well-known types are. The libraries of all languages have their code.
const WELL_KNOWN: &str = "google/protobuf/";

impl From<&WorkloadSpec> for MessageSet {
    fn from(workload: &WorkloadSpec) -> Self {
        match workload {
            WorkloadSpec::Own(own) => Self::Own {
                descriptor_set: own.descriptor_set.clone(),
                method: own.method.clone(),
            },
            _ => Self::BuiltIn,
        }
    }
}

impl MessageSet {
    /// The files for generators.
    ///
    /// # Errors
    /// The workload's descriptor set is none, or does not have its method.
    pub fn files(&self) -> Result<MessageFiles, WorkloadError> {
        match self {
            Self::BuiltIn => {
                let schema = Schema::workloads();
                files_of(schema, &schema.method_names(), None)
            }
            Self::Own {
                descriptor_set,
                method,
            } => {
                let schema = own::schema(descriptor_set)?;
                let service = method.split('/').next().unwrap_or_default();
                files_of(&schema, std::slice::from_ref(method), Some(service))
            }
        }
    }
}

/// The files of a schema. Of a large one only those that `service` needs, unless a message may hold
/// any other, in a `google.protobuf.Any`.
fn files_of(
    schema: &Schema,
    methods: &[String],
    service: Option<&str>,
) -> Result<MessageFiles, WorkloadError> {
    let pool = &schema.types.pool;
    let needed = match service.filter(|_| !schema.types.has_any) {
        None => pool.files().iter().collect(),
        Some(service) => Vec::from_iter(pool.file_containing_symbol(service)),
    };
    let files = in_order(pool, needed);
    let names = files.iter().filter_map(|file| file.name.clone());
    let generate = names.filter(|name| !name.starts_with(WELL_KNOWN));
    let generate: Vec<String> = generate.collect();
    let methods = methods.iter().map(|name| {
        let method = schema.method(name)?;
        Ok(json!({
            "path": format!("/{}", method.name),
            "request": method.request.full_name(),
            "response": method.response.full_name(),
        }))
    });
    let methods = methods.collect::<Result<Vec<_>, SchemaError>>()?;
    Ok(MessageFiles {
        descriptors: descriptor_set(files.into_iter().map(|file| {
            let mut file = file.clone();
            // A tool may have left them out, and generators do not make them up.
            change_fields(&mut file, &|field| {
                let name = field.name.as_deref().unwrap_or_default();
                field.json_name.get_or_insert_with(|| json_name(name));
            });
            file.encode_to_vec()
        })),
        list: json!({"generate": generate, "methods": methods}).to_string(),
    })
}

/// A field's name as the compilers of .proto files write it for JSON.
fn json_name(name: &str) -> String {
    let mut after_underscore = false;
    let mut json = String::new();
    for c in name.chars() {
        match c {
            '_' => after_underscore = true,
            _ if std::mem::take(&mut after_underscore) => json.push(c.to_ascii_uppercase()),
            _ => json.push(c),
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use buffa_descriptor::generated::descriptor::FileDescriptorSet;
    use serde_json::Value;

    use super::*;

    fn names(files: &MessageFiles) -> Vec<String> {
        let set = FileDescriptorSet::decode_from_slice(&files.descriptors).unwrap();
        set.file.into_iter().filter_map(|file| file.name).collect()
    }

    fn list(files: &MessageFiles) -> Value {
        serde_json::from_str(&files.list).unwrap()
    }

    /// A set of files with their imports, the last of which has the method `p.S/M`.
    fn own(files: &[(&str, &[&str])]) -> MessageSet {
        let folder = tempfile::tempdir().unwrap();
        for (number, (name, imports)) in files.iter().enumerate() {
            let imports: Vec<String> = imports
                .iter()
                .map(|import| format!("import \"{import}\";\n"))
                .collect();
            let message = match number + 1 == files.len() {
                true => "message M { int64 big_id = 1; }\nservice S { rpc M(M) returns (M); }",
                false => "",
            };
            let imports = imports.concat();
            let text = format!("syntax = \"proto3\";\npackage p;\n{imports}\n{message}\n");
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let paths: Vec<_> = files
            .iter()
            .map(|(name, _)| folder.path().join(name))
            .collect();
        let schema = Schema::compile(&paths, &[]).unwrap();
        let mut set = FileDescriptorSet::decode_from_slice(schema.descriptor_set()).unwrap();
        // As a careless tool leaves them.
        set.file.reverse();
        for file in &mut set.file {
            for message in &mut file.message_type {
                message.field.iter_mut().for_each(|f| f.json_name = None);
            }
        }
        MessageSet::Own {
            descriptor_set: STANDARD.encode(set.encode_to_vec()),
            method: "p.S/M".to_owned(),
        }
    }

    #[test]
    fn the_built_in_set_has_every_workload_s_method() {
        let files = MessageSet::from(&WorkloadSpec::Hello {}).files().unwrap();
        let list = list(&files);
        assert_eq!(list["methods"].as_array().unwrap().len(), 6);
        let hello = json!({"path": "/hello.Hello/SayHello", "request": "hello.HelloRequest",
            "response": "hello.HelloReply"});
        assert!(list["methods"].as_array().unwrap().contains(&hello));
        assert_eq!(list["generate"], json!(names(&files)));
    }

    #[test]
    fn each_file_comes_after_what_it_imports_with_names_for_json() {
        let timestamp = "google/protobuf/timestamp.proto";
        let set = own(&[
            ("c.proto", &[timestamp]),
            ("b.proto", &["c.proto"]),
            ("unused.proto", &[]),
            ("a.proto", &["b.proto", "c.proto"]),
        ]);
        let files = set.files().unwrap();
        assert_eq!(names(&files), [timestamp, "c.proto", "b.proto", "a.proto"]);
        let list = list(&files);
        assert_eq!(list["generate"], json!(["c.proto", "b.proto", "a.proto"]));
        assert_eq!(
            list["methods"],
            json!([{"path": "/p.S/M", "request": "p.M", "response": "p.M"}])
        );
        let set = FileDescriptorSet::decode_from_slice(&files.descriptors).unwrap();
        let field = &set.file[3].message_type[0].field[0];
        assert_eq!(field.json_name.as_deref(), Some("bigId"));
    }

    #[test]
    fn what_an_any_may_hold_is_kept() {
        let any = "google/protobuf/any.proto";
        let set = own(&[("held.proto", &[]), ("a.proto", &[any])]);
        let names = names(&set.files().unwrap());
        assert!(names.contains(&"held.proto".to_owned()), "{names:?}");
    }
}
