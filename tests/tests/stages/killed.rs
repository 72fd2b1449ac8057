//! A stage that is killed and started again ends with the same bits as one that ran undisturbed,
//! on any number of threads.

use crate::lab::{Lab, STAGES, timed};
use rl755_run::Random;

#[test]
fn killed_stages_end_with_the_same_bits_on_one_thread_and_on_two() {
    let (whole, parts) = (Lab::new(), Lab::new());
    let mut random = Random::new(2018);
    for (stage, flags) in STAGES {
        let took = timed(|| drop(whole.succeed(stage, &format!("{flags} --threads 2"))));
        // Without `--once` a collect that is killed at its very end would begin another session.
        let once = if stage == "collect" { "--once" } else { "" };
        let flags = format!("{flags} {once} --threads 1");
        let kills = if stage == "verify" { 0 } else { 3 };
        for _ in 0..kills {
            let delay = took.mul_f64(random.uniform(0.0, 1.2));
            if parts.kill_after(delay, stage, &flags).success() {
                break;
            }
        }
        parts.succeed(stage, &flags);
    }
    for directory in [
        "rollouts",
        "dataset",
        "encoder",
        "encoded",
        "sequence",
        "controller",
        "policy",
        "evaluation",
    ] {
        let (expected, found) = (whole.contents(directory), parts.contents(directory));
        assert!(!expected.is_empty(), "{directory} is empty");
        let names = |c: &std::collections::BTreeMap<_, _>| c.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected));
        for (file, digest) in expected {
            assert_eq!(found[&file], digest, "{} differs", file.display());
        }
    }
}
