//! Run directories, manifests, checkpoints, metrics, seeds and interruption.
