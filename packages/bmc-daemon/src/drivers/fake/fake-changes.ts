/** Applies changes to machines in memory, with the rules of the libvirt driver. */
import { changesOverride } from '../rules/boot-override.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import { mergeSettings, resetChange } from '../rules/firmware-settings.js';
import type { SettingsChange } from '../snapshot/firmware-snapshot.js';
import { checkFirmware, checkPersistence, type SystemChange } from '../system-change.js';
import { afterBootChange, afterOrderChange, afterSecureBootChange } from './fake-firmware.js';

/** State of machines that their snapshots do not contain, by UUID. */
export class FakeChanges {
  /** Machines whose boot override a client has set. */
  readonly #overridden = new Set<string>();
  /** Settings before the first change by a client. */
  readonly #originals = new Map<string, SettingsChange>();

  /**
   * Returns the machine after a change. Ignores the part of the change that concerns images.
   * @throws {DriverError} for an impossible part, before any change.
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

  /** Records a change. @param machine its state before the change. */
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
