//! Sequence models over latents and actions: transformer and MDN-RNN, their training, and dreaming.
