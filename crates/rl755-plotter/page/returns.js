// The return over the running episode as a small line, with the episodes before behind it.

const BEFORE = 4;
const POINTS = 400;

export class Returns {
  #canvas;
  #episodes = [];
  #limit = 0;

  constructor(canvas) {
    this.#canvas = canvas;
  }

  clear() {
    this.#episodes = [];
    this.#draw();
  }

  /** Adds a moment of an episode that has at most `limit` steps. */
  add({ episode, step, return: value }, limit) {
    if (!Number.isFinite(value)) return;
    const last = this.#episodes.at(-1);
    // It may have been seen already, when another page holds the time.
    if (last?.episode === episode && last.points.at(-1)?.step === step) return;
    if (last?.episode !== episode) {
      this.#episodes.push({ episode, points: [] });
      this.#episodes = this.#episodes.slice(-1 - BEFORE);
    }
    const { points } = this.#episodes.at(-1);
    points.push({ step, value });
    if (points.length > POINTS) this.#episodes.at(-1).points = points.filter((_, i) => i % 2);
    this.#limit = limit ?? 0;
    this.#draw();
  }

  #draw() {
    const canvas = this.#canvas;
    const scale = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    // Not on the graphics card: for small canvases the way there is longer than the work.
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    pen.scale(scale, scale);
    const all = this.#episodes.flatMap(episode => episode.points);
    const longest = Math.max(1, this.#limit, ...all.map(point => point.step));
    const low = Math.min(0, ...all.map(point => point.value));
    const high = Math.max(1e-9, ...all.map(point => point.value));
    const style = getComputedStyle(canvas);
    this.#episodes.forEach(({ points }, i) => {
      const running = i === this.#episodes.length - 1;
      pen.beginPath();
      for (const { step, value } of points) {
        pen.lineTo(1 + step / longest * (width - 2), height - 3 - (value - low) / (high - low) * (height - 6));
      }
      pen.strokeStyle = style.getPropertyValue(running ? '--accent' : '--muted');
      pen.globalAlpha = running ? 1 : 0.3;
      pen.lineWidth = running ? 1.6 : 1;
      pen.stroke();
    });
  }
}
