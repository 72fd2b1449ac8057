// One curve of all runs on a small canvas: axes, lines, and the values at a step.

const MARGIN = { left: 46, right: 10, top: 9, bottom: 18 };
const FONT = '10px system-ui, sans-serif';

export class Chart {
  #canvas;
  #lines = [];
  #colours = {};
  #range = null;

  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** `lines`: `{x, y, raw, colour, chosen}`, the chosen one on top; `at`: the step under the mouse. */
  draw(lines, { colours, logarithmic, at, extent }) {
    this.#lines = lines;
    this.#colours = colours;
    const canvas = this.#canvas;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    // Not on the graphics card: for small canvases the way there is longer than the work.
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const y = bounds(lines, logarithmic);
    if (!y || !extent) return;
    const area = {
      left: MARGIN.left, top: MARGIN.top,
      right: width - MARGIN.right, bottom: height - MARGIN.bottom,
    };
    const value = logarithmic ? Math.log10 : v => v;
    const [low, high] = y.map(value);
    const toX = step => area.left + (step - extent[0]) / (extent[1] - extent[0] || 1) * (area.right - area.left);
    const toY = v => area.bottom - (value(v) - low) / (high - low || 1) * (area.bottom - area.top);
    this.#range = { area, extent };
    this.#axes(pen, area, extent, y, logarithmic, toX, toY);
    pen.save();
    pen.beginPath();
    pen.rect(area.left - 2, area.top - 2, area.right - area.left + 4, area.bottom - area.top + 4);
    pen.clip();
    for (const line of [...lines].sort((a, b) => a.chosen - b.chosen)) {
      pen.strokeStyle = line.colour;
      pen.lineJoin = 'round';
      if (line.raw) {
        pen.globalAlpha = 0.25;
        pen.lineWidth = 1;
        stroke(pen, line.x, line.raw, toX, toY);
      }
      pen.globalAlpha = line.chosen ? 1 : 0.55;
      pen.lineWidth = line.chosen ? 1.6 : 1.2;
      stroke(pen, line.x, line.y, toX, toY);
    }
    pen.restore();
    if (at !== null) this.#mark(pen, area, at, toX, toY);
  }

  #axes(pen, area, extent, y, logarithmic, toX, toY) {
    pen.font = FONT;
    pen.lineWidth = 1;
    pen.fillStyle = this.#colours.muted;
    pen.strokeStyle = this.#colours.grid;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    const many = Math.max(2, Math.floor((area.bottom - area.top) / 24));
    for (const tick of logarithmic ? decades(y) : ticks(y, many)) {
      const at = Math.round(toY(tick)) + 0.5;
      if (at < area.top - 1 || at > area.bottom + 1) continue;
      pen.beginPath();
      pen.moveTo(area.left, at);
      pen.lineTo(area.right, at);
      pen.stroke();
      pen.fillText(short(tick), area.left - 5, at);
    }
    pen.textBaseline = 'alphabetic';
    pen.textAlign = 'center';
    const wide = Math.max(3, Math.floor((area.right - area.left) / 80));
    for (const tick of ticks(extent, wide)) {
      const at = toX(tick);
      if (at < area.left - 1 || at > area.right + 1) continue;
      const text = short(tick);
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(at, area.right + MARGIN.right - half - 1), area.bottom + 13);
    }
  }

  #mark(pen, area, at, toX, toY) {
    const x = toX(at);
    if (x < area.left || x > area.right) return;
    pen.strokeStyle = this.#colours.muted;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(x, area.top);
    pen.lineTo(x, area.bottom);
    pen.stroke();
    pen.setLineDash([]);
    for (const line of this.#lines) {
      const i = nearest(line.x, at);
      if (i < 0 || !Number.isFinite(line.y[i])) continue;
      pen.fillStyle = line.colour;
      pen.beginPath();
      pen.arc(toX(line.x[i]), toY(line.y[i]), 2.8, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  /** The step at a place `x` of the canvas, in its pixels. */
  stepAt(x) {
    if (!this.#range) return null;
    const { area, extent } = this.#range;
    const part = (x - area.left) / (area.right - area.left);
    return extent[0] + Math.min(Math.max(part, 0), 1) * (extent[1] - extent[0]);
  }
}

/** Draws a line with gaps; of the points in one column of pixels, the extremes are enough. */
function stroke(pen, xs, ys, toX, toY) {
  pen.beginPath();
  let points = 0;
  let column = null; // Where it is, and its first, least, greatest and last value.
  const flush = () => {
    if (!column) return;
    const { x, first, least, greatest, last } = column;
    pen.lineTo(x, first);
    if (least !== greatest) {
      pen.lineTo(x, least);
      pen.lineTo(x, greatest);
      pen.lineTo(x, last);
    }
    column = null;
  };
  for (let i = 0; i < xs.length; i += 1) {
    const [x, y] = [toX(xs[i]), toY(ys[i])];
    if (!Number.isFinite(y)) {
      flush();
      points = 0;
    } else if (column && x - column.x < 0.5) {
      column.least = Math.min(column.least, y);
      column.greatest = Math.max(column.greatest, y);
      column.last = y;
    } else {
      flush();
      if (points === 0) pen.moveTo(x, y);
      const isAlone = points === 0 && !Number.isFinite(toY(ys[i + 1] ?? NaN));
      // Between gaps, too, it is to be seen.
      if (isAlone) pen.arc(x, y, 1, 0, 2 * Math.PI);
      column = { x, first: y, least: y, greatest: y, last: y };
      points += 1;
    }
  }
  flush();
  pen.lineCap = 'round';
  pen.stroke();
}

/** The least and the greatest value with some room, or null. */
function bounds(lines, logarithmic) {
  let [low, high] = [Infinity, -Infinity];
  for (const { y } of lines) {
    for (const value of y) {
      if (Number.isFinite(value) && (!logarithmic || value > 0)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  if (low > high) return null;
  if (logarithmic) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** Round numbers in a range, about so many. */
export function ticks([low, high], about) {
  const rough = (high - low) / about;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(m => m * power >= rough) * power;
  const found = [];
  for (let tick = Math.ceil(low / step); tick * step <= high; tick += 1) found.push(tick * step);
  return found;
}

function decades([low, high]) {
  const found = [];
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  const every = Math.max(1, Math.ceil((last - first + 1) / 4));
  for (let power = first; power <= last; power += every) found.push(10 ** power);
  return found.length > 1 ? found : ticks([low, high], 3).filter(tick => tick > 0);
}

/** Which point is nearest to a step. */
export function nearest(xs, step) {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low > 0 && step - xs[low - 1] < xs[low] - step ? low - 1 : low;
}

/** A number in few characters. */
export function short(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(1).replace('e+', 'e');
  for (const [unit, name] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']]) {
    if (size >= unit) {
      const factor = unit === 1e4 ? 1e3 : unit;
      return `${Number((value / factor).toPrecision(4))}${name}`;
    }
  }
  return String(Number(value.toPrecision(4)));
}
