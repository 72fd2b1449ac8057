// The curves of all runs: one chart for each name, the runs in their colours.

import { Chart, nearest, short } from './chart.js';

/** What people look at first. */
const FIRST = /return|reward|fitness|best|loss/;

export class Curves {
  #place;
  #runs = []; // For each run a map from the name to {x, y}.
  #chosen = 0;
  #panels = new Map();
  #smoothing = 0;
  #filter = '';
  #at = null;
  #asked = false;
  #pointed = null;
  #tooltip = document.createElement('div');
  #run;

  /** `run` answers the name and the colour of a run. */
  constructor(place, run) {
    this.#place = place;
    this.#run = run;
    this.#tooltip.className = 'tooltip';
    this.#tooltip.hidden = true;
    document.body.append(this.#tooltip);
    new ResizeObserver(() => this.ask()).observe(place);
    // Whether it scrolls itself or with the page.
    document.addEventListener('scroll', () => this.ask(), { capture: true, passive: true });
  }

  /** Takes a message `curves` of the server. */
  update({ run, names, parts }) {
    const before = this.#runs[run] ?? [];
    const known = new Map(before.map(curve => [curve.name, curve]));
    const curves = names.map(name => known.get(name) ?? { name, x: [], y: [] });
    for (const { curve, from, x, y } of parts) {
      const changed = curves[curve];
      changed.x = changed.x.slice(0, from).concat(x);
      changed.y = changed.y.slice(0, from).concat(y.map(value => value ?? NaN));
      changed.smooth = null;
    }
    this.#runs[run] = curves;
    this.#arrange();
    this.ask();
  }

  /** Forgets everything, for a server that was started again. */
  clear() {
    this.#runs = [];
  }

  choose(run) {
    this.#chosen = run;
    this.ask();
  }

  set smoothing(factor) {
    this.#smoothing = factor;
    for (const curve of this.#runs.flat()) if (curve) curve.smooth = null;
    this.ask();
  }

  set filter(text) {
    this.#filter = text.toLowerCase();
    this.#arrange();
    this.ask();
  }

  /** How many points all charts have. */
  get points() {
    return this.#runs.flat().reduce((sum, curve) => sum + (curve?.x.length ?? 0), 0);
  }

  /** Puts a panel for each name into the order in which the runs name them, by groups, what people
   * look at first before the others. */
  #arrange() {
    const names = [...new Set(this.#runs.flat().filter(Boolean).map(curve => curve.name))];
    names.sort((a, b) => FIRST.test(b) - FIRST.test(a));
    const groups = new Map();
    for (const name of names) {
      if (!name.toLowerCase().includes(this.#filter)) continue;
      const group = name.includes('/') ? name.slice(0, name.indexOf('/')) : '';
      groups.set(group, [...(groups.get(group) ?? []), name]);
    }
    const nodes = [];
    for (const [group, members] of groups) {
      if (group) nodes.push(this.#heading(group));
      nodes.push(...members.map(name => this.#panel(name).figure));
    }
    for (const name of this.#panels.keys()) if (!names.includes(name)) this.#panels.delete(name);
    const there = this.#place.children;
    if (nodes.length !== there.length || nodes.some((node, i) => node !== there[i])) {
      this.#place.replaceChildren(...nodes);
    }
  }

  #headings = new Map();

  #heading(group) {
    if (!this.#headings.has(group)) {
      const heading = document.createElement('h2');
      heading.textContent = group;
      this.#headings.set(group, heading);
    }
    return this.#headings.get(group);
  }

  #panel(name) {
    if (this.#panels.has(name)) return this.#panels.get(name);
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    const title = document.createElement('span');
    const values = document.createElement('span');
    const log = document.createElement('button');
    const large = document.createElement('button');
    const canvas = document.createElement('canvas');
    title.textContent = name.slice(name.indexOf('/') + 1).replaceAll('_', ' ');
    title.title = name;
    title.className = 'title';
    values.className = 'values';
    Object.assign(log, { className: 'quiet', textContent: 'log', title: 'Logarithmic scale' });
    Object.assign(large, { className: 'quiet', textContent: '⤢', title: 'Larger' });
    large.setAttribute('aria-label', `${name}: larger`);
    log.setAttribute('aria-label', `${name}: logarithmic scale`);
    const panel = { figure, values, chart: new Chart(canvas), logarithmic: false };
    const press = (button, on) => button.setAttribute('aria-pressed', on);
    press(log, false);
    press(large, false);
    log.onclick = () => {
      panel.logarithmic = !panel.logarithmic;
      press(log, panel.logarithmic);
      this.ask();
    };
    large.onclick = () => {
      press(large, figure.classList.toggle('large'));
      this.ask();
    };
    canvas.onpointermove = event => this.#point(event, name, panel.chart);
    canvas.onpointerleave = () => {
      this.#at = null;
      this.ask();
    };
    caption.append(title, values, log, large);
    figure.append(caption, canvas);
    this.#panels.set(name, panel);
    return panel;
  }

  /** Draws with the browser's next picture. */
  ask() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#draw();
    });
  }

  #draw() {
    const style = getComputedStyle(document.documentElement);
    const colours = {
      muted: style.getPropertyValue('--muted'),
      grid: style.getPropertyValue('--line'),
    };
    const extent = this.#extent();
    for (const [name, { figure, values, chart, logarithmic }] of this.#panels) {
      if (!figure.isConnected || !isVisible(figure)) continue;
      const lines = this.#lines(name);
      chart.draw(lines, { colours, logarithmic, at: this.#at, extent });
      const told = lines.find(line => line.chosen);
      values.textContent = told ? short(told.y[this.#at === null ? told.y.length - 1 : nearest(told.x, this.#at)]) : '';
      if (name === this.#pointed) this.#tip(lines);
    }
    this.#tooltip.hidden = this.#at === null;
  }

  /** Tells the values of all runs at the step under the mouse. */
  #tip(lines) {
    const chosen = lines.find(line => line.chosen) ?? lines[0];
    if (!chosen || this.#at === null) return;
    const step = document.createElement('div');
    step.className = 'muted';
    step.textContent = `step ${short(chosen.x[nearest(chosen.x, this.#at)])}`;
    const rows = lines.map(({ x, y, colour, name }) => {
      const row = document.createElement('div');
      const dot = document.createElement('i');
      const run = document.createElement('span');
      const value = document.createElement('b');
      dot.style.background = colour;
      run.textContent = name;
      value.textContent = short(y[nearest(x, this.#at)]);
      row.append(dot, run, value);
      return row;
    });
    this.#tooltip.replaceChildren(step, ...rows);
  }

  #point(event, name, chart) {
    this.#pointed = name;
    this.#at = chart.stepAt(event.offsetX);
    const left = event.clientX > innerWidth - 260;
    this.#tooltip.style.left = left ? '' : `${event.clientX + 14}px`;
    this.#tooltip.style.right = left ? `${innerWidth - event.clientX + 14}px` : '';
    this.#tooltip.style.top = `${Math.min(event.clientY + 14, innerHeight - 60 - 20 * this.#runs.length)}px`;
    this.ask();
  }

  #lines(name) {
    return this.#runs.flatMap((curves, run) => {
      const curve = curves?.find(curve => curve.name === name);
      if (!curve?.x.length) return [];
      curve.smooth ??= this.#smoothing > 0 ? smoothed(curve.y, this.#smoothing) : curve.y;
      return [{
        x: curve.x, y: curve.smooth, raw: curve.smooth === curve.y ? null : curve.y,
        ...this.#run(run), chosen: run === this.#chosen,
      }];
    });
  }

  /** From the first to the last step of all curves. */
  #extent() {
    let [low, high] = [Infinity, -Infinity];
    for (const curve of this.#runs.flat()) {
      if (!curve?.x.length) continue;
      low = Math.min(low, curve.x[0]);
      high = Math.max(high, curve.x.at(-1));
    }
    return low > high ? null : [low, high];
  }
}

function isVisible(figure) {
  const { top, bottom } = figure.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** An exponential moving average that begins without a bias, as TensorBoard's. */
function smoothed(values, factor) {
  let [sum, weight] = [0, 0];
  return values.map(value => {
    if (!Number.isFinite(value)) return value;
    sum = factor * sum + (1 - factor) * value;
    weight = factor * weight + (1 - factor);
    return sum / weight;
  });
}
