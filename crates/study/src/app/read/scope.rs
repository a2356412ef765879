//! Checks which placeholders are allowed in which parts of an `app.toml`.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_message::nearest::Nearest;
use toml::Spanned;

use super::super::{Placeholder, Template};
use crate::error::{Source, StudyError};
use crate::subject::Name;

/// The placeholders that are allowed in a part of the file.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) names: &'a Names,
    /// What the part is called in messages.
    pub(super) what: &'a str,
    /// The ports of the process that the part belongs to.
    pub(super) own: Option<&'a [Name]>,
    /// Whether the part belongs to one configuration.
    pub(super) has_configuration: bool,
    pub(super) has_build: bool,
    /// The names of values that earlier checks have kept. `Some` also allows the entry's URL.
    pub(super) kept: Option<&'a BTreeSet<String>>,
}

/// The names that placeholders can use.
pub(super) struct Names {
    pub(super) settings: BTreeSet<String>,
    /// The ports of each process, and whether it is a backing process.
    pub(super) processes: BTreeMap<String, (BTreeSet<String>, bool)>,
}

impl Scope<'_> {
    pub(super) fn check(&self, template: &Template) -> Result<(), String> {
        template
            .words()
            .try_for_each(|word| self.check_placeholder(word))
    }

    fn check_placeholder(&self, word: &Placeholder) -> Result<(), String> {
        let is_here = match word {
            Placeholder::Setting(name) => {
                let known = self.names.settings.iter().map(String::as_str);
                if !self.names.settings.contains(name) {
                    let hint = Nearest::or_known(name, known);
                    return Err(format!("there is no setting for {word}{hint}"));
                }
                self.has_configuration
            }
            Placeholder::OwnPort(port) => match self.own {
                Some(ports) if !ports.iter().any(|Name(known)| known == port) => {
                    let known = ports.iter().map(|Name(known)| known.as_str());
                    let hint = Nearest::or_known(port, known);
                    return Err(format!("{word} is not one of its \"ports\"{hint}"));
                }
                own => own.is_some(),
            },
            Placeholder::Port(process, port) => {
                let known = || self.names.processes.keys().map(String::as_str);
                let Some((ports, is_backing)) = self.names.processes.get(process) else {
                    let hint = Nearest::or_known(process, known());
                    return Err(format!("there is no process for {word}{hint}"));
                };
                if !ports.contains(port) {
                    let hint = Nearest::or_known(port, ports.iter().map(String::as_str));
                    return Err(format!("\"{process}\" has no port for {word}{hint}"));
                }
                self.has_configuration || *is_backing
            }
            Placeholder::Data => self.own.is_some(),
            Placeholder::Build => self.has_build,
            Placeholder::Entry => self.kept.is_some(),
            Placeholder::Kept(name) => match self.kept {
                Some(kept) if !kept.contains(name) => {
                    let hint = Nearest::or_known(name, kept.iter().map(String::as_str));
                    return Err(format!("no earlier check keeps a value for {word}{hint}"));
                }
                kept => kept.is_some(),
            },
        };
        if is_here {
            Ok(())
        } else {
            Err(format!("{word} cannot be used in {}", self.what))
        }
    }

    pub(super) fn take(
        &self,
        source: &Source,
        written: Spanned<Template>,
    ) -> Result<Template, StudyError> {
        let place = written.span();
        let template = written.into_inner();
        match self.check(&template) {
            Ok(()) => Ok(template),
            Err(message) => Err(source.error(place, message)),
        }
    }

    pub(super) fn take_all(
        &self,
        source: &Source,
        written: Vec<Spanned<Template>>,
    ) -> Result<Vec<Template>, StudyError> {
        let all = written.into_iter().map(|one| self.take(source, one));
        all.collect()
    }

    pub(super) fn take_map(
        &self,
        source: &Source,
        written: BTreeMap<String, Spanned<Template>>,
    ) -> Result<BTreeMap<String, Template>, StudyError> {
        let all = written.into_iter();
        all.map(|(name, one)| Ok((name, self.take(source, one)?)))
            .collect()
    }
}
