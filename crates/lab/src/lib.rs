//! Carries a plan out: subjects, calibration, blocks, environment.
