//! Controllers on latent and hidden state: CMA-ES, evaluation in environments, videos.
