/** An HTTP server for images, which can pause and abort downloads. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';

interface Image {
  readonly bytes: Buffer;
  /** Number of started downloads of the whole file. */
  downloads: number;
  /** Receives the response of each download of the whole file when half of it is sent. Undefined: no pause. */
  readonly onHalf: ((response: ServerResponse) => void) | undefined;
}

/** A download that pauses in the middle. */
export interface HeldDownload {
  /** Sends the second half of the file. */
  finish(): void;
  /** Aborts the connection. */
  drop(): void;
  /** Resolves when the response is complete or its connection closes. */
  readonly gone: Promise<void>;
}

/** A server of images on a free port of the loopback address. It answers unknown paths with 404. */
export class ImageServer {
  readonly #images = new Map<string, Image>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const image = this.#images.get((request.url ?? '').slice(1));
      if (image === undefined) {
        response.writeHead(404).end();
        return;
      }
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
      if (range !== null) {
        sendPart(response, image.bytes, Number(range[1]), range[2] === '' ? image.bytes.length - 1 : Number(range[2]));
        return;
      }
      response.writeHead(200, {
        'content-type': 'application/x-iso9660-image',
        'content-length': image.bytes.length,
        'accept-ranges': 'bytes',
      });
      if (request.method === 'HEAD') {
        response.end();
        return;
      }
      image.downloads += 1;
      const { bytes, onHalf } = image;
      if (onHalf === undefined) response.end(bytes);
      else response.write(bytes.subarray(0, bytes.length / 2), () => onHalf(response));
    });
  }

  static async start(): Promise<ImageServer> {
    const server = new ImageServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /**
   * Publishes a file.
   * @returns its URL.
   */
  async publish(name: string, file: string): Promise<string> {
    this.#images.set(name, { bytes: await readFile(file), downloads: 0, onHalf: undefined });
    return this.url(name);
  }

  /**
   * Publishes a file. Each download of the whole file pauses halfway. The caller can finish or abort the first
   * one; later ones pause until the server stops. Requests for a range do not pause.
   * @returns its URL, and the first download once it pauses.
   */
  async publishHeld(
    name: string,
    file: string,
  ): Promise<{ readonly url: string; readonly held: Promise<HeldDownload> }> {
    const bytes = await readFile(file);
    const held = new Promise<HeldDownload>((resolve) => {
      const onHalf = (response: ServerResponse): void =>
        resolve({
          finish: () => void response.end(bytes.subarray(bytes.length / 2)),
          drop: () => response.destroy(),
          gone: new Promise((closed) => response.once('close', closed)),
        });
      this.#images.set(name, { bytes, downloads: 0, onHalf });
    });
    return { url: this.url(name), held };
  }

  /** Returns the URL of an image, published or not. */
  url(name: string): string {
    // The address of a TCP server is an object.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${name}`;
  }

  /** Returns the number of started downloads of a whole image since it was published; 0 for an unknown name. */
  downloads(name: string): number {
    return this.#images.get(name)?.downloads ?? 0;
  }
}

/**
 * Sends a part, then closes the connection. QEMU 10.0.13 and 11.1.3 sometimes stop reading if an
 * answer on a reused connection arrives immediately.
 * @param last offset of the last byte, which may be after the end of the image.
 */
function sendPart(response: ServerResponse, bytes: Buffer, first: number, last: number): void {
  const part = bytes.subarray(first, last + 1);
  const range = `bytes ${first}-${first + part.length - 1}/${bytes.length}`;
  response.shouldKeepAlive = false;
  response.writeHead(206, { 'content-length': part.length, 'content-range': range }).end(part);
}
