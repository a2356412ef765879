//! The processes that several variants share.

use rpcgauge_study::features::Role;
use serde::Serialize;

/// A process that several variants share. Its figures belong to no single variant, so they are not compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessFindings {
    /// Its program, as `SUBJECT/PROGRAM`.
    pub program: String,
    /// Whether it is the server or the client of the variants.
    pub role: Role,
    /// The variants that share it.
    pub variants: Vec<String>,
    /// Peak resident memory in bytes, under the study's own placement: the maximum over trials.
    pub memory_peak: Option<u64>,
    /// The number of threads at the end of a trial, under the same placement: the maximum over trials.
    pub threads: Option<u64>,
    /// The start-up time, under the same placement: the median over fresh starts.
    pub startup_ns: Option<u64>,
}
