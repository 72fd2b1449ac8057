//! An evolution on disk: `cma_es.json` with its settings and counters, `cma_es.safetensors` with
//! its vectors and matrices in 64 bits.
//!
//! | tensor | shape | |
//! |---|---|---|
//! | `mean`, `sigma_path`, `covariance_path` | `[n]` | m, p_σ, p_c |
//! | `covariance`, `eigenvectors` | `[n, n]` | C and B (eigenvectors are columns), full only |
//! | `axes` | `[n]` | D: roots of the eigenvalues, full only |
//! | `variances` | `[n]` | the diagonal of C, diagonal only |
//! | `best` | `[n]` | the best member so far |

use std::{fs, path::Path};

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::{
    BestMember, CmaEs, CmaEsConfig, CmaEsError, Covariance, Distribution, Parameters, State,
};
use crate::tensor_file::{Tensor, read_tensors, write_tensors};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counters {
    config: CmaEsConfig,
    generation: u64,
    decomposed_at: u64,
    sigma: f64,
    /// Value and generation of the best member.
    best: Option<(f64, u64)>,
}

impl CmaEs {
    /// Writes the whole state as `cma_es.json` and `cma_es.safetensors` into `directory`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), CmaEsError> {
        let state = &self.state;
        let counters = Counters {
            config: self.config.clone(),
            generation: state.generation,
            decomposed_at: state.decomposed_at,
            sigma: state.sigma,
            best: state.best.as_ref().map(|best| (best.value, best.generation)),
        };
        let path = directory.join("cma_es.json");
        let text = serde_json::to_vec_pretty(&counters).map_err(|e| damaged(&path, e))?;
        fs::write(&path, text).map_err(|e| damaged(&path, e))?;

        let n = self.dimension();
        let vector = |name, values: &[f64]| Tensor::new(name, &[n], values);
        let mut tensors = vec![
            vector("mean", state.mean.as_slice()),
            vector("sigma_path", state.sigma_path.as_slice()),
            vector("covariance_path", state.covariance_path.as_slice()),
        ];
        match &state.distribution {
            Distribution::Full { covariance, eigenvectors, axes } => {
                // nalgebra is column-major, the file row-major.
                let rows = |matrix: &DMatrix<f64>| matrix.transpose().as_slice().to_vec();
                tensors.push(Tensor::new("covariance", &[n, n], &rows(covariance)));
                tensors.push(Tensor::new("eigenvectors", &[n, n], &rows(eigenvectors)));
                tensors.push(vector("axes", axes.as_slice()));
            }
            Distribution::Diagonal { variances } => {
                tensors.push(vector("variances", variances.as_slice()));
            }
        }
        if let Some(best) = &state.best {
            tensors.push(vector("best", &best.parameters));
        }
        let path = directory.join("cma_es.safetensors");
        write_tensors(&path, &tensors).map_err(|e| damaged(&path, e))
    }

    /// Reads what [`save`](Self::save) wrote; goes on with the same bits.
    ///
    /// # Errors
    /// When a file is missing or damaged, or the two do not belong together.
    pub fn load(directory: &Path) -> Result<Self, CmaEsError> {
        let path = directory.join("cma_es.json");
        let text = fs::read(&path).map_err(|e| damaged(&path, e))?;
        let counters: Counters = serde_json::from_slice(&text).map_err(|e| damaged(&path, e))?;

        let path = directory.join("cma_es.safetensors");
        let tensors = read_tensors(&path).map_err(|e| damaged(&path, e))?;
        let n = tensors.get("mean").map_or(0, |(shape, _)| shape.iter().product());
        let take = |name: &str, shape: &[usize]| match tensors.get(name) {
            Some((found, values)) if found == shape => Ok(values.clone()),
            Some((found, _)) => {
                Err(damaged(&path, format!("{name} has shape {found:?}, not {shape:?}")))
            }
            None => Err(damaged(&path, format!("it has no {name}"))),
        };
        let vector = |name: &str| take(name, &[n]).map(DVector::from_vec);
        let matrix =
            |name: &str| Ok::<_, CmaEsError>(DMatrix::from_row_slice(n, n, &take(name, &[n, n])?));

        let config = counters.config;
        let mean = vector("mean")?;
        // Checks the settings, and that there is a mean at all.
        let begun = Self::new(mean.as_slice(), &config).map_err(|e| damaged(&path, e))?;
        let distribution = match config.covariance {
            Covariance::Full => Distribution::Full {
                covariance: matrix("covariance")?,
                eigenvectors: matrix("eigenvectors")?,
                axes: vector("axes")?,
            },
            Covariance::Diagonal => Distribution::Diagonal { variances: vector("variances")? },
        };
        let best = match counters.best {
            Some((value, generation)) => {
                Some(BestMember { parameters: take("best", &[n])?, value, generation })
            }
            None => None,
        };
        let state = State {
            generation: counters.generation,
            decomposed_at: counters.decomposed_at,
            sigma: counters.sigma,
            sigma_path: vector("sigma_path")?,
            covariance_path: vector("covariance_path")?,
            mean,
            distribution,
            best,
        };
        let parameters: Parameters = begun.parameters;
        Ok(Self { config: begun.config, parameters, state })
    }
}

fn damaged(path: &Path, reason: impl ToString) -> CmaEsError {
    CmaEsError::State { path: path.to_owned(), reason: reason.to_string() }
}
