//! Pictures of the page for the documentation.

use std::{env, fs, path::PathBuf};

use crate::{
    chromium::Chromium,
    lab::Lab,
    page::{DARK, LIGHT, Look, Page},
    training::Served,
};

const TRAINING: &str = "--environment Swimmer-v5 --discount 0.999 --batch-size 5000";
/// A picture of more bytes is too much for a repository.
const LARGEST: usize = 200_000;

/// Takes a picture of an episode that has come to a step.
fn save(page: &mut Page, name: &str, step: u32) {
    page.wait_until("!document.querySelector('#pictures.stale')");
    let shown = "parseInt(document.querySelector('#episode-step').textContent)";
    page.wait_until(&format!("{shown} > {step} && {shown} < {}", step + 150));
    let png = page.png(None);
    assert!(png.len() < LARGEST, "{name} has {} bytes", png.len());
    let directory = env::var_os("SCREENSHOTS").expect("SCREENSHOTS says where pictures go");
    fs::write(PathBuf::from(directory).join(name), png).unwrap();
}

#[test]
#[ignore = "writes files: cargo xtask test-browser --screenshots DIR"]
fn screenshots_of_bodies_and_runs() {
    let lab = Lab::new();
    lab.succeed(
        "train-policy",
        &format!("{TRAINING} --algorithm ppo --iterations 60 --model-dir ppo"),
    );
    let chromium = Chromium::start();
    {
        let flags = format!(
            "{TRAINING} --iterations 2000 --save-every-n-steps 10 --threads 1 --model-dir trpo \
             --plot --plot-speed 20"
        );
        let training = Served::start(&lab, "train-policy", &flags);
        let mut page = chromium.open(&training.url, LIGHT);
        let returns = "Number([...document.querySelectorAll('#charts figure')].find(f => \
            f.querySelector('.title').title === 'return_mean')?.querySelector('.values').textContent)";
        page.wait_until(&format!("{returns} > 250"));
        save(&mut page, "swimmer.png", 400);
        page.look(DARK);
        save(&mut page, "dark.png", 400);
        page.look(Look { width: 400, height: 780, ..LIGHT });
        save(&mut page, "narrow.png", 400);
    }
    let served = Served::start(&lab, "plot", "trpo ppo");
    let mut page = chromium.open(&served.url, LIGHT);
    page.wait_until("rl755.points > 200");
    save(&mut page, "runs.png", 400);
}

#[test]
#[ignore = "writes files: cargo xtask test-browser --screenshots DIR --world-model RUN"]
fn screenshots_of_a_world_model() {
    let run = env::var("WORLD_MODEL").expect("WORLD_MODEL is what cargo xtask pipeline has made");
    let lab = Lab::new();
    let served = Served::start(&lab, "plot", &format!("{run}/controller"));
    let chromium = Chromium::start();
    let mut page = chromium.open(&served.url, LIGHT);
    page.wait_for_motion();
    save(&mut page, "world-model.png", 150);
}
