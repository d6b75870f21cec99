/** Reads small text files and describes file errors in plain words. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { errorCode } from '../error-code.js';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no room left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would exceed the file size limit',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8',
};

/** Describes an error of node:fs in plain words, for example `there is no such file`. */
export function fileReason(error: unknown): string {
  // No `instanceof Error`: it is false for errors of another realm, which jest uses.
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return (typeof code === 'string' ? REASONS[code] : undefined) ?? String(message);
}

/** Maximum size of a file: a device or a pipe without an end would fill the memory. */
const MAX_MIB = 64;
const MAX_BYTES = MAX_MIB * 1024 * 1024;
const READ_BYTES = 65_536;
/** Maximum time to read a pipe or a device, because the read blocks the process. */
const PIPE_DEADLINE_MS = 5000;
const PIPE_STEP_MS = 10;

/**
 * Reads a file in UTF-8, or in UTF-16 with a byte order mark. The result has no such mark. Also
 * reads a pipe (`--config <(command)`); a pipe without a writer is an error.
 * @param pipeDeadlineMs how long a pipe or a device may take in total, in milliseconds.
 * @throws {Error} whose message is only the reason, as {@link fileReason} returns it; also for more than 64 MiB.
 */
export function readTextFile(path: string, pipeDeadlineMs = PIPE_DEADLINE_MS): string {
  try {
    const bytes = readBytes(path, pipeDeadlineMs);
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error(fileReason(error), { cause: error });
  }
}

/** Returns the encoding by the byte order mark. No text in UTF-8 begins with a mark of UTF-16. */
function encodingOf([first, second]: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

function readBytes(path: string, pipeDeadlineMs: number): Buffer {
  // Without O_NONBLOCK, a pipe without a writer would block the process at a reload.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(file);
    if (status.size > MAX_BYTES) throw tooLarge();
    return status.isFile() || status.isDirectory()
      ? readFileSync(file)
      : readStream(file, status.isFIFO(), pipeDeadlineMs);
  } finally {
    closeSync(file);
  }
}

/**
 * Reads a pipe or a device, which has no size. The writer of a pipe may still be running.
 * @throws {Error} if it takes too long, is too large, or is a pipe without data.
 */
function readStream(file: number, isPipe: boolean, deadlineMs: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    if (performance.now() > deadline)
      throw new Error(`it is a ${isPipe ? 'pipe' : 'device'}, and its data takes over ${deadlineMs / 1000} s`);
    const room = Buffer.allocUnsafe(READ_BYTES);
    const count = readOrWait(file, room);
    // A pipe without a writer looks like one whose writer wrote nothing.
    if (count === 0 && length === 0 && isPipe) throw new Error('it is a pipe without a writer, or an empty one');
    if (count === 0) return Buffer.concat(pieces, length);
    if (count === undefined) continue;
    pieces.push(room.subarray(0, count));
    length += count;
    if (length > MAX_BYTES) throw tooLarge();
  }
}

/** Returns the number of bytes read; 0: the end; undefined: no byte has arrived yet. @throws the error of node:fs. */
function readOrWait(file: number, room: Buffer): number | undefined {
  try {
    return readSync(file, room);
  } catch (error) {
    if (errorCode(error) !== 'EAGAIN') throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_STEP_MS);
    return undefined;
  }
}

const tooLarge = () => new Error(`it is larger than ${MAX_MIB} MiB`);
