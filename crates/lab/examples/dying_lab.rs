//! A lab that is aborted while a subject is running, for a test. Prints the subject's process id and
//! aborts. The subject ignores that its input is closed.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{FloorSettings, LOOPBACK, Listen, SettingsLine};
use rpcgauge_lab::subject::{Start, Subject, SubjectCommand};

const SCRIPT: &str =
    r#"echo '{"contract":1,"ready":true,"address":"127.0.0.1:9"}'; exec sleep 600"#;

fn main() {
    let listen = Listen::Tcp {
        host: LOOPBACK.to_owned(),
    };
    let start = Start {
        command: &SubjectCommand::new("/bin/sh", ["-c", SCRIPT]),
        settings: &SettingsLine::Floor(FloorSettings { listen }),
        cores: None,
        log: Path::new("/dev/null"),
        ready_timeout: Duration::from_secs(5),
        end_timeout: Duration::from_secs(5),
    };
    let subject = Subject::start(&start, &AtomicBool::new(false)).expect("the shell starts");
    println!("{}", subject.pid());
    std::io::stdout()
        .flush()
        .expect("standard output accepts it");
    std::process::abort();
}
