//! A page to look at while working on it, without a training:
//! `cargo test --release -p rl755-plotter -- --ignored --nocapture a_page_to_look_at`.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant, SystemTime},
};

use rl755_env::{Camera, EnvRegistry, Geom, ObservationBuffer, RgbFrame, Scene, Shape};

use crate::server::{Command, Curve, Moment, Run, ServerConfig, Shown, Snapshot, Status, start};

const TICK: Duration = Duration::from_millis(33);

/// A scene like Gymnasium's swimmer.
pub(super) fn swimmer() -> Scene {
    let geom = |name: &str, shape, rgba| Geom { name: name.into(), shape, rgba, checkered: false };
    let link = Shape::Capsule { radius: 0.1, half_length: 0.5 };
    let floor = Geom {
        checkered: true,
        ..geom("floor", Shape::Plane { half: [40.0, 40.0] }, [0.8, 0.9, 0.8, 1.0])
    };
    let body = |name| geom(name, link, [0.8, 0.6, 0.4, 1.0]);
    let camera = |name: &str, azimuth, elevation, distance, follows| Camera {
        name: name.into(),
        lookat: [0.0; 3],
        distance,
        azimuth,
        elevation,
        follows,
    };
    Scene {
        geoms: vec![floor, body("torso"), body("mid"), body("back")],
        cameras: vec![
            camera("track", 90.0, -35.0, 5.0, true),
            camera("top", 90.0, -89.0, 6.0, true),
            camera("side", 180.0, -12.0, 5.0, true),
            camera("fixed", 60.0, -30.0, 9.0, false),
        ],
        followed: 1,
    }
}

/// A swimming motion at a time in seconds.
pub(super) fn swimming(seconds: f32) -> Vec<[f32; 7]> {
    let mut poses = vec![[0.0, 0.0, -0.1, 1.0, 0.0, 0.0, 0.0]];
    let mut joint = [0.35 * seconds, 0.25 * (0.4 * seconds).sin()];
    for link in 0..3_u8 {
        let angle = 0.75 * (2.6 * seconds - 1.1 * f32::from(link)).sin();
        let (sin, cos) = angle.sin_cos();
        let middle = [joint[0] - 0.5 * cos, joint[1] - 0.5 * sin];
        joint = [joint[0] - cos, joint[1] - sin];
        // Turned from z to x, then by the angle about z.
        let (half_sin, half_cos) = (angle / 2.0).sin_cos();
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let rotation = [half * half_cos, -half * half_sin, half * half_cos, half * half_sin];
        let [w, x, y, z] = rotation;
        poses.push([middle[0], middle[1], 0.0, w, x, y, z]);
    }
    poses
}

/// Curves of a training that has come to `step`.
fn curves(step: f64, seed: f64) -> Vec<Curve> {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 5000.0).take_while(|x| *x <= step).collect();
    let noise = |x: f64, salt: f64| ((x * 0.0173 + seed * 7.7 + salt) * 12.9898).sin() * 0.5;
    let curve = |name: &str, value: &dyn Fn(f64) -> f64| Curve {
        name: name.into(),
        y: x.iter().map(|x| value(*x)).collect(),
        x: x.clone(),
    };
    let learned = |x: f64| 340.0 * (1.0 - (-x / (2e5 + 5e4 * seed)).exp());
    vec![
        curve("episode return", &|x| learned(x) + 25.0 * noise(x, 0.0)),
        curve("return_mean", &|x| learned(x) + 9.0 * noise(x, 1.0)),
        curve("return_max", &|x| learned(x) + 30.0 + 12.0 * noise(x, 2.0)),
        curve("kl", &|x| 0.009 + 0.002 * noise(x, 3.0)),
        curve("entropy", &|x| 2.8 - 1.9 * (x / 1e6) + 0.05 * noise(x, 4.0)),
        curve("explained_variance", &|x| 1.0 - (-x / 1e5).exp() + 0.1 * noise(x, 5.0)),
        curve("value/loss", &|x| 400.0 * (-x / 8e4).exp() + 2.0 + noise(x, 6.0)),
        curve("value/gradient_norm", &|x| if x == 4e5 { f64::NAN } else { 1.5 + noise(x, 7.0) }),
    ]
}

fn webp(frame: &RgbFrame) -> Vec<u8> {
    webp::Encoder::from_rgb(&frame.pixels, frame.width as u32, frame.height as u32)
        .encode(80.0)
        .to_vec()
}

/// How a run is played.
struct Playing {
    run: Run,
    status: Status,
    clock: f64,
    moment: Moment,
}

impl Playing {
    fn new(run: Run, shown: &Shown) -> Self {
        run.show(shown);
        let snapshot = Some(Snapshot { step: 0, made: SystemTime::now() });
        let max_episode_steps = Some(1000);
        let status = Status { snapshot, speed: 1.0, max_episode_steps, ..Status::default() };
        run.status(status.clone());
        Self { run, status, clock: 0.0, moment: Moment::default() }
    }

    /// Goes on for a tick.
    fn advance(&mut self, seconds_per_step: f64) -> bool {
        if self.status.paused || self.run.viewers() == 0 {
            return false;
        }
        self.clock += TICK.as_secs_f64() * self.status.speed;
        let step = (self.clock / seconds_per_step) as u32;
        if step >= 1000 {
            self.clock = 0.0;
            self.moment = Moment { episode: self.moment.episode + 1, ..Moment::default() };
        }
        self.moment.step = step.min(999);
        self.moment.episode_return = 0.35 * self.moment.step as f32;
        true
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Pause(paused) => self.status.paused = paused,
            Command::Speed(speed) => self.status.speed = speed,
            Command::Viewers(_) => return,
        }
        self.run.status(self.status.clone());
    }
}

#[test]
#[ignore = "serves a page until it is stopped"]
fn a_page_to_look_at() {
    let (commands, asked): (_, Receiver<(usize, Command)>) = mpsc::channel();
    let port = std::env::var("RL755_PORT").map_or(0, |port| port.parse().unwrap());
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let server = start(ServerConfig { address, port, token: None }, move |run, command| {
        commands.send((run, command)).unwrap_or_default();
    })
    .unwrap();
    println!("{}", server.url());

    let swims = Shown { environment: "Swimmer-v5".into(), scene: Some(swimmer()), views: vec![] };
    let views = ["environment", "reconstruction", "dream"].map(String::from).to_vec();
    let drives = Shown { environment: "CarRacing-v3".into(), scene: None, views };
    let balances =
        Shown { environment: "CartPole-v1".into(), scene: None, views: vec!["environment".into()] };
    let mut runs = [
        Playing::new(server.add_run("trpo-swimmer/seed-1"), &swims),
        Playing::new(server.add_run("trpo-swimmer/seed-2"), &swims),
        Playing::new(server.add_run("world-model"), &drives),
        Playing::new(server.add_run("trpo-cartpole"), &balances),
    ];
    let waiting = server.add_run("waiting");
    waiting.show(&Shown { environment: "Humanoid-v5".into(), ..Shown::default() });
    waiting.status(Status { speed: 5.0, ..Status::default() });

    let registry = EnvRegistry::with_builtin();
    let mut car = registry.make("CarRacing-v3").unwrap();
    let mut frame = ObservationBuffer::zeros(&car.spec().observation_space, 1);
    car.reset(Some(3), frame.as_mut()).unwrap();
    let mut cart = registry.make("CartPole-v1").unwrap();
    let mut state = ObservationBuffer::zeros(&cart.spec().observation_space, 1);
    cart.reset(Some(3), state.as_mut()).unwrap();

    let began = Instant::now();
    let mut trained = None;
    loop {
        while let Ok((run, command)) = asked.recv_timeout(TICK) {
            runs.get_mut(run).into_iter().for_each(|run| run.obey(command));
        }
        let now = began.elapsed().as_secs();
        if trained != Some(now) {
            trained = Some(now);
            let step = 5000 * (120 + now);
            for (playing, seed) in runs.iter_mut().zip([0.0, 1.0, 2.0, 3.0]) {
                playing.run.curves(curves(step as f64, seed));
                playing.status.snapshot = Some(Snapshot { step, made: SystemTime::now() });
                playing.status.trouble = (seed == 1.0 && now % 40 > 20)
                    .then(|| "the newest policy has 1,386 parameters, 1,400 were expected".into());
                playing.run.status(playing.status.clone());
            }
        }
        for (playing, shift) in runs[..2].iter_mut().zip([0.0, 5.0]) {
            if playing.advance(0.04) {
                playing.run.poses(playing.moment, &swimming(playing.clock as f32 + shift));
            }
        }
        if runs[2].advance(0.02) {
            let steer = (runs[2].clock * 0.7).sin() as f32 * 0.3;
            if car.step(&[steer, 0.2, 0.0], frame.as_mut()).unwrap().done() {
                car.reset(None, frame.as_mut()).unwrap();
            }
            let pixels = frame.as_mut().bytes(car.spec()).unwrap().to_vec();
            let blurred = pixels.iter().map(|v| v / 32 * 32).collect();
            let dreamt = pixels.iter().rev().copied().collect();
            for (view, pixels) in [pixels, blurred, dreamt].into_iter().enumerate() {
                let picture = RgbFrame { height: 96, width: 96, pixels };
                runs[2].run.frame(runs[2].moment, view, &webp(&picture));
            }
        }
        if runs[3].advance(0.02) {
            let action = [f32::from(u8::from((runs[3].clock * 9.0).sin() > 0.0))];
            if cart.step(&action, state.as_mut()).unwrap().done() {
                cart.reset(None, state.as_mut()).unwrap();
            }
            let picture = cart.render().unwrap().unwrap();
            runs[3].run.frame(runs[3].moment, 0, &webp(&picture));
        }
    }
}
