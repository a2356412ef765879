//! The built-in studies resolve, and ask what they should.

use std::time::Duration;

use rpcgauge_study::builtin;
use rpcgauge_study::features::embedded_only;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::resolve::own::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};

fn resolve(name: &str, cores: u32) -> Plan {
    let file = builtin::find(name).unwrap().parse().unwrap();
    let context = ResolveContext {
        subjects: &embedded_only(),
        loader: &FileLoader { folder: ".".into() },
        cores,
        overrides: &Overrides::default(),
    };
    file.resolve(&context)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
#[ignore]
fn show() {
    for study in builtin::all() {
        println!("{}", resolve(study.name, 2));
    }
}

#[test]
fn quickstart_fits_its_time() {
    let estimate = resolve("quickstart", 2).estimate();
    assert!(estimate <= Duration::from_secs(85), "{estimate:?}");
}
