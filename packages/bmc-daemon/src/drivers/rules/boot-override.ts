/**
 * Pure functions for the boot override: how a client and a boot change it. All drivers share these
 * rules, because Ironic, sushy and DMTF's checkers each rely on different details of them.
 */
import type { BootChange, BootOverrideEnabled, BootTarget } from '../snapshot/boot-snapshot.js';
import type { BootDevice, DeviceKey } from '../snapshot/firmware-snapshot.js';

/** A boot source: any device of a kind, or one device. */
export type BootChoice = BootDevice | DeviceKey;

/** An override as stored with a machine. */
export interface BootOverride {
  readonly enabled: BootOverrideEnabled;
  /** `none`: no override. The machine uses its own order, whatever `enabled` says. */
  readonly target: BootTarget;
  /** The device of a target `path` or `next`. */
  readonly option?: DeviceKey;
  /** The image that a target `http` boots. It is in the machine's CD drive. */
  readonly httpUri?: string;
}

/** The override after a client has requested `None`, and after a one-time boot without an HTTP URI. */
export const noOverride: BootOverride = { enabled: 'disabled', target: 'none' };

/** Returns the override of a machine that no client has changed: the first device, continuously. */
export function untouchedOverride(firstDevice: BootDevice | 'none'): BootOverride {
  return { enabled: 'continuous', target: firstDevice };
}

/**
 * Returns the override after a client's change. A target alone keeps `enabled`: Ironic omits it if
 * it already has the wanted value. `enabled` alone keeps the target. The target `none` means no
 * override, whatever `enabled` says: Ansible's DisableBootOverride sends both. A client may set the
 * URI before the target that uses it. A target other than `http` removes the URI, unless the same
 * change sets one.
 */
export function mergeBootOverride(current: BootOverride, change: Omit<BootChange, 'firmware'>): BootOverride {
  if (change.target === 'none') return noOverride;
  const target = change.target ?? current.target;
  const option = change.option ?? (target === current.target ? current.option : undefined);
  const dropsUri = change.target !== undefined && change.target !== 'http';
  const httpUri = change.httpUri === undefined ? (dropsUri ? undefined : current.httpUri) : change.httpUri;
  return {
    enabled: change.enabled ?? current.enabled,
    target,
    ...(namesOption(target) && option !== undefined ? { option } : {}),
    ...(httpUri === undefined || httpUri === null ? {} : { httpUri }),
  };
}

/** Returns whether a change affects the override. */
export function changesOverride({ enabled, target, option, httpUri }: Omit<BootChange, 'firmware'>): boolean {
  return enabled !== undefined || target !== undefined || option !== undefined || httpUri !== undefined;
}

function namesOption(target: BootTarget): target is 'path' | 'next' {
  return target === 'path' || target === 'next';
}

/** Returns the source of the next boot; undefined: the machine's own order. */
export function overrideDevice({ enabled, target, option, httpUri }: BootOverride): BootChoice | undefined {
  if (enabled === 'disabled' || target === 'none') return undefined;
  if (namesOption(target)) return option;
  // Without a URI the firmware gets one from the network: OVMF tries HTTP after PXE on the same
  // card.
  if (target === 'http') return httpUri === undefined ? 'network' : 'cdrom';
  return target;
}

/**
 * Returns the override after a boot: a one-time override is disabled, and its target removed. The
 * URI of an HTTP boot is not removed, and its image stays in the drive.
 */
export function afterBoot(override: BootOverride): BootOverride {
  if (override.enabled !== 'once') return override;
  return override.httpUri === undefined ? noOverride : { ...noOverride, httpUri: override.httpUri };
}
