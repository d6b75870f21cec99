/**
 * How an upstream misbehaves: a request says it itself, in a member `script` of its body. OpenAI knows no such parameter, so that a
 * proxy forwards it, and one upstream serves any number of tests at once.
 */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange } from '../../sample-upstream/server.js';

/** One thing after the other. */
export type Step =
  /** Status line and headers; without this step, 200 and JSON, or an event stream where the request wants one. */
  | { readonly head: number; readonly headers?: Readonly<Record<string, string>> }
  /** A piece of the body, in a write of its own; as often as `times` says. */
  | { readonly write: string; readonly times?: number }
  /** The same for bytes that are no text. */
  | { readonly base64: string }
  /** Into the socket past Node's HTTP: nothing of the head is added, and nothing of chunked encoding. */
  | { readonly raw: string }
  | { readonly waitMs: number }
  /** Waits until {@link Gates.open} of that name. */
  | { readonly gate: string }
  /** The whole answer of the sample, after what came before: a delay, say. */
  | { readonly answer: true }
  | { readonly end: true }
  /** Ends the connection: with FIN (`close`), or with RST (`reset`). */
  | { readonly cut: 'close' | 'reset' }
  /** Nothing more, for ever. */
  | { readonly hang: true };

/** Where scripts wait until a test lets them go on. Open gates stay open. */
export class Gates {
  readonly #open = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  open(name: string): void {
    this.#open.add(name);
    for (const resolve of this.#waiting.get(name) ?? []) resolve();
    this.#waiting.delete(name);
  }

  pass(name: string): Promise<void> {
    if (this.#open.has(name)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
    });
  }
}

export interface Stage {
  readonly gates: Gates;
  /** The TCP socket below the request's, TLS or not: only it can be reset. */
  socketOf(exchange: Exchange): Socket;
}

/** The script of a request; undefined: it has none. */
export function scriptOf({ json }: Exchange): readonly Step[] | undefined {
  const script = json?.['script'];
  return Array.isArray(script) ? (script as readonly Step[]) : undefined; // only tests of this folder write them
}

/**
 * Plays a script to its end or to that of the connection.
 * @returns whether the sample's own answer has to follow.
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

/** A write of its own: what follows does not come in the same piece, as far as a sender can say. */
function written(sink: { write(chunk: Buffer, done: () => void): boolean } | null, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (sink === null) resolve();
    else sink.write(chunk, () => setImmediate(resolve));
  });
}

/** An SSE event with this JSON text. */
export function event(text: string): Step {
  return { write: `data: ${text}\n\n` };
}

export const done: Step = { write: 'data: [DONE]\n\n' };
