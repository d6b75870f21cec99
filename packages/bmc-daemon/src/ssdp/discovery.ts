/**
 * Manages discovery by SSDP: the settings that clients change over Redfish, which survive restarts,
 * and the socket that follows them.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { DiscoveryError, type DiscoveryControl, type DiscoverySettings } from '../offers/discovery-control.js';
import { openStateFile } from '../state-file.js';
import { product, redfishVersion, version } from '../version.js';
import { SSDP_GROUP, SSDP_PORT } from './message.js';
import { openResponder, type Responder } from './responder.js';

/** The settings of discovery, and the socket. */
export interface Discovery extends DiscoveryControl {
  /** Starts discovery if it is enabled. Logs a warning if it fails. */
  start(service: DiscoveredService): Promise<void>;
  /** Sends the byebye messages and closes the socket. */
  close(): Promise<void>;
}

/** The addresses of the service. */
interface DiscoveredService {
  /** The service's URLs. */
  readonly addresses: readonly string[];
  /** Whether the service listens at all addresses of the host. */
  readonly everywhere: boolean;
}

const stateSchema = z.object({
  enabled: z.boolean(),
  /** EMULATOR_SSDP when that was set: where the configuration has changed since, it was the last to speak. */
  configured: z.boolean(),
  notifyTtl: z.int().min(1).max(255),
  notifyIntervalSeconds: z.int().min(0).max(86_400),
});

/** The values that DMTF recommends. */
const NOTIFY_TTL = 2;
const NOTIFY_INTERVAL_S = 600;

interface DiscoveryOptions {
  /** EMULATOR_SSDP: whether it is on where nobody has set it since. */
  readonly configured: boolean;
  readonly stateDir: string;
  readonly serviceUuid: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Another multicast group and port, for tests. */
  readonly group?: string;
  readonly port?: number;
  /** When answers are sent, as in {@link openResponder}. */
  readonly random?: () => number;
}

/**
 * Creates discovery. It opens no socket before `start`.
 * @throws {StateFileError} if the stored settings are unreadable.
 */
export function openDiscovery(options: DiscoveryOptions): Discovery {
  const { configured, stateDir, serviceUuid, log, group = SSDP_GROUP, port = SSDP_PORT } = options;
  const state = openStateFile({
    folder: stateDir,
    name: `discovery-${serviceUuid}`,
    schema: stateSchema,
    initial: {
      enabled: configured,
      configured,
      notifyTtl: NOTIFY_TTL,
      notifyIntervalSeconds: NOTIFY_INTERVAL_S,
    },
    log,
    broken: 'setAside',
  });
  const keep = (settings: DiscoverySettings): void => state.update(() => ({ ...settings, configured }));
  const kept = state.state;
  let wanted = settingsOf(kept, kept.enabled);
  if (kept.configured !== configured) {
    wanted = settingsOf(kept, configured);
    try {
      keep(wanted);
    } catch (error) {
      log.warn('keeping whether the service is found by SSDP', { error });
    }
  }
  let responder: Responder | undefined;
  let service: DiscoveredService | undefined;
  let shown = settingsOf(wanted, false);

  /** Opens or closes the socket to match the settings. */
  const apply = async (): Promise<void> => {
    await responder?.close();
    responder = undefined;
    try {
      if (!wanted.enabled || service === undefined) return;
      responder = await openResponder({
        uuid: serviceUuid,
        minor: Number(redfishVersion.split('.')[1] ?? 0),
        product: `${product.replaceAll(' ', '-')}/${version}`,
        ...service,
        group,
        port,
        ttl: wanted.notifyTtl,
        notifyIntervalMs: wanted.notifyIntervalSeconds * 1_000,
        log,
        ...(options.random === undefined ? {} : { random: options.random }),
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new DiscoveryError(`listening at UDP port ${port}: ${reason}`, { cause: error });
    } finally {
      shown = settingsOf(wanted, responder !== undefined);
    }
  };

  const set = async (change: Partial<DiscoverySettings>): Promise<void> => {
    const before = wanted;
    const next = settingsOf({ ...before, ...change }, change.enabled ?? before.enabled);
    // What is shown may not be what is wanted: the port could not be had, and is to be let alone from now on.
    if (sameSettings(next, shown) && sameSettings(next, before)) return;
    keep(next);
    wanted = next;
    try {
      await apply();
    } catch (error) {
      wanted = before;
      keep(before);
      // What there was before was closed first.
      shown = settingsOf(before, false);
      throw error;
    }
  };

  let turn: Promise<void> = Promise.resolve();
  /** Serializes all changes. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
  let closed = false;

  return {
    port,
    get settings() {
      return shown;
    },
    change: (change) => inTurn(() => (closed ? Promise.resolve() : set(change))),
    start: (where) =>
      inTurn(async () => {
        service = where;
        try {
          await apply();
          if (responder !== undefined) log.info(`found by SSDP, at UDP port ${port}`);
        } catch (error) {
          log.warn('the service will not be found by SSDP', { error });
        }
      }),
    close: () =>
      inTurn(async () => {
        closed = true;
        await responder?.close();
        responder = undefined;
      }),
  };
}

function settingsOf({ notifyTtl, notifyIntervalSeconds }: DiscoverySettings, enabled: boolean): DiscoverySettings {
  return { enabled, notifyTtl, notifyIntervalSeconds };
}

function sameSettings(one: DiscoverySettings, other: DiscoverySettings): boolean {
  return (
    one.enabled === other.enabled &&
    one.notifyTtl === other.notifyTtl &&
    one.notifyIntervalSeconds === other.notifyIntervalSeconds
  );
}
