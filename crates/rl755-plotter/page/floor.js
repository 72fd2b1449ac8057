// The floor: squares of a metre that fade into the sky all around. It has no texture, because
// those are most of the work for a processor that draws.

import * as three from './vendor/three.min.js';

/** How many squares it has from its middle to its edge, and where it begins to fade. */
const REACH = 32;
const CLEAR = 8;

export class Floor extends three.Mesh {
  constructor(shadows) {
    super(new three.BufferGeometry(), new three.MeshBasicMaterial({ vertexColors: true }));
    const positions = [];
    const corners = [];
    for (let x = -REACH; x < REACH; x += 1) {
      for (let y = -REACH; y < REACH; y += 1) {
        const first = positions.length / 3;
        positions.push(x, y, 0, x + 1, y, 0, x + 1, y + 1, 0, x, y + 1, 0);
        corners.push(first, first + 1, first + 2, first, first + 2, first + 3);
      }
    }
    this.geometry.setAttribute('position', new three.Float32BufferAttribute(positions, 3));
    this.geometry.setIndex(corners);
    if (shadows) {
      const shade = new three.Mesh(
        new three.PlaneGeometry(REACH, REACH),
        new three.ShadowMaterial({ opacity: 0.22, polygonOffset: true, polygonOffsetFactor: -1 }),
      );
      shade.receiveShadow = true;
      this.add(shade);
    }
  }

  /** Takes the colours of two kinds of squares and of the sky. */
  colour(squares, sky) {
    const far = new three.Color(sky);
    const colours = [];
    const positions = this.geometry.getAttribute('position');
    for (let i = 0; i < positions.count; i += 1) {
      const corner = i - i % 4;
      const kind = (positions.getX(corner) + positions.getY(corner)) & 1;
      const distance = Math.hypot(positions.getX(i), positions.getY(i));
      const fade = Math.min(Math.max((distance - CLEAR) / (REACH - 1 - CLEAR), 0), 1);
      colours.push(...new three.Color(squares[kind]).lerp(far, fade ** 0.7).toArray());
    }
    this.geometry.setAttribute('color', new three.Float32BufferAttribute(colours, 3));
  }

  /** It has no end: it comes along by whole pairs of squares, so that nobody sees it. */
  comeAlong({ x, y }) {
    const [x0, y0] = this.userData.origin ?? [0, 0];
    this.position.x = x0 + 2 * Math.round((x - x0) / 2);
    this.position.y = y0 + 2 * Math.round((y - y0) / 2);
  }

  dispose() {
    for (const mesh of [this, ...this.children]) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
  }
}
