//! Parses arguments of the form `NAME=VALUE`, which is all that this repository's scripts need.

use std::str::FromStr;

use crate::clock::{MILLISECOND, Nanos, SECOND};

/// The arguments that have not been consumed yet.
#[derive(Debug)]
pub struct Arguments(Vec<String>);

impl Arguments {
    /// The arguments of this process, without the program's name.
    pub fn of_process() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// These arguments.
    #[cfg(test)]
    pub(crate) fn of<'a>(arguments: impl Iterator<Item = &'a str>) -> Self {
        Self(arguments.map(str::to_owned).collect())
    }

    /// Consumes the first argument, a word.
    ///
    /// # Errors
    /// If there are no arguments left.
    pub fn word(&mut self, what: &str) -> Result<String, String> {
        if self.0.is_empty() {
            return Err(format!("{what} is missing"));
        }
        Ok(self.0.remove(0))
    }

    /// Consumes `name=VALUE` and returns the value, if given.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let is_named = |given: &String| matches!(given.split_once('='), Some((n, _)) if n == name);
        let at = self.0.iter().position(is_named)?;
        self.0
            .remove(at)
            .split_once('=')
            .map(|(_, value)| value.to_owned())
    }

    /// Consumes a value of type `T`, if given.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        self.text(name)
            .map(|text| {
                text.parse()
                    .map_err(|_| format!("{name}={text} is not valid"))
            })
            .transpose()
    }

    /// Consumes a required value.
    ///
    /// # Errors
    /// If it is missing or cannot be parsed.
    pub fn required<T: FromStr>(&mut self, name: &str) -> Result<T, String> {
        self.value(name)?
            .ok_or_else(|| format!("{name}=… is missing"))
    }

    /// Consumes a duration such as `100ms` or `200us`, if given.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub fn duration(&mut self, name: &str) -> Result<Option<Nanos>, String> {
        self.text(name).map(|text| duration(&text)).transpose()
    }

    /// Rejects arguments that have not been consumed.
    ///
    /// # Errors
    /// If an argument is left.
    pub fn end(self) -> Result<(), String> {
        match self.0.first() {
            Some(left) => Err(format!("unknown argument {left}")),
            None => Ok(()),
        }
    }
}

/// Parses `1s`, `100ms` or `200us`.
///
/// # Errors
/// If it does not have this form.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("{text} is not a duration: write 1s, 100ms or 200us");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = match &text[digits..] {
        "s" => SECOND,
        "ms" => MILLISECOND,
        "us" => 1_000,
        _ => return Err(wrong()),
    };
    let count: Nanos = text[..digits].parse().map_err(|_| wrong())?;
    count.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("100ms"), Ok(100 * MILLISECOND));
        assert_eq!(duration("200us"), Ok(200_000));
        assert_eq!(duration("1s"), Ok(SECOND));
        for wrong in [
            "",
            "ms",
            "100",
            "-1s",
            "1 s",
            "99999999999999999999s",
            "18446744073709551615s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn unknown_arguments_are_refused() {
        let mut arguments = Arguments(vec!["stall".into(), "calls=1".into(), "call=1".into()]);
        assert_eq!(arguments.word("mode"), Ok("stall".into()));
        assert_eq!(arguments.value::<usize>("calls"), Ok(Some(1)));
        assert!(arguments.end().is_err());
    }
}
