/** A transport through the system's ssh client. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { clientError, toError } from '../errors.js';
import type { LibvirtUri } from '../uri.js';
import { sshCommand } from './ssh-command.js';
import type { OpenTransport, Transport, TransportHandlers } from './transport.js';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** How long `end` waits until the operating system accepts the queued bytes for ssh. */
const END_TIMEOUT_MS = 100;
/** How long a closed connection waits for the exit code and the last error messages of ssh. */
const EXIT_TIMEOUT_MS = 1_000;
/** Maximum number of characters of ssh's last messages that an error shows. */
const MESSAGE_LENGTH = 1_000;
/** Highest first byte of a message: a message begins with its length, which is below 2^26. */
const MAX_FIRST_BYTE = 0x03;

/**
 * Returns a function that runs ssh. It resolves when the ssh process runs, so before ssh has connected. It
 * rejects with NOT_CONNECTED if the ssh client cannot be started, and with the signal's reason after an abort.
 * If ssh ends later, the error of the connection contains ssh's last messages.
 */
export function openSsh(uri: LibvirtUri): OpenTransport {
  const { program, args } = sshCommand(uri);
  return (handlers, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(toError(signal.reason));
        return;
      }
      // In its own session, ssh has no terminal to ask for a password, and the whole group can
      // be ended if `command` is a script.
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
      const transport = new SshTransport(child, program, handlers);
      child.once('spawn', () => {
        if (!signal.aborted) {
          resolve(transport);
          return;
        }
        transport.destroy();
        reject(toError(signal.reason));
      });
      child.once('error', (cause) => {
        transport.destroy();
        const why = `parameter "command": ${program} cannot be started`;
        reject(clientError('NOT_CONNECTED', `connecting to ${uri.text}: ${why}: ${cause.message}`, { cause }));
      });
    });
}

class SshTransport implements Transport {
  #closed = false;
  #received = false;
  #mayKill = true;
  #messages = '';

  constructor(
    private readonly child: Child,
    private readonly program: string,
    private readonly handlers: TransportHandlers,
  ) {
    child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      // ssh and remote shells may print any number of bytes.
      this.#messages = (this.#messages + chunk.toString()).slice(-MESSAGE_LENGTH);
    });
    // Ignores errors such as EPIPE: the end of stdout or the exit, which follows, reports the reason.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
    child.once('exit', () => this.#killGroup());
    // Child processes emit `close` after the exit, when all output has been read.
    child.once('close', () => this.#close(this.#failure()));
    child.stdout.once('close', () => {
      // The exit code and the messages usually follow at once.
      if (!this.#closed) setTimeout(() => this.#close(this.#failure()), EXIT_TIMEOUT_MS).unref();
    });
  }

  write(bytes: Uint8Array, written?: () => void): void {
    if (this.#closed) return;
    if (written === undefined) this.child.stdin.write(bytes);
    else this.child.stdin.write(bytes, (error) => (error ? undefined : written()));
  }

  cork(): void {
    this.child.stdin.cork();
  }

  uncork(): void {
    this.child.stdin.uncork();
  }

  pause(): void {
    this.child.stdout.pause();
  }

  resume(): void {
    this.child.stdout.resume();
  }

  end(): void {
    this.#closed = true;
    const timer = setTimeout(() => this.#kill(), END_TIMEOUT_MS);
    this.child.stdin.end(() => {
      clearTimeout(timer);
      this.#kill();
    });
  }

  destroy(): void {
    this.#closed = true;
    this.#kill();
  }

  #receive(chunk: Buffer): void {
    if (this.#closed) return;
    const [first = 0] = chunk;
    if (!this.#received && first > MAX_FIRST_BYTE) {
      // The first message may follow in the same chunk. It begins with its length, so with a zero byte.
      const end = chunk.indexOf(0);
      const text = readable(chunk.toString('latin1', 0, end === -1 ? chunk.length : end)).slice(0, 100);
      this.#close(
        new Error(
          `the remote host printed "${text}" before the first message of libvirtd; ` +
            'its shell must print nothing for commands over ssh',
        ),
      );
      return;
    }
    this.#received = true;
    this.handlers.data(chunk);
  }

  #failure(): Error {
    const { exitCode, signalCode } = this.child;
    const how = signalCode ?? (exitCode === null ? null : `exit code ${exitCode}`);
    const end = how === null ? 'closed the connection' : `ended with ${how}`;
    const messages = readable(this.#messages);
    return new Error(`${this.program} ${end}${messages === '' ? '' : `: ${messages}`}`);
  }

  #close(error: Error): void {
    if (this.#closed) return;
    this.destroy();
    this.handlers.closed(error);
  }

  #kill(): void {
    const { child } = this;
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    child.unref();
    this.#killGroup();
  }

  /**
   * Ends ssh and the processes that a script started. Sends the signal only once, because the
   * process id may belong to another process later.
   */
  #killGroup(): void {
    const { pid } = this.child;
    if (pid === undefined || !this.#mayKill) return;
    this.#mayKill = false;
    try {
      // A stopped or hung process ignores SIGTERM.
      process.kill(-pid, 'SIGKILL');
    } catch {
      // All processes of the group have ended.
    }
  }
}

/** Returns text as one line without control characters. */
function readable(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}
