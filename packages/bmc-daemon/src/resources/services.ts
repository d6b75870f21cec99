/** The services that resources use, and `defineResource` for these services. */
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from '../auth/access.js';
import type { ServerCertificate } from '../certificates/server-certificate.js';
import type { ConsoleLogs } from '../console/console-log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { EventBus } from '../events/event-bus.js';
import type { EventLogs } from '../events/event-logs.js';
import type { Subscriptions } from '../events/subscriptions.js';
import type { ManagerNetwork } from '../manager-network/manager-network.js';
import { resourceDefiner } from '../redfish/resource.js';
import type { LongOperationOptions } from '../redfish/tasks/long-operation.js';
import type { Discovery } from '../ssdp/discovery.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import type { InventorySettings } from './chassis/configured-inventory.js';
import type { IndicatorStore } from './chassis/indicator-store.js';
import type { ManagementController } from './managers/management-controller.js';
import type { ConfiguredVirtualMediaDrives } from './virtual-media/configured-drive.js';

/** The settings that resources use, under their names in config/settings.ts. */
export interface ResourceSettings extends InventorySettings {
  /** The service accepts changes of the boot device and ignores them. */
  readonly ignoreBootDevice: boolean;
  /** The service rejects actions that switch a machine off. */
  readonly disablePowerOff: boolean;
  /** The service verifies certificates of image servers, unless a client sets otherwise. */
  readonly vmediaVerifySsl: boolean;
  /** The configured virtual media drives. */
  readonly vmediaDevices: ConfiguredVirtualMediaDrives;
}

/** The SSH server for consoles. */
export interface ConsoleSsh {
  readonly port: number;
  /** Maximum number of concurrent consoles, over all machines and clients. */
  readonly mostConsoles: number;
}

/** The services that a request handler of a resource can use. */
export interface Services {
  readonly driver: HypervisorDriver;
  readonly controller: ManagementController;
  /** Names, addresses and name servers of managers. */
  readonly managerNetwork: ManagerNetwork;
  /** Canonical UUID of the service root. It does not change at a restart. */
  readonly serviceUuid: string;
  readonly now: () => Date;
  readonly log: Pick<Log, 'warn'>;
  /** Options for long operations, which become tasks, and the task store. */
  readonly operations: LongOperationOptions;
  /** Events for logs and subscribers. The pipeline publishes writes, so resources do not. */
  readonly events: EventBus;
  readonly subscriptions: Subscriptions;
  readonly logs: EventLogs;
  /** Undefined if the driver has no statistics. */
  readonly telemetry: Telemetry | undefined;
  /** Console access over SSH; null if disabled. */
  readonly consoleSsh: ConsoleSsh | null;
  /** Recorded output of the serial ports; null if disabled. */
  readonly consoleLogs: ConsoleLogs | null;
  /** Types of the served resources, sorted. */
  readonly resourceTypes: readonly string[];
  /** Accounts, roles and sessions. */
  readonly access: Access;
  /** Certificate of the HTTPS server; null with plain HTTP. */
  readonly serverCertificate: ServerCertificate | null;
  /** Discovery of the service by SSDP. */
  readonly discovery: Discovery;
  /** Indicators of the chassis of EMULATOR_CHASSIS. */
  readonly indicators: IndicatorStore;
  readonly settings: ResourceSettings;
}

/** Returns a resource definition after inferring its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
