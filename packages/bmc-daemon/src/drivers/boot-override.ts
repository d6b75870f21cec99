/**
 * The boot override as a value: what a change makes of it and what a boot leaves of it. Pure, shared by every driver, because
 * Ironic, sushy and DMTF's checkers each rely on another corner of these rules.
 */
import type { BootChange, BootDevice, BootOverrideEnabled, BootTarget } from './driver.js';
import type { DeviceKey } from './firmware-snapshot.js';

/** What a boot is to come from: any device of a kind, or one device. */
export type BootChoice = BootDevice | DeviceKey;

/** An override as it is kept with a machine and read from it. */
export interface BootOverride {
  readonly enabled: BootOverrideEnabled;
  /** `none`: nothing to override with; the machine's own order holds whatever `enabled` says. */
  readonly target: BootTarget;
  /** The device that a target `path` or `next` names. */
  readonly option?: DeviceKey;
  /** The image that a target `http` boots, which is in the machine's CD drive then. */
  readonly httpUri?: string;
}

/** What reads after a one-time boot has been used, and after a client has asked for `None`. */
export const noOverride: BootOverride = { enabled: 'disabled', target: 'none' };

/** A machine that no client has touched: it boots its own first device, every time. */
export function untouchedOverride(firstDevice: BootDevice | 'none'): BootOverride {
  return { enabled: 'continuous', target: firstDevice };
}

/**
 * The override after a client's change. Target alone keeps `enabled` (Ironic leaves it out when it already reads as wished) and
 * `enabled` alone keeps the target. An explicit target `none` means no override, whatever else the change says: Ansible's
 * DisableBootOverride sends both. The URI may be set before the target that uses it; another target forgets it, as it belongs to
 * what the client has turned away from.
 */
export function mergeBootOverride(current: BootOverride, change: Omit<BootChange, 'firmware'>): BootOverride {
  if (change.target === 'none') return noOverride;
  const target = change.target ?? current.target;
  const option = change.option ?? (target === current.target ? current.option : undefined);
  const leaves = change.target !== undefined && change.target !== 'http';
  const httpUri = change.httpUri === undefined ? (leaves ? undefined : current.httpUri) : change.httpUri;
  return {
    enabled: change.enabled ?? current.enabled,
    target,
    ...(namesOption(target) && option !== undefined ? { option } : {}),
    ...(httpUri === undefined || httpUri === null ? {} : { httpUri }),
  };
}

/** Whether a change says anything of the override itself. */
export function changesOverride({ enabled, target, option, httpUri }: Omit<BootChange, 'firmware'>): boolean {
  return enabled !== undefined || target !== undefined || option !== undefined || httpUri !== undefined;
}

function namesOption(target: BootTarget): target is 'path' | 'next' {
  return target === 'path' || target === 'next';
}

/** What the next boot is to come from; undefined: the machine's own order. */
export function overrideDevice({ enabled, target, option, httpUri }: BootOverride): BootChoice | undefined {
  if (enabled === 'disabled' || target === 'none') return undefined;
  if (namesOption(target)) return option;
  // Without a URI the firmware asks the network for one: OVMF's own HTTP boot stands behind its PXE boot of the same card.
  if (target === 'http') return httpUri === undefined ? 'network' : 'cdrom';
  return target;
}

/** The override that a boot leaves behind: a one-time one is used up. What it booted from stays in the drive, and named. */
export function afterBoot(override: BootOverride): BootOverride {
  if (override.enabled !== 'once') return override;
  return override.httpUri === undefined ? noOverride : { ...noOverride, httpUri: override.httpUri };
}
