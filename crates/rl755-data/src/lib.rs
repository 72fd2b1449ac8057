//! Rollouts as sharded TFRecords: writing, reading, verifying and sampling them.
