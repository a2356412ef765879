//! What is sent: descriptors, samples, encodings and compressions.
