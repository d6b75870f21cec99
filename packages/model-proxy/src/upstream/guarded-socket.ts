/**
 * Two things that undici 7.30 must not see of a socket. A reset of a connection whose answer has no length, while a slow client holds
 * that answer back: undici asks its parser to finish, the parser asserts that it is not paused, and the process ends. And
 * `100 Continue` that nobody asked for: undici takes it for a fault, RFC 9110 §15.2 wants it to be passed over.
 */
import type { Socket } from 'node:net';

/** The other side reset the connection: under another code it is an error of the request like any other. */
export class ResetError extends Error {
  override readonly name = 'ResetError';
  readonly code = 'RACKLESS_RESET';

  constructor(override readonly cause: Error) {
    super(cause.message);
  }
}

/** Tells a guarded socket that a request goes out: what comes next is the beginning of an answer. */
export type ExpectAnswer = () => void;

const CONTINUE = Buffer.from('HTTP/1.1 100');
const HEAD_END = Buffer.from('\r\n\r\n');
/** Of an interim head; nobody sends so much. */
const LARGEST_INTERIM_BYTES = 16_384;

/** Guards a socket for as long as it is open; to be called before undici gets it. */
export function guardSocket(socket: Socket): ExpectAnswer {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error?: Error) => destroy(error !== undefined && isReset(error) ? new ResetError(error) : error);

  let isExpected = false;
  let held: Buffer | null = null;
  // Without an encoding, a socket reads bytes.
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  socket.read = (size?: number) => {
    const chunk = read(size);
    if (!isExpected || chunk === null) return chunk;
    const rest: Buffer = withoutContinue(held === null ? chunk : Buffer.concat([held, chunk]));
    held = isUndecided(rest) ? rest : null;
    if (held !== null || rest.length === 0) return null;
    isExpected = false;
    return rest;
  };
  return () => {
    isExpected = true;
  };
}

/** What stands behind any number of whole interim heads. */
function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (rest.length >= CONTINUE.length && startsWithContinue(rest)) {
    const end = rest.indexOf(HEAD_END);
    if (end === -1) return rest;
    rest = rest.subarray(end + HEAD_END.length);
  }
  return rest;
}

/** Whether it may be, or is, an interim head that has not come to its end. */
function isUndecided(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.length < LARGEST_INTERIM_BYTES && startsWithContinue(bytes);
}

function startsWithContinue(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, CONTINUE.length);
  for (let at = 0; at < length; at += 1) if (bytes[at] !== CONTINUE[at]) return false;
  return true;
}

function isReset(error: Error): boolean {
  return 'code' in error && error.code === 'ECONNRESET';
}
