//! Warm-ups with simulated latencies of known shapes.

use super::*;
use crate::rng::SplitMix64;

/// The final state of a warm-up. `latency` returns the median of each slice by index.
fn settle(latency: impl FnMut(usize) -> f64) -> Settling {
    let mut warm_up = WarmUp::default();
    let slices = (0..LIMIT).map(latency);
    let states = slices.map(|slice| warm_up.push(slice).unwrap());
    states.last().unwrap()
}

fn settled_after(latency: impl FnMut(usize) -> f64) -> usize {
    match settle(latency) {
        Settling::Settled { slices } => slices,
        other => panic!("{other:?}"),
    }
}

/// The minimum number of slices after which latency can be settled.
const EARLIEST: usize = 29;

#[test]
fn flat_settles_as_early_as_can_be() {
    assert_eq!(settled_after(|_| 80.0), EARLIEST);
    assert_eq!(settled_after(|_| 0.0), EARLIEST);
}

#[test]
fn exponential_decay_settles_once_it_is_flat() {
    // At first, latency is 5 times as high.
    for half_life in [2.0, 5.0, 10.0] {
        let latency = |i: usize| 80.0 * (1.0 + 4.0 * (-(i as f64) / half_life).exp2());
        let slices = settled_after(latency);
        assert!(slices > EARLIEST, "half-life {half_life}: {slices}");
        let left = latency(slices - EARLIEST) / latency(slices - 1) - 1.0;
        assert!(
            left < 0.1,
            "half-life {half_life}: {left} over the last windows"
        );
    }
}

#[test]
fn step_settles_once_it_is_past() {
    for step in [10, 15, 40] {
        let slices = settled_after(|i| if i < step { 200.0 } else { 80.0 });
        // It settles either before a late step or once most of the window lies after the step.
        assert!(
            slices < step || slices >= step + 12,
            "step at {step}: {slices}"
        );
    }
}

#[test]
fn pure_noise_settles_soon() {
    for (seed, noise) in [(1, 0.01), (2, 0.05), (3, 0.2)] {
        let late = (0..200_u64)
            .filter(|run| {
                let mut rng = SplitMix64::new(seed * 1_000 + run);
                settled_after(|_| 80.0 * (noise * rng.normal()).exp()) > 3 * EARLIEST
            })
            .count();
        assert!(late <= 10, "noise {noise}: {late} of 200 late");
    }
}

#[test]
fn linear_drift_never_settles() {
    // 0.2% per slice is 4% over the window.
    assert_eq!(
        settle(|i| 80.0 * (1.0 + 0.002 * i as f64)),
        Settling::NeverSettled
    );
    let mut rng = SplitMix64::new(4);
    let noisy = |i: usize| 80.0 * (1.0 + 0.02 * i as f64) * (0.02 * rng.normal()).exp();
    assert_eq!(settle(noisy), Settling::NeverSettled);
}

#[test]
fn drift_too_small_to_matter_settles() {
    assert_eq!(
        settled_after(|i| 80.0 * (1.0 + 0.0005 * i as f64)),
        EARLIEST
    );
}

#[test]
fn decay_under_noise_is_detected() {
    let mut early = 0;
    for run in 0..200 {
        let mut rng = SplitMix64::new(run);
        let decay = |i: usize| 1.0 + 2.0 * (-(i as f64) / 15.0).exp2();
        let slices = settled_after(|i| 80.0 * decay(i) * (0.03 * rng.normal()).exp());
        early += usize::from(decay(slices) > 1.15);
    }
    assert!(early <= 10, "{early} of 200 more than 15% too early");
}

#[test]
fn quick_oscillation_is_no_drift_and_slow_is() {
    let wave = |period: f64| {
        move |i: usize| 80.0 * (1.0 + 0.1 * (i as f64 * std::f64::consts::TAU / period).sin())
    };
    assert!(settled_after(wave(4.0)) <= 2 * EARLIEST);
    assert!(settled_after(wave(7.0)) <= 2 * EARLIEST);
    assert_eq!(settle(wave(120.0)), Settling::NeverSettled);
}

#[test]
fn single_spikes_do_not_hold_it_up() {
    // A garbage collection in every eleventh slice.
    let mut rng = SplitMix64::new(5);
    let slices = settled_after(|i| {
        if i % 11 == 10 {
            900.0
        } else {
            80.0 + rng.normal()
        }
    });
    assert!(slices <= 2 * EARLIEST, "{slices}");
}

#[test]
fn verdict_stands_once_given() {
    let mut warm_up = WarmUp::default();
    for i in 0..300 {
        warm_up
            .push(if i < EARLIEST { 80.0 } else { i as f64 })
            .unwrap();
    }
    assert_eq!(warm_up.state, Settling::Settled { slices: EARLIEST });
}

#[test]
fn each_push_says_where_it_stands() {
    let mut warm_up = WarmUp::default();
    for _ in 1..EARLIEST {
        assert_eq!(warm_up.push(1.0).unwrap(), Settling::NotYet);
    }
    let settled = Settling::Settled { slices: EARLIEST };
    assert_eq!(warm_up.push(1.0).unwrap(), settled);
}

#[test]
fn impossible_slices_are_named() {
    let mut warm_up = WarmUp::default();
    assert!(warm_up.push(f64::NAN).is_err());
    assert_eq!(warm_up.state, Settling::NotYet);
}

#[test]
fn mann_kendall_matches_a_worked_case() {
    // For 1 3 2 4, the score is 5 − 1 = 4 and the variance is 4 · 3 · 13 / 18 = 26/3. The
    // continuity correction subtracts 1.
    assert!((mann_kendall(&[1.0, 3.0, 2.0, 4.0]) - 3.0 / (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    // With a tie of two, the variance is (156 − 18) / 18. The score of 1 2 2 4 is 5.
    assert!((mann_kendall(&[1.0, 2.0, 2.0, 4.0]) - 4.0 / (138.0_f64 / 18.0).sqrt()).abs() < 1e-12);
    assert_eq!(mann_kendall(&[5.0; 8]), 0.0);
}

#[test]
fn theil_sen_is_the_median_slope() {
    assert_eq!(theil_sen_slope(&[0.0, 2.0, 4.0, 6.0]), 2.0);
    assert_eq!(theil_sen_slope(&[0.0, 1.0, 2.0, 3.0, 500.0]), 1.0);
}
