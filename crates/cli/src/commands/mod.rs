//! One module per command.

pub(crate) mod advise;
pub(crate) mod app;
pub(crate) mod app_study;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod link;
pub(crate) mod load;
mod load_records;
pub(crate) mod map;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod size;
pub(crate) mod studies;
pub(crate) mod subjects;
pub(crate) mod worker;
