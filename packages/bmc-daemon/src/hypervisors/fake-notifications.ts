/**
 * Sends changes of fake systems to a fake deploy agent, as sushy-tools does: PUT, with the system
 * as JSON. A power action causes two notifications, with the pending state and with the final
 * state, because agents act on `pending_power`.
 * @see https://docs.openstack.org/sushy-tools/latest/user/dynamic-emulator.html
 */
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type AgentOptions } from 'node:https';
import type { Log } from '@rackless/daemon/log/log.js';
import type { FakeSystem } from '../config/rows/fake-systems.js';
import type { BootChoice } from '../drivers/rules/boot-override.js';
import type { CompleteSnapshot, SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { MachineChange, MachineChangeKind } from '../drivers/machine-change.js';
import { notificationOf, type PendingPower, type SystemNotification } from './fake-systems.js';

/** Destination of notifications. */
export interface NotificationTarget {
  readonly url: string;
  /**
   * CA certificates as PEM. If absent, the daemon verifies the agent's certificate only if `cert` and
   * `key` are set, as sushy-tools does.
   */
  readonly ca?: string;
  /** Client certificate and key as PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** The machines to report. */
interface NotifiedMachines {
  onChange(listener: (change: MachineChange) => void): () => void;
  find(uuid: string): CompleteSnapshot;
  bootedFrom(uuid: string): BootChoice | undefined;
}

/** Time limit for one notification, from the moment at which its request gets a socket. Includes connecting. */
const TIMEOUT_MS = 10_000;
const CONNECTIONS = 16;
/** Maximum number of queued notifications. Further notifications are dropped, with a warning. */
const MAX_QUEUE_LENGTH = 20_000;

const pendingPower: Readonly<Partial<Record<MachineChangeKind, PendingPower['power_state']>>> = {
  started: 'On',
  stopped: 'Off',
  rebooted: 'ForceRestart',
};

/**
 * Starts the notifications for systems with `external_notifier`. Logs failures, because an absent
 * agent must not affect a machine.
 * @returns a function that ends them.
 */
export function startNotifications(
  systems: readonly FakeSystem[],
  machines: NotifiedMachines,
  target: NotificationTarget,
  log: Pick<Log, 'warn'>,
): () => void {
  const notified = new Map(
    systems.filter((system) => system.external_notifier === true).map((system) => [system.uuid.toLowerCase(), system]),
  );
  if (notified.size === 0) return () => undefined;
  const put = createPut(target);
  /**
   * The last notification of each machine. The next one waits for it, so that they arrive in order.
   */
  const lastSent = new Map<string, Promise<void>>();
  let waiting = 0;
  let dropped = false;
  let ended = false;

  const send = ({ uuid, name }: SystemRef, notification: SystemNotification): void => {
    if (waiting >= MAX_QUEUE_LENGTH) {
      if (!dropped) log.warn(`${MAX_QUEUE_LENGTH} notifications wait for ${target.url}: new ones are dropped`);
      dropped = true;
      return;
    }
    waiting += 1;
    const sent = (lastSent.get(uuid) ?? Promise.resolve())
      .then(() => put.send(JSON.stringify(notification)))
      .then(
        () => void (dropped = false),
        (error: unknown) => {
          if (!ended) log.warn(`notifying ${target.url} of machine ${name} failed`, { error });
        },
      )
      .finally(() => {
        waiting -= 1;
        if (lastSent.get(uuid) === sent) lastSent.delete(uuid);
      });
    lastSent.set(uuid, sent);
  };

  const stop = machines.onChange(({ kind, uuid }) => {
    const system = notified.get(uuid);
    // sushy-tools cannot remove a system, so it has no notification for that.
    if (system === undefined || kind === 'undefined') return;
    // Reads the machine now, not when the notification is sent: a power action can cause several events in
    // one turn of the event loop.
    const machine = machines.find(uuid);
    const bootedFrom = machines.bootedFrom(uuid);
    const pendingState = pendingPower[kind];
    if (pendingState !== undefined) {
      const pending = { power_state: pendingState, apply_time: Math.floor(Date.now() / 1000) };
      send(machine, {
        ...notificationOf(system, machine, bootedFrom, pending),
        // In sushy-tools, a machine is off while its restart is pending.
        power_state: pendingState === 'Off' ? 'On' : 'Off',
      });
    }
    send(machine, notificationOf(system, machine, bootedFrom, null));
  });
  return () => {
    ended = true;
    stop();
    put.close();
  };
}

/** Sends PUT requests to one URL, over a limited number of connections and with a time limit. */
function createPut({ url, ca, cert, key }: NotificationTarget): { send(body: string): Promise<void>; close(): void } {
  const secure = url.startsWith('https:');
  const options: AgentOptions = { keepAlive: true, maxSockets: CONNECTIONS };
  const agent = secure
    ? new HttpsAgent({
        ...options,
        rejectUnauthorized: ca !== undefined || cert !== undefined,
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert, key }),
      })
    : new HttpAgent(options);
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const send = (body: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
      const request = (secure ? httpsRequest : httpRequest)(url, { method: 'PUT', agent, headers, signal });
      let timer: NodeJS.Timeout | undefined;
      // The time limit starts here, because a request may wait for a free connection before.
      request.on('socket', () => {
        timer = setTimeout(() => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
      });
      request.on('close', () => {
        clearTimeout(timer);
        reject(new Error('the connection ended before the answer'));
      });
      request.on('error', reject);
      request.on('upgrade', (_response, socket) => {
        socket.destroy();
        reject(new Error('the agent answered with 101'));
      });
      request.on('response', (response) => {
        const { statusCode = 0 } = response;
        response.on('error', reject);
        response.on('end', () => {
          if (statusCode < 400) resolve();
          else reject(new Error(`the agent answered with ${statusCode}`));
        });
        response.resume();
      });
      request.end(body);
    });
  return {
    send,
    close: () => {
      closing.abort();
      agent.destroy();
    },
  };
}
