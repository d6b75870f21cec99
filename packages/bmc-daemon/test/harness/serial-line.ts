import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Terminal control sequences: colors, cursor moves, modes, carriage returns. */
// oxlint-disable-next-line no-control-regex -- they begin with a control character
const ESCAPES = /\x1b(\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9])|\r/g;

/**
 * The peer of a guest's serial line. Each QEMU process connects to the peer (`mode='connect'`), so the peer
 * collects the output of all boots. It does not use virtlogd, which can lose output.
 */
export class SerialLine {
  readonly #server: Server;
  readonly #waiters = new Set<() => void>();
  #socket: Socket | undefined;
  #output = '';
  /** Offset up to which {@link waitFor} has read. */
  #read = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#socket = socket;
      socket.setEncoding('latin1');
      // An escape sequence can arrive in two chunks, so an incomplete sequence waits for the next
      // chunk.
      let rest = '';
      socket.on('data', (chunk) => {
        const text = (rest + chunk.toString()).replaceAll(ESCAPES, '');
        const cut = text.lastIndexOf('\x1b');
        rest = cut < 0 || text.length - cut > 16 ? '' : text.slice(cut);
        this.#output += text.slice(0, text.length - rest.length);
        for (const wake of this.#waiters) wake();
      });
      socket.on('error', () => undefined); // QEMU was killed.
    });
  }

  /** Listens on a free port of 127.0.0.1. The caller closes the line. */
  static async listen(): Promise<SerialLine> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new SerialLine(server);
  }

  /** The `<serial>` element for the guest. A guest starts only while this object listens. */
  get markup(): string {
    const { port } = this.#server.address() as AddressInfo; // The address of a TCP server is an object.
    return `<serial type='tcp'><source mode='connect' host='127.0.0.1' service='${port}'/></serial>`;
  }

  /** The output of all boots so far, without escape sequences. Lines end in \n. */
  get output(): string {
    return this.#output;
  }

  /** Types a line and Enter, without waiting for a prompt. Does nothing if QEMU is not connected. */
  type(line: string): void {
    this.#socket?.write(`${line}\r`);
  }

  /**
   * Waits for output that matches, after the match of the last call. The match need not end with a
   * line, because a prompt has no line end.
   * @returns the match.
   * @throws {Error} after `timeoutMs`, with the last 2,000 characters since the last match.
   */
  async waitFor(pattern: RegExp, timeoutMs = 120_000): Promise<string> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = pattern.exec(this.#output.slice(this.#read));
      if (found !== null) {
        this.#read += found.index + found[0].length;
        return found[0];
      }
      const left = deadline - Date.now();
      if (left <= 0) {
        const since = JSON.stringify(this.#output.slice(this.#read).slice(-2000));
        throw new Error(`no output of the guest matched ${String(pattern)} within ${timeoutMs} ms: ${since}`);
      }
      await this.#more(left);
    }
  }

  /** Closes the line. A running guest continues without it. */
  async close(): Promise<void> {
    this.#socket?.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Waits for more output, or for the timeout. */
  #more(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiters.add(done);
    });
  }
}
