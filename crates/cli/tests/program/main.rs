//! Runs the built program as a user would. Every bad input, in the command line, a study, a message
//! or a run directory, is refused with one clear line and exit code 2, and leaves nothing
//! half-written.

mod app;
mod app_load;
mod app_study;
mod arguments;
mod builds;
mod capacity;
mod checks;
mod cold;
mod common;
mod compare;
mod doctor;
mod failing;
mod generated;
mod killed;
mod link;
mod load;
mod ramp;
mod reflection;
mod report;
mod resume;
mod run;
mod serve;
mod shared;
mod size;
mod studies;
mod subjects;
mod tls;
mod truth;
mod unbounded;
