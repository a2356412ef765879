//! Fetches the schema of a service.

use super::{Files, FilesError, ReflectionRequest, ReflectionResponse};
use crate::nearest::Nearest;
use crate::path::clip;
use crate::schema::Schema;

/// Why a schema could not be fetched.
#[derive(Debug)]
pub enum FetchError<E> {
    /// A call failed.
    Call(E),
    /// The server's responses do not form a schema.
    Reflection(ReflectionError),
}

/// Why a server's schema cannot be used, phrased as the rest of a sentence whose subject is the server. Each
/// error is one line, and the server's own message is escaped and truncated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionError {
    /// The server does not have the service.
    #[error("has no service \"{service}\"{nearest}")]
    NoService {
        /// The requested service.
        service: String,
        /// Similar names, as suggestions.
        nearest: Nearest,
    },
    /// The server lists the service, but does not find its descriptor.
    #[error("lists \"{service}\", but sends no descriptor for it{said}")]
    ListedOnly {
        /// The requested service.
        service: String,
        /// The server's message in parentheses; empty if there is none.
        said: String,
    },
    /// The server responded with an error instead of a descriptor.
    #[error("refuses server reflection: status {code}{said}")]
    Refused {
        /// A gRPC status code.
        code: u32,
        /// The server's message in parentheses; empty if there is none.
        said: String,
    },
    /// The server lacks a file that another file imports.
    #[error("sends no descriptor for the file \"{import}\", which \"{importer}\" imports")]
    NoFile {
        /// The file.
        import: String,
        /// The file that imports it.
        importer: String,
    },
    /// A file has no content, and a type is missing: the server was built without that file.
    #[error("sends only a placeholder (a name without content) for the file \"{file}\": {lacks}")]
    Placeholder {
        /// The file.
        file: String,
        /// What is missing.
        lacks: String,
    },
    /// The response does not match the request.
    #[error("sends a reflection response that was not requested")]
    Unexpected,
    /// The response cannot be used.
    #[error("sends a damaged reflection response: {0}")]
    Damaged(String),
}

/// Requests the file of a service from a server, then missing imports, and adds them to `files`. `call` sends a
/// request and returns the bytes of its response. No request is sent twice. Apart from requests for imports,
/// whose number `files` limits, there are at most two.
///
/// # Errors
/// If `call` fails, or the responses do not form a schema.
pub fn fetch_schema<E>(
    service: &str,
    mut files: Files,
    mut call: impl FnMut(ReflectionRequest<'_>) -> Result<Vec<u8>, E>,
) -> Result<Schema, FetchError<E>> {
    let mut call = |request: ReflectionRequest<'_>| -> Result<_, FetchError<E>> {
        let response = call(request).map_err(FetchError::Call)?;
        Ok(ReflectionResponse::from_bytes(&response)?)
    };
    match call(ReflectionRequest::FileContaining(service))? {
        ReflectionResponse::Files(sent) => files.add_all(&sent)?,
        ReflectionResponse::Error { code, message } if code == ReflectionResponse::NOT_FOUND => {
            let listed = call(ReflectionRequest::Services)?;
            return Err(unknown(service, &message, listed).into());
        }
        other => return Err(unexpected(other).into()),
    }
    while let Some((import, importer)) = files.missing() {
        let (import, importer) = (import.to_owned(), clip(importer));
        match call(ReflectionRequest::File(&import))? {
            ReflectionResponse::Files(sent) => files.add_all(&sent)?,
            ReflectionResponse::Error { .. } => {}
            ReflectionResponse::Services(_) => return Err(ReflectionError::Unexpected.into()),
        }
        if !files.has(&import) && !files.add_well_known(&import)? {
            let import = clip(&import);
            return Err(ReflectionError::NoFile { import, importer }.into());
        }
    }
    let placeholder = files.placeholder().map(clip);
    let schema = files.into_schema();
    let Some(file) = placeholder else {
        return Ok(schema?);
    };
    // An empty file is fine if no type is missing.
    let lacks = match schema {
        Ok(schema) if schema.has_service(service) => return Ok(schema),
        Ok(_) => format!("no file declares \"{service}\""),
        Err(error) => error.to_string(),
    };
    Err(ReflectionError::Placeholder { file, lacks }.into())
}

/// Returns the error for a service that the server cannot find, with the most similar names that it lists.
fn unknown(service: &str, said: &str, listed: ReflectionResponse) -> ReflectionError {
    let ReflectionResponse::Services(services) = listed else {
        return unexpected(listed);
    };
    let service = service.to_owned();
    if services.contains(&service) {
        let said = in_brackets(said);
        return ReflectionError::ListedOnly { service, said };
    }
    let services: Vec<String> = services.iter().map(|name| clip(name)).collect();
    let nearest = Nearest::or_known(&service, services.iter().map(String::as_str));
    ReflectionError::NoService { service, nearest }
}

fn unexpected(response: ReflectionResponse) -> ReflectionError {
    match response {
        ReflectionResponse::Error { code, message } => ReflectionError::Refused {
            code,
            said: in_brackets(&message),
        },
        ReflectionResponse::Files(_) | ReflectionResponse::Services(_) => {
            ReflectionError::Unexpected
        }
    }
}

/// Formats a server's message in parentheses; empty if there is none.
fn in_brackets(said: &str) -> String {
    match clip(said.trim()) {
        said if said.is_empty() => said,
        said => format!(" ({said})"),
    }
}

impl<E> From<ReflectionError> for FetchError<E> {
    fn from(error: ReflectionError) -> Self {
        Self::Reflection(error)
    }
}

impl<E> From<FilesError> for FetchError<E> {
    fn from(error: FilesError) -> Self {
        ReflectionError::Damaged(error.to_string()).into()
    }
}
