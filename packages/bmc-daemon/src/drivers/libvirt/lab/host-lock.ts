/**
 * Lets one command at a time change the machines of a libvirt host. The lock is an abstract unix socket, which
 * the kernel closes with its process, also after SIGKILL. Commands on other hosts do not see it.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '@rackless/daemon/error-code.js';

const PAUSE_MS = 100;

/** Options of {@link lockHost}. */
interface LockOptions {
  /** Called once if another command has the lock. */
  readonly onWait: () => void;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Waits for the lock of a connection URI, and holds it until the process ends.
 * @throws {Error} AbortError after the signal; an error of node:net if the host has no sockets left.
 */
export async function lockHost(uri: string, { onWait, signal }: LockOptions): Promise<void> {
  const path = `\0rackless-machine-${createHash('sha256').update(uri).digest('hex')}`;
  for (let hasWaited = false; ; hasWaited = true) {
    const server = createServer((socket) => socket.destroy());
    try {
      server.listen(path);
      await once(server, 'listening');
      // The lock does not extend the life of the process.
      server.unref();
      return;
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE') throw error;
    }
    if (!hasWaited) onWait();
    await sleep(PAUSE_MS, undefined, { signal });
  }
}
