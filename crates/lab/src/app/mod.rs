//! Applications: built, started with their databases, checked, and put under load.
//!
//! ```text
//! AppPackage ─► BuiltApp ─► Application::start   backing processes, each ready and seeded  (process, ready)
//!                           Application::add     a set of services for a configuration     (process)
//!                           Set::check           its responses are as expected             (check)
//! Generator::start          sends load to a set; only one generator sends at a time         (generator)
//!   Users                   the users of a locustfile, run by Locust                        (users)
//!   Caller                  one request at a rate, by rpcgauge's engine                     (caller)
//! slice                     the results of a load, and the services' own metrics            (slice)
//! AppLab::run               invocations, blocks and slices of a study                      (run)
//! ```
//!
//! `docs/measure-an-application.md` documents what users can rely on at each step.

mod application;
mod caller;
mod check;
mod exposition;
mod generator;
mod package;
mod process;
mod prometheus;
mod ready;
mod run;
mod slice;
mod users;

pub use application::{Application, Set};
pub use check::Responses;
pub use exposition::{Sample, samples};
pub use generator::Generator;
pub use package::{AppPackage, BuiltApp, Logs};
pub use process::Running;
pub use run::{AppLab, AppRunError, Progress};
pub use slice::slice;
pub use users::Locust;
