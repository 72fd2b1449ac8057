//! An environment of pictures, and what a world model makes of them.

use crate::{
    chromium::Chromium,
    lab::{Lab, flags},
    page::{LIGHT, Look},
    training::Served,
};

/// The stages before the controller.
const WORLD_MODEL: [&str; 5] = ["collect", "pack", "train-encoder", "encode", "train-sequence"];

#[test]
fn frames_reconstructions_and_dreams_of_a_world_model_change_side_by_side() {
    let lab = Lab::new();
    for stage in WORLD_MODEL {
        lab.succeed(stage, flags(stage));
    }
    let training = Served::start(
        &lab,
        "train-controller",
        "--encoder encoder --sequence sequence --environment CarRacing-v3 --model-dir controller \
         --generations 20000 --population 4 --trials 1 --max-steps 60 --threads 1 --plot",
    );
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_for_motion();
    let names = page
        .evaluate("[...document.querySelectorAll('#frames figcaption')].map(c => c.textContent)");
    assert_eq!(names, serde_json::json!(["environment", "observation", "reconstruction", "dream"]));
    for (view, size) in [(1, [600, 400]), (2, [96, 96]), (3, [96, 96]), (4, [96, 96])] {
        let canvas = format!("#frames figure:nth-child({view}) canvas");
        page.evaluate(&format!("window.canvas = document.querySelector({canvas:?})"));
        let is = page.evaluate("[canvas.width, canvas.height]");
        assert_eq!(is, serde_json::json!(size), "view {view}");
        let shown = page.picture(&canvas);
        assert!(shown.colours() > 1, "view {view} is blank");
        page.evaluate("window.before = canvas.toDataURL()");
        page.wait_until("canvas.toDataURL() !== before");
    }
    // In a row below the environment, and all of them to be seen.
    let places = page.evaluate(
        "[...document.querySelectorAll('#frames canvas')].map(c => c.getBoundingClientRect())
            .map(({ x, right, top, bottom }) => [x, right, top, bottom])",
    );
    let places: Vec<[f64; 4]> = serde_json::from_value(places).unwrap();
    let (environment, row) = (places[0], &places[1..]);
    assert!(row.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{places:?}");
    assert!(row.iter().all(|place| place[2] == row[0][2]), "{places:?}");
    assert!(environment[2] >= 0.0 && environment[3] <= row[0][2], "{places:?}");
    assert!(row[0][3] <= f64::from(LIGHT.height), "{places:?}");
    // On a telephone, too.
    page.look(Look { width: 400, height: 780, ..LIGHT });
    page.wait_for_motion();
    let overflow = page.number("document.scrollingElement.scrollWidth - innerWidth");
    assert!(overflow <= 0.0, "{overflow} pixels too much");
    page.check();
}
