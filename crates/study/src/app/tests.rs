use super::*;

const SMALL: &str = r#"
name = "shop"
description = "A shop"
try = ["curl ${entry}/offers?as=${kept.token}"]

[settings.calls]
values = ["rest", "grpc"]

[settings.delay]
values = ["0", "5"]
default = "5"

[[backing]]
name = "store"
run = ["store", "--at=${data}", "$${port}", "${port.sql}"]
ports = ["sql"]

[[service]]
name = "front"
run = ["python3", "front.py", "${port.http}", "${back.port.http}", "${store.port.sql}"]
env = { CALLS = "${calls}" }
ports = ["http"]
metrics = { port = "http" }
ready = { http = "http", path = "/health" }

[[service]]
name = "back"
run = ["python3", "back.py"]
ports = ["http"]

[entry]
service = "front"
port = "http"

[load]
locustfile = "locustfile.py"

[[checks]]
path = "/login"
json = { name = "ann" }
keep = { token = "/token" }

[[checks]]
path = "/offers"
headers = { authorization = "Bearer ${kept.token}" }

[[metrics]]
name = "handler"
service = "front"
metric = "handler_seconds"
unit = "s"
request = "offer"

[[metrics]]
name = "call"
service = "front"
metric = "call_seconds"
unit = "s"
request = ["offer"]
part-of = "handler"

[[metrics]]
name = "list"
service = "front"
metric = "list_seconds"
unit = "s"
request = "page"

[[metrics]]
name = "query"
service = "front"
metric = "query_seconds"
unit = "s"
request = ["offer", "page"]
part-of = ["list", "call"]
"#;

fn parse(text: &str) -> Result<App, String> {
    App::parse(text, "app.toml").map_err(|error| error.to_string())
}

#[test]
fn the_guide_s_application_and_its_study_are_ones() {
    let guide = include_str!("../../../../docs/measure-an-application.md");
    let blocks = guide.split("```toml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let [app, study] = blocks.collect::<Vec<_>>()[..] else {
        panic!("two blocks")
    };
    let study = AppStudy::parse(study, "study.toml").unwrap();
    study
        .resolve(&parse(app).unwrap(), &AppOverrides::default())
        .unwrap();
}

#[test]
fn what_is_left_out_has_its_default() {
    let app = parse(SMALL).unwrap();
    assert_eq!(app.settings[0].default, "rest");
    let store = &app.backing[0];
    assert_eq!(store.ready, Ready::Tcp(vec!["sql".to_owned()]));
    assert_eq!((store.ready_within_ms, store.cores), (60_000, None));
    let front = &app.services[0];
    assert_eq!(front.metrics.as_ref().unwrap().path, "/metrics");
    let load = app.load.as_ref().unwrap();
    assert_eq!((load.users, load.spawn_rate), (10, None));
    assert!(load.tags.is_empty());
    let methods = app.checks.iter().map(|check| check.method.as_str());
    assert_eq!(methods.collect::<Vec<_>>(), ["POST", "GET"]);
    assert_eq!(app.checks[0].name, "POST /login");
    assert_eq!(app.metrics[0].title, "handler");
    assert!(!app.metrics[0].more_is_better);
    let hits = "[[metrics]]\nname = \"hits\"\nservice = \"front\"\nmetric = \"hits\"\nunit = \"1\"\nbetter = \"more\"\n";
    let hits = &parse(&format!("{SMALL}{hits}")).unwrap().metrics[4];
    assert_eq!((hits.more_is_better, hits.unit), (true, MetricUnit::Number));
    // Plans of earlier versions have this form.
    let written = serde_json::to_value(hits).expect("JSON");
    assert_eq!(written["better"], "more");
    let read: Metric = serde_json::from_value(written).expect("a metric");
    assert!(read.more_is_better);
    assert_eq!(app.metrics[3].part_of, ["list", "call"]);
}

#[test]
fn words_are_filled_in_and_an_escaped_one_is_not() {
    let app = parse(SMALL).unwrap();
    let filled = app.backing[0].run.iter().map(|word| {
        word.fill(|word| match word {
            Placeholder::Data => Ok("/scratch".to_owned()),
            Placeholder::OwnPort(name) if name == "sql" => Ok("5432".to_owned()),
            other => Err(other.to_string()),
        })
    });
    let filled = filled.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(filled, ["store", "--at=/scratch", "${port}", "5432"]);
}

#[test]
fn each_value_of_each_setting_is_in_a_configuration_to_check() {
    let app = parse(SMALL).unwrap();
    let all: Vec<String> = app
        .configurations()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        all,
        [
            "calls=rest, delay=5",
            "calls=grpc, delay=5",
            "calls=rest, delay=0"
        ]
    );
    let wrong = |name, value| app.configuration([(name, value)]).unwrap_err();
    assert_eq!(
        wrong("cals", "grpc"),
        "shop has no setting \"cals\"; did you mean \"calls\"?"
    );
    assert_eq!(
        wrong("calls", "soap"),
        "calls cannot be \"soap\"; expected one of rest, grpc"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let cases = [
        (
            "values = [\"rest\", \"grpc\"]",
            "values = []",
            "app.toml:7:",
        ),
        (
            "default = \"5\"",
            "default = \"6\"",
            "\"default\" is not one of the \"values\"",
        ),
        ("${port.sql}", "${port.sq}", "app.toml:15:"),
        (
            "${port.sql}",
            "${calls}",
            "${calls} cannot be used in a backing process",
        ),
        (
            "${port.sql}",
            "${front.port.http}",
            "cannot be used in a backing process",
        ),
        ("${port.sql}", "${port.sql", "has no closing }"),
        ("${port.sql}", "${a.b.c}", "is not one of ${SETTING}"),
        (
            "${calls}",
            "${cals}",
            "there is no setting for ${cals}; did you mean \"calls\"?",
        ),
        (
            "${back.port.http}",
            "${bak.port.http}",
            "there is no process for ${bak.port.http}",
        ),
        (
            "name = \"back\"",
            "name = \"front\"",
            "duplicate process \"front\"",
        ),
        (
            "name = \"back\"",
            "name = \"back\"\nseed = [\"x\"]",
            "\"seed\" applies to backing processes",
        ),
        (
            "path = \"/health\"",
            "log = \"up\"",
            "\"ready\" must be one of",
        ),
        (
            "/health",
            "/${calls}",
            "app.toml:24:33: \"/${calls}\": ${…} is not filled in here",
        ),
        (
            "keep = { token = \"/token\" }",
            "holds = { \"/a\" = 1, \"/ids\" = [1, \"${kept.id}\"] }",
            "app.toml:41:30: \"${kept.id}\": ${…} is not filled in here",
        ),
        (
            "service = \"front\"\nport",
            "service = \"frnt\"\nport",
            "there is no service \"frnt\"",
        ),
        ("metrics = { port = \"http\" }\n", "", "exposes no metrics"),
        (
            "${kept.token}\" }",
            "${kept.tokn}\" }",
            "no earlier check keeps a value for ${kept.tokn}",
        ),
        (
            "keep = { token = \"/token\" }",
            "keep = { token = \"token\" }",
            "is not a JSON Pointer",
        ),
        (
            "part-of = \"handler\"",
            "part-of = \"call\"",
            "\"call\" is a part of itself",
        ),
        (
            "request = [\"offer\"]",
            "request = [\"page\"]",
            "\"part-of\" must name exactly one metric for each request: \"call\" happens in [\"page\"], its parents in [\"offer\"]",
        ),
        (
            "[\"list\", \"call\"]",
            "\"call\"",
            "\"query\" happens in [\"offer\", \"page\"], its parents in [\"offer\"]",
        ),
        (
            "[\"list\", \"call\"]",
            "[\"list\", \"handler\", \"call\"]",
            "its parents in [\"offer\", \"offer\", \"page\"]",
        ),
        (
            "[\"list\", \"call\"]",
            "[\"lst\", \"call\"]",
            "there is no metric \"lst\"; did you mean \"list\"?",
        ),
        (
            "locustfile = \"",
            "locustfile = \"../",
            "within the application's folder",
        ),
        (
            "unit = \"s\"\nrequest = \"page\"",
            "unit = \"s\"\nbetter = \"more\"\nrequest = \"page\"",
            "a time that is part of a request is better when it is shorter",
        ),
        (
            "unit = \"s\"\nrequest = \"page\"",
            "unit = \"B\"\nwait = true",
            "only a time can be a \"wait\"",
        ),
        (
            "unit = \"s\"\nrequest = \"page\"",
            "unit = \"1\"\nbetter = \"most\"",
            "unknown value \"most\"; expected one of less, more",
        ),
        (
            "[load]",
            "[lod]",
            "the file has no key \"lod\"; did you mean \"load\"?",
        ),
        (
            "name = \"call\"",
            "nam = \"call\"",
            "[metrics] has no key \"nam\"",
        ),
        (
            "metric = \"call_seconds\"\n",
            "",
            "[metrics] needs the key \"metric\"; write metric = ",
        ),
    ];
    for (from, to, expected) in cases {
        let changed = SMALL.replacen(from, to, 1);
        assert_ne!(changed, SMALL, "{from}");
        let error = parse(&changed).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}: {error}");
        assert!(error.starts_with("app.toml:"), "{error}");
        assert!(!error.starts_with("app.toml: "), "no place: {error}");
    }
}

#[test]
fn a_study_has_the_tags_of_the_load_or_its_own() {
    let text = SMALL.replacen("[load]", "[load]\ntags = [\"offers\"]", 1);
    let app = parse(&text).unwrap();
    let tags = |line: &str| {
        let study =
            format!("# Why?\n[app]\nname = \"shop\"\n{line}\n[[variants]]\nname = \"one\"\n");
        let study = AppStudy::parse(&study, "why.toml").unwrap();
        match study.resolve(&app, &AppOverrides::default()).unwrap().load {
            AppLoad::Users { tags, .. } => tags,
            other => panic!("{other}"),
        }
    };
    assert_eq!(tags(""), ["offers"]);
    assert_eq!(
        tags("tags = [\"pages\", \"log-ins\"]"),
        ["pages", "log-ins"]
    );
    assert!(tags("tags = []").is_empty());
}

#[test]
fn a_metric_of_an_earlier_plan_is_read() {
    let metrics = parse(SMALL).unwrap().metrics;
    let written = serde_json::to_value(&metrics[1]).unwrap();
    assert_eq!(written["part_of"], serde_json::json!(["handler"]));
    let mut earlier = written;
    earlier["part_of"] = "handler".into();
    let read: Metric = serde_json::from_value(earlier).unwrap();
    assert_eq!(read, metrics[1]);
    let whole = serde_json::to_value(&metrics[0]).unwrap();
    assert_eq!(serde_json::from_value::<Metric>(whole).unwrap(), metrics[0]);
}

/// The load of a study of the shop with these lines in its `[app]`.
fn load(lines: &str) -> Result<AppLoad, String> {
    let text = format!("# Is it?\n[app]\npath = \".\"\n{lines}\n[[variants]]\nname = \"one\"\n");
    let study = AppStudy::parse(&text, "study.toml").map_err(|error| error.to_string())?;
    let plan = study.resolve(&parse(SMALL).unwrap(), &AppOverrides::default());
    let plan = plan.map_err(|error| error.to_string())?;
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<AppPlan>(&json).unwrap(), plan);
    Ok(plan.load)
}

#[test]
fn load_is_of_users_or_at_a_rate_and_not_of_both() {
    let users = AppLoad::Users {
        users: 10,
        spawn_rate: 10.0,
        tags: Vec::new(),
    };
    assert_eq!(load(""), Ok(users));
    let at_rate = AppLoad::Rate {
        call: "GET /offers".to_owned(),
        rate: 200.0,
    };
    assert_eq!(load("call = \"GET /offers\"\nrate = 200"), Ok(at_rate));
    let cases = [
        (
            "call = \"GET /offers\"",
            "study.toml:4:8: \"call\" needs \"rate\"",
        ),
        ("rate = 200", "study.toml:4:8: \"rate\" needs \"call\""),
        (
            "call = \"GET /ofers\"\nrate = 200",
            "study.toml:4:8: shop has no check \"GET /ofers\"; did you mean \"GET /offers\"?",
        ),
        (
            "call = \"GET /offers\"\nrate = 0",
            "study.toml:5:8: \"rate\" must be more than 0",
        ),
        (
            "call = \"GET /offers\"\nrate = 200\nusers = 3",
            "study.toml:6:9: load at a \"rate\" has no users",
        ),
    ];
    for (lines, expected) in cases {
        let error = load(lines).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_check_is_called_by_a_name_of_its_own() {
    let twice = SMALL.replace(
        "path = \"/login\"\n",
        "name = \"GET /offers\"\npath = \"/login\"\n",
    );
    let error = parse(&twice).unwrap().check("GET /offers").unwrap_err();
    assert_eq!(
        error,
        "shop has several checks \"GET /offers\"; give each its own name in app.toml"
    );
}
