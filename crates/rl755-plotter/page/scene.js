// The scene in 3D: geoms from the server, moved by its poses; z points upwards. It draws only
// when something has changed.

import { Floor } from './floor.js';
import * as three from './vendor/three.min.js';

const SEGMENTS = 24;
/** A plane of which half is longer, in metres, is a floor as well as a checkered one. */
const FLOOR = 10;
// A processor that draws has better things to do, perhaps the training itself: there, at most so
// many pictures in a second, and of so many pixels for each of the page's.
const SOFTWARE_RATE = 12;
const SOFTWARE_SCALE = 0.75;
const COLOURS = {
  light: { sky: 0xeef1f5, floor: [0xe4e8ed, 0xd6dbe2], ground: 0xb9c0c9 },
  dark: { sky: 0x161a20, floor: [0x232932, 0x1c2129], ground: 0x30363f },
};

export class SceneView {
  #place;
  #renderer = null;
  #scene = new three.Scene();
  #camera = new three.PerspectiveCamera(45, 1, 0.02, 400);
  #controls = null;
  #meshes = [];
  #floors = [];
  #sky = new three.HemisphereLight(0xffffff, 0xffffff, 1.4);
  #sun = new three.DirectionalLight(0xffffff, 2.1);
  #cameras = [];
  #followed = 0;
  #follows = true;
  #middle = null;
  #asked = false;
  #software = false;
  /** How many pictures were drawn. */
  drawn = 0;

  constructor(place) {
    this.#place = place;
  }

  /** Makes the scene; false where the browser has no WebGL. */
  show({ geoms, cameras, followed }) {
    if (!this.#renderer && !this.#start()) return false;
    for (const mesh of this.#meshes) {
      this.#scene.remove(mesh);
      mesh.dispose?.();
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    this.#floors = [];
    this.#meshes = geoms.map(geom => this.#mesh(geom));
    this.#scene.add(...this.#meshes);
    this.#cameras = cameras;
    this.#followed = followed;
    this.#middle = null;
    this.#look(cameras[0] ?? { lookat: [0, 0, 0], distance: 4, azimuth: 90, elevation: -25 });
    this.theme(document.documentElement.dataset.theme);
    return true;
  }

  #start() {
    const software = this.#software = drawnByProcessor();
    try {
      this.#renderer = new three.WebGLRenderer({ antialias: !software, powerPreference: 'low-power' });
    } catch {
      return false;
    }
    const renderer = this.#renderer;
    renderer.setPixelRatio(software ? SOFTWARE_SCALE : Math.min(devicePixelRatio, 2));
    renderer.shadowMap.enabled = !software;
    renderer.shadowMap.type = three.PCFShadowMap;
    this.#sun.castShadow = !software;
    this.#sun.shadow.mapSize.set(1024, 1024);
    const shadow = this.#sun.shadow.camera;
    [shadow.left, shadow.right, shadow.bottom, shadow.top] = [-4, 4, -4, 4];
    [shadow.near, shadow.far] = [0.1, 30];
    this.#scene.add(this.#sky, this.#sun, this.#sun.target);
    this.#camera.up.set(0, 0, 1);
    this.#controls = new three.OrbitControls(this.#camera, renderer.domElement);
    this.#controls.minDistance = 0.05;
    this.#controls.maxDistance = 150;
    // Not below the floor.
    this.#controls.maxPolarAngle = 0.51 * Math.PI;
    this.#controls.addEventListener('change', () => this.ask());
    this.#place.append(renderer.domElement);
    new ResizeObserver(() => this.#resize()).observe(this.#place);
    this.#resize();
    return true;
  }

  #mesh({ shape, size, rgba, checkered }) {
    if (shape === 'plane' && (checkered || size.some(half => half === 0 || half > FLOOR))) {
      const floor = new Floor(!this.#software);
      this.#floors.push(floor);
      return floor;
    }
    const [r, g, b, opacity] = rgba;
    const material = new three.MeshStandardMaterial({ roughness: 0.75, metalness: 0 });
    material.color.setRGB(r, g, b, three.SRGBColorSpace);
    if (opacity < 1) Object.assign(material, { transparent: true, opacity });
    const mesh = new three.Mesh(geometry(shape, size), material);
    if (shape === 'ellipsoid') mesh.scale.set(...size);
    mesh.receiveShadow = true;
    mesh.castShadow = shape !== 'plane';
    mesh.visible = opacity > 0;
    return mesh;
  }

  /** Draws in the colours of a theme. */
  theme(name) {
    if (!this.#renderer) return;
    const { sky, floor, ground } = COLOURS[name] ?? COLOURS.light;
    this.#scene.background = new three.Color(sky);
    this.#sky.groundColor.set(ground);
    for (const each of this.#floors) each.colour(floor, sky);
    this.ask();
  }

  /** Moves the geoms: 7 numbers each, position and quaternion with w first. */
  pose(numbers) {
    if (numbers.length !== 7 * this.#meshes.length || !numbers.every(Number.isFinite)) return;
    this.#meshes.forEach((mesh, i) => {
      const [x, y, z, qw, qx, qy, qz] = numbers.subarray(7 * i, 7 * i + 7);
      mesh.position.set(x, y, z);
      mesh.userData.origin = [x, y];
      mesh.quaternion.set(qx, qy, qz, qw);
    });
    this.#keepInTheMiddle();
    this.draw();
  }

  #keepInTheMiddle() {
    const followed = this.#meshes[this.#followed];
    if (!followed) return;
    // A camera that was placed before the first pose stands relative to the origin.
    const moved = followed.position.clone().sub(this.#middle ?? new three.Vector3());
    this.#middle = followed.position.clone();
    if (this.#follows) this.#move(moved);
    this.#sun.target.position.copy(this.#middle);
    this.#sun.position.copy(this.#middle).add(new three.Vector3(-3, -4, 9));
  }

  #move(by) {
    this.#camera.position.add(by);
    this.#controls.target.add(by);
    this.#controls.update();
  }

  #look({ lookat, distance, azimuth, elevation, follows }) {
    const target = new three.Vector3(...lookat);
    this.#follows = follows ?? false;
    if (this.#follows && this.#middle) target.add(this.#middle);
    const [a, e] = [azimuth, elevation].map(degrees => degrees * Math.PI / 180);
    const forward = new three.Vector3(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e));
    this.#controls.target.copy(target);
    this.#camera.position.copy(target).addScaledVector(forward, -distance);
    this.#controls.update();
    this.ask();
  }

  /** Looks from a preset; answers whether there is one. */
  preset(index) {
    const camera = this.#cameras[index];
    if (camera) this.#look(camera);
    return camera !== undefined;
  }

  /** How long to wait between two poses, in milliseconds. */
  get interval() {
    return this.#software ? 1000 / SOFTWARE_RATE : 0;
  }

  get follows() {
    return this.#follows;
  }

  /** Whether the camera goes along with the followed geom, from where it is. */
  set follows(follows) {
    if (follows && this.#middle) {
      // In the middle at once, at the same height of the target.
      const by = this.#middle.clone().sub(this.#controls.target);
      by.z = 0;
      this.#move(by);
    }
    this.#follows = follows;
    this.ask();
  }

  /** Turns by angles in radians, or comes nearer by a factor. */
  turn(right, up, nearer = 1) {
    if (!this.#controls) return;
    const offset = this.#camera.position.clone().sub(this.#controls.target);
    const radius = offset.length();
    const azimuth = Math.atan2(offset.y, offset.x) + right;
    const height = Math.asin(offset.z / radius) + up;
    const e = Math.min(Math.max(height, -1.55), 1.55);
    offset.set(Math.cos(e) * Math.cos(azimuth), Math.cos(e) * Math.sin(azimuth), Math.sin(e));
    this.#camera.position.copy(this.#controls.target).addScaledVector(offset, radius / nearer);
    this.#controls.update();
    this.ask();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#place;
    if (!width || !height) return;
    this.#renderer.setSize(width, height);
    this.#camera.aspect = width / height;
    this.#camera.updateProjectionMatrix();
    this.draw();
  }

  /** Draws with the browser's next picture. */
  ask() {
    if (this.#asked || !this.#renderer) return;
    this.#asked = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.#asked = false;
    if (!this.#renderer || this.#place.hidden) return;
    for (const floor of this.#floors) floor.comeAlong(this.#controls.target);
    this.#renderer.render(this.#scene, this.#camera);
    this.drawn += 1;
  }

  /** The canvas with the picture still in it, to be saved or read. */
  get canvas() {
    this.draw();
    return this.#renderer?.domElement;
  }
}

/** Whether there is no graphics card, as far as one can know. */
function drawnByProcessor() {
  const context = document.createElement('canvas').getContext('webgl2');
  const names = context?.getExtension('WEBGL_debug_renderer_info');
  const name = names ? context.getParameter(names.UNMASKED_RENDERER_WEBGL) : '';
  context?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

function geometry(shape, size) {
  const [a, b, c] = size;
  switch (shape) {
    case 'plane':
      return new three.PlaneGeometry(2 * a, 2 * b);
    case 'sphere':
      return new three.SphereGeometry(a, SEGMENTS, SEGMENTS / 2);
    case 'ellipsoid':
      return new three.SphereGeometry(1, SEGMENTS, SEGMENTS / 2);
    case 'capsule':
      // These two are along y in three.js.
      return new three.CapsuleGeometry(a, 2 * b, SEGMENTS / 3, SEGMENTS).rotateX(Math.PI / 2);
    case 'cylinder':
      return new three.CylinderGeometry(a, a, 2 * b, SEGMENTS).rotateX(Math.PI / 2);
    default:
      return new three.BoxGeometry(2 * a, 2 * b, 2 * c);
  }
}
