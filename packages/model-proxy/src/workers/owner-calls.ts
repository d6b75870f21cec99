/** Calls of a worker about the store that the first process of its group owns. */
import type { OwnerLink } from '../store/worker/owner-link.js';
import type { GroupCalls, WorkerCalls } from './calls.js';
import type { Channel } from './channel.js';

/** Interval of heartbeats, in milliseconds. */
const HEARTBEAT_MS = 1000;
/**
 * How long requests wait for their share of a limit, in milliseconds. The first process runs as
 * long as its workers. It answers late only if the host is overloaded, and then no worker should
 * apply the limits by itself.
 */
const LIMITS_TIMEOUT_MS = 10_000;

/** Makes the link to the owner of the store. */
export function ownerLink(channel: Channel<GroupCalls, WorkerCalls>): OwnerLink {
  return {
    changeKeys: (change) => channel.call('changeKeys', change),
    setSpend: async (digest, spend) => void (await channel.call('setSpend', { digest, spend })),
    addBatch: (batch) => channel.call('addBatch', batch),
    usageDays: (from, to) => channel.call('usageDays', { from, to }),
    usageOf: (day) => channel.call('usageOf', { day }),
    limits: {
      report: (reports) => channel.call('limits', reports),
      onHeartbeat: (listener) => void setInterval(listener, HEARTBEAT_MS).unref(),
      timeoutMs: LIMITS_TIMEOUT_MS,
    },
  };
}
