// Pictures: the environment's frame and, for world models, a row of what is made of it.

/** Below so many pixels a picture is shown with hard edges, as it is for its model. */
const SMALL = 260;

export class Frames {
  #place;
  #canvases = [];

  constructor(place) {
    this.#place = place;
  }

  /** Makes room for pictures with these names. */
  show(names) {
    this.#canvases = [];
    const figures = names.map(name => {
      const figure = document.createElement('figure');
      const canvas = document.createElement('canvas');
      const caption = document.createElement('figcaption');
      [canvas.width, canvas.height] = [64, 64];
      canvas.setAttribute('aria-label', name);
      // A picture alone needs no name.
      caption.textContent = names.length > 1 ? name : '';
      figure.append(canvas, caption);
      this.#canvases.push(canvas);
      return figure;
    });
    this.#place.replaceChildren(...figures);
    this.#place.hidden = names.length === 0;
  }

  /** Draws WebP or PNG files by view. */
  async draw(pictures) {
    await Promise.all([...pictures].map(async ([view, bytes]) => {
      const canvas = this.#canvases[view];
      if (!canvas) return;
      const type = bytes[0] === 0x89 ? 'image/png' : 'image/webp';
      let bitmap;
      try {
        bitmap = await createImageBitmap(new Blob([bytes], { type }));
      } catch {
        return; // No picture: the one before stays.
      }
      if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
        [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
        canvas.style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
        canvas.classList.toggle('small', bitmap.width <= SMALL);
      }
      // Not on the graphics card: for small canvases the way there is longer than the work.
      canvas.getContext('2d', { willReadFrequently: true }).drawImage(bitmap, 0, 0);
      bitmap.close();
    }));
  }

  /** The first picture, to be saved. */
  get canvas() {
    return this.#canvases[0];
  }
}
