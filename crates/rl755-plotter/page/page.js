// The page: what the server tells goes to the scene, the pictures and the curves; what people do
// goes back.

import { Connection } from './connection.js';
import { Curves } from './curves.js';
import { Frames } from './frames.js';
import { Returns } from './returns.js';
import { SceneView } from './scene.js';

const COLOURS = ['#3b7dd8', '#e07b39', '#3d9e6b', '#a06cd5', '#d64f63', '#2a9fb0', '#a8862c', '#8a8f98'];
const colourOf = run => COLOURS[run % COLOURS.length];

const get = id => document.getElementById(id);
const put = (id, text) => {
  const node = get(id);
  if (node.textContent !== text) node.textContent = text;
};

const scene = new SceneView(get('scene'));
const frames = new Frames(get('frames'));
const curves = new Curves(get('charts'), run => ({ name: runs[run]?.name, colour: colourOf(run) }));
const returns = new Returns(get('returns'));

/** What is known of each run: `{name, shown, status, heard}`. */
let runs = [];
let chosen = 0;
let connected = false;
let hasScene = false;

// What came and was not drawn yet; what comes meanwhile takes its place.
let pose = null;
let moment = null;
const pictures = new Map();
let drawing = false;
let began = 0;

/** For tests: what has happened until now. */
const counters = { frames: 0, episode: 0, points: 0, connected: false, run: 0 };
window.rl755 = counters;

const connection = new Connection({
  state(open) {
    connected = counters.connected = open;
    if (open) curves.clear();
    document.body.classList.toggle('away', !open);
    put('connection', open ? 'live' : 'reconnecting…');
    tell();
  },
  text(message) {
    if (message.runs) setRuns(message.runs);
    if (message.shown) setShown(message.shown);
    if (message.status) setStatus(message.status);
    if (message.curves) {
      curves.update(message.curves);
      counters.points = curves.points;
    }
  },
  poses(at, numbers) {
    if (at.run === chosen) [pose, moment] = [numbers, at];
    schedule();
  },
  picture(at, view, bytes) {
    if (at.run === chosen) {
      pictures.set(view, bytes);
      moment = at;
    }
    schedule();
  },
});

function schedule() {
  if (drawing) return;
  drawing = true;
  const wait = hasScene ? began + scene.interval - performance.now() : 0;
  setTimeout(() => requestAnimationFrame(draw), Math.max(wait, 0));
}

async function draw() {
  began = performance.now();
  const [numbers, at, images] = [pose, moment, new Map(pictures)];
  pose = moment = null;
  pictures.clear();
  connection.seen();
  if (numbers && hasScene) scene.pose(numbers);
  await frames.draw(images);
  if (at) {
    counters.frames += 1;
    counters.episode = at.episode;
    const limit = runs[chosen]?.status?.max_episode_steps;
    put('episode-number', String(at.episode));
    put('episode-step', limit ? `${at.step} / ${limit}` : String(at.step));
    put('episode-return', Number.isFinite(at.return) ? fixed(at.return) : '–');
    returns.add(at, limit);
    stale(false);
  }
  drawing = false;
  if (pose || pictures.size) schedule();
}

/** Whether what is to be seen is not of the chosen run. */
function stale(is) {
  get('pictures').classList.toggle('stale', is);
  get('notice').hidden = !is;
}

function fixed(value) {
  return value.toFixed(Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2);
}

// Runs.

function setRuns(names) {
  runs = names.map((name, i) => ({ ...runs[i], name }));
  const tabs = names.map((name, run) => {
    const tab = document.createElement('button');
    const dot = document.createElement('i');
    dot.style.background = colourOf(run);
    tab.setAttribute('role', 'tab');
    const label = document.createElement('span');
    label.textContent = name;
    tab.append(dot, label);
    tab.title = name;
    tab.onclick = () => choose(run);
    return tab;
  });
  get('runs').replaceChildren(...tabs);
  choose(Math.min(chosen, names.length - 1));
}

function choose(run) {
  if (!runs[run]) return;
  if (run !== chosen) {
    pose = moment = null;
    pictures.clear();
    stale(true);
    returns.clear();
    for (const id of ['episode-number', 'episode-step', 'episode-return']) put(id, '–');
  }
  chosen = counters.run = run;
  [...get('runs').children].forEach((tab, i) => tab.setAttribute('aria-selected', i === run));
  get('runs').children[run].scrollIntoView({ block: 'nearest', inline: 'nearest' });
  curves.choose(run);
  watch();
  tell();
}

/** A hidden page asks for nothing, so that nobody computes for it. */
function watch() {
  connection.send({ run: document.hidden ? null : chosen });
}
document.addEventListener('visibilitychange', watch);

/** What the scene and the pictures were last made for, whichever the run. */
let madeFor = '';

function setShown({ run, ...shown }) {
  if (run !== chosen || !runs[run]) return;
  runs[run].shown = shown;
  const made = JSON.stringify(shown);
  if (made !== madeFor) {
    madeFor = made;
    // It has to be visible to know its size.
    get('scene').hidden = !shown.scene;
    hasScene = Boolean(shown.scene) && scene.show(shown.scene);
    get('scene').hidden = !hasScene;
    get('no-scene').hidden = hasScene || !shown.scene;
    frames.show(shown.views);
    const cameras = hasScene ? shown.scene.cameras : [];
    get('cameras').replaceChildren(...cameras.map(cameraButton));
    get('follow').hidden = !hasScene;
    showFollow();
  }
  tell();
}

function cameraButton(camera, index) {
  const button = document.createElement('button');
  button.textContent = camera.name;
  button.title = `Camera (${index + 1})`;
  button.onclick = () => look(index);
  return button;
}

function setStatus(status) {
  const run = runs[status.run];
  if (!run) return;
  run.status = status;
  run.heard = performance.now();
  const tab = get('runs').children[status.run];
  tab.classList.toggle('troubled', Boolean(status.trouble));
  tab.classList.toggle('finished', status.finished);
  if (status.run === chosen) tell();
}

/** Tells how the chosen run is doing. */
function tell() {
  const { name, shown, status, heard } = runs[chosen] ?? {};
  document.title = [shown?.environment, name, 'rl755'].filter(Boolean).join(' · ');
  put('environment', shown?.environment ?? '');
  const snapshot = status?.snapshot;
  let policy = '';
  if (snapshot) {
    const age = snapshot.age + (performance.now() - heard) / 1000;
    policy = `policy of step ${snapshot.step.toLocaleString('en')}`;
    policy += status.finished ? ', the last one' : `, ${duration(age)} old`;
  }
  put('policy', policy);
  get('trouble').hidden = !status?.trouble;
  put('trouble', status?.trouble ?? '');
  if (!runs.length) put('notice', connected ? 'Waiting for a run…' : 'Connecting…');
  else put('notice', snapshot ? 'Waiting for the episode…' : 'Waiting for the first policy…');
  if (status) {
    showPaused(status.paused);
    if (!speeding) showSpeed(status.speed);
  }
}
setInterval(tell, 1000);

function duration(seconds) {
  if (seconds < 90) return `${Math.floor(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

// Controls.

let speeding = false;

function showPaused(paused) {
  get('pause').setAttribute('aria-pressed', paused);
  get('pause').setAttribute('aria-label', paused ? 'Go on' : 'Pause');
}

function pause() {
  const paused = get('pause').getAttribute('aria-pressed') !== 'true';
  ask({ pause: paused }, { paused });
}

function showSpeed(speed) {
  get('speed').value = Math.log10(speed);
  const digits = speed < 1 ? 2 : speed < 10 ? 1 : 0;
  put('speed-shown', `${Number(speed.toFixed(digits))}×`);
}

function setSpeed(speed) {
  const allowed = Math.min(Math.max(speed, 0.1), 100);
  ask({ speed: allowed }, { speed: allowed });
}

/** Asks for something, and shows what it changes before the answer comes. */
function ask(message, change) {
  connection.send(message);
  if (runs[chosen]?.status) Object.assign(runs[chosen].status, change);
  tell();
}

function look(camera) {
  if (scene.preset(camera)) showFollow();
}

function showFollow() {
  get('follow').setAttribute('aria-pressed', scene.follows);
}

function follow() {
  scene.follows = !scene.follows;
  showFollow();
}

function theme(next) {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const name = next ?? localStorage.getItem('theme') ?? (dark ? 'dark' : 'light');
  document.documentElement.dataset.theme = name;
  get('theme').textContent = name === 'dark' ? '☀' : '☾';
  get('theme').setAttribute('aria-label', name === 'dark' ? 'Light' : 'Dark');
  scene.theme(name);
  curves.ask();
}

function otherTheme() {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('theme', next);
  theme(next);
}

function save() {
  const canvas = hasScene ? scene.canvas : frames.canvas;
  canvas?.toBlob(blob => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${runs[chosen]?.shown?.environment ?? 'rl755'}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

get('pause').onclick = pause;
get('speed').oninput = event => {
  speeding = true;
  setSpeed(10 ** Number(event.target.value));
  showSpeed(10 ** Number(event.target.value));
};
get('speed').onchange = () => { speeding = false; };
get('follow').onclick = follow;
get('theme').onclick = otherTheme;
get('help').onclick = () => get('keys').showModal();
get('filter').oninput = event => { curves.filter = event.target.value; };
get('smoothing').oninput = event => {
  curves.smoothing = Number(event.target.value);
  localStorage.setItem('smoothing', event.target.value);
};
get('smoothing').value = localStorage.getItem('smoothing') ?? 0;
curves.smoothing = Number(get('smoothing').value);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => theme());
theme();

const KEYS = {
  ' ': pause,
  '[': () => setSpeed(10 ** Number(get('speed').value) / 1.25),
  ']': () => setSpeed(10 ** Number(get('speed').value) * 1.25),
  f: follow,
  n: () => choose((chosen + 1) % runs.length),
  p: () => choose((chosen + runs.length - 1) % runs.length),
  s: save,
  t: otherTheme,
  c: () => document.body.classList.toggle('wide'),
  '/': () => get('filter').focus(),
  '?': () => get('keys').showModal(),
  ArrowLeft: () => scene.turn(-0.1, 0),
  ArrowRight: () => scene.turn(0.1, 0),
  ArrowUp: () => scene.turn(0, 0.1),
  ArrowDown: () => scene.turn(0, -0.1),
  '+': () => scene.turn(0, 0, 1.15),
  '=': () => scene.turn(0, 0, 1.15),
  '-': () => scene.turn(0, 0, 1 / 1.15),
};

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || get('keys').open) return;
  const { target, key } = event;
  if (target.matches('input[type=search]')) {
    if (key === 'Escape') target.blur();
    return;
  }
  // What a slider or a button does with its own keys stays theirs.
  if (target.matches('input') && key.startsWith('Arrow')) return;
  if (target.matches('button') && key === ' ') return;
  const does = KEYS[key] ?? (/^[1-9]$/.test(key) ? () => look(Number(key) - 1) : null);
  if (!does) return;
  event.preventDefault();
  does();
});
