//! Several runs on one page.

use crate::{chromium::Chromium, lab::Lab, page::LIGHT, training::Served};

#[test]
fn runs_have_tabs_and_share_the_charts() {
    let lab = Lab::new();
    let policy = "--batch-size 1000 --iterations 4 --save-every-n-steps 2";
    lab.succeed("train-policy", &format!("--environment Swimmer-v5 {policy} --model-dir swimmer"));
    lab.succeed("train-policy", &format!("--environment CartPole-v1 {policy} --model-dir pole"));
    let served = Served::start(&lab, "plot", "swimmer pole");
    let chromium = Chromium::start();
    let mut page = chromium.open(&served.url, LIGHT);

    page.wait_until("document.title === 'Swimmer-v5 · swimmer · rl755'");
    page.wait_until("rl755.points > 0");
    page.wait_for_motion();
    let tabs =
        page.evaluate("[...document.querySelectorAll('#runs [role=tab]')].map(t => t.textContent)");
    assert_eq!(tabs, serde_json::json!(["swimmer", "pole"]));
    let is_chosen = |run| {
        format!("document.querySelectorAll('#runs [role=tab]')[{run}].ariaSelected === 'true'")
    };
    page.wait_until(&is_chosen(0));

    page.click("#runs [role=tab]:nth-child(2)");
    page.wait_until("document.title === 'CartPole-v1 · pole · rl755'");
    page.wait_until(&is_chosen(1));
    page.wait_until(
        "document.querySelector('#scene').hidden && !document.querySelector('#pictures.stale')",
    );
    page.wait_for_motion();
    assert!(page.picture("#frames canvas").colours() > 3);
    // Both are in one chart, each in its colour.
    let figure = page.show_curve("entropy");
    let chart = page.picture(&format!("{figure} canvas"));
    let [swimmer, pole] = [
        chart.find(|[red, _, blue]| i16::from(blue) - i16::from(red) > 40),
        chart.find(|[red, _, blue]| i16::from(red) - i16::from(blue) > 40),
    ];
    assert!(swimmer.is_some() && pole.is_some(), "{swimmer:?} {pole:?}");

    page.key("n", 78);
    page.wait_until("document.title === 'Swimmer-v5 · swimmer · rl755'");
    page.wait_until(
        "!document.querySelector('#scene').hidden && !document.querySelector('#pictures.stale')",
    );
    page.wait_for_motion();
    page.check();
}
