/** The services that resources use, and `defineResource` for these services. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { ConsoleSsh } from '../offers/console-ssh.js';
import type { DiscoveryControl } from '../offers/discovery-control.js';
import type { Logins } from '../offers/logins.js';
import type { MachineAddresses } from '../offers/machine-addresses.js';
import type { ReportSource } from '../offers/report-source.js';
import type { WebConsoles } from '../offers/web-consoles.js';
import { resourceDefiner } from '../redfish/resource.js';
import type { LongOperationOptions } from '../redfish/tasks/long-operation.js';
import type { InventorySettings } from './chassis/configured-inventory.js';
import type { IndicatorStore } from './chassis/indicator-store.js';
import type { EffectiveSetting } from './service/effective-setting.js';
import type { ManagementController } from './managers/management-controller.js';
import type { ConfiguredVirtualMediaDrives } from './virtual-media/configured-drive.js';

/** The settings that resources use, under their names in config/settings.ts. */
export interface ResourceSettings extends InventorySettings {
  /** Whether the service accepts changes of the boot device and ignores them. */
  readonly ignoreBootDevice: boolean;
  /** Whether the service rejects actions that switch a machine off. */
  readonly disablePowerOff: boolean;
  /** Whether the service verifies certificates of image servers. A client can change this for a drive. */
  readonly vmediaVerifySsl: boolean;
  /** The service cancels an upload that receives nothing for this time, unless the upload waits for the storage. */
  readonly vmediaUploadExpirySeconds: number;
  /** The configured virtual media drives. */
  readonly vmediaDevices: ConfiguredVirtualMediaDrives;
}

/**
 * The services of features that other features and all resources can use; null if the feature is
 * absent. The resources of a feature also use its other services
 * (`<feature>/resources/services.ts`).
 */
export interface Offers {
  readonly access: Logins | null;
  /** Null also if the driver has no statistics. */
  readonly telemetry: ReportSource | null;
  /** Null also if consoles over SSH are disabled. */
  readonly consoleSsh: ConsoleSsh | null;
  /** Null also if the hypervisor has no consoles. */
  readonly webConsoles: WebConsoles | null;
  /** Null also if the output of serial ports is not recorded. */
  readonly consoleLogs: object | null;
  readonly managerNetwork: MachineAddresses | null;
  /** Null also if the driver has no displays. */
  readonly screens: object | null;
  /** Null also with plain HTTP. */
  readonly serverCertificate: object | null;
  readonly discovery: DiscoveryControl | null;
}

/** The services that a request handler of a resource can use. */
export interface Services extends Offers {
  readonly driver: HypervisorDriver;
  readonly controller: ManagementController;
  /** Canonical UUID of the service root. It does not change at a restart. */
  readonly serviceUuid: string;
  readonly now: () => Date;
  readonly log: Pick<Log, 'warn'>;
  /** Options for long operations, which become tasks, and the task store. */
  readonly operations: LongOperationOptions;
  /** Indicators of the chassis of EMULATOR_CHASSIS. */
  readonly indicators: IndicatorStore;
  readonly settings: ResourceSettings;
  /** Returns all settings of the configuration, as clients see them. */
  readonly effectiveSettings: () => readonly EffectiveSetting[];
}

/** {@link Services}, in which a feature replaces its own part. */
export type ServicesWith<Own> = Omit<Services, keyof Own> & Own;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
