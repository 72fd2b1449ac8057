//! Observation encoders: the VAEs of World Models, their training, and encoding rollouts.
