/**
 * Allows one daemon at a time in a folder. Each daemon caches the files in memory, so a second one
 * would overwrite the changes of the first. The lock is a listening unix socket in the
 * folder. The kernel closes it with its process, also after SIGKILL. Containers of the same host
 * that share the folder see the lock. On a shared file system, a daemon on another host does not
 * see it.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, lstatSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from '../error-code.js';
import { fileReason } from './text-file.js';

/**
 * Another daemon uses the folder, or possibly uses it, because its lock belongs to another user. The message is for the
 * person who starts this daemon.
 */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

/** A locked folder; not locked if {@link lockFolder} has logged a warning. */
export interface FolderLock {
  /** Releases the lock. Does nothing if there is none. */
  release(): Promise<void>;
}

interface FolderLockOptions {
  /** The setting that names the folder, for messages, such as `EMULATOR_STATE_DIR`. */
  readonly setting: string;
  /** Receives messages without secrets. */
  readonly log: {
    info(message: string, more?: Readonly<Record<string, unknown>>): void;
    warn(message: string): void;
  };
  /** How long to wait for a daemon that is stopping. Default: 10 s. */
  readonly waitMs?: number;
}

/** The result of one attempt: the lock, a description of its holder, or `again` to retry. */
type Attempt = { readonly server: Server } | { readonly holder: string } | 'again';

const NAME = 'lock';
/**
 * Maximum wait for a daemon that is stopping. Such a daemon waits for its requests, and most
 * requests end in this time.
 */
const WAIT_MS = 10_000;
const PAUSE_MS = 100;
/** Time for the other process to send its id. A process that got SIGSTOP never sends it. */
const REPLY_MS = 1_000;
/** Maximum length of the address of a unix socket, unix(7), without the terminating zero byte. */
const MAX_ADDRESS_LENGTH = 107;
/**
 * The errors after which the daemon runs without a lock: the folder cannot be written, the path is no folder, the lock
 * file is no socket, or the file system has no sockets.
 */
const cannotLockCodes: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EEXIST', 'ENOTSOCK'],
  ...['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'],
]);

/**
 * Locks a folder, and creates it if it is missing. If the folder is not writable, there is no lock,
 * because this daemon cannot overwrite anything in it. A file system without sockets has no lock either. The
 * same applies if a file is in the way of the folder or of its lock. Logs a warning in all these cases.
 * @throws {FolderInUseError} if another daemon uses the folder for longer than the wait, or the
 *   lock belongs to another user.
 * @throws {Error} for any other failure, such as a full disk or a lack of file descriptors. The
 *   cause is the error of node:fs or node:net.
 */
export async function lockFolder(
  folder: string,
  { setting, log, waitMs = WAIT_MS }: FolderLockOptions,
): Promise<FolderLock> {
  const end = performance.now() + waitMs;
  let isLogged = false;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (;;) {
      const found = await attempt(path.join(folder, NAME));
      if (typeof found === 'object' && 'server' in found) return lockOf(found.server);
      if (performance.now() >= end) {
        const who = found === 'again' ? 'another process' : found.holder;
        throw new FolderInUseError(`${folder} is in use by ${who}: each daemon needs its own ${setting}`);
      }
      if (found !== 'again' && !isLogged) {
        log.info(`waiting for ${found.holder} to stop, which uses ${folder}`, { seconds: waitMs / 1000 });
        isLogged = true;
      }
      await delay(PAUSE_MS);
    }
  } catch (error) {
    if (error instanceof FolderInUseError) throw error;
    if (!cannotLockCodes.has(errorCode(error) ?? '')) {
      throw new Error(`${folder} cannot be locked: ${fileReason(error)}`, { cause: error });
    }
    log.warn(`${folder} cannot be locked, so the daemon cannot detect a second one there: ${fileReason(error)}`);
    return { release: () => Promise.resolve() };
  }
}

/** Returns the lock that a listening socket holds. */
function lockOf(server: Server): FolderLock {
  return {
    release: async () => {
      if (!server.listening) return;
      // This also removes the socket from the folder.
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Makes one attempt.
 * @throws {FolderInUseError} if this process may not connect to the holder of the lock.
 * @throws what node:fs and node:net throw.
 */
async function attempt(file: string): Promise<Attempt> {
  try {
    return { server: await listen(file) };
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error;
  }
  const holder = await holderOf(file);
  if (holder !== null) return { holder };
  // A killed process left the socket. Renames it before the removal: if a third process took the
  // lock meanwhile, this process finds it listening and restores its socket.
  const aside = `${file}-${randomBytes(6).toString('hex')}`;
  try {
    if (!lstatSync(file).isSocket()) throw notASocket(file);
    renameSync(file, aside);
    if ((await holderOf(aside)) === null) rmSync(aside);
    else renameSync(aside, file);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return 'again';
}

async function listen(file: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`${process.pid}\n`);
    // Uses `destroySoon`, because `end` waits until the client closes. The release of the lock
    // would then wait for a client that got SIGSTOP.
    socket.destroySoon();
  });
  server.maxConnections = 8;
  const { address, done } = addressOf(file);
  try {
    server.listen(address);
    await once(server, 'listening');
  } catch (error) {
    done();
    throw error;
  }
  // When the server closes, Node removes the socket file by this address, so the address must be valid until then.
  server.once('close', done);
  // The lock must not keep the process alive.
  return server.unref();
}

/**
 * Describes the process that listens at a socket; null if no process listens.
 * @throws {FolderInUseError} if this process may not connect.
 * @throws as {@link addressOf}.
 */
function holderOf(file: string): Promise<string | null> {
  const { address, done } = addressOf(file);
  return new Promise((resolve, reject) => {
    let reply = '';
    let isHeld = false;
    let isDenied = false;
    const socket = connect(address);
    const timer = setTimeout(() => socket.destroy(), REPLY_MS);
    socket.setEncoding('latin1');
    socket.once('connect', () => (isHeld = true));
    socket.on('data', (text: string) => (reply = `${reply}${text}`.slice(0, 20)));
    socket.once('error', (error) => {
      isHeld = !['ECONNREFUSED', 'ENOENT'].includes(errorCode(error) ?? '');
      isDenied = ['EACCES', 'EPERM'].includes(errorCode(error) ?? '');
    });
    socket.once('close', () => {
      clearTimeout(timer);
      done();
      const pid = /^\d+/.exec(reply)?.[0];
      const named = pid === undefined ? 'another process' : `another daemon (process ${pid})`;
      if (isDenied) reject(deniedBy(file));
      else resolve(isHeld ? named : null);
    });
  });
}

function deniedBy(file: string): FolderInUseError {
  return new FolderInUseError(
    `permission denied to connect to ${file}, which belongs to another user. ` +
      'If no daemon uses the folder, remove this file',
  );
}

function notASocket(file: string): Error {
  return Object.assign(new Error(`${file} is not a socket`), { code: 'ENOTSOCK' });
}

/**
 * Returns the address of a socket file. A long path uses an open handle of its folder (proc(5)).
 * @returns also `done`, to be called after the address was used.
 * @throws the error of node:fs if the path is long, and its folder cannot be opened.
 */
function addressOf(file: string): { readonly address: string; readonly done: () => void } {
  if (Buffer.byteLength(file) <= MAX_ADDRESS_LENGTH) return { address: file, done: () => undefined };
  const folder = openSync(path.dirname(file), 'r');
  return { address: `/proc/self/fd/${folder}/${path.basename(file)}`, done: () => closeSync(folder) };
}
