//! Several browsers, and a worker that is killed.

use crate::{
    chromium::Chromium,
    lab::Lab,
    page::LIGHT,
    training::{SWIMMER, Served, logged},
};

const IS_PAUSED: &str = "document.querySelector('#pause').ariaPressed === 'true'";
const PLAYS: &str = "document.querySelector('#pause').ariaPressed === 'false'";

#[test]
fn browsers_see_the_same_at_once() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", SWIMMER);
    let (one, other) = (Chromium::start(), Chromium::start());
    let mut pages = [&one, &one, &other].map(|chromium| chromium.open(&training.url, LIGHT));
    for page in &mut pages {
        page.wait_for_motion();
    }
    pages[0].click("#pause");
    for page in &mut pages {
        page.wait_until(IS_PAUSED);
        page.wait_for_stillness();
    }
    let [a, b, c] = &mut pages;
    let moment = a.text("#episode");
    assert_eq!((b.text("#episode"), c.text("#episode")), (moment.clone(), moment));
    let (seen, also) = (a.picture("#scene canvas"), c.picture("#scene canvas"));
    assert!(seen.difference(&also) < 0.001, "{}", seen.difference(&also));
    // Cameras are each browser's own.
    b.key("3", 51);
    assert!(b.picture("#scene canvas").difference(&seen) > 0.003);
    assert_eq!(a.picture("#scene canvas").difference(&seen), 0.0);

    pages[2].click("#pause");
    for page in &mut pages {
        page.wait_until(PLAYS);
        page.wait_for_motion();
        page.check();
    }
}

#[test]
fn a_page_finds_the_next_worker_by_itself() {
    let lab = Lab::new();
    let mut training = Served::start(&lab, "train-policy", SWIMMER);
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);
    page.wait_for_motion();
    // It may be back before anybody looks.
    page.evaluate(
        "(() => {
            window.told = [];
            const connection = document.querySelector('#connection');
            const tell = () => told.push([connection.textContent, document.body.className]);
            new MutationObserver(tell).observe(connection, { childList: true });
        })()",
    );
    for times in 1..=2 {
        page.evaluate("told.length = 0");
        let killed = training.kill_worker();
        page.wait_until("told.length >= 2 && rl755.connected");
        let told = page.evaluate("told.map(([text]) => text).join()");
        assert!(told.as_str().unwrap().starts_with("reconnecting…,live"), "{told}");
        page.wait_for_motion();
        page.wait_until("rl755.points > 0");
        assert!(training.worker().is_some_and(|worker| worker != killed), "{times}");
        assert_eq!(page.evaluate("location.href"), training.url.as_str());
    }
    let iterations = logged(&lab, "run", "return_mean").len();
    page.wait_for_growth("rl755.points", 20.0);
    assert!(training.runs());
    assert!(logged(&lab, "run", "return_mean").len() > iterations);
    // That nobody answered for a while is an error that browsers report; the page has none.
    let faults = page.faults();
    assert!(faults.iter().all(|fault| fault.contains("WebSocket")), "{faults:?}");
}
