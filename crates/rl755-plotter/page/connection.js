// The web socket: reconnects by itself, reads JSON and the 16 bytes before poses and pictures
// (see server/message.rs).

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;
const HEADER_BYTES = 16;
/** The server says something every 15 s; after so long a silence it is out of reach. */
const SILENCE = 40_000;

export class Connection {
  #socket = null;
  #wait = FIRST_WAIT;
  #received = 0;
  #heard = 0;
  #handlers;

  /** `handlers`: `state(connected)`, `text(message)`, `poses(moment, numbers)`, `picture(moment, view, bytes)`. */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#open();
    setInterval(() => this.#listen(), 5000);
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Tells the server that all that came until now has been shown, so that it sends more. */
  seen() {
    this.send({ seen: this.#received });
  }

  #open() {
    const url = new URL('socket', location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.search = location.search;
    url.hash = '';
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.#received = 0;
    socket.onopen = () => {
      this.#wait = FIRST_WAIT;
      this.#handlers.state(true);
    };
    this.#heard = performance.now();
    socket.onmessage = ({ data }) => {
      this.#heard = performance.now();
      if (typeof data === 'string') this.#handlers.text(JSON.parse(data));
      else this.#binary(data);
    };
    // An error is always followed by this.
    socket.onclose = () => this.#again();
  }

  #again() {
    this.#handlers.state(false);
    setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
  }

  /** Gives a connection up of which nothing is heard, as after a computer has slept. */
  #listen() {
    const socket = this.#socket;
    if (socket.readyState !== WebSocket.OPEN || performance.now() - this.#heard < SILENCE) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
    this.#again();
  }

  #binary(data) {
    this.#received += 1;
    const header = new DataView(data, 0, HEADER_BYTES);
    const moment = {
      run: header.getUint16(2, true),
      episode: header.getUint32(4, true),
      step: header.getUint32(8, true),
      return: header.getFloat32(12, true),
    };
    if (header.getUint8(0) === 1) {
      this.#handlers.poses(moment, new Float32Array(data, HEADER_BYTES));
    } else {
      this.#handlers.picture(moment, header.getUint8(1), new Uint8Array(data, HEADER_BYTES));
    }
  }
}
