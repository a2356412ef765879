//! Resolves a study of an application into a plan.

use std::num::NonZeroU32;
use std::ops::Range;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_trial::{Random, is_rate};
use toml::Spanned;

use super::super::plan::{AppBlock, AppClaim, AppLoad, AppMetric, AppPair, AppPlan, AppVariant};
use super::super::read::MAX_USERS;
use super::super::{App, Configuration};
use super::{AppOverrides, AppStudy};
use crate::error::StudyError;
use crate::only;
use crate::plan::check::{CONFIDENCE, MARGIN, MAX_TRIALS};
use crate::plan::draft::DraftError;
use crate::read::{Line, OneOrMore, Time};
use crate::resolve::{DEFAULT_CONFIDENCE, DEFAULT_MARGIN};

/// Defaults for what a study leaves out.
const INVOCATIONS: u32 = 3;
const BLOCKS: u32 = 5;
const WARM_UP_MS: u64 = 10_000;
const SETTLE_MS: u64 = 1_000;
const SLICE_MS: u64 = 5_000;

impl AppStudy {
    /// Resolves the study into a plan with no defaults left.
    ///
    /// # Errors
    /// The first thing that does not fit the application, with its line and column.
    pub fn resolve(&self, app: &App, overrides: &AppOverrides) -> Result<AppPlan, StudyError> {
        let refuse = |place: Range<usize>, message: String| self.source.error(place, message);
        for (share, value) in [
            (MARGIN, &self.top.margin),
            (CONFIDENCE, &self.top.confidence),
        ] {
            if let Some(value) = value {
                let checked = share.check(*value.get_ref());
                checked.map_err(|message| refuse(value.span(), message))?;
            }
        }
        let load = self.resolve_load(app)?;
        let mut variants = self.resolve_variants(app)?;
        let mut pairs = self.resolve_pairs(app, &variants)?;
        let mut claims = self.resolve_claims(app, &variants)?;
        let a_a = self.top.a_a.as_ref();
        let a_a = a_a.map(|name| self.named(&variants, name)).transpose()?;
        let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
        let kept = only::chosen(&overrides.only, &names);
        let kept = kept.map_err(|message| self.source.whole(message))?;
        variants.retain(|variant| kept.contains(&variant.name));
        pairs.retain(|pair| kept.contains(&pair.of) && kept.contains(&pair.against));
        claims.retain(|claim| kept.contains(&claim.of) && kept.contains(&claim.against));
        if pairs.is_empty() {
            pairs = default_pairs(app, &variants);
        }
        self.add_control(
            &mut variants,
            &pairs,
            a_a.filter(|name| kept.contains(name)),
        )?;
        let invocations = self.top.invocations.map_or(INVOCATIONS, NonZeroU32::get);
        let invocations = overrides.invocations.unwrap_or(invocations);
        let blocks = self.top.blocks.map_or(BLOCKS, NonZeroU32::get);
        let blocks = overrides.blocks.unwrap_or(blocks);
        let slices = u64::from(invocations) * u64::from(blocks) * variants.len() as u64;
        if slices > MAX_TRIALS {
            let message = format!("the study has {slices} slices; the limit is {MAX_TRIALS}");
            return Err(self.source.whole(message));
        }
        let seed = overrides.seed.or(self.top.seed).unwrap_or(1);
        let ms = |time: Option<Time>, usual| time.map_or(usual, |Time(ms)| ms);
        Ok(AppPlan {
            name: self.name.clone(),
            question: self.question.clone(),
            seed,
            margin: self
                .top
                .margin
                .as_ref()
                .map_or(DEFAULT_MARGIN, |share| *share.get_ref()),
            confidence: self
                .top
                .confidence
                .as_ref()
                .map_or(DEFAULT_CONFIDENCE, |share| *share.get_ref()),
            app: app.name.clone(),
            description: app.description.clone(),
            folder: None,
            load,
            warm_up_ms: ms(self.app.warm_up, WARM_UP_MS),
            settle_ms: ms(self.app.settle, SETTLE_MS),
            slice_ms: ms(self.app.slice, SLICE_MS),
            blocks: in_random_order(seed, invocations, blocks, variants.len()),
            variants,
            metrics: app.metrics.clone(),
            pairs,
            claims,
        })
    }

    fn resolve_load(&self, app: &App) -> Result<AppLoad, StudyError> {
        let refuse = |place: Range<usize>, message: &str| Err(self.source.error(place, message));
        let (call, rate) = match (&self.app.call, &self.app.rate) {
            (None, None) => return self.resolve_users(app),
            (Some(call), None) => {
                return refuse(
                    call.span(),
                    "\"call\" needs \"rate\", the number of requests per second",
                );
            }
            (None, Some(rate)) => {
                let message =
                    "\"rate\" needs \"call\", the check of app.toml whose request is sent";
                return refuse(rate.span(), message);
            }
            (Some(call), Some(rate)) => (call, rate),
        };
        let users = self.app.users.as_ref().map(Spanned::span);
        let spawn_rate = self.app.spawn_rate.as_ref().map(Spanned::span);
        let tags = self.app.tags.as_ref().map(Spanned::span);
        if let Some(place) = users.or(spawn_rate).or(tags) {
            let message = "load at a \"rate\" has no users; leave one of the two out";
            return refuse(place, message);
        }
        if !is_rate(*rate.get_ref()) {
            let message = "\"rate\" must be more than 0 and at most 1e9 requests per second";
            return refuse(rate.span(), message);
        }
        let check = app.check(&call.get_ref().0);
        let check = check.map_err(|message| self.source.error(call.span(), message))?;
        Ok(AppLoad::Rate {
            call: check.name.clone(),
            rate: *rate.get_ref(),
        })
    }

    fn resolve_users(&self, app: &App) -> Result<AppLoad, StudyError> {
        let refuse = |place: Range<usize>, message: String| self.source.error(place, message);
        let users = self.app.users.as_ref();
        if let Some(users) = users.filter(|users| users.get_ref().get() > MAX_USERS) {
            let message = format!("\"users\" must be at most {MAX_USERS}");
            return Err(refuse(users.span(), message));
        }
        let spawn_rate = self.app.spawn_rate.as_ref();
        let is_positive = |rate: f64| rate.is_finite() && rate > 0.0;
        if let Some(rate) = spawn_rate.filter(|rate| !is_positive(*rate.get_ref())) {
            let message = "\"spawn-rate\" must be a number above 0".to_owned();
            return Err(refuse(rate.span(), message));
        }
        let tags = self.app.tags.as_ref();
        let tags = tags.map(|tags| tags.get_ref().iter().map(|tag| tag.0.clone()).collect());
        AppLoad::users(
            app,
            users.map(|users| users.get_ref().get()),
            spawn_rate.map(|rate| *rate.get_ref()),
            tags,
        )
        .map_err(|message| refuse(self.app.place.clone(), message))
    }

    fn resolve_variants(&self, app: &App) -> Result<Vec<AppVariant>, StudyError> {
        if self.variants.is_empty() {
            let message =
                "the study has no variant; write [[variants]] with a name and values for settings";
            return Err(self.source.whole(message));
        }
        let mut variants: Vec<AppVariant> = Vec::new();
        for written in &self.variants {
            let mut configuration = Configuration::default();
            // One by one, so that an error points at its setting.
            for (name, value) in &written.settings {
                let chosen = [(name.get_ref().as_str(), value.get_ref().as_str())];
                let of_one = app.configuration(chosen).map_err(|message| {
                    let is_known = app
                        .settings
                        .iter()
                        .any(|setting| setting.name == *name.get_ref());
                    let place = if is_known { value.span() } else { name.span() };
                    self.source.error(place, message)
                })?;
                let set = of_one.0.get(name.get_ref()).cloned().unwrap_or_default();
                configuration.0.insert(name.get_ref().clone(), set);
            }
            for setting in &app.settings {
                let default = || setting.default.clone();
                let set = configuration.0.entry(setting.name.clone());
                set.or_insert_with(default);
            }
            if let Some(twin) = variants
                .iter()
                .find(|other| other.name == written.name || other.configuration == configuration)
            {
                let message = if twin.name == written.name {
                    format!("duplicate variant \"{}\"", twin.name)
                } else {
                    format!(
                        "\"{}\" has the same settings as \"{}\"; \"a-a\" starts a second set of one configuration",
                        written.name, twin.name
                    )
                };
                return Err(self.source.error(written.place.clone(), message));
            }
            variants.push(AppVariant {
                name: written.name.clone(),
                configuration,
                repeats: None,
            });
        }
        Ok(variants)
    }

    fn named(&self, variants: &[AppVariant], name: &Spanned<Line>) -> Result<String, StudyError> {
        let word = name.get_ref().as_str();
        if variants.iter().any(|variant| variant.name == word) {
            Ok(word.to_owned())
        } else {
            let known = variants.iter().map(|variant| variant.name.as_str());
            let hint = Nearest::or_known(word, known);
            let message = format!("there is no variant \"{word}\"{hint}");
            Err(self.source.error(name.span(), message))
        }
    }

    fn metric(
        &self,
        app: &App,
        place: Range<usize>,
        metric: &AppMetric,
    ) -> Result<AppMetric, StudyError> {
        match metric {
            AppMetric::Inside(name) if !app.metrics.iter().any(|known| known.name == *name) => {
                let known = app.metrics.iter().map(|known| known.name.as_str());
                let known = AppMetric::NAMES.into_iter().chain(known);
                let hint = Nearest::or_known(name, known);
                let message = format!("there is no metric \"{name}\"{hint}");
                Err(self.source.error(place, message))
            }
            known => Ok(known.clone()),
        }
    }

    /// Checks that `request` has an effect on these metrics: at least one of them must be measured for each request.
    fn check_is_of_request(
        &self,
        place: Range<usize>,
        metrics: &[AppMetric],
    ) -> Result<(), StudyError> {
        if metrics.iter().any(AppMetric::is_of_request) {
            return Ok(());
        }
        let all = AppMetric::all(&[]);
        let told = all.iter().filter(|metric| metric.is_of_request());
        let told: Vec<String> = told.cloned().map(String::from).collect();
        let message = format!(
            "\"metric\" covers all requests together, so \"request\" has no effect; leave out \"request\", or name \
             one of {}",
            told.join(", ")
        );
        Err(self.source.error(place, message))
    }

    fn resolve_pairs(
        &self,
        app: &App,
        variants: &[AppVariant],
    ) -> Result<Vec<AppPair>, StudyError> {
        let pairs = self.pairs.iter().map(|written| {
            let metrics = match &written.metric {
                Some(written) => {
                    let OneOrMore(all) = written.get_ref();
                    let metric = |metric| self.metric(app, written.span(), metric);
                    all.iter().map(metric).collect::<Result<_, _>>()?
                }
                None => AppMetric::all(&app.metrics),
            };
            let of = self.named(variants, &written.of)?;
            let against = self.named(variants, &written.against)?;
            if of == against {
                let message = "a variant cannot be compared with itself; use \"a-a\" for that";
                return Err(self.source.error(written.against.span(), message));
            }
            if let (Some(_), Some(named)) = (&written.request, &written.metric) {
                self.check_is_of_request(named.span(), &metrics)?;
            }
            let requests = written.request.as_ref();
            let requests = requests.map_or_else(Vec::new, |OneOrMore(all)| {
                all.iter().map(|name| name.0.clone()).collect()
            });
            Ok(AppPair {
                of,
                against,
                question: written.question.as_ref().map(|question| question.0.clone()),
                requests,
                metrics,
            })
        });
        pairs.collect()
    }

    /// Adds a second set of one configuration: that of `a_a` or, without it, of the variant that the first pair
    /// compares with.
    fn add_control(
        &self,
        variants: &mut Vec<AppVariant>,
        pairs: &[AppPair],
        a_a: Option<String>,
    ) -> Result<(), StudyError> {
        let Some(of) = a_a.or_else(|| pairs.first().map(|pair| pair.against.clone())) else {
            return Ok(());
        };
        let name = format!("{of}-again");
        if variants.iter().any(|variant| variant.name == name) {
            let taken = self.variants.iter().find(|written| written.name == name);
            let place = taken.map_or(0..0, |written| written.place.clone());
            return Err(self
                .source
                .error(place, DraftError::Taken(name).to_string()));
        }
        let twin = variants.iter().find(|variant| variant.name == of).cloned();
        variants.extend(twin.map(|twin| AppVariant {
            name,
            repeats: Some(of),
            ..twin
        }));
        Ok(())
    }

    fn resolve_claims(
        &self,
        app: &App,
        variants: &[AppVariant],
    ) -> Result<Vec<AppClaim>, StudyError> {
        let claims = self.claims.iter().map(|written| {
            let ratio = *written.ratio.get_ref();
            if !(ratio.is_finite() && ratio > 0.0) {
                let message = "\"ratio\" must be a number above 0: \"of\" divided by \"against\"";
                return Err(self.source.error(written.ratio.span(), message));
            }
            let metric = self.metric(app, written.metric.span(), written.metric.get_ref())?;
            if written.request.is_some() {
                self.check_is_of_request(written.metric.span(), std::slice::from_ref(&metric))?;
            }
            Ok(AppClaim {
                of: self.named(variants, &written.of)?,
                against: self.named(variants, &written.against)?,
                metric,
                request: written.request.as_ref().map(|request| request.0.clone()),
                ratio,
                source: written.source.0.clone(),
            })
        });
        claims.collect()
    }
}

/// The pairs of a study that lists none: every variant against the first, in all metrics.
fn default_pairs(app: &App, variants: &[AppVariant]) -> Vec<AppPair> {
    let Some((first, others)) = variants.split_first() else {
        return Vec::new();
    };
    let pair = |of: &AppVariant| AppPair {
        of: of.name.clone(),
        against: first.name.clone(),
        question: None,
        requests: Vec::new(),
        metrics: AppMetric::all(&app.metrics),
    };
    others.iter().map(pair).collect()
}

/// The blocks of all invocations, each with all variants in a new random order.
fn in_random_order(seed: u64, invocations: u32, blocks: u32, variants: usize) -> Vec<AppBlock> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for invocation in 0..invocations {
        for block in 0..blocks {
            let mut order: Vec<usize> = (0..variants).collect();
            random.shuffle(&mut order);
            all.push(AppBlock {
                invocation,
                block,
                order,
            });
        }
    }
    all
}
