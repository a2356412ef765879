//! Presets, and the names and values of links. Links in studies are tested in `resolve/tests`.

use rpcgauge_trial::{LinkRate, Queue};

use super::units::{Delay, Percent, QueueWritten, Rate, format_queue};
use super::*;

#[test]
fn every_preset_can_be_carried_out() {
    for preset in &PRESETS {
        let terms = preset.terms();
        terms
            .check()
            .unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(named(preset.name).unwrap().unwrap().terms, terms);
    }
    assert_eq!(named(LOOPBACK), Ok(None));
}

/// A value of both directions, shown only once if it is the same for both.
fn both(link: &Link, of: impl Fn(&Direction) -> String) -> String {
    let (up, down) = (of(&link.up), of(&link.down));
    if up == down {
        up
    } else {
        format!("{up} / {down}")
    }
}

#[test]
fn the_guide_has_the_presets_as_they_are() {
    const GUIDE: &str = include_str!("../../../../docs/link.md");
    let unless = |is_none: bool, word: String| if is_none { "-".to_owned() } else { word };
    let rate = |of: &Direction| match of.rate {
        LinkRate::BitsPerSecond(bits) => format_rate(bits),
        _ => panic!("a preset has a rate"),
    };
    for preset in &PRESETS {
        let link = preset.terms();
        let cells = [
            both(&link, rate),
            both(&link, |of| format_delay(of.delay_ns)),
            both(&link, |of| {
                unless(of.jitter_ns == 0, format_delay(of.jitter_ns))
            }),
            both(&link, |of| {
                of.loss
                    .map_or("-".to_owned(), |loss| format_loss(loss.part))
            }),
            both(&link, |of| format_queue(of.queue)),
            both(&link, |of| {
                unless(of.overhead == 0, of.overhead.to_string())
            }),
        ];
        for row in [
            format!("| `{}` | {} |\n", preset.name, cells.join(" | ")),
            format!(
                "| `{}` | {} | {} |\n",
                preset.name, preset.says, preset.source
            ),
        ] {
            assert!(GUIDE.contains(&row), "docs/link.md lacks {row}");
        }
    }
}

#[test]
fn a_name_says_what_a_table_does() {
    let named = |name: &str| named(name).map(|link| *link.unwrap());
    let lossy = named("wlan+loss=1%+burst=4").unwrap();
    assert_eq!(lossy.name, "wlan+loss=1%+burst=4");
    let loss = lossy.terms.up.loss.unwrap();
    assert_eq!((loss.part, loss.burst), (0.01, 4.0));
    let own = named("delay=4ms+rate=50Mbit/s+up.rate=1.5Mbit/s+mtu=1400").unwrap();
    assert_eq!(
        own.name,
        "rate=50Mbit/s+delay=4ms+up.rate=1.5Mbit/s+mtu=1400"
    );
    assert_eq!(own.terms.up.rate, LinkRate::BitsPerSecond(1_500_000));
    let traced = named("trace=a b.trace+delay=4ms+slow-start-after-idle=true").unwrap();
    assert!(matches!(traced.terms.down.rate, LinkRate::Trace(_)));
    for (name, part) in [
        ("wlam+loss=1%", "did you mean \"wlan\"?"),
        ("rte=1Mbit/s", "did you mean \"rate\"?"),
        ("wlan+loss=1", "loss"),
        ("wlan+lte+loss=1%", "duplicate key"),
        ("loopback+loss=1%", "loopback is not an emulated link"),
        ("a}b=1", "a}b"),
        ("wlan+", "there is no link"),
        ("=", "keys cannot be empty"),
    ] {
        let error = named(name).expect_err(name);
        assert!(error.contains(part), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_unknown_preset_has_nearest_names() {
    assert_eq!(
        named("wlam").unwrap_err(),
        "there is no link \"wlam\"; did you mean \"wlan\"?"
    );
}

#[test]
fn values_are_read_as_they_are_written() {
    let rate = |text: &str| Rate::try_from(text.to_owned()).map(|rate| rate.0);
    for (text, bits) in [
        ("100Mbit/s", 100_000_000),
        ("1Gbit/s", 1_000_000_000),
        ("750kbit/s", 750_000),
        ("1.6Mbit/s", 1_600_000),
    ] {
        assert_eq!(rate(text), Ok(bits));
        assert_eq!(format_rate(bits), text);
    }
    let delay = |text: &str| Delay::try_from(text.to_owned()).map(|delay| delay.0);
    for (text, ns) in [
        ("900us", 900_000),
        ("1.5ms", 1_500_000),
        ("25ms", 25_000_000),
        ("2s", 2_000_000_000),
    ] {
        assert_eq!(delay(text), Ok(ns));
        assert_eq!(format_delay(ns), text);
    }
    assert_eq!(delay("0.9ms"), delay("900us"));
    let percent = |text: &str| Percent::try_from(text.to_owned()).map(|part| part.0);
    for (text, part) in [("1%", 0.01), ("0.1%", 0.001), ("7%", 0.07), ("0%", 0.0)] {
        assert_eq!(percent(text), Ok(part));
        assert_eq!(format_loss(part), text);
    }
    let queue = |text: &str| QueueWritten::try_from(text.to_owned()).map(|queue| queue.0);
    for (text, read) in [
        ("64KiB", Queue::Bytes(64 << 10)),
        ("30ms", Queue::Time(30_000_000)),
    ] {
        assert_eq!(queue(text), Ok(read));
        assert_eq!(format_queue(read), text);
    }
    for text in [
        "",
        "100",
        "100mbit",
        "100 Mbit/s",
        "-1Mbit/s",
        "1e3Mbit/s",
        "infMbit/s",
        ".Mbit/s",
        "Mbit/s",
        "1.2.3Mbit/s",
        "99999999999999999999Gbit/s",
        "100MB/s",
    ] {
        assert!(rate(text).is_err(), "{text}");
    }
    for text in ["", "5", "-5ms", "5 ms", "5m", "NaNms", "1,5ms"] {
        assert!(delay(text).is_err() && queue(text).is_err(), "{text}");
    }
    for text in ["", "1", "0.01", "-1%", "1 %", "%", "nan%"] {
        assert!(percent(text).is_err(), "{text}");
    }
}
