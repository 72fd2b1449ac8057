//! MuJoCo's environments from the stages' command lines, in programs built with and without them.

use crate::lab::Lab;

#[test]
fn mujocos_environments_are_collected_or_say_how_to_get_them() {
    let lab = Lab::new();
    let flags = "--environment HalfCheetah-v5:frame_skip=2 --policy uniform --num-rollouts 2 \
                 --max-steps 20 --out-dir rollouts";
    let result = lab.run("collect", flags);
    let errors = String::from_utf8_lossy(&result.stderr);
    if result.status.success() {
        assert!(!errors.contains("settotalmass"), "{errors}");
        assert!(!lab.path("MUJOCO_LOG.TXT").exists());
        lab.succeed("pack", "--rollout-dir rollouts --out-dir dataset");
    } else {
        assert!(errors.contains("built without MuJoCo"), "{errors}");
        assert!(errors.contains("cargo xtask setup --mujoco"), "{errors}");
        assert!(!lab.path("rollouts").exists());
    }
}
