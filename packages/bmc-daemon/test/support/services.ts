/** Creates the services for resources in tests. A test can replace each of them. */
import { writeFileSync } from 'node:fs';
import { openAccess, type Access } from '../../src/auth/access.js';
import { initialAccessState } from '../../src/auth/access-state.js';
import { attemptLimits } from '../../src/auth/attempt-queue.js';
import { listEffectiveSettings } from '../../src/config/effective.js';
import { loadSettings } from '../../src/config/load.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import type { IndicatorState } from '../../src/drivers/snapshot/hardware-snapshot.js';
import { noRequestedKeys, openServerCertificate } from '../../src/certificates/server-certificate.js';
import { createEventBus } from '../../src/events/event-bus.js';
import { createEventFeed, localSource } from '../../src/events/event-feed.js';
import { openEventLogs } from '../../src/events/event-logs.js';
import { noSubscriptions } from '../../src/events/subscriptions/subscription.js';
import { createSubscriptions } from '../../src/events/subscriptions/subscriptions.js';
import type { HostNetwork } from '../../src/host/host-network.js';
import { createManagerNetwork, type ManagerNetwork } from '../../src/manager-network/manager-network.js';
import { emptyNetworkState } from '../../src/manager-network/network-state.js';
import type { DiscoverySettings } from '../../src/offers/discovery-control.js';
import { createTaskStore } from '../../src/redfish/tasks/task-store.js';
import { resources, type AllServices } from '../../src/features.js';
import type { ResourceSettings } from '../../src/resources/services.js';
import { resourceTypesOf } from '../../src/events/resource-types.js';
import type { IndicatorStore } from '../../src/resources/chassis/indicator-store.js';
import type { Discovery } from '../../src/ssdp/discovery.js';
import type { StateFile } from '../../src/state-file.js';
import { initialTelemetry, openReportDefinitions } from '../../src/telemetry/report-definitions.js';
import { createTelemetry } from '../../src/telemetry/telemetry.js';
import { certificatePem } from '../fixtures/certificate.js';
import { addressesInMemory } from './host-addresses.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A host with one network interface. */
const hostNetwork: HostNetwork = {
  hostName: 'host',
  fqdn: 'host.example.org',
  interfaces: [
    {
      name: 'eth0',
      mac: '52:54:00:00:00:01',
      ipv4: [{ address: '192.0.2.1', prefix: 24 }],
      ipv6: [{ address: 'fe80::1', prefix: 64 }],
      ipv4Gateway: '192.0.2.254',
      ipv6Gateway: null,
      linkUp: true,
      speedMbps: 1000,
      mtu: 1500,
      vlan: null,
    },
  ],
  nameServers: ['192.0.2.53'],
};

/** Services and settings that a test replaces. */
export interface TestServices extends Partial<Omit<AllServices, 'driver' | 'settings'>> {
  readonly settings?: Partial<ResourceSettings>;
}

/**
 * Creates services with the real clock, a silent log, tasks after 8 s and default settings.
 * @param parts replace these services and settings.
 */
export function testServices(driver: HypervisorDriver, { settings, ...parts }: TestServices = {}): AllServices {
  const now = parts.now ?? (() => new Date());
  const events =
    parts.events ??
    createEventBus((error) => {
      throw error;
    });
  const telemetry = createTelemetry({
    driver: {
      listSystems: () => driver.listSystems(),
      onChange: (listener) => driver.onChange(listener),
      // Without statistics, telemetry has no resources, so no test reads it.
      statistics: driver.statistics ?? { all: () => Promise.resolve([]) },
    },
    definitions: openReportDefinitions(stateInMemory(initialTelemetry)),
    now,
    log: silent,
  });
  return {
    driver,
    controller: {
      addresses: ['https://192.0.2.1:8000'],
      lastReset: new Date(0),
      reset: () => undefined,
    },
    serviceUuid: '7a0d5d6e-3c0c-4b0e-9d0b-1f5a2b3c4d5e',
    now,
    log: { warn: () => undefined },
    operations: { tasks: createTaskStore({ limit: 100, now }), waitMs: 8000, onTaskFailed: () => undefined },
    events,
    subscriptions: createSubscriptions({
      isShared: false,
      feed: createEventFeed({ source: localSource(events), typeOf: resourceTypesOf(resources).at, capacity: 100 }),
      bus: events,
      reports: telemetry,
      state: stateInMemory(noSubscriptions),
      post: () => Promise.resolve(),
      log: silent,
      limit: 10,
      backlog: 100,
      keepAliveMs: 60_000,
    }),
    // The folder cannot exist, so the logs are in memory only.
    logs: openEventLogs({ bus: events, folder: '/dev/null/logs', limit: 100, log: silent }),
    telemetry,
    consoleSsh: { port: 2222, maxConsoles: 64 },
    webConsoles: { maxPerMachine: 16 },
    consoleHub: null,
    consoleLogs: null,
    screens: null,
    resourceTypes: resourceTypesOf(resources).all,
    access: openAccess({ authFile: null, state: stateInMemory(initialAccessState), log: silent }),
    indicators: indicatorsInMemory(),
    // The certificate cannot be replaced, because its files cannot be written.
    serverCertificate: openServerCertificate({
      tls: { cert: certificatePem, key: '', minVersion: 'TLSv1.2' },
      files: () => ({ sslCert: '/dev/null/server.pem', sslKey: '/dev/null/server.key' }),
      setTls: () => undefined,
      state: stateInMemory(noRequestedKeys),
      log: silent,
      now,
    }),
    discovery: discoveryInMemory(),
    managerNetwork: managerNetworkInMemory(),
    // One setting is not the default, so that the tests also see its origin.
    effectiveSettings: () => listEffectiveSettings(loadSettings({ environment: { EMULATOR_LISTEN_IP: '192.0.2.1' } })),
    ...parts,
    settings: { ...loadSettings({}).settings, ...settings },
  };
}

const unpacedAttempts = { ...attemptLimits.pair, free: Infinity };
/** Login limits without delays after wrong passwords. */
export const unpaced = { limits: { ...attemptLimits, pair: unpacedAttempts, address: unpacedAttempts } };

/**
 * Creates accounts with the user `admin` and the password `secret`.
 * @param file path of the password file to create.
 */
export function accessWithAccount(file: string): Access {
  writeFileSync(file, 'admin:$2y$04$0hxnz9bkZIMncnXv3EQ.yeZvFU9vlPkWUyVBgi99ssVla3nH69FIa\n');
  return openAccess({ authFile: file, state: stateInMemory(initialAccessState), log: silent });
}

function indicatorsInMemory(): IndicatorStore {
  const states = new Map<string, IndicatorState>();
  return { get: (id) => states.get(id), set: (id, state) => void states.set(id, state) };
}

/** Creates a manager network on a host that accepts every address. */
export function managerNetworkInMemory(network: HostNetwork = hostNetwork): ManagerNetwork {
  return createManagerNetwork({
    state: stateInMemory(emptyNetworkState),
    hostNetwork: () => network,
    host: addressesInMemory(),
    listenAt: () => Promise.resolve(() => undefined),
    useNameServers: () => undefined,
    log: silent,
  });
}

/** Creates a discovery that opens no socket. */
function discoveryInMemory(): Discovery {
  let settings: DiscoverySettings = { enabled: false, notifyTtl: 2, notifyIntervalSeconds: 600 };
  return {
    port: 1900,
    get settings() {
      return settings;
    },
    change: (change) => {
      settings = { ...settings, ...change };
      return Promise.resolve();
    },
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** Creates a state file that is in memory only. */
export function stateInMemory<State>(initial: State): StateFile<State> {
  let state = initial;
  return {
    path: 'memory',
    get state() {
      return state;
    },
    update: (change) => void (state = change(state)),
  };
}
