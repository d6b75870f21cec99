/** A small VNC viewer over a WebSocket (RFC 6143): it reads pictures and presses keys. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Picture } from './pictures.js';

const FORMAT_32_BIT = Buffer.from([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]);

/** The encodings "raw" and "the size of the desktop has changed". */
const RAW = 0;
const DESKTOP_SIZE = -223;

/** A viewer of one machine's screen. */
export class VncViewer {
  #received: Buffer[] = [];
  #length = 0;
  #picture: Picture = { width: 0, height: 0, pixels: Buffer.alloc(0) };

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.#received.push(data);
      this.#length += data.length;
    });
  }

  /** Opens the screen and makes the handshake. @throws if the service rejects the WebSocket. */
  static async open(url: string, protocols: readonly string[], options: object = {}): Promise<VncViewer> {
    const socket = new WebSocket(url, [...protocols], options);
    await once(socket, 'open');
    const viewer = new VncViewer(socket);
    await viewer.#handshake();
    return viewer;
  }

  /** Asks for the whole screen, and returns it. */
  async picture(): Promise<Picture> {
    const request = Buffer.alloc(10);
    request.writeUInt8(3);
    request.writeUInt16BE(this.#picture.width, 6);
    request.writeUInt16BE(this.#picture.height, 8);
    this.send(request);
    for (;;) {
      const [type = 0] = await this.#read(1);
      if (type === 0) return await this.#update();
      // A bell is only its type. A text of the clipboard (type 3) has a length and content, which the viewer skips.
      if (type === 3) await this.#read((await this.#read(7)).readUInt32BE(3));
    }
  }

  /** Presses and releases a key. @param keysym of X11; for a letter, its character code. */
  press(keysym: number): void {
    for (const down of [1, 0]) {
      const event = Buffer.from([4, down, 0, 0, 0, 0, 0, 0]);
      event.writeUInt32BE(keysym, 4);
      this.send(event);
    }
  }

  /** Sends bytes of the protocol. */
  send(bytes: Buffer): void {
    this.socket.send(bytes);
  }

  /** Waits until the WebSocket ends, and returns the code and the reason. */
  async end(): Promise<readonly [number, string]> {
    const [code, reason] = (await once(this.socket, 'close')) as [number, Buffer]; // ws documents these arguments.
    return [code, reason.toString()];
  }

  close(): void {
    this.socket.terminate();
  }

  async #handshake(): Promise<void> {
    this.send(await this.#read(12));
    await this.#read(2);
    this.send(Buffer.from([1]));
    await this.#read(4);
    this.send(Buffer.from([0]));
    const init = await this.#read(24);
    await this.#read(init.readUInt32BE(20));
    this.#resize(init.readUInt16BE(0), init.readUInt16BE(2));
    this.send(Buffer.concat([Buffer.from([0, 0, 0, 0]), FORMAT_32_BIT]));
    const encodings = Buffer.from([2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    encodings.writeInt32BE(RAW, 4);
    encodings.writeInt32BE(DESKTOP_SIZE, 8);
    this.send(encodings);
  }

  async #update(): Promise<Picture> {
    const count = (await this.#read(3)).readUInt16BE(1);
    for (let index = 0; index < count; index += 1) {
      const head = await this.#read(12);
      // `map` keeps the length, so the result has four numbers.
      const [x, y, width, height] = [0, 2, 4, 6].map((at) => head.readUInt16BE(at)) as [number, number, number, number];
      if (head.readInt32BE(8) === DESKTOP_SIZE) {
        this.#resize(width, height);
        return await this.picture();
      }
      const rows = await this.#read(width * height * 4);
      for (let row = 0; row < height; row += 1) {
        rows.copy(
          this.#picture.pixels,
          ((y + row) * this.#picture.width + x) * 4,
          row * width * 4,
          (row + 1) * width * 4,
        );
      }
    }
    // Returns a copy, because later updates change the pixels in place.
    return { ...this.#picture, pixels: Buffer.from(this.#picture.pixels) };
  }

  #resize(width: number, height: number): void {
    this.#picture = { width, height, pixels: Buffer.alloc(width * height * 4) };
  }

  async #read(length: number): Promise<Buffer> {
    while (this.#length < length) await once(this.socket, 'message');
    const all = Buffer.concat(this.#received);
    this.#received = [all.subarray(length)];
    this.#length -= length;
    return all.subarray(0, length);
  }
}
