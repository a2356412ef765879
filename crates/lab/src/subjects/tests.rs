//! Tests which subject folders are accepted and which are rejected.

use super::*;

const MINIMAL: &str = "name = \"NAME\"\nlanguage = \"sh\"\nrun = [\"sh\", \"main.sh\"]\n\
    [[stacks]]\nname = \"codec\"\nroles = [\"codec\"]\nencodings = [\"json\"]\nworkloads = [\"hello\"]\n";

fn folder_with(subjects: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, manifest) in subjects {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join(MANIFEST), manifest).unwrap();
    }
    folder
}

fn refused(subjects: &[(&str, &str)]) -> String {
    let folder = folder_with(subjects);
    let refused = Subjects::load(&[folder.path().to_owned()]).err().unwrap();
    let path = folder.path().display().to_string();
    refused.to_string().replace(&path, "DIR")
}

#[test]
fn a_folder_s_subjects_are_there_beside_the_built_in_ones() {
    let folder = folder_with(&[
        ("one", &MINIMAL.replace("NAME", "one")),
        ("two", &MINIMAL.replace("NAME", "two")),
    ]);
    fs::create_dir(folder.path().join("no-subject")).unwrap();
    let subjects = Subjects::load(&[folder.path().to_owned()]).unwrap();
    let features = subjects.features();
    for stack in ["one/codec", "two/codec", "reference"] {
        assert!(features.contains_key(stack), "{stack}");
    }
    let unknown = subjects.find("twoo").err().unwrap().to_string();
    assert_eq!(
        unknown,
        "there is no subject \"twoo\"; did you mean \"two\"?"
    );
    for (name, _) in BUILT_IN {
        assert_eq!(subjects.find(name).unwrap().manifest().name, *name);
    }
}

#[test]
fn what_is_wrong_with_a_folder_is_an_error() {
    assert_eq!(
        refused(&[]),
        "DIR: there is no subject in this folder; give the folder that contains NAME/subject.toml"
    );
    assert_eq!(
        refused(&[("one", &MINIMAL.replace("NAME", "other"))]),
        "DIR/one/subject.toml: the name is \"other\", but the folder has another; make them the same"
    );
    assert_eq!(
        refused(&[("reference", &MINIMAL.replace("NAME", "reference"))]),
        "DIR/reference/subject.toml: there is a subject \"reference\" already; choose another name"
    );
    assert_eq!(
        refused(&[("one", &MINIMAL.replace("language", "langauge"))]),
        "DIR/one/subject.toml:2:1: the file has no key \"langauge\"; did you mean \"language\"?"
    );
}

#[test]
fn a_subject_that_cannot_be_used_does_not_stop_its_neighbours() {
    let folder = folder_with(&[
        ("broken", &MINIMAL.replace("language", "langauge")),
        ("one", &MINIMAL.replace("NAME", "one")),
        ("two", &MINIMAL.replace("NAME", "other")),
    ]);
    let subjects = Subjects::load(&[folder.path().to_owned()]).unwrap();
    assert!(subjects.find("one").is_ok());
    let left_out: Vec<String> = subjects
        .left_out()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(left_out.len(), 2);
    assert!(
        left_out[0].contains("/broken/subject.toml:2:1: "),
        "{left_out:?}"
    );
    assert!(
        left_out[1].contains("/two/subject.toml: the name is"),
        "{left_out:?}"
    );
}

#[test]
fn what_a_build_leaves_and_what_is_hidden_is_no_source() {
    let folder = folder_with(&[("one", &MINIMAL.replace("NAME", "one"))]);
    let one = folder.path().join("one");
    for file in ["src/main.sh", "target/big", ".git/config", "a/venv/x"] {
        let path = one.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let package = Package::read(&one).unwrap();
    let own: Vec<&str> = package
        .sources
        .0
        .iter()
        .map(|file| &*file.name)
        .filter(|name| !name.starts_with("contract/"))
        .collect();
    assert_eq!(own, ["src/main.sh", "subject.toml"]);
    for shared in ["contract/proto/hello.proto", "contract/golden/calls.json"] {
        assert!(
            package.sources.0.iter().any(|file| file.name == shared),
            "{shared}"
        );
    }
}

#[test]
fn a_stack_can_have_another_version_of_its_library() {
    let mut subjects = Subjects::load(&[]).unwrap();
    let name = "go/grpc-go@1.80.0";
    let as_go_writes_it = "go/grpc-go@v1.80.0";
    subjects
        .add_versions(["go/net-http", name, as_go_writes_it])
        .unwrap();
    let features = subjects.features();
    let (usual, other) = (&features["go/grpc-go"], &features[name]);
    assert_eq!(usual.encodings, other.encodings);
    assert!(!usual.programs.is_empty() && other.programs.is_empty());
    let (package, stack) = subjects.package_of(("go", "grpc-go@1.80.0")).unwrap();
    assert_eq!(stack, "grpc-go");
    let (same, _) = subjects.package_of(("go", "grpc-go@v1.80.0")).unwrap();
    for package in [package, same] {
        let first = package.manifest().build[0].join(" ");
        assert_eq!(first, "go get google.golang.org/grpc@v1.80.0");
    }
    assert_eq!(
        subjects
            .package_of(("go", "grpc-go"))
            .unwrap()
            .0
            .manifest()
            .name,
        "go"
    );
    assert!(subjects.package_of(("go", "grpc-go@9")).is_err());
}

#[test]
fn a_version_that_cannot_be_had_says_why() {
    let mut subjects = Subjects::load(&[]).unwrap();
    let mut why = |name: &str| subjects.add_versions([name]).unwrap_err().to_string();
    insta::assert_snapshot!(why("go/net-http@1.26"), @r#""go/net-http@1.26": go/net-http has no "version" in its subject.toml, so only its own version can be used"#);
    insta::assert_snapshot!(why("go/grpc@1.80.0"), @r#""go/grpc@1.80.0": go has no stack "grpc"; did you mean "grpc-go"?"#);
    insta::assert_snapshot!(why("rust/tonic@1"), @r#"there is no subject "rust"; expected one of browser, csharp, go, jvm, node, python"#);
    insta::assert_snapshot!(why("reference@1"), @r#""reference@1": it is not SUBJECT/STACK@VERSION"#);
    insta::assert_snapshot!(why("go/grpc-go@"), @r#""go/grpc-go@": "" is not a version; write a number, as in 1.80.0"#);
    insta::assert_snapshot!(why("go/grpc-go@1;rm"), @r#""go/grpc-go@1;rm": "1;rm" is not a version; write a number, as in 1.80.0"#);
}
