//! Prepares the live services of a resolved study: generates message texts, reads TLS files, starts
//! the services that have a command, and tests each service with one call.

mod addresses;
mod texts;

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rpcgauge_lab::live::{self as lab, Extent, Live, LiveError, LiveInputs, StartedService, Texts};
use rpcgauge_load::Tls;
use rpcgauge_message::{Method, MethodKind, Schema};
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::resolve::inputs::ServiceInputs;
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::settings::{LiveCall, LiveWire, Stop, StreamOptions, Target};
use rpcgauge_study::url::Url;
use rpcgauge_trial::StreamForm;
use rustix::process::{Resource, getrlimit};

pub(crate) use self::addresses::look_up;
use self::texts::{Source, SourceKey, shared_source};
use crate::args::LimitArgs;
use crate::exit::{self, Failure};
use crate::inputs::{self, Resolved};
use crate::study_text::StudyText;

/// A live service that has not been called yet.
pub(crate) struct Prepared<'r> {
    variant: &'r Variant,
    live: &'r LiveCall,
    tls: Option<Tls>,
    /// For each of its different calls ([`LiveCall::each_call`]).
    calls: Vec<PreparedCall<'r>>,
}

/// What one of the different calls to a service sends.
struct PreparedCall<'r> {
    inputs: &'r ServiceInputs,
    data: Option<Source>,
}

/// Resolves the study that the options of a command describe. Its text is not stored, since its messages may be secret.
pub(crate) fn resolve(
    study: &StudyText,
    name: &str,
    variables: BTreeMap<String, String>,
    limits: &LimitArgs,
) -> Result<Resolved, Failure> {
    let context = ResolveContext {
        subjects: &BTreeMap::new(),
        loader: &FileLoader {
            variables,
            ..FileLoader::default()
        },
        cores: inputs::cores(),
        overrides: &Overrides {
            limits: inputs::limits(limits)?,
            ..Overrides::default()
        },
    };
    let resolved = study.resolve(name, &context);
    let resolved = resolved.map_err(|error| study.failure(&error))?;
    Ok(Resolved::new(resolved, None))
}

/// Reads the messages and TLS files for the services of a study. Does not call the services.
///
/// # Errors
/// A file cannot be read, or its content is not valid for a call.
pub(crate) fn prepare(study: &Resolved) -> Result<Vec<Prepared<'_>>, Failure> {
    let Resolved { plan, services, .. } = study;
    warn_of_files(plan);
    let called = plan.variants.iter().filter_map(|variant| {
        let Target::Live(live) = &variant.settings.target else {
            return None;
        };
        Some((variant, &**live, services.get(&variant.name)?))
    });
    let is_one = called.clone().count() == 1;
    // Variants with the same messages share one source.
    let mut read: Vec<(SourceKey<'_>, Source)> = Vec::new();
    let prepared = called.map(|(variant, live, inputs)| {
        let names = live.service.calls.iter().map(|call| Some(&*call.name));
        let names = names.chain(iter::repeat(None));
        // The calls of a mix have seeds of their own. With the same seed, they would use the same random values.
        let services = (plan.seed..).zip(live.service.each_call()).zip(names);
        let calls = services
            .zip(inputs)
            .map(|(((seed, service), name), inputs)| {
                let of_call = |said: String| match name {
                    Some(name) => format!("call \"{name}\": {said}"),
                    None if is_one => said,
                    None => format!("{}: {said}", variant.name),
                };
                let data = shared_source(&mut read, &service, inputs, seed);
                let mut data = data.map_err(|failure| failure.with(of_call))?;
                if let Some(source) = &mut data {
                    source.name = of_call(std::mem::take(&mut source.name));
                }
                Ok(PreparedCall { inputs, data })
            });
        Ok(Prepared {
            variant,
            live,
            tls: lab::tls(&live.service).map_err(Failure::input)?,
            calls: calls.collect::<Result<_, Failure>>()?,
        })
    });
    prepared.collect()
}

/// Resolves each service's address and tests it with one call. The services that have a command are all started for that,
/// as they will be in each invocation, and then stopped.
///
/// # Errors
/// A service does not start, cannot be reached, or rejects the test call, or Ctrl-C was pressed.
pub(crate) fn find(
    prepared: &[Prepared<'_>],
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, Live>, Failure> {
    let mut found = BTreeMap::new();
    let mut started = Vec::new();
    for one in prepared {
        let service = one.start(stop)?;
        let live = match &service {
            Some(service) => one.live.at_port(service.port()),
            None => one.live.clone(),
        };
        started.push(service);
        found.insert(one.variant.name.clone(), one.find(live, plan, stop)?);
    }
    Ok(found)
}

fn uncallable(error: LiveError) -> Failure {
    match error {
        LiveError::Interrupted => Failure::interrupted("interrupted; nothing was measured"),
        error => Failure::input(error),
    }
}

impl Prepared<'_> {
    fn find(&self, live: LiveCall, plan: &Plan, stop: &AtomicBool) -> Result<Live, Failure> {
        let (live, measured) = self.largest(live, plan);
        let each = live.each_call();
        let inputs = each.iter().zip(&self.calls);
        let inputs = inputs.map(|(live, call)| call.inputs(live, self.tls.clone(), stop));
        let inputs: Vec<LiveInputs> = inputs.collect::<Result<_, _>>()?;
        let extent = Extent {
            warmup: plan.warmup(self.variant),
            measured,
            limits: plan.limits,
            prepared_bytes: Extent::PREPARED_BYTES,
        };
        Live::find(&live, &inputs, &extent, stop).map_err(uncallable)
    }

    /// Starts the service if it has a command.
    fn start(&self, stop: &AtomicBool) -> Result<Option<StartedService>, Failure> {
        let Some(start) = &self.live.service.start else {
            return Ok(None);
        };
        let started = StartedService::try_start(&self.live.service, stop);
        started.map(Some).map_err(|failure| {
            if stop.load(Ordering::Relaxed) {
                return uncallable(LiveError::Interrupted);
            }
            let said = match failure.log.lines().last() {
                Some(line) => format!("; the last line of its output is: {line}"),
                None => "; it printed nothing".to_owned(),
            };
            let name = &self.variant.name;
            Failure::input(format!("{name} (`{}`): {failure}{said}", start.command))
        })
    }

    /// The variant's largest trial and when it stops. All trials share the texts, so this trial
    /// determines how many are needed. The number is unknown for a search without a highest rate,
    /// and for a trial in slices, which skips calls.
    fn largest(&self, mut live: LiveCall, plan: &Plan) -> (LiveCall, Stop) {
        let settings = &self.variant.settings;
        let stop = match plan.capacity.map(|search| (search, search.highest)) {
            None if plan.slice(settings).is_none() => settings.stop,
            Some((search, Some(highest))) => {
                live.set_rate(highest);
                Stop::after_ms(search.trial_ms(highest))
            }
            None | Some((_, None)) => Stop::default(),
        };
        (live, stop)
    }
}

impl PreparedCall<'_> {
    fn inputs(
        &self,
        live: &LiveCall,
        tls: Option<Tls>,
        stop: &AtomicBool,
    ) -> Result<LiveInputs, Failure> {
        let fixed = self.inputs.headers_with_placeholders(false);
        let inputs = LiveInputs {
            headers: fixed.cloned().collect(),
            tls,
            ..LiveInputs::default()
        };
        let has_text = |source: &Source| source.data.has_text();
        let options = &live.service.stream;
        let streams = *options != StreamOptions::default() && options.form.is_none();
        let needs_types =
            self.data.as_ref().is_some_and(has_text) || !live.service.expect.is_empty() || streams;
        let reflected = match &self.inputs.schema {
            None if needs_types && live.wire == LiveWire::Grpc => {
                let mut inputs = inputs.clone();
                inputs.headers.extend(self.fields_of_first_call()?);
                Some(lab::reflect(live, &inputs, stop).map_err(uncallable)?)
            }
            _ => None,
        };
        let schema = self.inputs.schema.as_ref().or(reflected.as_ref());
        let method = method(&live.service.url, schema)?;
        let form = match live.wire {
            LiveWire::WebSocket => Some(StreamForm::Bidirectional),
            LiveWire::Grpc | LiveWire::Http(_) => method.as_ref().and_then(form),
        };
        let name = method.as_ref().map(|method| &*method.name);
        let rows = self.data.as_ref().and_then(|source| source.data.rows());
        let streaming = options.streaming(form, name, rows);
        let streaming = streaming.map_err(Failure::input)?;
        Ok(LiveInputs {
            streaming,
            texts: self.data.as_ref().map(|source| Texts {
                data: Arc::clone(&source.data),
                message_type: method.as_ref().map(|method| method.request.clone()),
                fields: self.field_names().collect(),
                source: source.name.clone(),
            }),
            response_type: method.map(|method| method.response),
            ..inputs
        })
    }

    fn field_names(&self) -> impl Iterator<Item = String> {
        let fields = self.inputs.headers_with_placeholders(true);
        fields.map(|(name, _)| name.clone())
    }

    /// The header fields with placeholders, filled as in call 0.
    fn fields_of_first_call(&self) -> Result<Vec<(String, String)>, Failure> {
        let Some(source) = &self.data else {
            return Ok(Vec::new());
        };
        let wrong = |error| Failure::input(format!("{}: {error}", source.name));
        let mut writer = source.data.writer().map_err(wrong)?;
        writer.text(0, &mut String::new()).map_err(wrong)?;
        let names = self.field_names();
        Ok(names.zip(writer.fields().iter().cloned()).collect())
    }
}

/// The gRPC method and its types, if a schema is known.
fn method(url: &Url, schema: Option<&Schema>) -> Result<Option<Method>, Failure> {
    let found = schema.zip(url.method()).map(|(schema, method)| {
        let found = schema.method(method);
        found.map_err(|error| Failure::input(format!("{url}: {error}")))
    });
    found.transpose()
}

/// Which side of a method streams.
fn form(method: &Method) -> Option<StreamForm> {
    match method.kind {
        MethodKind::Unary => None,
        MethodKind::ClientStreaming => Some(StreamForm::Client),
        MethodKind::ServerStreaming => Some(StreamForm::Server),
        MethodKind::Bidirectional => Some(StreamForm::Bidirectional),
    }
}

/// Warns if the limit on open files is too low for the requested connections.
fn warn_of_files(plan: &Plan) {
    let options = plan
        .variants
        .iter()
        .filter_map(|v| v.settings.target.options());
    let connections = options.map(|options| options.connections).max();
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return;
    };
    if let Some(line) = few_files(u64::from(connections.unwrap_or(0)), limit) {
        exit::note(&line);
    }
}

/// The warning if `connections` do not fit in the limit on open files.
fn few_files(connections: u64, limit: u64) -> Option<String> {
    (connections >= limit).then(|| {
        format!(
            "{connections} connections are requested, but this program may have only {limit} open files: \
             raise the limit (`ulimit -n`), or some cannot be opened"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_open_files_are_named() {
        assert_eq!(few_files(64, 1024), None);
        let line = few_files(65_536, 20_000).unwrap();
        assert!(line.contains("65536") && line.contains("20000"), "{line}");
    }

    /// The text of each variant's first call.
    fn first_texts(text: &str) -> Vec<String> {
        let resolved = resolved(text);
        let prepared = prepare(&resolved).unwrap();
        let first = |one: &Prepared<'_>| {
            let mut text = String::new();
            let data = &one.calls[0].data.as_ref().unwrap().data;
            data.writer().unwrap().text(0, &mut text).unwrap();
            text
        };
        prepared.iter().map(first).collect()
    }

    pub(super) fn resolved(text: &str) -> Resolved {
        let study = rpcgauge_study::file::StudyFile::parse(text, "my.toml").unwrap();
        let context = rpcgauge_study::resolve::ResolveContext {
            subjects: &BTreeMap::new(),
            loader: &rpcgauge_study::resolve::loader::FileLoader::default(),
            cores: 2,
            overrides: &rpcgauge_study::resolve::Overrides::default(),
        };
        Resolved::new(study.resolve_with_inputs(&context).unwrap(), None)
    }

    #[test]
    fn a_text_has_the_form_of_its_own_content_type() {
        let folder = tempfile::tempdir().unwrap();
        let rows = folder.path().join("rows.csv");
        std::fs::write(&rows, "name\n\"O\"\"Brien\"\n").unwrap();
        let study = format!(
            "# Which?\n[service]\ntarget = \"http://localhost:1/\"\ndata = 'say \"{{{{name}}}}\"'\n\
             rows = \"{}\"\n[[variants]]\nname = \"plain\"\n\
             service.headers = [\"content-type: text/plain\"]\n[[variants]]\nname = \"json\"\n",
            rows.display()
        );
        assert_eq!(
            first_texts(&study),
            [r#"say "O"Brien""#, r#"say "O\"Brien""#]
        );
    }
}
