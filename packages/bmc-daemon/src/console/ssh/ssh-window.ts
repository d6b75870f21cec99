/** Corrects how the ssh2 library waits for the window of a client (RFC 4254 §5.2). */
import type { Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';

type Done = (error?: Error | null) => void;
type Write = Writable['_write'];

/** Output that a channel of the library still has to send. The library's types do not declare these fields. */
interface Waiting {
  /** Standard output that waits for the window, and its callback. */
  _chunk: Buffer | undefined;
  _chunkcb: Done | undefined;
  /** Standard error that waits for the window, and its callback. */
  _chunkErr: Buffer | undefined;
  _chunkcbErr: Done | undefined;
}

/**
 * Lets standard output and standard error of a channel both wait for the window.
 *
 * The library (1.17) has two faults. It keeps its reference to a waiting chunk of standard output after it has sent
 * this chunk. If only a message on standard error waits when the window opens, the library sends the old chunk again,
 * and never the message. If both streams wait, the library sends only the chunk of standard output.
 */
export function correctWindow(channel: ServerChannel): void {
  const waiting = channel as ServerChannel & Waiting;
  const { stderr } = channel;
  const writeOutput: Write = channel._write.bind(channel);
  const writeError: Write = stderr._write.bind(stderr);
  stderr._write = (chunk, encoding, done) => {
    waiting._chunkErr = waiting._chunkcbErr = undefined;
    writeError(chunk, encoding, done);
  };
  channel._write = (chunk, encoding, done) => {
    waiting._chunk = waiting._chunkcb = undefined;
    const { _chunkErr: message, _chunkcbErr: onMessageSent } = waiting;
    // If both streams wait when the window opens, the library calls only this function. So this function also sends
    // the message. Messages are short, so they go first.
    if (message !== undefined && onMessageSent !== undefined) stderr._write(message, encoding, onMessageSent);
    writeOutput(chunk, encoding, done);
  };
}
