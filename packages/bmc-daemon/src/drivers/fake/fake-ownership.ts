/** What owners keep with a machine in memory. */
import { setImmediate } from 'node:timers/promises';
import { DriverError, type SystemSnapshot } from '../driver.js';
import { afterUpdate, type OwnershipControl } from '../ownership-control.js';

/** @param find throws where there is no such machine. */
export function fakeOwnership(
  find: (id: string) => SystemSnapshot,
  update: (uuid: string, change: Partial<SystemSnapshot>) => void,
): OwnershipControl {
  return {
    async setAssetTag(id, tag) {
      await setImmediate();
      update(find(id).uuid, { assetTag: tag === '' ? null : tag });
    },
    async setAutostart(id, autostart) {
      await setImmediate();
      const { uuid, persistent } = find(id);
      if (!persistent) throw new DriverError('conflict', 'starting a machine with its host: it is transient');
      update(uuid, { autostart });
    },
    async stageFirmware(id, version) {
      await setImmediate();
      const { uuid, firmwareUpdate } = find(id);
      update(uuid, { firmwareUpdate: { installed: firmwareUpdate?.installed ?? null, staged: version } });
    },
  };
}

/** What is over with the end of a process. */
export function afterFailure({ failure }: SystemSnapshot): Partial<SystemSnapshot> {
  return failure === undefined ? {} : { failure: null };
}

/** What a start makes of it. */
export function ownershipAfterStart(machine: SystemSnapshot): Partial<SystemSnapshot> {
  const { firmwareUpdate } = machine;
  return {
    ...afterFailure(machine),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate: afterUpdate(firmwareUpdate) }),
  };
}
