/**
 * Lets one command at a time change the machines of a libvirt host. The lock is an abstract unix
 * socket. The kernel closes it when the process ends, also after SIGKILL. Commands on other hosts
 * do not see it.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '@rackless/daemon/error-code.js';
import { isSession } from '../connection-uri.js';
import { attempt } from '../failure.js';
import type { LabHost } from './lab-host.js';

const PAUSE_MS = 100;

/** Options of {@link lockHost}. */
interface LockOptions {
  /** Called once if another command has the lock. */
  readonly onWait: () => void;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Waits for the lock of a libvirt daemon, and holds it until the process ends. Several URIs can name
 * the same libvirt daemon, so the name of the lock depends on the host name that libvirt reports.
 * @throws {Error} AbortError after the signal; an error of node:net if the host has no sockets left;
 *   DriverError unavailable.
 */
export async function lockHost({ hypervisor, uri, timeoutMs }: LabHost, { onWait, signal }: LockOptions) {
  const hostName = await attempt('reading the name of the host', () => hypervisor.getHostname({ timeoutMs }));
  const instance = isSession(uri) ? `session of ${process.getuid?.() ?? ''}` : 'system';
  const identity = createHash('sha256').update(`${hostName}\n${instance}`).digest('hex');
  const path = `\0rackless-machine-${identity}`;
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
