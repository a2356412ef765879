//! The questions that lead to a service's schema.

use super::{Answer, BadAnswer, Files, FilesError, Question};
use crate::mapping::path::clip;
use crate::nearest::Nearest;
use crate::schema::Schema;

/// Why there is no schema.
#[derive(Debug)]
pub enum NoSchema<E> {
    /// A question was not answered.
    Unanswered(E),
    /// What was answered makes none.
    Untold(Untold),
}

/// What a server does instead of telling a schema: a sentence whose subject is the server. One
/// line each; what the server said is shown escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    /// The server has other services.
    #[error("has no service \"{service}\"{nearest}")]
    NoService {
        /// The service that was asked for.
        service: String,
        /// What was probably meant.
        nearest: Nearest,
    },
    /// The server lists the service, and says that it does not know it.
    #[error("has \"{service}\", but does not tell of it{said}")]
    ListedOnly {
        /// The service that was asked for.
        service: String,
        /// The server's words, with what stands before them.
        said: String,
    },
    /// An error in place of an answer.
    #[error("does not tell of its messages: status {code}{said}")]
    Refused {
        /// A gRPC status code.
        code: u32,
        /// The server's words, with what stands before them.
        said: String,
    },
    /// A file that another one needs.
    #[error("does not tell of the file \"{import}\", which \"{importer}\" imports")]
    NoFile {
        /// The file.
        import: String,
        /// The file that imports it.
        importer: String,
    },
    /// An answer to another question.
    #[error("answers server reflection with what was not asked for")]
    Unasked,
    /// An answer that cannot be used.
    #[error("answers server reflection with damage: {0}")]
    Damaged(String),
}

/// Asks a server for the file of a service, and then for what is missing of its imports, which go
/// to `files`. `ask` brings the bytes that a question is answered with. Nothing is asked twice, and
/// at most two questions beside those for the files that are let in.
///
/// # Errors
/// What `ask` says, and answers that make no schema.
pub fn inquire<E>(
    service: &str,
    mut files: Files,
    mut ask: impl FnMut(Question<'_>) -> Result<Vec<u8>, E>,
) -> Result<Schema, NoSchema<E>> {
    let mut ask = |question: Question<'_>| -> Result<Answer, NoSchema<E>> {
        let answer = ask(question).map_err(NoSchema::Unanswered)?;
        Ok(Answer::from_bytes(&answer).map_err(Untold::from)?)
    };
    match ask(Question::FileContaining(service))? {
        Answer::Files(told) => add(&mut files, &told)?,
        Answer::Error { code, message } if code == Answer::NOT_FOUND => {
            let listed = ask(Question::Services)?;
            return Err(unknown(service, &message, listed).into());
        }
        other => return Err(unasked(&other).into()),
    }
    while let Some((import, importer)) = files.missing() {
        let (import, importer) = (import.to_owned(), clip(importer));
        match ask(Question::File(&import))? {
            Answer::Files(told) => add(&mut files, &told)?,
            Answer::Error { .. } => {
                files.add_well_known(&import).map_err(Untold::from)?;
            }
            Answer::Services(_) => return Err(Untold::Unasked.into()),
        }
        if !files.has(&import) {
            let import = clip(&import);
            return Err(Untold::NoFile { import, importer }.into());
        }
    }
    Ok(files.into_schema().map_err(Untold::from)?)
}

fn add(files: &mut Files, told: &[Vec<u8>]) -> Result<(), Untold> {
    for file in told {
        files.add(file)?;
    }
    Ok(())
}

/// What is said of a service that the server does not know: its nearest name.
fn unknown(service: &str, said: &str, listed: Answer) -> Untold {
    let Answer::Services(services) = listed else {
        return unasked(&listed);
    };
    let service = service.to_owned();
    if services.contains(&service) {
        let said = because(said);
        return Untold::ListedOnly { service, said };
    }
    let services: Vec<String> = services.iter().map(|name| clip(name)).collect();
    let nearest = Nearest::or_known(&service, services.iter().map(String::as_str));
    Untold::NoService { service, nearest }
}

/// What is said of an answer to something else.
fn unasked(answer: &Answer) -> Untold {
    match answer {
        Answer::Error { code, message } => Untold::Refused {
            code: *code,
            said: because(message),
        },
        Answer::Files(_) | Answer::Services(_) => Untold::Unasked,
    }
}

/// A server's own words behind a sentence, if it has any.
fn because(said: &str) -> String {
    match clip(said.trim()) {
        said if said.is_empty() => said,
        said => format!(" ({said})"),
    }
}

impl From<BadAnswer> for Untold {
    fn from(error: BadAnswer) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<FilesError> for Untold {
    fn from(error: FilesError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl<E> From<Untold> for NoSchema<E> {
    fn from(untold: Untold) -> Self {
        Self::Untold(untold)
    }
}
