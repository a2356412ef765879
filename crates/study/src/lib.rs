//! What was asked and what was recorded: study files, plans, records, the run directory.
