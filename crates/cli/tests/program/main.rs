//! Runs the built program as a user would. Invalid input on the command line, in a study, in a
//! message or in a run directory must be rejected with one clear line and exit code 2, and must
//! leave no partial output behind.

mod advise;
mod app;
mod app_load;
mod app_study;
mod arguments;
mod builds;
mod capacity;
mod checks;
mod cluster;
mod cold;
mod common;
mod compare;
mod doctor;
mod failing;
mod gate;
mod generated;
mod killed;
mod link;
mod load;
mod map;
mod ramp;
mod reflection;
mod report;
mod resume;
mod run;
mod serve;
mod shared;
mod size;
mod streams;
mod studies;
mod subjects;
mod tls;
mod truth;
mod unbounded;
mod worker;
