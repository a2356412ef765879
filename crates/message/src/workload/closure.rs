//! Reduces a set of files to what one method needs: code generation takes minutes for a large API, and a method
//! uses only a few of its messages.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use buffa_descriptor::generated::descriptor::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};

/// The definitions in a set, by full name with a leading dot.
#[derive(Default)]
struct Definitions<'f> {
    /// Messages and enums: each with its file and, for messages, its fields.
    types: BTreeMap<String, (&'f str, &'f [FieldDescriptorProto])>,
    /// Extensions and their files, by the message that they extend.
    extensions: BTreeMap<&'f str, Vec<(&'f str, &'f FieldDescriptorProto)>>,
}

/// Can contain any message, so no message can be removed.
const ANY: &str = ".google.protobuf.Any";

/// Reduces files to one method, the types that its messages can contain, and their extensions. A message that
/// encloses a needed type stays as an empty shell. If a message can contain arbitrary messages, or the set does
/// not use full type names, the files are left unchanged.
pub(super) fn reduce(
    files: Vec<FileDescriptorProto>,
    service: &str,
    method: &str,
) -> Vec<FileDescriptorProto> {
    let needed = reached(&files, service, method);
    let Some(needed) = needed.filter(|needed| !needed.contains(ANY)) else {
        return files;
    };
    let home: BTreeMap<String, String> = {
        let definitions = Definitions::of(&files);
        let types = definitions.types.into_iter();
        types
            .map(|(name, (file, _))| (name, file.to_owned()))
            .collect()
    };
    let mut reduced: Vec<FileDescriptorProto> = files
        .into_iter()
        .map(|file| reduce_file(file, &needed, (service, method)))
        .filter(|file| {
            let types = file.message_type.len() + file.enum_type.len() + file.extension.len();
            types + file.service.len() > 0
        })
        .collect();
    for file in &mut reduced {
        // Import each used file directly: the file that imported it may have been removed.
        let used = references(file)
            .into_iter()
            .filter_map(|name| home.get(name).cloned());
        let used: BTreeSet<String> = used
            .filter(|used| Some(used) != file.name.as_ref())
            .collect();
        file.dependency = used.into_iter().collect();
        file.public_dependency.clear();
        file.weak_dependency.clear();
    }
    reduced
}

/// Returns the full names of the types that a method's messages can contain; `None` if the set does not define
/// a type under its full name.
fn reached(files: &[FileDescriptorProto], service: &str, method: &str) -> Option<BTreeSet<String>> {
    let definitions = Definitions::of(files);
    let mut open: Vec<&str> = Vec::new();
    for file in files {
        let package = prefix(file);
        let services = file.service.iter();
        let of_name =
            services.filter(|of| format!("{package}.{}", name(&of.name)) == format!(".{service}"));
        let methods = of_name.flat_map(|service| &service.method);
        for method in methods.filter(|of| name(&of.name) == method) {
            open.extend([name(&method.input_type), name(&method.output_type)]);
        }
    }
    let mut needed = BTreeSet::new();
    while let Some(next) = open.pop() {
        let (_, fields) = definitions.types.get(next)?;
        if !needed.insert(next.to_owned()) {
            continue;
        }
        let extensions = definitions.extensions.get(next).into_iter().flatten();
        let fields = fields
            .iter()
            .chain(extensions.map(|(_, extension)| *extension));
        open.extend(fields.filter_map(|field| field.type_name.as_deref()));
    }
    Some(needed)
}

impl<'f> Definitions<'f> {
    fn of(files: &'f [FileDescriptorProto]) -> Self {
        let mut definitions = Self::default();
        for file in files {
            let (home, package) = (name(&file.name), prefix(file));
            definitions.add_extensions(home, &file.extension);
            for message in &file.message_type {
                definitions.add(home, &package, message);
            }
            for of in &file.enum_type {
                let full_name = format!("{package}.{}", name(&of.name));
                definitions.types.insert(full_name, (home, &[]));
            }
        }
        definitions
    }

    fn add(&mut self, home: &'f str, prefix: &str, message: &'f DescriptorProto) {
        let full_name = format!("{prefix}.{}", name(&message.name));
        self.add_extensions(home, &message.extension);
        for nested in &message.nested_type {
            self.add(home, &full_name, nested);
        }
        for of in &message.enum_type {
            let name = format!("{full_name}.{}", name(&of.name));
            self.types.insert(name, (home, &[]));
        }
        self.types.insert(full_name, (home, &message.field));
    }

    fn add_extensions(&mut self, home: &'f str, extensions: &'f [FieldDescriptorProto]) {
        for extension in extensions {
            let of = self
                .extensions
                .entry(name(&extension.extendee))
                .or_default();
            of.push((home, extension));
        }
    }
}

fn reduce_file(
    mut file: FileDescriptorProto,
    needed: &BTreeSet<String>,
    (service, method): (&str, &str),
) -> FileDescriptorProto {
    let package = prefix(&file);
    retain_types(&mut file.message_type, &package, needed);
    file.enum_type
        .retain(|of| needed.contains(&format!("{package}.{}", name(&of.name))));
    file.extension
        .retain(|extension| needed.contains(name(&extension.extendee)));
    file.service
        .retain(|of| format!("{package}.{}", name(&of.name)) == format!(".{service}"));
    for service in &mut file.service {
        service.method.retain(|of| name(&of.name) == method);
    }
    file.source_code_info = Default::default();
    file
}

/// Retains messages that are needed or that enclose a needed type or extension.
fn retain_types(messages: &mut Vec<DescriptorProto>, prefix: &str, needed: &BTreeSet<String>) {
    messages.retain_mut(|message| {
        let full_name = format!("{prefix}.{}", name(&message.name));
        retain_types(&mut message.nested_type, &full_name, needed);
        let is_needed =
            |name: &Option<String>| needed.contains(&format!("{full_name}.{}", self::name(name)));
        message.enum_type.retain(|of| is_needed(&of.name));
        message
            .extension
            .retain(|extension| needed.contains(name(&extension.extendee)));
        if needed.contains(&full_name) {
            return true;
        }
        let shell = DescriptorProto {
            name: mem::take(&mut message.name),
            nested_type: mem::take(&mut message.nested_type),
            enum_type: mem::take(&mut message.enum_type),
            extension: mem::take(&mut message.extension),
            ..Default::default()
        };
        *message = shell;
        message.nested_type.len() + message.enum_type.len() + message.extension.len() > 0
    });
}

/// The full names of the types that a file refers to.
fn references(file: &FileDescriptorProto) -> Vec<&str> {
    fn of_message<'m>(message: &'m DescriptorProto, names: &mut Vec<&'m str>) {
        of_fields(&message.field, names);
        of_fields(&message.extension, names);
        message
            .nested_type
            .iter()
            .for_each(|nested| of_message(nested, names));
    }
    fn of_fields<'m>(fields: &'m [FieldDescriptorProto], names: &mut Vec<&'m str>) {
        for field in fields {
            names.extend(field.type_name.as_deref());
            names.extend(field.extendee.as_deref());
        }
    }
    let mut names = Vec::new();
    of_fields(&file.extension, &mut names);
    file.message_type
        .iter()
        .for_each(|message| of_message(message, &mut names));
    for method in file.service.iter().flat_map(|service| &service.method) {
        names.extend([name(&method.input_type), name(&method.output_type)]);
    }
    names
}

/// The prefix of full names in a file: its package with a leading dot, or empty without a package.
fn prefix(file: &FileDescriptorProto) -> String {
    match name(&file.package) {
        "" => String::new(),
        package => format!(".{package}"),
    }
}

fn name(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use buffa::Message as _;
    use buffa_descriptor::generated::descriptor::FileDescriptorSet;

    use super::*;
    use crate::{Encoding, Schema};

    const API: [(&str, &str); 4] = [
        (
            "api.proto",
            "syntax = \"proto2\"; package api; import \"all.proto\";
             message Request { optional Outer.Kind kind = 1; map<string, Deep> deep = 2; }
             message Unused { optional Other other = 1; }
             service Other_ { rpc Call(Unused) returns (Unused); }
             service Api { rpc Call(Request) returns (Outer.Reply); rpc Unused_(Unused) returns (Unused); }",
        ),
        ("all.proto", "syntax = \"proto2\"; package api; import public \"types.proto\";"),
        (
            "types.proto",
            "syntax = \"proto2\"; package api; import \"deep.proto\";
             message Outer {
               optional Other other = 1;
               oneof one { int32 a = 2; }
               enum Kind { NONE = 0; }
               message Reply { optional Reply again = 1; extensions 100 to 200; }
               extend Reply { optional Extra extra = 100; }
             }
             message Extra { optional int32 n = 1; }
             message Deep { optional deep.Deepest deepest = 1; }
             message Other { optional int32 n = 1; extensions 5; }
             extend Other { optional int32 unused = 5; }",
        ),
        ("deep.proto", "syntax = \"proto3\"; package deep; message Deepest { int32 n = 1; } enum E { A = 0; }"),
    ];

    fn reduced() -> Vec<FileDescriptorProto> {
        let folder = tempfile::tempdir().unwrap();
        for (name, source) in API {
            fs::write(folder.path().join(name), source).unwrap();
        }
        let schema = Schema::compile(&[folder.path().join("api.proto")], &[]).unwrap();
        let set = FileDescriptorSet::decode_from_slice(schema.descriptor_set()).unwrap();
        reduce(set.file, "api.Api", "Call")
    }

    #[test]
    fn only_what_a_method_reaches_is_kept() {
        let files = reduced();
        let kept: Vec<String> = Definitions::of(&files).types.into_keys().collect();
        assert_eq!(
            kept,
            [
                ".api.Deep",
                ".api.Extra",
                ".api.Outer",
                ".api.Outer.Kind",
                ".api.Outer.Reply",
                ".api.Request",
                ".api.Request.DeepEntry",
                ".deep.Deepest",
            ]
        );
        let services = files.iter().flat_map(|file| &file.service);
        let methods: Vec<_> = services.flat_map(|service| &service.method).collect();
        assert_eq!(methods.len(), 1);
    }

    #[test]
    fn the_reduced_set_is_complete_and_has_the_same_messages() {
        let set = FileDescriptorSet {
            file: reduced(),
            ..Default::default()
        };
        let schema = Schema::from_descriptor_set(&set.encode_to_vec()).unwrap();
        let method = schema.method("api.Api/Call").unwrap();
        for (of, json) in [
            (
                method.request,
                r#"{"kind":"NONE","deep":{"a":{"deepest":{"n":7}}}}"#,
            ),
            (
                method.response,
                r#"{"again":{"[api.Outer.extra]":{"n":3}}}"#,
            ),
        ] {
            let message = of.from_json(json).unwrap();
            assert_eq!(message.to_bytes(Encoding::Json).unwrap(), json.as_bytes());
        }
    }
}
