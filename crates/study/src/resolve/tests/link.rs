//! Links in studies.

use insta::assert_snapshot;
use rpcgauge_trial::{Congestion, LinkRate, Loss, Queue, Trace};

use super::*;
use crate::link::NamedLink;

/// The link of a REST variant with this setting in line 5.
fn link(written: &str) -> NamedLink {
    let plan = resolve(&format!(
        "# Fast?\nworkload.name = \"hello\"\n[base]\nprotocol = \"rest\"\nlink = {written}\n"
    ));
    let plan = plan.unwrap();
    let link = plan.variants[0].settings.target.link();
    link.expect("it is not loopback").clone()
}

fn wrong(written: &str) -> String {
    one_with(&format!("protocol = \"rest\"\nlink = {written}"))
}

#[test]
fn a_table_builds_on_a_preset_or_on_nothing() {
    let wlan = link("\"wlan\"");
    assert_eq!(link("{ preset = \"wlan\" }"), wlan);
    let lossy = link("{ preset = \"wlan\", loss = \"1%\", burst = 4 }");
    assert_eq!(lossy.name, "wlan+loss=1%+burst=4");
    let loss = Loss {
        part: 0.01,
        burst: 4.0,
    };
    assert_eq!(lossy.terms.up.loss, Some(loss));
    assert_eq!(lossy.terms.down.loss, Some(loss));
    assert_eq!(lossy.terms.up.rate, wlan.terms.up.rate);
    let is_like = |link: &NamedLink| link.preset().map(|preset| preset.name);
    assert_eq!(is_like(&lossy), Some("wlan"));
    let slower = link("{ preset = \"wlan\", up = { rate = \"1Mbit/s\" } }");
    assert_eq!(is_like(&slower), None, "its figures are not the preset's");
    let free = link("{ preset = \"edge-3g\", loss = \"0%\" }");
    assert_eq!(free.terms.up.loss, None);

    let own = link(
        "{ rate = \"10Mbit/s\", delay = \"20ms\", jitter = \"2ms\", up = { rate = \"1Mbit/s\", \
         queue = \"100ms\" }, congestion = \"bbr\", slow-start-after-idle = true, mtu = 1400, \
         initial-window = 3 }",
    );
    assert_eq!(
        own.name,
        "rate=10Mbit/s+delay=20ms+jitter=2ms+up.rate=1Mbit/s+up.queue=100ms+mtu=1400+\
         congestion=bbr+slow-start-after-idle=true+initial-window=3"
    );
    let (up, down) = (&own.terms.up, &own.terms.down);
    assert_eq!(up.rate, LinkRate::BitsPerSecond(1_000_000));
    assert_eq!(down.rate, LinkRate::BitsPerSecond(10_000_000));
    assert_eq!([up.delay_ns, down.delay_ns], [20_000_000; 2]);
    assert_eq!(up.queue, Queue::Time(100_000_000));
    assert_eq!(own.terms.congestion, Congestion::Bbr);
    assert_eq!(
        link("{ delay = \"1ms\" }").terms.up.rate,
        LinkRate::Unlimited
    );
}

#[test]
fn the_usual_queue_follows_the_rate() {
    let queue = |written: &str| link(written).terms.down.queue;
    assert_eq!(queue("\"wlan\""), Queue::Time(30_000_000));
    assert_eq!(
        queue("{ preset = \"wlan\", rate = \"1Mbit/s\" }"),
        Queue::Bytes(64 << 10)
    );
    // A preset's own queue is equally long at every rate.
    assert_eq!(
        queue("{ preset = \"lte\", rate = \"1Mbit/s\" }"),
        Queue::Time(200_000_000)
    );
    let written = "{ queue = \"10ms\", down = { rate = \"1Mbit/s\" } }";
    assert_eq!(queue(written), Queue::Time(10_000_000));
}

#[test]
fn a_link_is_a_factor_and_names_its_variants() {
    let plan = resolve(&format!(
        "{TWO}[factors]\nlink = [\"loopback\", \"wlan\", {{ rate = \"5Mbit/s\" }}]"
    ));
    let plan = plan.unwrap();
    assert_eq!(
        names(&plan),
        [
            "grpc-loopback",
            "grpc-wlan",
            "grpc-rate=5Mbit/s",
            "rest-json-loopback",
            "rest-json-wlan",
            "rest-json-rate=5Mbit/s",
            "grpc-loopback-again"
        ]
    );
    let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(read, plan);
    assert_eq!(plan.variants[0].settings.target.link(), None);
    let excluded = resolve(&format!(
        "{TWO}[factors]\nlink = [\"loopback\", \"wlan\"]\n[[exclude]]\nprotocol = \"rest\"\nlink = \"loopback\""
    ));
    assert!(!names(&excluded.unwrap()).contains(&"rest-json-loopback"));
}

#[test]
fn a_trace_is_read_with_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("phone.down");
    std::fs::write(&file, "0\n12\n12\n").unwrap();
    let written = format!(
        "{{ preset = \"lte\", down = {{ trace = '{}' }} }}",
        file.display()
    );
    let LinkRate::Trace(trace) = link(&written).terms.down.rate else {
        panic!("the link has a trace")
    };
    assert_eq!(trace.at_ms, [0, 12, 12]);
    let kept = serde_json::to_value(&trace).unwrap();
    assert_eq!(kept["at-ms"], "0 12 0");
    assert_eq!(serde_json::from_value::<Trace>(kept).unwrap(), trace);
    std::fs::write(&file, "0\n12\nx\n").unwrap();
    let refused = wrong(&written).replace(&file.display().to_string(), "phone.down");
    assert_snapshot!(refused, @r#"my.toml:6:8: variant "base": the trace "phone.down" is invalid: line 3: expected a time in whole ms, such as 12"#);
    assert_snapshot!(wrong("{ trace = 'none' }"), @r#"my.toml:6:8: variant "base": cannot read none: no such file or directory"#);
}

#[test]
fn what_is_no_link_is_refused_where_it_stands() {
    assert_snapshot!(wrong("\"wlam\""), @r#"my.toml:6:8: there is no link "wlam"; did you mean "wlan"?"#);
    assert_snapshot!(wrong("5"), @r#"my.toml:6:8: "link" must be a link's name, such as "wlan", or a table, not 5"#);
    assert_snapshot!(wrong("{}"), @r#"my.toml:6:8: this link sets nothing; write a preset such as "wlan", or a rate and a delay"#);
    assert_snapshot!(wrong("{ preset = \"lte5\" }"), @r#"my.toml:6:19: there is no link "lte5"; did you mean "lte"?"#);
    assert_snapshot!(wrong("{ preset = \"loopback\", loss = \"1%\" }"), @r#"my.toml:6:19: loopback is not an emulated link and has nothing to set; leave "preset" out"#);
    assert_snapshot!(wrong("{ rtt = \"2ms\" }"), @r#"my.toml:6:10: [link] has no key "rtt"; its "delay" is one way: write half of the round trip"#);
    assert_snapshot!(wrong("{ up = { dealy = \"2ms\" } }"), @r#"my.toml:6:17: [link.up] has no key "dealy"; did you mean "delay"?"#);
    assert_snapshot!(wrong("{ rate = \"100mbit\" }"), @r#"my.toml:6:17: "100mbit" is not a valid rate; write it as 750kbit/s, 100Mbit/s or 1Gbit/s"#);
    assert_snapshot!(wrong("{ rate = 100 }"), @r#"my.toml:6:17: "rate" must be a string, not 100"#);
    assert_snapshot!(wrong("{ rate = \"0Mbit/s\" }"), @"my.toml:6:17: the link's rate must be 1 kbit/s to 10 Gbit/s");
    assert_snapshot!(wrong("{ rate = \"100Gbit/s\" }"), @"my.toml:6:17: the link's rate must be 1 kbit/s to 10 Gbit/s");
    assert_snapshot!(wrong("{ delay = \"-1ms\" }"), @r#"my.toml:6:18: "-1ms" is not a valid delay; write it as 900us, 0.9ms or 25ms"#);
    assert_snapshot!(wrong("{ delay = \"11s\" }"), @"my.toml:6:18: the link's delay must be 0 to 10 s");
    assert_snapshot!(wrong("{ delay = \"1ms\", jitter = \"1ms\" }"), @"my.toml:6:34: the link's jitter must be at most a third of its delay");
    assert_snapshot!(wrong("{ loss = \"100%\" }"), @"my.toml:6:17: the link's loss must be more than 0% and less than 100%");
    assert_snapshot!(wrong("{ burst = 4 }"), @r#"my.toml:6:18: "burst" is the mean length of bursts of "loss", and there is none; write loss = "1%""#);
    assert_snapshot!(wrong("{ loss = \"1%\", burst = 0 }"), @"my.toml:6:31: the mean length of a burst of losses must be 1 to 10,000 packets");
    assert_snapshot!(wrong("{ loss = \"90%\", burst = 2 }"), @"my.toml:6:32: the link's loss must be lower for bursts as short as these");
    assert_snapshot!(wrong("{ queue = \"1B\" }"), @"my.toml:6:18: the link's queue must be at least one packet and at most 1 GiB");
    assert_snapshot!(wrong("{ mtu = 100 }"), @"my.toml:6:16: the MTU must be 576 to 9,000 bytes");
    assert_snapshot!(wrong("{ delay = \"1ms\", congestion = \"cubik\" }"), @r#"my.toml:6:38: unknown value "cubik"; did you mean "cubic"?"#);
    assert_snapshot!(wrong("{ delay = \"1ms\", initial-window = 0 }"), @"my.toml:6:42: the initial window must be 1 to 1,000 segments");
    assert_snapshot!(wrong("{ rate = \"1Mbit/s\", trace = \"x\" }"), @r#"my.toml:6:36: a link has either a "rate" or a "trace"; keep one of the two"#);
    assert_snapshot!(one_with("protocol = \"rest\"\nlink = \"wlan\"\ntransport = \"unix\""), @r#"my.toml:6:8: variant "base": a Unix socket cannot be used over a link; write transport = "tcp" or link = "loopback", or exclude it by [[exclude]] with transport = "unix""#);
    assert_snapshot!(one_with("codec = \"python/json\"\noperation = \"encode\"\nlink = \"wlan\""), @r#"my.toml:7:8: variant "base": "link" applies to calls, and a codec makes none; leave it out"#);
    assert_snapshot!(refused("# Fast?\n[service]\ntarget = \"grpc://127.0.0.1:1/a.B/C\"\n[base]\nlink = \"wlan\""), @r#"my.toml:5:8: variant "base": "link" is for subjects, but a live service is called here; leave it out"#);
    assert_snapshot!(refused(&format!("{TWO}[factors]\nlink = [\"wlan\", {{ preset = \"wlan\" }}]")), @"my.toml:13:17: duplicate value wlan in this list");
    let pair = "[base]\nlink = \"wlan\"\n[[pairs]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"server-cpu\"";
    assert_snapshot!(two_and(pair), @r#"my.toml:15:6: server-cpu is not measured over a link, whose thread does part of the receiver's work, and "grpc" uses one; measure it on loopback (docs/link.md)"#);
}
