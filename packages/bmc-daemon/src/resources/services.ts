/** What the resources work with, and the `defineResource` that they are made by. */
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from '../auth/access.js';
import type { ServerCertificate } from '../certificates/server-certificate.js';
import type { ConsoleLogs } from '../console/console-log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { EventBus } from '../events/event-bus.js';
import type { EventLogs } from '../events/event-logs.js';
import type { Subscriptions } from '../events/subscriptions.js';
import type { ManagerNetwork } from '../manager-network/manager-network.js';
import type { LongOperationOptions } from '../redfish/long-operation.js';
import { resourceDefiner } from '../redfish/resource.js';
import type { Discovery } from '../ssdp/discovery.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import type { InventorySettings } from './configured-inventory.js';
import type { IndicatorStore } from './indicator-store.js';
import type { ManagementController } from './management-controller.js';
import type { ConfiguredVirtualMediaDrives } from './configured-drive.js';

/** The settings that resources look at, under their names in config/settings.ts. */
export interface ResourceSettings extends InventorySettings {
  /** A change of the boot target is answered and not made. */
  readonly ignoreBootDevice: boolean;
  /** What would switch a machine off is refused. */
  readonly disablePowerOff: boolean;
  /** Image servers have to show a certificate that we trust. */
  readonly vmediaVerifySsl: boolean;
  /** The drives that virtual media goes into. */
  readonly vmediaDevices: ConfiguredVirtualMediaDrives;
}

/** Where consoles are served over SSH. */
export interface ConsoleSsh {
  readonly port: number;
  /** Consoles at a time, of all machines and clients. */
  readonly mostConsoles: number;
}

export interface Services {
  readonly driver: HypervisorDriver;
  readonly controller: ManagementController;
  /** Names, addresses and name servers of managers. */
  readonly managerNetwork: ManagerNetwork;
  /** UUID of the service root: canonical, and the same after every restart. */
  readonly serviceUuid: string;
  readonly now: () => Date;
  readonly log: Pick<Log, 'warn'>;
  /** How power and media actions become tasks, and where the tasks are. */
  readonly operations: LongOperationOptions;
  /** What has happened, for logs and subscribers. Writes publish themselves: resources need not. */
  readonly events: EventBus;
  readonly subscriptions: Subscriptions;
  readonly logs: EventLogs;
  /** Undefined where the hypervisor counts nothing. */
  readonly telemetry: Telemetry | undefined;
  /** How the serial ports of the machines are reached over SSH; null: they are not. */
  readonly consoleSsh: ConsoleSsh | null;
  /** What the serial ports of the machines printed; null: it is not recorded. */
  readonly consoleLogs: ConsoleLogs | null;
  /** Types of the resources that are served, sorted. */
  readonly resourceTypes: readonly string[];
  /** Accounts, roles and sessions. */
  readonly access: Access;
  /** What is shown at HTTPS; null with plain HTTP. */
  readonly serverCertificate: ServerCertificate | null;
  /** Whether the service lets itself be found. */
  readonly discovery: Discovery;
  /** Indicators of chassis that EMULATOR_CHASSIS names. */
  readonly indicators: IndicatorStore;
  readonly settings: ResourceSettings;
}

export const defineResource = resourceDefiner<Services>();
