//! Films of the newest policy, and windows.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
};

use rl755_plotter::{Event, Plotter};
use rustix::process::Signal;

use crate::{
    browser::Browser,
    roles::{LIMIT, Recording, plotter, signal, wait_gone, wait_ready},
};

/// The elements of EBML, by their ids; nothing from data that ends within one. Our lengths have eight
/// bytes.
fn elements(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let mut elements = Vec::new();
    while let Some(first) = bytes.first() {
        let (id, rest) = bytes.split_at_checked(first.leading_zeros() as usize + 1)?;
        let (length, rest) = rest.split_at_checked(8)?;
        let (data, rest) = rest.split_at_checked((number(length) & !(1 << 56)) as usize)?;
        elements.push((number(id), data));
        bytes = rest;
    }
    Some(elements)
}

/// The frames of a whole WebM file, as libwebp decodes them.
fn frames(film: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(film).unwrap();
    let file = elements(&bytes).unwrap();
    let clusters = elements(file[1].1).unwrap().into_iter().filter(|e| e.0 == 0x1F43_B675);
    let blocks = clusters.flat_map(|cluster| elements(cluster.1).unwrap());
    blocks.filter(|e| e.0 == 0xA3).map(|block| decoded(&block.1[4..])).collect()
}

/// The pixels of a VP8 key frame.
fn decoded(frame: &[u8]) -> Vec<u8> {
    let padded = frame.len().next_multiple_of(2);
    let length = |length: usize| (length as u32).to_le_bytes();
    let mut riff = [b"RIFF", &length(padded + 12)[..], b"WEBPVP8 ", &length(frame.len())].concat();
    riff.extend(frame);
    riff.resize(20 + padded, 0);
    webp::Decoder::new(&riff).decode().unwrap().to_vec()
}

/// A plotter without a page that films `environment`, and where.
fn filming(
    recording: &Recording,
    environment: &str,
    directory: &Path,
    page: bool,
) -> (Plotter, Receiver<Event>, PathBuf) {
    let film = directory.join("films/film.webm");
    let (plotter, events) = plotter("roles::player", recording.subject(environment, 1), |c| {
        c.view.page = page;
        c.view.video = Some(film.clone());
    });
    (plotter, events, film)
}

/// What is beside the film.
fn others(film: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(film.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file != film).collect()
}

#[test]
fn the_newest_policy_is_filmed_without_a_page_and_its_film_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events, film) = filming(&recording, "CartPole-v1", directory.path(), false);
    plotter.update(1, &[1.0]);
    recording.accept();
    recording.find("begin");
    // It begins with the next when it has written the one before.
    plotter.update(2, &[0.0]);
    recording.find("begin");
    let right = frames(&film);
    plotter.update(3, &[1.0]);
    recording.find("begin");
    let left = frames(&film);
    for film in [&right, &left] {
        // The pole falls within ten steps, of which every second is filmed.
        assert!((4..10).contains(&film.len()), "{}", film.len());
        assert!(film.windows(2).all(|two| two[0] != two[1]), "it does not move");
        assert_eq!(film[0].len(), 600 * 400 * 3);
    }
    assert_ne!(right.last(), left.last());
    plotter.close();
    assert_eq!(others(&film), Vec::<PathBuf>::new());
    assert!(events.try_iter().next().is_none());
}

#[test]
fn a_worker_that_is_killed_leaves_the_old_film_and_the_next_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("films")).unwrap();
    let left = directory.path().join("films/.film.webm.1-0.tmp");
    fs::write(&left, b"half").unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events, film) = filming(&recording, "Pendulum-v1", directory.path(), true);
    let (_, worker) = wait_ready(&events);
    assert!(!left.exists());
    plotter.update(1, &[0.5]);
    recording.accept();
    recording.find("begin");
    plotter.update(2, &[1.0]);
    recording.find("begin");
    let old = fs::read(&film).unwrap();
    // In the midst of it, as far as others can tell.
    fs::write(&left, b"half").unwrap();
    signal(worker, Signal::KILL);
    wait_gone(worker);
    assert_eq!(fs::read(&film).unwrap(), old);
    recording.accept();
    recording.find("load 1 of 1");
    plotter.update(3, &[0.0]);
    recording.find("load 0 of 1");
    assert_ne!(fs::read(&film).unwrap(), old);
    plotter.close();
    assert!(frames(&film).len() > 1);
    assert_eq!(others(&film), Vec::<PathBuf>::new());
}

#[test]
fn what_cannot_be_filmed_or_opened_is_told_and_the_page_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |c| {
        c.view.video = Some(directory.path().to_owned());
        c.view.window = true;
    });
    let (url, _) = wait_ready(&events);
    plotter.update(1, &[1.0]);
    let mut expected = vec!["the window: this program opens no windows", "no regular file"];
    while !expected.is_empty() {
        if let Event::Trouble(told) = events.recv_timeout(LIMIT).unwrap() {
            expected.retain(|text| !told.contains(text));
        }
    }
    let mut browser = Browser::open(&url);
    browser.wait_for_status(|status| status["snapshot"]["step"] == 1);
    plotter.close();
}
