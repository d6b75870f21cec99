/** Sends a large answer to a client that may be slow. */
import type { Writable } from 'node:stream';
import { streamAnswer, type Answer, type Headers } from '../answer.js';
import type { Serialized } from './serialize.js';

/** Limits for one answer. */
interface SendingOptions {
  /**
   * How long a client may take for one piece before the service closes its connection, in
   * milliseconds.
   */
  readonly stallMs: number;
  /** Called with the number of bytes of each piece that no longer uses memory. */
  readonly released: (bytes: number) => void;
}

/** Returns a 200 that writes each piece after the connection has accepted the previous piece. */
export function chunkedAnswer({ pieces, bytes }: Serialized, headers: Headers, options: SendingOptions): Answer {
  const length = { 'Content-Length': String(bytes) };
  const source = (output: Writable): void => void send([...pieces], output, options);
  return streamAnswer(source, 'application/json; charset=utf-8', { ...length, ...headers });
}

/** Sends the pieces. Never rejects: it stops if the client disconnects or stops reading. */
async function send(pieces: Buffer[], output: Writable, { stallMs, released }: SendingOptions): Promise<void> {
  // Without a listener, an error of the connection would end the process.
  output.on('error', () => undefined);
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const accepted = output.destroyed || output.write(piece) || (await eventWithin(output, 'drain', stallMs));
    released(piece.length);
    if (!accepted) output.destroy();
  }
  output.end();
  if (!output.destroyed && !(await eventWithin(output, 'finish', stallMs))) output.destroy();
}

/** Waits for an event. Resolves to false if the output closes first, or at the deadline. */
function eventWithin(output: Writable, event: 'drain' | 'finish', withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (happened: boolean) => (): void => {
      clearTimeout(timer);
      output.off(event, onEvent).off('close', onFailure);
      resolve(happened);
    };
    const [onEvent, onFailure] = [settle(true), settle(false)];
    // Wait one more turn of the event loop: after a slow turn, timers run before the events that
    // happened during it.
    const timer = setTimeout(() => setImmediate(onFailure), withinMs);
    output.once(event, onEvent).once('close', onFailure);
    // The output may have closed before the listeners were added.
    if (output.closed) onFailure();
  });
}
