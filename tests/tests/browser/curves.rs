//! The curves beside it, and what is told of the policy.

use crate::{
    chromium::Chromium,
    lab::Lab,
    page::LIGHT,
    training::{SWIMMER, Served, logged},
};

#[test]
fn curves_grow_and_the_policy_that_plays_is_told() {
    let lab = Lab::new();
    let training = Served::start(&lab, "train-policy", &format!("{SWIMMER} --plot-speed 100"));
    let chromium = Chromium::start();
    let mut page = chromium.open(&training.url, LIGHT);

    page.wait_until(r"/^-?\d+\.\d+$/.test(document.querySelector('#episode-return').textContent)");
    page.wait_until(
        r"/^policy of step [\d,]+, \d+ s old$/.test(document.querySelector('#policy').textContent)",
    );
    let step = r"Number(document.querySelector('#policy').textContent.match(/step ([\d,]+)/)?.[1].replaceAll(',', ''))";
    let first = page.number(step);
    page.wait_until(&format!("{step} > {first}"));

    let figure = page.show_curve("return_mean");
    let canvas = format!("{figure} canvas");
    let before = page.picture(&canvas);
    page.wait_for_growth("rl755.points", 50.0);
    page.show_curve("return_mean");
    let after = page.picture(&canvas);
    assert!(before.difference(&after) > 0.001, "{}", before.difference(&after));
    // The first run's colour.
    let line = after.find(|[red, _, blue]| i16::from(blue) - i16::from(red) > 90);
    let line = line.expect("a curve is drawn");
    assert!(line.right - line.left > after.width / 2, "{line:?}");

    // What the chart says is what the run logged.
    let shown = page.number(&format!("document.querySelector('{figure} .values').textContent"));
    let logged = logged(&lab, "run", "return_mean");
    let is_shown = |value: &f64| (value - shown).abs() <= 1e-3 * value.abs() + 1e-6;
    assert!(logged.iter().any(is_shown), "{shown} is not in {logged:?}");

    // The played episodes have a curve too, and the mouse tells values.
    page.wait_until(
        "[...document.querySelectorAll('#charts .title')].some(t => t.title === 'episode return')",
    );
    page.hover(&canvas);
    page.wait_until(r"/^step [\d.]+k?run-?[\d.]+/.test(document.querySelector('.tooltip:not([hidden])')?.textContent)");
    page.check();
}
