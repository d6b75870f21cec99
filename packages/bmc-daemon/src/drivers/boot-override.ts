/**
 * The boot override as a value: what a change makes of it and what a boot leaves of it. Pure, shared by every driver, because
 * Ironic, sushy and DMTF's checkers each rely on another corner of these rules.
 */
import type { BootChange, BootDevice, BootOverrideEnabled } from './driver.js';

export interface BootOverride {
  readonly enabled: BootOverrideEnabled;
  /** `none`: nothing to override with; the machine's own order holds whatever `enabled` says. */
  readonly target: BootDevice | 'none';
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
 * DisableBootOverride sends both.
 */
export function mergeBootOverride(current: BootOverride, change: Pick<BootChange, 'enabled' | 'target'>): BootOverride {
  if (change.target === 'none') return noOverride;
  return { enabled: change.enabled ?? current.enabled, target: change.target ?? current.target };
}

/** The device that the next boot is to come from; undefined: the machine's own order. */
export function overrideDevice(override: BootOverride): BootDevice | undefined {
  return override.enabled === 'disabled' || override.target === 'none' ? undefined : override.target;
}

/** The override that a boot leaves behind: a one-time one is used up. */
export function afterBoot(override: BootOverride): BootOverride {
  return override.enabled === 'once' ? noOverride : override;
}
