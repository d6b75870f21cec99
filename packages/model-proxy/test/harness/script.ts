/**
 * Scripts for faults of an upstream. The body of a request contains its script in the member `script`.
 * OpenAI's API has no parameter `script`, so the proxy forwards it unchanged. So a single upstream
 * serves many tests at once.
 */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange } from '../../sample-upstream/server.js';

/** A step of a script. */
export type Step =
  /**
   * Sends the status line, these headers, and those that Node always adds. A script that writes without this step sends
   * 200, as JSON or as an event stream for `stream: true`.
   */
  | { readonly head: number; readonly headers?: Readonly<Record<string, string>> }
  /** Writes a chunk of the body, `times` times. */
  | { readonly write: string; readonly times?: number }
  /** Writes a chunk of bytes. */
  | { readonly base64: string }
  /** Writes to the socket directly, without a head and without chunked encoding. */
  | { readonly raw: string }
  | { readonly waitMs: number }
  /** Waits until {@link Gates.open} of that name. */
  | { readonly gate: string }
  /** Sends the sample's whole answer, for example after a delay. */
  | { readonly answer: true }
  | { readonly end: true }
  /** Ends the connection with FIN (`close`) or RST (`reset`). */
  | { readonly cut: 'close' | 'reset' }
  /** Sends nothing more, and ends neither the answer nor the connection. */
  | { readonly hang: true };

/** Gates at which scripts wait until a test opens them. Open gates stay open. */
export class Gates {
  readonly #open = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Opens a gate permanently. */
  open(name: string): void {
    this.#open.add(name);
    for (const resolve of this.#waiting.get(name) ?? []) resolve();
    this.#waiting.delete(name);
  }

  /** Waits until a gate is open. */
  pass(name: string): Promise<void> {
    if (this.#open.has(name)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
    });
  }
}

/** The environment of a script. */
export interface Stage {
  readonly gates: Gates;
  /** Returns the TCP socket of a request, also below TLS. Only a TCP socket can be reset. */
  socketOf(exchange: Exchange): Socket;
}

/** Returns the script of a request; undefined: none. */
export function scriptOf({ json }: Exchange): readonly Step[] | undefined {
  const script = json?.['script'];
  return Array.isArray(script) ? (script as readonly Step[]) : undefined; // only tests write scripts
}

/**
 * Runs a script until its last step, a step `answer`, `end`, `cut` or `hang`, or the end of the connection.
 * @returns whether the sample's own answer follows.
 */
export async function play(script: readonly Step[], exchange: Exchange, stage: Stage): Promise<boolean> {
  const { response, json } = exchange;
  const isOver = () => response.destroyed;
  for (const step of script) {
    if (isOver()) return false;
    if ('head' in step) {
      response.writeHead(step.head, step.headers);
      response.flushHeaders();
    } else if ('write' in step || 'base64' in step) {
      if (!response.headersSent) {
        const type = json?.['stream'] === true ? 'text/event-stream; charset=utf-8' : 'application/json';
        response.writeHead(200, { 'content-type': type });
      }
      const bytes = 'write' in step ? Buffer.from(step.write) : Buffer.from(step.base64, 'base64');
      const times = 'write' in step ? (step.times ?? 1) : 1;
      for (let round = 0; round < times && !isOver(); round++) await written(response, bytes);
    } else if ('raw' in step) {
      await written(response.socket, Buffer.from(step.raw, 'latin1'));
    } else if ('waitMs' in step) {
      await delay(step.waitMs);
    } else if ('gate' in step) {
      await stage.gates.pass(step.gate);
    } else if ('cut' in step) {
      const socket = stage.socketOf(exchange);
      if (step.cut === 'reset') socket.resetAndDestroy();
      else socket.destroy();
      return false;
    } else if ('end' in step) {
      response.end();
      return false;
    } else {
      return 'answer' in step;
    }
  }
  return false;
}

/** Writes a chunk, and waits, so that later bytes arrive in another chunk if possible. */
function written(sink: { write(chunk: Buffer, done: () => void): boolean } | null, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (sink === null) resolve();
    else sink.write(chunk, () => setImmediate(resolve));
  });
}

/** Makes the step for an SSE event with the given JSON text. */
export function event(text: string): Step {
  return { write: `data: ${text}\n\n` };
}

/** The step for the end of a stream. */
export const done: Step = { write: 'data: [DONE]\n\n' };
