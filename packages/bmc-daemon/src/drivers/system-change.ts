/** A change of one machine in hypervisor terms. A driver applies all parts of a change, or none. */
import type { ImageRequest } from '../media/image.js';
import { storedUrl } from '../media/image.js';
import { DriverError } from './driver-error.js';
import type { BootChange } from './snapshot/boot-snapshot.js';
import type { IndicatorState } from './snapshot/hardware-snapshot.js';
import type { MediaSnapshot } from './snapshot/media-snapshot.js';
import type { CompleteSnapshot } from './snapshot/system-snapshot.js';
import type { DeviceKey, MachineSettings, SettingsChange } from './snapshot/firmware-snapshot.js';
import { checkSettings } from './rules/firmware-settings.js';

/**
 * `on`: enforced with enrolled keys. `off`: firmware without Secure Boot, or without keys.
 * `setup`: firmware with Secure Boot, without keys.
 */
export type SecureBootMode = 'on' | 'off' | 'setup';

/** Content of the CD drive after a change. */
export interface CdChange {
  /** The image that the drive contains after the change; null: the drive is then empty. */
  readonly image: ImageRequest | null;
  /**
   * URL of the image to replace or to eject, in the form of `storedUrl`. If the drive has a
   * different image, an insert fails, and an eject keeps that image. Absent: no image is replaced or ejected.
   */
  readonly replaces?: string | undefined;
}

/** The parts of a change. Absent parts stay as they are. */
export interface SystemChange {
  readonly boot?: BootChange;
  /** The machine's own order: exactly these devices. An active override stays active. */
  readonly bootOrder?: readonly DeviceKey[];
  readonly cd?: CdChange;
  readonly indicator?: IndicatorState;
  /** An empty text removes the tag. */
  readonly assetTag?: string;
  /** Whether the machine starts with its host. */
  readonly autostart?: boolean;
  /** Adds a display for VNC, which the machine has from its next start on. */
  readonly display?: true;
  /** Settings for the next start, in addition to the pending ones. */
  readonly settings?: SettingsChange;
  /**
   * Drops the pending settings, and at the next start resets all settings that clients have changed.
   * The value has defaults for settings without an effect on the machine.
   */
  readonly resetSettings?: MachineSettings['kept'];
  /**
   * Secure Boot from the next start on. If the mode needs other UEFI variables, the driver recreates them: at once,
   * or, if the machine runs or is saved, before its next start.
   */
  readonly secureBoot?: SecureBootMode;
  /** Firmware version that the next start installs. */
  readonly firmwareVersion?: string;
}

/** Name of a part. */
export type SystemChangePart = keyof SystemChange;

const parts = {
  boot: true,
  bootOrder: true,
  cd: true,
  indicator: true,
  assetTag: true,
  autostart: true,
  display: true,
  settings: true,
  resetSettings: true,
  secureBoot: true,
  firmwareVersion: true,
} as const satisfies Readonly<Record<SystemChangePart, true>>;

/** All parts, for a hypervisor that supports them. */
export const everyPart: ReadonlySet<SystemChangePart> = new Set(
  Object.keys(parts) as SystemChangePart[], // the keys of a literal whose type lists them all
);

/** Parts that a driver rejects as `transient` for a transient machine, with their names for the error. */
const ofDefinition = {
  bootOrder: 'the boot order',
  display: 'the display',
  settings: 'the firmware settings',
  resetSettings: 'the firmware settings',
  secureBoot: 'Secure Boot',
} as const satisfies Partial<Record<SystemChangePart, string>>;

/**
 * Rejects parts that a transient machine does not support.
 * @throws {DriverError} unsupported, transient or conflict.
 */
export function checkPersistence(
  { name, persistent }: Pick<CompleteSnapshot, 'name' | 'persistent'>,
  change: SystemChange,
): void {
  if (persistent) return;
  const why = 'it is transient and has no definition';
  if (change.boot?.firmware !== undefined) {
    throw new DriverError('unsupported', `changing the boot mode of machine ${name}: ${why}`, { field: 'firmware' });
  }
  for (const [part, what] of Object.entries(ofDefinition)) {
    if (!Object.hasOwn(change, part)) continue;
    throw new DriverError('transient', `changing ${what} of machine ${name}: ${why}`);
  }
  if (change.autostart !== undefined) {
    throw new DriverError('conflict', `changing the autostart of machine ${name}: ${why}`);
  }
}

/**
 * Rejects firmware settings and a Secure Boot mode that the machine does not support.
 * @throws {DriverError} unsupported; the field of the error is the name of the setting, or `secureBoot`.
 */
export function checkFirmware(machine: CompleteSnapshot, { settings, secureBoot }: SystemChange): void {
  if (settings !== undefined) checkSettings(machine, settings);
  if (secureBoot === undefined || secureBoot === 'off') return;
  // Ignores pending settings, because this change applies to the current definition.
  checkSettings({ ...machine, firmware: { ...machine.firmware, pending: {} } }, { secureBoot: true });
}

/**
 * Returns the effect of a change on the CD drive.
 * @param name the machine's name.
 * @returns `keep` if the drive is already in the requested state, or if the image to eject is not
 *   in it; else `insert` or `eject`.
 * @throws {DriverError} mediaInUse, if an insert finds an image in the drive that the change does not replace.
 */
export function cdEffect(
  drive: Pick<MediaSnapshot, 'inserted' | 'image' | 'viaUri'>,
  { image, replaces }: CdChange,
  name: string,
): 'keep' | 'insert' | 'eject' {
  const holds = (url: string | undefined): boolean => drive.viaUri && url !== undefined && drive.image === url;
  if (!drive.inserted) return image === null ? 'keep' : 'insert';
  if (image !== null && holds(storedUrl(image.url))) return 'keep';
  if (image === null) return holds(replaces) ? 'eject' : 'keep';
  if (!holds(replaces))
    throw new DriverError('mediaInUse', `inserting an image into machine ${name}: its drive holds another image`);
  return 'insert';
}
