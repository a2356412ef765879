//! The plan of measurements that check a map.

use std::collections::BTreeSet;

use rpcgauge_message::WorkloadSpec;

use super::*;
use crate::link;
use crate::plan::{MapDraws, MapPoint, MapPointError, SharedProcesses};
use crate::settings::{ConnectionUse, Target};

fn point(size: u32, new_connection: bool) -> MapPoint {
    let network = link::named("rate=10Mbit/s+delay=5ms").unwrap().unwrap();
    let way = |name: &str| (name.to_owned(), format!("{name}-n=1"));
    MapPoint {
        size,
        network,
        new_connection,
        ways: vec![way("grpc"), way("rest")],
    }
}

#[test]
fn the_ways_of_a_point_take_turns_over_its_network() {
    let plan = resolve(
        "question = \"?\"\ninvocations = 4\nworkload = { name = \"list\" }\nfactors = { n = [1, 10] }\n\
         variants = [{ name = \"grpc\", protocol = \"grpc\" }, { name = \"rest\", protocol = \"rest\" }]\n",
    )
    .unwrap();
    let check = plan.at_points(&[point(7, false), point(30, true)]).unwrap();
    check.check().unwrap();
    let names: Vec<&str> = check.variants.iter().map(|one| &*one.name).collect();
    let expected = [
        "point-01-grpc",
        "point-01-rest",
        "point-02-grpc",
        "point-02-rest",
    ];
    assert_eq!(names, expected);
    assert_eq!(check.variants[3].way_at_point(), Some("rest"));
    let calls = check.variants.iter().map(|one| match &one.settings.target {
        Target::Call(call) => call,
        Target::Codec(_) | Target::Live(_) => panic!("a call"),
    });
    let calls: Vec<_> = calls.collect();
    assert!(calls.iter().all(|call| call.link.is_some()));
    assert_eq!(calls[0].workload, WorkloadSpec::List { n: 7 });
    assert_eq!(calls[2].workload, WorkloadSpec::List { n: 30 });
    assert_eq!(calls[0].options.connection, ConnectionUse::Reuse);
    assert_eq!(calls[2].options.connection, ConnectionUse::PerCall);
    assert_eq!(check.trials.len(), 4);
    let rotations: BTreeSet<u32> = check.trials.iter().map(|trial| trial.rotation).collect();
    assert_eq!(rotations, BTreeSet::from([0, 2]));
    assert_eq!(plan.at_points(&[]), Err(MapPointError::Empty));
}

#[test]
fn a_point_is_measured_with_the_programs_of_the_map() {
    let mut plan = resolve(
        "question = \"?\"\nworkload = { name = \"list\" }\nfactors = { n = [1, 10] }\n\
         variants = [{ name = \"grpc\", protocol = \"grpc\" }, { name = \"rest\", protocol = \"rest\" }]\n",
    )
    .unwrap();
    let places = ["grpc-n=1", "rest-n=1"].map(|name| plan.place(name).unwrap());
    plan.shared_processes = vec![SharedProcesses {
        variants: places.to_vec(),
        server: Some("x/services".to_owned()),
        client: None,
    }];
    let check = plan.at_points(&[point(7, false)]).unwrap();
    check.check().unwrap();
    for variant in &check.variants {
        let programs: Vec<&str> = check
            .programs_of(variant)
            .map(|(_, program)| program)
            .collect();
        assert_eq!(programs, ["x/services"]);
        assert!(!check.shares_processes(variant));
    }
}

#[test]
fn draws_follow_from_their_seed_and_stay_within_their_bounds() {
    let draws = |seed| {
        MapDraws::new(
            seed,
            [1, 256],
            [1_000_000, 1_000_000_000],
            [1_500_000, 50_000_000],
        )
    };
    let first: Vec<MapPoint> = draws(1).take(200).collect();
    assert_eq!(first, draws(1).take(200).collect::<Vec<_>>());
    assert_ne!(first, draws(2).take(200).collect::<Vec<_>>());
    assert_eq!(first.len(), 200, "no draw is without a link");
    for point in &first {
        let round_trip = point.network.terms.round_trip().as_nanos();
        assert!((1..=256).contains(&point.size), "{point:?}");
        assert!((1_480_000..=50_020_000).contains(&round_trip), "{point:?}");
    }
    let new = first.iter().filter(|point| point.new_connection).count();
    assert!((60..140).contains(&new), "{new}");
}
