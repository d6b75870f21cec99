/** Applies changes to machines in memory, with the rules of the libvirt driver. */
import { changesOverride } from '../rules/boot-override.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import { mergeSettings, resetChange } from '../rules/firmware-settings.js';
import type { SettingsChange } from '../snapshot/firmware-snapshot.js';
import { checkFirmware, checkPersistence, type SystemChange } from '../system-change.js';
import { afterBootChange, afterOrderChange, afterSecureBootChange } from './fake-firmware.js';

/** Applies changes to snapshots, and stores the state that snapshots do not contain, by UUID. */
export class FakeChanges {
  /** Machines whose boot override a client has set. */
  readonly #overridden = new Set<string>();
  /** The former values of the settings that clients have changed. A reset restores them. */
  readonly #originals = new Map<string, SettingsChange>();

  /**
   * Returns the machine after a change. Ignores the part of the change that concerns images.
   * @throws {DriverError} if the machine does not support a part of the change.
   */
  after(machine: CompleteSnapshot, change: SystemChange): CompleteSnapshot {
    checkPersistence(machine, change);
    checkFirmware(machine, change);
    const { uuid } = machine;
    const { boot, bootOrder, secureBoot, indicator, assetTag, autostart, display, firmwareVersion } = change;
    const setsOverride = boot !== undefined && changesOverride(boot);
    let result = machine;
    if (boot !== undefined) result = { ...result, ...afterBootChange(result, boot) };
    if (bootOrder !== undefined) {
      const hasOverride = setsOverride || this.#overridden.has(uuid);
      result = { ...result, ...afterOrderChange(result, bootOrder, { hasOverride }) };
    }
    if (secureBoot !== undefined) result = { ...result, ...afterSecureBootChange(result, secureBoot) };
    if (indicator !== undefined) result = { ...result, indicator };
    if (assetTag !== undefined) result = { ...result, assetTag: assetTag === '' ? null : assetTag };
    if (autostart !== undefined) result = { ...result, autostart };
    if (display !== undefined) result = { ...result, hasGraphicalConsole: display };
    if (firmwareVersion !== undefined) {
      const firmwareUpdate = { installed: result.firmwareUpdate?.installed ?? null, staged: firmwareVersion };
      result = { ...result, firmwareUpdate };
    }
    return this.#withSettings(result, change);
  }

  /** Records a change, for later changes and resets. @param machine the snapshot before the change. */
  note({ uuid, firmware }: CompleteSnapshot, { boot, settings }: SystemChange): void {
    if (boot !== undefined && changesOverride(boot)) this.#overridden.add(uuid);
    if (settings === undefined) return;
    const original = this.#originals.get(uuid) ?? {};
    this.#originals.set(uuid, mergeSettings(resetChange(firmware.settings, settings), original));
  }

  #withSettings(machine: CompleteSnapshot, { settings, resetSettings }: SystemChange): CompleteSnapshot {
    const { firmware, uuid } = machine;
    if (settings === undefined && resetSettings === undefined) return machine;
    const original = this.#originals.get(uuid) ?? {};
    const reset = resetSettings === undefined ? firmware.pending : mergeSettings(original, { kept: resetSettings });
    const pending = mergeSettings(reset, settings ?? {});
    return { ...machine, firmware: { ...firmware, pending, failure: null } };
  }
}
