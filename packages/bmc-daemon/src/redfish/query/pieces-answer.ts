/** A large answer on its way to a client that may be slow. */
import type { Writable } from 'node:stream';
import { streamAnswer, type Answer, type Headers } from '../answer.js';
import type { Serialized } from './serialize.js';

export interface SendingOptions {
  /** How long a client may take for a piece before its connection is closed. */
  readonly stallMs: number;
  /** Told of each piece that is no longer held here. */
  readonly released: (bytes: number) => void;
}

/** 200 with the pieces, each written when the client has taken the one before. */
export function piecesAnswer({ pieces, bytes }: Serialized, headers: Headers, options: SendingOptions): Answer {
  const length = { 'Content-Length': String(bytes) };
  const source = (output: Writable): void => void send([...pieces], output, options);
  return streamAnswer(source, 'application/json; charset=utf-8', { ...length, ...headers });
}

/** Never rejects: a client that goes away, or reads nothing, gets no more. */
async function send(pieces: Buffer[], output: Writable, { stallMs, released }: SendingOptions): Promise<void> {
  // Without a listener an error of the connection would be an uncaught one.
  output.on('error', () => undefined);
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const taken = output.destroyed || output.write(piece) || (await happens(output, 'drain', stallMs));
    released(piece.length);
    if (!taken) output.destroy();
  }
  output.end();
  if (!output.destroyed && !(await happens(output, 'finish', stallMs))) output.destroy();
}

/** False where the output closes before it happens, or it does not happen in time. */
function happens(output: Writable, event: 'drain' | 'finish', withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (happened: boolean) => (): void => {
      clearTimeout(timer);
      output.off(event, yes).off('close', no);
      resolve(happened);
    };
    const [yes, no] = [settle(true), settle(false)];
    // One more turn of the event loop: after a turn that took long, what happened meanwhile comes behind the timers.
    const timer = setTimeout(() => setImmediate(no), withinMs);
    output.once(event, yes).once('close', no);
    // It may have closed before the listeners were there.
    if (output.closed) no();
  });
}
