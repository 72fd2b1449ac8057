// What the page needs of three.js; `cargo xtask vendor-three` bundles it into three.min.js.
export {
  BoxGeometry, BufferGeometry, CapsuleGeometry, Color, CylinderGeometry, DirectionalLight,
  Float32BufferAttribute, HemisphereLight, Mesh, MeshBasicMaterial, MeshStandardMaterial,
  PCFShadowMap, PerspectiveCamera, PlaneGeometry, SRGBColorSpace, Scene, ShadowMaterial,
  SphereGeometry, Vector3, WebGLRenderer,
} from 'three';
export { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
