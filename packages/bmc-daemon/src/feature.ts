/**
 * The interface of a feature: a folder without which the daemon still works. `features.ts` lists all
 * features.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { TlsOptions } from '@rackless/daemon/network/tls.js';
import type { SettingKey, Settings } from './config/settings.js';
import type { HypervisorDriver } from './drivers/driver.js';
import type { NameServers } from './host/name-lookup.js';
import type { ChangeListener } from './redfish/exchange.js';
import type { Awaitable, Resource } from './redfish/resource.js';
import type { StreamDefinition } from './redfish/stream.js';
import type { WebSocketDefinition } from './redfish/web-socket.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { Services, ServicesWith } from './resources/services.js';

/** Everything that a feature can use. */
export interface FeatureContext {
  /** The active settings. A reload changes this object. */
  readonly settings: Settings;
  /** The source of each setting, for messages. */
  readonly origins: Readonly<Record<SettingKey, string>>;
  /**
   * The folder for files of the service. Only one daemon uses it at a time. After a restart, the
   * daemon may have another port or hypervisor, and therefore another service UUID. So names of files that
   * belong to one service contain the UUID.
   */
  readonly stateDir: string;
  readonly log: Log;
  /** The state that all replicas of the service share; null: there are no other replicas. */
  readonly store: SharedStore | null;
  readonly nameServers: NameServers;
  /** The certificate of HTTPS at the start; undefined for plain HTTP. */
  readonly tls: TlsOptions | undefined;
  /** Sets the certificate for new connections. */
  readonly setTls: (tls: TlsOptions) => void;
  /** The served resources, including those of other features. */
  readonly resources: readonly Pick<Resource<Services>, 'uri' | 'aliases' | 'odataType'>[];
  /**
   * Returns the services. While the features open, these are the services of the daemon and of the
   * earlier features in the list. Later, these are the services of all features.
   */
  readonly services: () => Services;
}

/** Addresses of the service. */
export interface Listening {
  /** URLs, such as `http://127.0.0.1:8000`. */
  readonly addresses: readonly string[];
  /** Whether the service listens at all addresses of the host. */
  readonly everywhere: boolean;
  /**
   * Listens at another address, with all protocols.
   * @returns a function that stops listening at this address.
   * @throws {ListenError}
   */
  addAddress(address: string): Promise<() => void>;
}

/**
 * An open feature. The daemon calls `start` in the order of the list, and `close` in reverse order.
 * @typeParam Own the services that the feature adds.
 */
export interface OpenFeature<Own extends object> {
  readonly services: Own;
  /**
   * Returns services that show only one machine, for requests that use the name or address of its manager.
   * Leave it out if the feature has no data of machines: such requests then get `services`.
   */
  readonly forMachine?: (uuid: string) => Partial<Own>;
  /** Called after each successful write of a client. See {@link ChangeListener} for the exceptions. */
  readonly onWrite?: ChangeListener;
  /**
   * Listens at another address, for a feature with its own protocol. Never rejects.
   * @returns a function that stops listening at this address.
   */
  readonly addAddress?: (address: string) => Promise<() => void>;
  /** Called when the service listens and the driver runs. */
  readonly start?: (listening: Listening) => Awaitable<void>;
  /**
   * Called after a reload.
   * @param tls the certificate of HTTPS, if the service uses another one now.
   */
  readonly reload?: (tls: TlsOptions | undefined) => void;
  /**
   * Ends everything that would not end by itself, such as streams. Running requests may still use
   * the services.
   */
  readonly stop?: () => Awaitable<void>;
  /** Called after the last request. Resolves when everything is on the disk. */
  readonly close?: () => Awaitable<void>;
}

/**
 * A feature: its resources, and how to open it. Only `features.ts` imports its folder.
 * @typeParam Own the services that the feature adds.
 */
export interface Feature<Own extends object> {
  readonly resources: readonly Resource<ServicesWith<Own>>[];
  readonly streams?: readonly StreamDefinition<ServicesWith<Own>>[];
  readonly webSockets?: readonly WebSocketDefinition<ServicesWith<Own>>[];
  /** Returns the resources for a driver; none if the driver lacks the parts that the feature needs. Default: all. */
  readonly resourcesOf?: (driver: HypervisorDriver) => readonly Resource<ServicesWith<Own>>[];
  /**
   * Opens the feature without a change of the host, because another daemon may already serve the
   * host.
   * @throws {StartError} if a setting cannot be used.
   * @throws {StateFileError} if a file in the state folder is unusable.
   */
  open(context: FeatureContext): Awaitable<OpenFeature<Own>>;
}
