// What the page needs of three.js; `cargo xtask vendor-three` bundles it into three.min.js.
export {
  BoxGeometry, CapsuleGeometry, Color, CylinderGeometry, DataTexture, DirectionalLight, Fog,
  HemisphereLight, LinearFilter, LinearMipmapLinearFilter, Mesh, MeshLambertMaterial,
  MeshStandardMaterial, NearestFilter, PCFShadowMap, PerspectiveCamera, PlaneGeometry,
  RepeatWrapping, SRGBColorSpace, Scene, SphereGeometry, Vector3, WebGLRenderer,
} from 'three';
export { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
