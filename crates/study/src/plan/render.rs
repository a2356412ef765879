//! A plan as text, for `rpcgauge plan`.

use std::collections::BTreeMap;
use std::fmt;

use super::Plan;
use crate::settings::Stop;
use crate::words::{Named as _, counted, format_time, some_names};

mod table;

use self::table::{Table, wrap};

/// Writes the plan as [`Plan::text`] does without a width.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None))
    }
}

impl Plan {
    /// The plan's variants, pairs and claims in aligned tables, with its counts and estimated time. Lines have at most
    /// `width` columns if a width is given.
    pub fn text(&self, width: Option<usize>) -> String {
        let width = width.unwrap_or(usize::MAX);
        let mut text = wrap("", &format!("{}: {}", self.name, self.question), width) + "\n";
        for (name, value) in self.summary() {
            text += &wrap(&format!("  {name:<9}  "), &value, width);
        }
        text += "\nVariants\n";
        text += &self.variant_table().text(width);
        text += "\nPairs (* headline: under every placement)\n";
        text += &self.pair_table().text(width);
        if !self.claims.is_empty() {
            text += "\nClaims\n";
            text += &self.claim_table().text(width);
        }
        text
    }

    /// The lines above the tables, each with its name.
    fn summary(&self) -> Vec<(&'static str, String)> {
        let placements: Vec<String> = self.placements.iter().map(ToString::to_string).collect();
        let (main, others) = placements
            .split_first()
            .map_or(("", &[][..]), |(m, o)| (m.as_str(), o));
        let checked = if others.is_empty() {
            String::new()
        } else {
            format!("; headline pairs also on {}", others.join(", "))
        };
        let seconds = self.estimate().as_secs();
        let time = match (seconds / 60, seconds % 60) {
            (0, seconds) => format!("{seconds}s"),
            (minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        };
        let trials = format!(
            "{} in {} × {}",
            self.trials.len(),
            counted(self.invocations, "invocation"),
            counted(self.blocks, "block")
        );
        let verdicts = format!(
            "within ±{} counts as no difference, {} intervals",
            percent(self.margin),
            percent(self.confidence)
        );
        let longest = self.variants.iter().map(|v| self.warmup(v));
        let longest = longest.max_by_key(|stop| stop.time_ms);
        let longest = longest.unwrap_or(self.warmup);
        let mut warmup = match self.warmup.time_ms {
            Some(0) => "none".to_owned(),
            _ => format!("until it settles, at most {}", stop_words(self.warmup)),
        };
        if longest != self.warmup {
            warmup += &format!("; {} for stacks that need longer", stop_words(longest));
        }
        let mut lines = vec![
            ("time", format!("about {time}")),
            ("trials", trials),
            ("placement", format!("{main}{checked}; {}", self.idle)),
            ("warm-up", warmup),
            ("measured", self.slices_words()),
            ("verdicts", verdicts),
            ("seed", self.seed.to_string()),
        ];
        lines.extend(self.processes().into_iter().map(|text| ("processes", text)));
        lines.extend(self.limits.changed().map(|changed| ("limits", changed)));
        lines
    }

    /// One sentence for each set of variants that share processes, and for each reason why variants that should share
    /// have their own. Empty if the study does not share processes.
    pub fn processes(&self) -> Vec<String> {
        let name = |place: &u32| self.variants.get(*place as usize).map(|one| &*one.name);
        let shared = self.shared_processes.iter();
        let shared = shared.filter(|shared| shared.are_shared());
        let shared = shared.map(|shared| {
            let names: Vec<&str> = shared.variants.iter().filter_map(name).collect();
            let names = some_names(&names);
            let process = |what: &str, program: &Option<String>| {
                let program = program.as_ref()?;
                Some(format!("a {what} process ({program})"))
            };
            let both = [
                process("server", &shared.server),
                process("client", &shared.client),
            ];
            let both: Vec<&str> = both.iter().flatten().map(String::as_str).collect();
            format!("{names} share {}", some_names(&both))
        });
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, reason) in &self.own_processes {
            reasons.entry(reason).or_default().push(name);
        }
        let apart = reasons.into_iter().map(|(reason, names)| {
            let has = if names.len() == 1 {
                "has its"
            } else {
                "have their"
            };
            format!("{} {has} own processes: {reason}", some_names(&names))
        });
        shared.chain(apart).collect()
    }

    /// Which trials are measured in slices, and which in one piece.
    fn slices_words(&self) -> String {
        let settings = self.variants.iter().map(|variant| &variant.settings);
        let whole = settings.filter(|one| self.slice(one).is_none()).count();
        let ms = self.slice_us as f64 / 1_000.0;
        let slices = format!("in turn, in slices of {ms} ms, where variants are compared");
        match whole {
            0 => slices,
            all if all == self.variants.len() => "each trial without interruption".to_owned(),
            some => format!("{slices}; {some} at a rate, each without interruption"),
        }
    }

    /// A row per variant: its name, its settings in words, and its number of trials. A column that is empty for all
    /// variants is left out.
    fn variant_table(&self) -> Table {
        let said: Vec<_> = self.variants.iter().map(|v| v.settings.columns()).collect();
        let columns = said.first().map_or(&[][..], Vec::as_slice);
        let is_said = |at: &usize| said.iter().any(|row| !row[*at].1.is_empty());
        let shown: Vec<usize> = (0..columns.len()).filter(is_said).collect();
        let head = shown.iter().map(|at| columns[*at].0.to_owned());
        let mut table = Table::of(
            ["name".to_owned()]
                .into_iter()
                .chain(head)
                .chain(["trials".to_owned()]),
        );
        let mut trials = vec![0_usize; self.variants.len()];
        for trial in &self.trials {
            trials[trial.variant as usize] += 1;
        }
        for ((variant, said), trials) in self.variants.iter().zip(&said).zip(trials) {
            let again = variant.repeats.as_ref().map_or("", |_| " (A/A)");
            let name = format!("{}{again}", variant.name);
            let cells = shown.iter().map(|at| match said[*at].1.as_str() {
                "" => "-".to_owned(),
                words => words.to_owned(),
            });
            table.row([name].into_iter().chain(cells).chain([trials.to_string()]));
        }
        table
    }

    fn pair_table(&self) -> Table {
        let mut table = Table::of(["", "of", "against", "metric", "question"].map(str::to_owned));
        for pair in &self.pairs {
            table.row([
                if pair.headline { "*" } else { "" }.into(),
                pair.of.clone(),
                pair.against.clone(),
                pair.metric.as_str().into(),
                pair.question.clone(),
            ]);
        }
        table
    }

    fn claim_table(&self) -> Table {
        let mut table =
            Table::of(["of", "against", "metric", "published", "source"].map(str::to_owned));
        for claim in &self.claims {
            let published = &claim.published;
            table.row([
                claim.of.clone(),
                claim.against.clone(),
                claim.metric.as_str().into(),
                format!(
                    "{} against {} {}",
                    published.of, published.against, published.unit
                ),
                claim.source.clone(),
            ]);
        }
        table
    }
}

fn percent(share: f64) -> String {
    // Rounded to what a person would have written: 0.03 is 3%, not 3.0000000000000004%.
    format!("{}%", (share * 1e6).round() / 1e4)
}

fn stop_words(stop: Stop) -> String {
    let calls = stop.calls.map(|calls| counted(calls, "call"));
    let parts = calls.into_iter().chain(stop.time_ms.map(format_time));
    parts.collect::<Vec<_>>().join(" or ")
}
