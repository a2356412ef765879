//! Variants that share processes.

use super::*;

/// A study of gRPC whose variants share processes, each with these settings, compared with the first.
fn shared(variants: &[(&str, &str)]) -> Plan {
    let variants = variants
        .iter()
        .map(|(name, settings)| format!("[[variants]]\nname = \"{name}\"\n{settings}\n"));
    let study = "# Is it fast?\nprocesses = \"shared\"\ninvocations = 1\nblocks = 1\n\
        [workload]\nname = \"hello\"\n";
    resolve(&format!("{study}{}", variants.collect::<String>())).unwrap()
}

const GRPC: &str = "protocol = \"grpc\"\nserver = \"go/grpc\"\nencoding = \"json\"";
const CHANNELS: &str = "protocol = \"grpc\"\nserver = \"go/channels\"\nencoding = \"json\"";
const HTTP: &str = "protocol = \"rest\"\nserver = \"python/http\"";

#[test]
fn variants_share_the_program_that_carries_their_stacks() {
    let plan = shared(&[("a", GRPC), ("b", CHANNELS), ("c", HTTP)]);
    assert_eq!(
        plan.processes(),
        [
            "a, b and a-again share a server process (go/services)",
            "a-again-own has its own processes: it is the control of comparisons between processes",
            "c has its own processes: no program combines these stacks with those of another variant",
        ]
    );
    assert!(plan.are_in_one_process("a", "b") && !plan.are_in_one_process("a", "c"));
    assert!(plan.groups_without_control().is_empty());
    // One stack alone is called in its own program.
    let plan = shared(&[("a", GRPC), ("b", GRPC)]);
    assert_eq!(
        plan.processes(),
        ["a, b and a-again share a server process (go/grpc)"]
    );
    // An A/A pair in one process would be no control of these two.
    let plan = shared(&[("a", GRPC), ("b", HTTP)]);
    assert_eq!(
        plan.processes(),
        [
            "a, a-again and b have their own processes: no program combines these stacks with those of another variant"
        ]
    );
}

#[test]
fn two_names_of_one_process_share_a_warm_up() {
    const BY_HTTP: &str = "protocol = \"rest\"\nclient = \"python/http\"";
    let bounds = |second: &str| {
        let plan = shared(&[("a", BY_HTTP), ("b", second)]);
        ["a", "b", "a-again"].map(|name| {
            let variant = plan.variant(name).unwrap();
            let time_ms = plan.warmup(variant).time_ms.unwrap();
            (time_ms, plan.warmup_least_calls(variant))
        })
    };
    assert_eq!(bounds(BY_HTTP), [(1_500, 250), (3_000, 500), (1_500, 250)]);
    let apart = bounds(&format!("{BY_HTTP}\nin-flight = 2"));
    assert_eq!(apart, [(3_000, 500); 3]);
}

#[test]
fn clients_are_shared_where_a_program_carries_those_of_all() {
    let with_client = |call: &str, client: &str| format!("{call}\nclient = \"{client}\"");
    let a = with_client(GRPC, "go/channels");
    let plan = shared(&[("a", &a), ("b", &with_client(CHANNELS, "go/channels"))]);
    let both =
        "a, b and a-again share a server process (go/services) and a client process (go/channels)";
    assert_eq!(plan.processes(), [both]);
    assert!(plan.are_in_one_process("a", "b"));
    let plan = shared(&[("a", GRPC), ("b", &with_client(CHANNELS, "go/channels"))]);
    assert_eq!(
        plan.processes(),
        ["a, b and a-again share a server process (go/services)"]
    );
    assert!(
        !plan.are_in_one_process("a", "b"),
        "the engine calls only one of them"
    );
}

#[test]
fn shared_clients_come_before_a_shared_embedded_server() {
    let by = |client: &str| format!("protocol = \"rest\"\nclient = \"{client}\"");
    let plan = shared(&[
        ("a", &by("python/http")),
        ("b", "protocol = \"rest\""),
        ("c", &by("python/http")),
        ("d", "protocol = \"grpc\""),
    ]);
    assert_eq!(
        plan.processes(),
        [
            "a, c and a-again share a server process (reference) and a client process (python/http)",
            "a-again-own has its own processes: it is the control of comparisons between processes",
            "b and d have their own processes: no other variant of its program is compared with it",
        ]
    );
}

#[test]
fn what_one_process_cannot_have_together_keeps_its_own_and_says_why() {
    let two = |more: &str| {
        let changed = format!("{HTTP}\n{more}");
        let plan = shared(&[("a", HTTP), ("b", &changed)]);
        plan.own_processes.get("b").cloned().unwrap_or_default()
    };
    assert_eq!(two(""), "");
    assert_eq!(
        two("threads = 2"),
        "the threads of a process would serve all of its variants"
    );
    assert_eq!(
        two("gc = \"zgc\""),
        "the settings of its runtime differ from those of another variant of its program"
    );
    assert_eq!(
        two("cold-calls = 3"),
        "first calls after a start are those of a whole process"
    );
    let text = format!(
        "# Is it fast?\n[workload]\nname = \"hello\"\n[[variants]]\nname = \"a\"\n{HTTP}\n"
    );
    assert!(
        resolve(&text).unwrap().processes().is_empty(),
        "none asked for it"
    );
}

#[test]
fn a_group_has_its_own_word() {
    let group = |name: &str, processes: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\nquestion = \"Is it?\"\nprocesses = \"{processes}\"\n\
             [[groups.variants]]\nname = \"a\"\n{GRPC}\n[[groups.variants]]\nname = \"b\"\n{CHANNELS}\n"
        )
    };
    let text = format!(
        "# Is it fast?\nprocesses = \"shared\"\n[workload]\nname = \"hello\"\n{}{}",
        group("one", "own"),
        group("two", "shared")
    );
    assert_eq!(
        resolve(&text).unwrap().processes(),
        ["two-a, two-b and two-a-again share a server process (go/services)"]
    );
    let error = refused(&text.replace("\"own\"", "\"mine\""));
    assert!(error.contains("expected one of shared, own"), "{error}");
}
