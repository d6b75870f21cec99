/**
 * Discovery by SSDP. Clients change its settings over Redfish, and a state file stores
 * them. The socket is open while discovery is enabled.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { DiscoveryError, type DiscoveryControl, type DiscoverySettings } from '../offers/discovery-control.js';
import { openStateFile, type StateFile } from '../state-file.js';
import { product, redfishVersion, version } from '../version.js';
import type { ServiceAddresses } from './location.js';
import { SSDP_GROUP, SSDP_PORT } from './message.js';
import { openResponder, type Responder } from './responder.js';

/** The settings of discovery, and the socket. */
export interface Discovery extends DiscoveryControl {
  /** Starts discovery if it is enabled. Logs a warning if it fails. */
  start(service: ServiceAddresses): Promise<void>;
  /** Sends the byebye messages and closes the socket. Later changes have no effect. */
  close(): Promise<void>;
}

const stateSchema = z.object({
  enabled: z.boolean(),
  /** The value of EMULATOR_SSDP when the settings were stored. If the value differs now, it replaces `enabled`. */
  configured: z.boolean(),
  notifyTtl: z.int().min(1).max(255),
  notifyIntervalSeconds: z.int().min(0).max(86_400),
});

type StoredSettings = z.infer<typeof stateSchema>;

/** The values that DMTF recommends. */
const NOTIFY_TTL = 2;
const NOTIFY_INTERVAL_S = 600;

interface DiscoveryOptions {
  /** EMULATOR_SSDP: whether discovery is on, until a client changes that. */
  readonly configured: boolean;
  readonly stateDir: string;
  readonly serviceUuid: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Another multicast group and port, for tests. */
  readonly group?: string;
  readonly port?: number;
  /** Replaces Math.random in tests. It chooses when an answer is sent, see {@link openResponder}. */
  readonly random?: () => number;
}

/**
 * Creates discovery. It opens no socket before `start`.
 * @throws {StateFileError} if the state file cannot be read. A damaged file is renamed.
 */
export function openDiscovery(options: DiscoveryOptions): Discovery {
  return new SsdpDiscovery(options, openSettings(options));
}

class SsdpDiscovery implements Discovery {
  readonly port: number;
  readonly #options: DiscoveryOptions;
  readonly #stored: StateFile<StoredSettings>;
  /** The settings that clients have requested. */
  #wanted: DiscoverySettings;
  /** The settings in effect: `enabled` is false if the socket could not be opened. */
  #active: DiscoverySettings;
  #service: ServiceAddresses | undefined;
  #responder: Responder | undefined;
  #isClosed = false;
  /** Resolves when all enqueued work has ended. */
  #queue: Promise<void> = Promise.resolve();

  constructor(options: DiscoveryOptions, stored: StateFile<StoredSettings>) {
    this.port = options.port ?? SSDP_PORT;
    this.#options = options;
    this.#stored = stored;
    this.#wanted = this.#initialSettings();
    this.#active = settingsOf(this.#wanted, false);
  }

  get settings(): DiscoverySettings {
    return this.#active;
  }

  start(service: ServiceAddresses): Promise<void> {
    return this.#enqueue(async () => {
      const { log } = this.#options;
      this.#service = service;
      try {
        await this.#apply();
        if (this.#responder !== undefined) log.info(`clients can find the service by SSDP, at UDP port ${this.port}`);
      } catch (error) {
        log.warn('clients cannot find the service by SSDP', { error });
      }
    });
  }

  change(change: Partial<DiscoverySettings>): Promise<void> {
    return this.#enqueue(() => (this.#isClosed ? Promise.resolve() : this.#change(change)));
  }

  close(): Promise<void> {
    return this.#enqueue(async () => {
      this.#isClosed = true;
      await this.#closeSocket();
    });
  }

  /** Returns the stored settings. If EMULATOR_SSDP has changed, it replaces `enabled` in the stored settings. */
  #initialSettings(): DiscoverySettings {
    const { configured, log } = this.#options;
    const stored = this.#stored.state;
    if (stored.configured === configured) return settingsOf(stored, stored.enabled);
    const wanted = settingsOf(stored, configured);
    try {
      this.#store(wanted);
    } catch (error) {
      log.warn('storing the settings of SSDP failed', { error });
    }
    return wanted;
  }

  #store(settings: DiscoverySettings): void {
    this.#stored.update(() => ({ ...settings, configured: this.#options.configured }));
  }

  async #change(change: Partial<DiscoverySettings>): Promise<void> {
    const before = this.#wanted;
    const next = settingsOf({ ...before, ...change }, change.enabled ?? before.enabled);
    // The change has no effect only if it equals both the active and the wanted settings. If the port was
    // not available, discovery is inactive although `#wanted` enables it. A client's request to disable
    // discovery must then be stored.
    if (isSameSettings(next, this.#active) && isSameSettings(next, before)) return;
    this.#store(next);
    this.#wanted = next;
    try {
      await this.#apply();
    } catch (error) {
      this.#wanted = before;
      this.#store(before);
      // The socket with the earlier settings is closed already.
      this.#active = settingsOf(before, false);
      throw error;
    }
  }

  /**
   * Closes the socket, and opens it again if discovery is enabled.
   * @throws {DiscoveryError} if the port is not available.
   */
  async #apply(): Promise<void> {
    await this.#closeSocket();
    try {
      if (!this.#wanted.enabled || this.#service === undefined) return;
      this.#responder = await this.#openSocket(this.#wanted, this.#service);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new DiscoveryError(`listening at UDP port ${this.port}: ${reason}`, { cause: error });
    } finally {
      this.#active = settingsOf(this.#wanted, this.#responder !== undefined);
    }
  }

  #openSocket({ notifyTtl, notifyIntervalSeconds }: DiscoverySettings, service: ServiceAddresses): Promise<Responder> {
    const { serviceUuid, group = SSDP_GROUP, log, random } = this.#options;
    return openResponder({
      uuid: serviceUuid,
      minor: Number(redfishVersion.split('.')[1] ?? 0),
      product: `${product.replaceAll(' ', '-')}/${version}`,
      ...service,
      group,
      port: this.port,
      ttl: notifyTtl,
      notifyIntervalMs: notifyIntervalSeconds * 1_000,
      log,
      ...(random === undefined ? {} : { random }),
    });
  }

  async #closeSocket(): Promise<void> {
    await this.#responder?.close();
    this.#responder = undefined;
  }

  /** Runs starts, changes and the close one after the other. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }
}

function openSettings({ configured, stateDir, serviceUuid, log }: DiscoveryOptions): StateFile<StoredSettings> {
  return openStateFile({
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
}

function settingsOf({ notifyTtl, notifyIntervalSeconds }: DiscoverySettings, enabled: boolean): DiscoverySettings {
  return { enabled, notifyTtl, notifyIntervalSeconds };
}

function isSameSettings(one: DiscoverySettings, other: DiscoverySettings): boolean {
  return (
    one.enabled === other.enabled &&
    one.notifyTtl === other.notifyTtl &&
    one.notifyIntervalSeconds === other.notifyIntervalSeconds
  );
}
