//! The machine: its cores, whether they sleep, and the resources that processes use.

pub(crate) mod connections;
pub mod cores;
pub mod idle;
pub(crate) mod jvm;
pub mod listener;
pub mod placement;
pub mod process;
pub(crate) mod waits;
