//! An environment with bodies, drawn in three dimensions.

use crate::{
    chromium::Chromium,
    lab::Lab,
    page::{LIGHT, Page},
    picture::{Found, Picture},
    training::{SWIMMER, Served},
};

const CANVAS: &str = "#scene canvas";
/// The steps that were played, in episodes of 1,000.
const STEPS: &str =
    "rl755.episode * 1000 + parseInt(document.querySelector('#episode-step').textContent)";

/// Where the swimmer is: it is brown, as nothing else in its scene.
fn swimmer(picture: &Picture) -> Found {
    let found = picture.find(|[red, _, blue]| i16::from(red) - i16::from(blue) > 40);
    found.expect("a swimmer is to be seen")
}

/// The steps that are played in a second, as the page shows them.
fn steps_per_second(page: &mut Page) -> f64 {
    let rate = page.evaluate(&format!(
        "new Promise(answer => {{
            const steps = () => {STEPS};
            const [first, began] = [steps(), performance.now()];
            const look = () => {{
                const seconds = (performance.now() - began) / 1000;
                if (seconds >= 2) answer((steps() - first) / seconds);
                else requestAnimationFrame(look);
            }};
            look();
        }})"
    ));
    rate.as_f64().unwrap()
}

/// Sees the swimmer from where it was not seen before.
fn see_more(page: &mut Page, seen: &mut Vec<Picture>, from: &str) {
    let picture = page.picture(CANVAS);
    for (i, before) in seen.iter().enumerate() {
        assert!(picture.difference(before) > 0.003, "{from} looks as {i} did");
    }
    swimmer(&picture);
    seen.push(picture);
}

#[test]
fn the_page_loads_from_its_own_host_alone_and_without_errors() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_until("document.title === 'Swimmer-v5 · run · rl755'");
    assert_eq!(page.text("#connection"), "live");
    page.wait_for_motion();
    page.wait_until("document.querySelectorAll('#charts canvas').length > 5");
    page.check();
    for part in ["/page.js", "/page.css", "/icon.svg", "/three.min.js", "/socket"] {
        let requests = page.requests();
        assert!(requests.iter().any(|url| url.ends_with(part)), "{part} is not in {requests:?}");
    }
}

#[test]
fn the_swimmer_moves_and_is_looked_at_from_where_people_want() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_for_motion();

    let before = page.picture(CANVAS);
    page.wait_for_motion();
    let after = page.picture(CANVAS);
    assert!(before.colours() > 30, "{}", before.colours());
    assert!(before.difference(&after) > 0.001, "{}", before.difference(&after));
    // The camera goes along: it is all in the picture, and large enough to be watched.
    for picture in [&before, &after] {
        let found = swimmer(picture);
        assert!((0.004..0.2).contains(&found.part), "{found:?}");
        assert!(found.left > 0 && found.right < picture.width - 1, "{found:?}");
        assert!(found.top > 0 && found.bottom < picture.height - 1, "{found:?}");
        let reach = (found.right - found.left).max(found.bottom - found.top);
        assert!(reach > picture.height / 6, "{found:?} of {}", picture.height);
    }

    page.click("#pause");
    page.wait_until("document.querySelector('#pause').ariaPressed === 'true'");
    page.wait_for_stillness();
    let still = page.picture(CANVAS);
    assert_eq!(page.picture(CANVAS).difference(&still), 0.0);
    let mut seen = vec![still];
    for camera in 2..=3 {
        page.click(&format!("#cameras button:nth-child({camera})"));
        see_more(&mut page, &mut seen, &format!("camera {camera}"));
    }
    // As a key, and back to where it began.
    page.key("1", 49);
    let again = page.picture(CANVAS);
    assert!(again.difference(&seen[0]) < 0.001, "{}", again.difference(&seen[0]));
    page.drag(CANVAS, (120.0, 60.0));
    see_more(&mut page, &mut seen, "a turned scene");
    page.scroll(CANVAS, -300.0);
    see_more(&mut page, &mut seen, "a scene from nearer");
    page.key("ArrowLeft", 37);
    see_more(&mut page, &mut seen, "a scene turned with a key");

    page.key(" ", 32);
    page.wait_until("document.querySelector('#pause').ariaPressed === 'false'");
    page.wait_for_motion();
    page.check();
}

#[test]
fn it_plays_slower_and_faster() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_for_motion();
    assert_eq!(page.text("#speed-shown"), "5×");
    page.evaluate("document.querySelector('#speed').focus()");
    page.key("Home", 36);
    page.wait_until("document.querySelector('#speed-shown').textContent === '0.1×'");
    // An episode that has begun is gone on with at the new speed.
    page.wait_for_motion();
    let slow = steps_per_second(&mut page);
    page.key("End", 35);
    page.wait_until("document.querySelector('#speed-shown').textContent === '100×'");
    page.wait_for_motion();
    let fast = steps_per_second(&mut page);
    // Steps of Swimmer take 0.04 s. How fast it gets is the machine's business.
    assert!((0.1..5.0).contains(&slow), "{slow} steps in a second");
    assert!(fast > 10.0 * slow, "{slow}, then {fast} steps in a second");
    page.check();
}
