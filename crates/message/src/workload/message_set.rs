//! The messages of a stack's generated code, as files for code generators.

use buffa::{Message as _, MessageField};
use buffa_descriptor::generated::descriptor::FileDescriptorProto;
use serde_json::json;

use super::{WorkloadError, WorkloadSpec, closure, own};
use crate::schema::json_names;
use crate::schema::names::{change_fields, is_well_known};
use crate::schema::{Schema, SchemaError, descriptor_set, in_order};

/// A set of messages: either of all built-in workloads or of one user-defined method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageSet {
    /// The messages of the built-in workloads.
    BuiltIn,
    /// The messages of a user's own method.
    Own {
        /// As in the workload: a base64-encoded descriptor set.
        descriptor_set: String,
        /// As in the workload: `package.Service/Method`.
        method: String,
    },
}

/// A set of messages in the form that code generators need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFiles {
    /// A `google.protobuf.FileDescriptorSet`, with each file after its imports.
    pub descriptors: Vec<u8>,
    /// JSON: the files that need code, and the methods that are called.
    pub list: String,
}

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
    /// Returns the files for code generators.
    ///
    /// # Errors
    /// If the workload's descriptor set is invalid or lacks its method.
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
                files_of(
                    &schema,
                    std::slice::from_ref(method),
                    method.split_once('/'),
                )
            }
        }
    }
}

/// The files of a schema. With `only`, reduces them to what that method needs.
fn files_of(
    schema: &Schema,
    methods: &[String],
    only: Option<(&str, &str)>,
) -> Result<MessageFiles, WorkloadError> {
    let pool = &schema.types.pool;
    let files = in_order(pool, pool.files().iter().collect());
    let files = files.into_iter().cloned().map(|mut file| {
        // Drop the comments, which some generators would write into source code.
        file.source_code_info = MessageField::none();
        // Add missing JSON names. Some tools omit them, and generators do not derive them.
        change_fields(&mut file, &|field| {
            let name = field.name.as_deref().unwrap_or_default();
            field
                .json_name
                .get_or_insert_with(|| json_names::derived(name));
        });
        file
    });
    let files: Vec<FileDescriptorProto> = match only {
        None => files.collect(),
        Some((service, method)) => closure::reduce(files.collect(), service, method),
    };
    let names = files.iter().filter_map(|file| file.name.clone());
    let generate: Vec<String> = names.filter(|name| !is_well_known(name)).collect();
    let methods = methods.iter().map(|name| {
        let method = schema.method(name)?;
        let mut bound = json!({
            "path": format!("/{}", method.name),
            "request": method.request.full_name(),
            "response": method.response.full_name(),
        });
        if let Some(side) = method.kind.streams() {
            bound["stream"] = side.into();
        }
        Ok(bound)
    });
    let methods = methods.collect::<Result<Vec<_>, SchemaError>>()?;
    Ok(MessageFiles {
        descriptors: descriptor_set(files.into_iter().map(|file| file.encode_to_vec())),
        list: json!({"generate": generate, "methods": methods}).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use buffa_descriptor::generated::descriptor::FileDescriptorSet;
    use buffa_descriptor::generated::descriptor::source_code_info::Location;
    use serde_json::Value;

    use super::*;

    fn names(files: &MessageFiles) -> Vec<String> {
        let set = FileDescriptorSet::decode_from_slice(&files.descriptors).unwrap();
        set.file.into_iter().filter_map(|file| file.name).collect()
    }

    fn list(files: &MessageFiles) -> Value {
        serde_json::from_str(&files.list).unwrap()
    }

    /// A set of files in package `p`, one of which declares the method `p.S/M`.
    fn own(files: &[(&str, &str)]) -> MessageSet {
        let folder = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, source)| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!("syntax = \"proto3\"; package p; {source}");
            std::fs::write(&path, text).unwrap();
            path
        });
        let paths: Vec<_> = paths.collect();
        let schema = Schema::compile(&paths, &[folder.path().to_owned()]).unwrap();
        let mut set = FileDescriptorSet::decode_from_slice(schema.descriptor_set()).unwrap();
        // Some tools produce sets like this: in reverse order, with comments, and without JSON names.
        set.file.reverse();
        for file in &mut set.file {
            file.source_code_info.get_or_insert_default().location = vec![Location {
                leading_comments: Some("*/".to_owned()),
                ..Default::default()
            }];
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
        assert_eq!(list["methods"].as_array().unwrap().len(), 10);
        let hello = json!({"path": "/hello.Hello/SayHello", "request": "hello.HelloRequest",
            "response": "hello.HelloReply"});
        assert!(list["methods"].as_array().unwrap().contains(&hello));
        let exchange = json!({"path": "/ItemService/ExchangeItems", "request": "ExampleRequest",
            "response": "ExampleResponse1", "stream": "bidirectional"});
        assert!(list["methods"].as_array().unwrap().contains(&exchange));
        assert_eq!(list["generate"], json!(names(&files)));
    }

    #[test]
    fn each_file_comes_after_its_imports_and_has_json_names() {
        let [timestamp, extra] =
            ["timestamp", "extra"].map(|name| format!("google/protobuf/{name}.proto"));
        let c =
            format!("import \"{timestamp}\"; message C {{ google.protobuf.Timestamp at = 1; }}");
        let b =
            format!("import \"c.proto\"; import \"{extra}\"; message B {{ C c = 1; X x = 2; }}");
        let set = own(&[
            ("c.proto", &c),
            (&extra, "message X {}"),
            ("b.proto", &b),
            ("unused.proto", "message U {}"),
            (
                "a.proto",
                "import \"b.proto\"; import \"unused.proto\";
                 message M { int64 big_id = 1; B b = 2; } service S { rpc M(M) returns (M); }",
            ),
        ]);
        let files = set.files().unwrap();
        assert_eq!(
            names(&files),
            [&timestamp, "c.proto", &extra, "b.proto", "a.proto"]
        );
        let list = list(&files);
        assert_eq!(
            list["generate"],
            json!(["c.proto", extra, "b.proto", "a.proto"])
        );
        assert_eq!(
            list["methods"],
            json!([{"path": "/p.S/M", "request": "p.M", "response": "p.M"}])
        );
        let set = FileDescriptorSet::decode_from_slice(&files.descriptors).unwrap();
        let field = &set.file[4].message_type[0].field[0];
        assert_eq!(field.json_name.as_deref(), Some("bigId"));
        let with_comments = set.file.iter().find(|f| f.source_code_info.is_set());
        assert_eq!(with_comments, None, "comments");
    }

    #[test]
    fn what_an_any_may_hold_is_kept() {
        let any = "google/protobuf/any.proto";
        let a = format!(
            "import \"{any}\"; message M {{ google.protobuf.Any any = 1; }} service S {{ rpc M(M) returns (M); }}"
        );
        let set = own(&[("held.proto", "message H {}"), ("a.proto", &a)]);
        let kept = names(&set.files().unwrap());
        assert!(kept.contains(&"held.proto".to_owned()), "{kept:?}");
        // It is not kept if only an unrelated message of the API contains an `Any`.
        let a = a
            .replace("service", "message N {} service")
            .replace("rpc M(M) returns (M)", "rpc M(N) returns (N)");
        let set = own(&[("held.proto", "message H {}"), ("a.proto", &a)]);
        assert_eq!(names(&set.files().unwrap()), ["a.proto"]);
    }
}
