//! Numbers in, numbers out: quantiles, bootstrap intervals, verdicts.
