//! What exactly is called: the target with the method and the address that options give it.

use super::{LoadOptions, LoadPlanError};
use crate::target::Target;

/// The target with the method and the address that options give it.
pub(super) fn called(options: &LoadOptions, target: &Target) -> Result<Target, LoadPlanError> {
    let mut target = match &options.unix_socket {
        Some(path) => target.clone().over_unix_socket(path),
        None => target.clone(),
    };
    if !target.scheme.is_grpc() {
        return Ok(target);
    }
    match (target.method(), &options.method) {
        (None, None) => Err(LoadPlanError::NoMethod(target.to_string())),
        (Some(named), Some(given)) => Err(LoadPlanError::TwoMethods {
            given: given.clone(),
            named: named.to_owned(),
        }),
        (Some(_), None) => Ok(target),
        (None, Some(given)) => {
            target.path =
                method_path(given).ok_or_else(|| LoadPlanError::BadMethod(given.clone()))?;
            Ok(target)
        }
    }
}

/// `/package.Service/Method` from what people write: with or without the first `/`, and with a `.`
/// for the last one.
fn method_path(given: &str) -> Option<String> {
    let name = given.strip_prefix('/').unwrap_or(given);
    let (service, method) = name.split_once('/').or_else(|| name.rsplit_once('.'))?;
    let plain = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        !part.is_empty() && part.chars().all(is_plain)
    };
    (plain(service) && plain(method)).then(|| format!("/{service}/{method}"))
}
