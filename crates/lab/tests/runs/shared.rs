//! Tests of variants that share processes.

use rpcgauge_lab::SubjectCommand;
use rpcgauge_message::WorkloadSpec;
use rpcgauge_study::plan::{Plan, SharedProcesses};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Client, Protocol, Settings, Style, Wire};
use rpcgauge_trial::Stop;

use crate::common::{Left, failed, measured, plan, run, shell, subject, with};

/// A subject that logs a line when it starts.
fn noted(rest: &str) -> SubjectCommand {
    shell(&format!("echo started >&2; {rest}"))
}

/// Calls to the server "other", made by the client with the given name if there is one.
fn calls(protocol: Protocol, client: Option<&str>) -> Settings {
    with(|call| {
        "other".clone_into(&mut call.server);
        call.workload = WorkloadSpec::List { n: 3 };
        call.wire = Wire::default_for(protocol);
        call.client = client.map(|stack| Client {
            stack: stack.to_owned(),
            style: Style::Blocking,
        });
    })
}

/// Two variants that are measured in alternation and share the server, the client, or both.
fn shared(variants: [Settings; 2], server: bool, client: bool) -> Plan {
    let [a, b] = variants;
    let mut plan = plan(vec![("a", a), ("b", b)], 2, 2);
    for trial in &mut plan.trials {
        trial.rotation = 0;
    }
    plan.warmup = Stop {
        calls: Some(20),
        time_ms: None,
    };
    let program = |is_shared: bool| is_shared.then(|| "other".to_owned());
    plan.shared_processes = vec![SharedProcesses {
        variants: vec![0, 1],
        server: program(server),
        client: program(client),
    }];
    plan
}

/// The log of each subject process, excluding the answering halves of floors.
fn logs(left: &Left) -> Vec<String> {
    let files = std::fs::read_dir(left.logs.path().join("logs")).unwrap();
    let logs = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    logs.filter(|log| log.contains("started")).collect()
}

#[test]
fn variants_that_share_a_server_are_measured_in_one_process_for_each_invocation() {
    let both = || [Protocol::Grpc, Protocol::Rest].map(|protocol| calls(protocol, None));
    for (is_shared, processes) in [(true, 2), (false, 4)] {
        let mut plan = shared(both(), true, false);
        if !is_shared {
            plan.shared_processes.clear();
        }
        let left = run(&plan, Some(noted("exec \"$SUBJECT\"")));
        assert_eq!((left.summary.measured, left.summary.failed), (8, 0));
        assert_eq!(logs(&left).len(), processes);
        for trial in &left.trials {
            assert!(measured(trial).cpu.server.unwrap().total_ns > 0);
        }
    }
}

/// Runs two variants that share a server and a client. The argument selects what goes wrong in the client.
fn with_shared_client(fault: &str) -> Left {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/caller.py");
    let roles = format!(
        "read line; case \"$line\" in *'\"role\":\"server'*) (echo \"$line\"; cat) | \"$SUBJECT\";; \
         *) (echo \"$line\"; cat) | python3 {script} {fault};; esac"
    );
    let both = [(); 2].map(|()| calls(Protocol::Rest, Some("other")));
    run(&shared(both, true, true), Some(noted(&roles)))
}

#[test]
fn variants_that_share_a_client_are_asked_one_at_a_time() {
    let left = with_shared_client("nothing");
    for trial in &left.trials {
        let figures = measured(trial);
        assert_eq!(figures.calls.answered, 50);
        assert!(figures.cpu.client.unwrap().total_ns > 0);
    }
    // One server and one client for each invocation.
    assert_eq!((left.summary.measured, logs(&left).len()), (8, 4));
}

#[test]
fn variants_that_do_not_take_turns_share_a_process_too() {
    let both = [Protocol::Grpc, Protocol::Rest].map(|protocol| calls(protocol, None));
    let mut plan = shared(both, true, false);
    for trial in &mut plan.trials {
        trial.rotation = trial.variant;
    }
    let left = run(&plan, Some(noted("exec \"$SUBJECT\"")));
    assert_eq!((left.summary.measured, left.summary.failed), (8, 0));
    assert_eq!(logs(&left).len(), 2, "one for each invocation");
}

#[test]
fn a_process_that_says_too_few_parts_fails_the_trials_of_all() {
    let both = [Protocol::Grpc, Protocol::Rest].map(|protocol| calls(protocol, None));
    let one = "read line; echo '{\"contract\":1,\"ready\":true,\"address\":\"127.0.0.1:9\"}'; cat";
    let left = run(&shared(both, true, false), Some(shell(one)));
    assert_eq!((left.summary.measured, left.summary.failed), (0, 8));
    for trial in &left.trials {
        let (reason, fault, _) = failed(trial);
        let text = "the number of parts in the ready line is 1, not 2";
        assert!(reason.contains(text), "{reason}");
        assert_eq!(fault, Fault::Subject);
    }
}

#[test]
fn variants_whose_program_does_not_start_for_both_have_their_own_processes() {
    let both = [Protocol::Grpc, Protocol::Rest].map(|protocol| {
        with(|call| {
            // Only the program that they share was prepared.
            "stack".clone_into(&mut call.server);
            call.workload = WorkloadSpec::List { n: 3 };
            call.wire = Wire::default_for(protocol);
        })
    });
    let refusal = "{\"contract\":1,\"error\":\"cannot serve both\",\"fault\":\"user\"}";
    let refuses = format!(
        "read line; case \"$line\" in *parts*) echo '{refusal}';; *) (echo \"$line\"; cat) | '{}';; esac",
        subject().display()
    );
    let left = run(&shared(both, true, false), Some(shell(&refuses)));
    assert_eq!((left.summary.measured, left.summary.failed), (8, 0));
    let [(variants, reason)] = &left.apart[..] else {
        panic!("{:?}", left.apart);
    };
    assert_eq!(variants, &[0, 1]);
    assert!(reason.contains("cannot serve both"), "{reason}");
    let warned = |event: &&String| event.starts_with("warning: a, b run in separate processes");
    assert_eq!(
        left.events.iter().filter(warned).count(),
        1,
        "{:?}",
        left.events
    );
}

#[test]
fn a_part_that_is_wrong_fails_its_own_trials() {
    // The second part serves one item fewer than requested.
    let turning = format!(
        // No process may end while the subject is measured.
        "read line; line=$(echo \"$line\" | sed 's/\"n\":3/\"n\":2/2'); (echo \"$line\"; cat) | '{}'",
        subject().display()
    );
    let both = [(); 2].map(|()| {
        with(|call| {
            "other".clone_into(&mut call.server);
            call.workload = WorkloadSpec::Followers { n: 3 };
        })
    });
    let left = run(&shared(both, true, false), Some(shell(&turning)));
    assert_eq!((left.summary.measured, left.summary.failed), (4, 4));
    for trial in left.trials.iter().filter(|trial| trial.variant == "b") {
        assert!(
            failed(trial).0.contains("wrong at $.userId"),
            "{}",
            failed(trial).0
        );
    }
}

#[test]
fn a_client_that_one_variant_breaks_fails_the_others_with_its_reason() {
    let left = with_shared_client("none");
    assert_eq!((left.summary.measured, left.summary.failed), (0, 8));
    let reasons = left.trials.iter().map(|trial| failed(trial).0);
    let (of_others, own): (Vec<_>, Vec<_>) =
        reasons.partition(|reason| reason.contains("because another variant in it failed: "));
    assert_eq!(
        (own.len(), of_others.len()),
        (4, 4),
        "{own:?} {of_others:?}"
    );
    for reason in own.iter().chain(&of_others) {
        assert!(reason.contains("it recorded 0 calls"), "{reason}");
    }
}
