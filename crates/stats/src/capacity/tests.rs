//! Searches against simulated servers.

use proptest::prelude::*;

use super::*;
use crate::rng::SplitMix64;

const MAX_TRIALS: usize = 60;

fn search(start: f64, highest: f64, precision: f64) -> CapacitySearch {
    CapacitySearch::new(start, start.min(1.0), Some(highest), precision, MAX_TRIALS).unwrap()
}

/// Runs a search to completion.
fn run(search: &CapacitySearch, mut holds: impl FnMut(f64) -> bool) -> (Vec<Tried>, SearchEnd) {
    let mut tried = Vec::new();
    loop {
        match search.next(&tried) {
            SearchStep::Try(rate) => tried.push(Tried {
                rate,
                held: holds(rate),
            }),
            SearchStep::Done(end) => return (tried, end),
        }
    }
}

fn rates(tried: &[Tried]) -> Vec<f64> {
    tried.iter().map(|trial| trial.rate).collect()
}

#[test]
fn a_search_grows_halves_and_repeats_its_ends() {
    let (tried, end) = run(&search(100.0, 1e9, 0.1), |rate| rate <= 730.0);
    assert_eq!(end, SearchEnd::Found);
    assert_eq!(
        rates(&tried),
        [
            100.0, 200.0, 400.0, 800.0, 565.7, 672.7, 733.6, 672.7, 672.7, 733.6
        ]
    );
    let found = bracket(&tried);
    let (held, missed) = (found.held.unwrap(), found.missed.unwrap());
    assert_eq!((held.rate, held.holds, held.misses), (672.7, 3, 0));
    assert_eq!((missed.rate, missed.holds, missed.misses), (733.6, 0, 2));
}

#[test]
fn what_holds_at_the_ceiling_ends_there() {
    let (tried, end) = run(&search(300.0, 1_000.0, 0.05), |_| true);
    assert_eq!(end, SearchEnd::Ceiling);
    assert_eq!(rates(&tried), [300.0, 600.0, 1_000.0, 1_000.0, 1_000.0]);
}

#[test]
fn a_search_goes_down_to_the_lowest_rate_and_no_further() {
    let search = CapacitySearch::new(50.0, 20.0, None, 0.05, MAX_TRIALS).unwrap();
    let (tried, end) = run(&search, |_| false);
    assert_eq!(end, SearchEnd::NoneHeld);
    assert_eq!(rates(&tried), [50.0, 25.0, 20.0, 20.0]);
    assert_eq!(bracket(&tried).held, None);
}

#[test]
fn one_hiccup_moves_no_border() {
    // The first trial at 400 happens to miss.
    let mut hiccup = Some(400.0);
    let (tried, end) = run(&search(100.0, 1e9, 0.05), |rate| {
        let by_chance = hiccup == Some(rate);
        hiccup = hiccup.filter(|_| !by_chance);
        rate <= 1_000.0 && !by_chance
    });
    assert_eq!(end, SearchEnd::Found);
    let held = bracket(&tried).held.unwrap();
    assert!((950.0..=1_000.0).contains(&held.rate), "{held:?}");
}

#[test]
fn a_rate_that_holds_as_often_as_it_misses_is_not_held() {
    let tried = |rate, held| Tried { rate, held };
    let found = bracket(&[tried(10.0, true), tried(10.0, false), tried(5.0, true)]);
    assert_eq!(found.held.unwrap().rate, 5.0);
    assert_eq!(found.missed.unwrap().rate, 10.0);
    assert!(!found.missed.unwrap().is_sure);
}

#[test]
fn what_is_no_search_is_refused() {
    for (start, lowest, highest, precision) in [
        (0.0, 0.0, 1.0, 0.05),
        (1.0, 2.0, 3.0, 0.05),
        (4.0, 2.0, 3.0, 0.05),
        (1.0, 1.0, f64::INFINITY, 0.05),
        (f64::NAN, 1.0, 2.0, 0.05),
        (1.0, 1.0, 2.0, 0.0),
        (1.0, 1.0, 2.0, f64::NAN),
    ] {
        assert!(CapacitySearch::new(start, lowest, Some(highest), precision, 60).is_err());
    }
}

#[test]
fn rates_are_short_numbers() {
    for (rate, shown) in [
        (565.685_424, "565.7"),
        (12_345.678, "12350"),
        (0.123_456, "0.1235"),
        (1e8 / 3.0, "33330000"),
    ] {
        assert_eq!(rounded(rate).to_string(), shown);
    }
}

proptest! {
    /// The search finds the capacity of a noise-free server with the required precision.
    #[test]
    fn a_steady_server_is_found(
        start in 1.0..10_000.0f64, capacity in 2.0..200_000.0f64, precision in 0.01..0.5f64,
    ) {
        let (tried, end) = run(&search(start, 1e9, precision), |rate| rate <= capacity);
        prop_assert_eq!(end, SearchEnd::Found);
        let found = bracket(&tried);
        let (held, missed) = (found.held.unwrap(), found.missed.unwrap());
        prop_assert!(held.rate <= capacity && capacity < missed.rate);
        prop_assert!(missed.rate <= held.rate * (1.0 + precision));
        prop_assert!(held.is_sure && missed.is_sure);
    }

    /// Near its capacity, a real server holds in some trials and misses in others, and at any rate,
    /// one trial in fifty misses by chance. The search still ends, and a rate that it counts as
    /// held did hold in repeated trials.
    #[test]
    fn a_noisy_server_is_found_nearby(seed: u64, capacity in 50.0..50_000.0f64) {
        let mut random = SplitMix64::new(seed);
        let (tried, end) = run(&search(100.0, 1e9, 0.05), |rate| {
            let odds = 1.0 / (1.0 + ((rate / capacity).ln() / 0.02).exp());
            random.unit() < odds && random.unit() > 0.02
        });
        prop_assert!(tried.len() <= MAX_TRIALS);
        if end != SearchEnd::Found {
            prop_assert_eq!(end, SearchEnd::TooUnsteady);
            return Ok(());
        }
        let found = bracket(&tried);
        let (held, missed) = (found.held.unwrap(), found.missed.unwrap());
        prop_assert!(held.holds >= HOLDS_NEEDED && held.misses < MISSES_NEEDED);
        prop_assert!(missed.misses >= MISSES_NEEDED);
        // This far above the capacity, each trial misses with odds of e^5 to 1, and at least three
        // of four must hold. This far below, two of four trials miss with a probability of 0.2%.
        prop_assert!(held.rate < capacity * 1.1, "{held:?}");
    }

    /// A search ends and stays within its bounds, whatever the outcomes.
    #[test]
    fn every_search_ends(outcomes in prop::collection::vec(any::<bool>(), 64)) {
        let mut outcomes = outcomes.into_iter().cycle();
        let search = CapacitySearch::new(100.0, 10.0, Some(5_000.0), 0.05, MAX_TRIALS).unwrap();
        let (tried, _) = run(&search, |_| outcomes.next().unwrap());
        prop_assert!(tried.len() <= MAX_TRIALS);
        prop_assert!(tried.iter().all(|trial| (10.0..=5_000.0).contains(&trial.rate)));
    }
}

/// Over many noisy servers, the rate found is usually between 10% below and 5% above the true
/// capacity.
#[test]
fn noisy_searches_are_mostly_right() {
    let (mut near, all) = (0, 400);
    for seed in 0..all {
        let mut random = SplitMix64::new(seed);
        let (tried, _) = run(&search(100.0, 1e9, 0.05), |rate| {
            random.unit() < 1.0 / (1.0 + ((rate / 3_000.0).ln() / 0.02).exp())
        });
        let held = bracket(&tried).held.map_or(0.0, |bound| bound.rate);
        near += u32::from((2_700.0..=3_150.0).contains(&held));
    }
    assert!(near >= 380, "{near} of {all} within 5 to 10%");
}
