//! Narrow windows, and light and dark ones.

use crate::{
    chromium::Chromium,
    lab::Lab,
    page::{DARK, LIGHT, Look},
    training::{SWIMMER, Served},
};

#[test]
fn it_fits_narrow_windows_and_follows_the_browsers_colours() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start();
    for (look, brightness) in [(LIGHT, 150.0..256.0), (DARK, 0.0..80.0)] {
        for width in [320, 400, 700, 1000] {
            let look = Look { width, height: 800, ..look };
            let mut page = chromium.open(&training.url, look);
            page.wait_for_motion();
            page.wait_until("document.querySelectorAll('#charts canvas').length > 5");
            let overflow = page.number("document.scrollingElement.scrollWidth - innerWidth");
            assert!(overflow <= 0.0, "{overflow} pixels too much in {width}");
            // Nothing sticks out of what clips it either.
            let out = page.evaluate(
                "[...document.querySelectorAll('header > *, .bar > *, #scene canvas, #charts figure')]
                    .filter(e => e.offsetWidth && e.getBoundingClientRect().right > innerWidth + 0.5)
                    .map(e => e.id || e.tagName)",
            );
            assert_eq!(out, serde_json::json!([]), "in {width}");
            for part in ["header", "#scene canvas", "#stage .controls"] {
                let picture = page.picture(part);
                let is = picture.brightness();
                assert!(brightness.contains(&is), "{part} of {}: {is}", look.scheme);
            }
            page.check();
        }
    }
}

#[test]
fn a_browser_without_webgl_is_told_so_and_has_the_curves() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start_with(&["--disable-3d-apis"]);
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_until("!document.querySelector('#no-scene').hidden");
    page.wait_for_motion();
    page.wait_until("rl755.points > 0");
}
