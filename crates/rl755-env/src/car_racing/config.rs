//! What can be chosen of CarRacing, and its rules in words.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::EnvError;

/// The variants of [`CarRacing`](super::CarRacing), as options behind its id:
/// `CarRacing-v3:continuous=false,patience_steps=100`.
///
/// The first three are Gymnasium's arguments; the others are this crate's own, and with their
/// defaults the environment is Gymnasium's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CarRacingConfig {
    /// Whether an action is steering, gas and brake, rather than one of five. Default true.
    ///
    /// Of the five, 0 does nothing, 1 steers right (0.6), 2 left (0.6), 3 gives gas (0.2) and 4
    /// brakes (0.8); each lets go of what the others do.
    pub continuous: bool,
    /// Whether each episode draws new colours of road, field and grass. Default false.
    ///
    /// They come from the random stream before the track, as in Gymnasium: each channel of road
    /// and field from 0 to 210, and grass as the field with 20 more in one channel.
    pub domain_randomize: bool,
    /// The share of tiles, 0 to 1, of which more must have been visited for a first touch of tile
    /// 0 to end the episode. Default: 0.95 in `CarRacing-v3`; `CarRacing-v0` has no such rule and
    /// refuses a value.
    ///
    /// The car starts on tile 0, which Gymnasium 1.4.0 counts as visited from the start: by that
    /// rule a lap practically never closes, and an episode ends when all tiles are visited. With
    /// [`random_start`](Self::random_start) it has an effect where the car starts far enough past
    /// tile 0.
    pub lap_complete_percent: Option<f64>,
    /// Whether the picture leaves out the first second's zoom and is near from the start. Default
    /// false.
    pub skip_zoom: bool,
    /// Whether the car starts at a tile drawn from the random stream after the track (as NumPy's
    /// `integers(N)` for N tiles) rather than at tile 0. Default false.
    pub random_start: bool,
    /// Truncates an episode after so many steps in a row that reached no new tile. Default: never.
    pub patience_steps: Option<NonZeroU32>,
}

impl Default for CarRacingConfig {
    fn default() -> Self {
        Self {
            continuous: true,
            domain_randomize: false,
            lap_complete_percent: None,
            skip_zoom: false,
            random_start: false,
            patience_steps: None,
        }
    }
}

/// Whose rule ends an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// The original's: all tiles visited, or off the field.
    V0,
    /// Gymnasium's: a closed lap ends it, too.
    V3,
}

impl Version {
    /// The id of the environment.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::V0 => "CarRacing-v0",
            Self::V3 => "CarRacing-v3",
        }
    }

    /// The share of tiles after which a lap closes; none without such a rule.
    pub(super) fn lap_complete_percent(
        self,
        config: &CarRacingConfig,
    ) -> Result<Option<f64>, EnvError> {
        let refused = |reason| Err(EnvError::Options { env: self.id().to_owned(), reason });
        match (self, config.lap_complete_percent) {
            (Self::V0, None) => Ok(None),
            (Self::V0, Some(_)) => refused(
                "lap_complete_percent is given, but its episodes end only when all tiles are \
                 visited; CarRacing-v3 has laps"
                    .to_owned(),
            ),
            (Self::V3, None) => Ok(Some(0.95)),
            (Self::V3, Some(share)) if (0.0..=1.0).contains(&share) => Ok(Some(share)),
            (Self::V3, Some(share)) => {
                refused(format!("lap_complete_percent is {share}; it is a share from 0 to 1"))
            }
        }
    }
}

/// The rules in one line.
pub(super) fn rules(config: &CarRacingConfig, lap_complete_percent: Option<f64>) -> String {
    let lap = lap_complete_percent.map(|share| match config.random_start {
        false => format!(
            " (a lap of more than {share} of the tiles closes at the first touch of tile 0, which \
             is at the start)"
        ),
        true => format!(" (or at the first touch of tile 0 after more than {share} of them)"),
    });
    let mut text = format!(
        "+1000/N for each of N tiles, -0.1 a step; ends when all tiles are visited{} or, with \
         -100, off the field",
        lap.unwrap_or_default()
    );
    if let Some(steps) = config.patience_steps {
        text += &format!("; truncated after {steps} steps without a new tile");
    }
    if config.random_start {
        text += "; starts at a random tile";
    }
    if config.domain_randomize {
        text += "; new colours in each episode";
    }
    if config.skip_zoom {
        text += "; near from the start";
    }
    text
}
