/** Plugs disks into running guests and unplugs them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainDeviceModifyFlags } from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import { readDefinition } from '../machine/definition.js';
import { attempt } from '../failure.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { diskMarkup, findDisk } from '../xml/devices/disk.js';

/** Maximum time until the guest releases a disk. */
const UNPLUG_TIMEOUT_MS = 10_000;
const UNPLUG_POLL_MS = 50;

/** The disks of the running guests of one host. Callers have begun an edit of the machine. */
export class GuestDisks {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Plugs a disk into the running guest.
   * @returns false if libvirt rejects the disk for the running guest. The guest then gets the disk at its
   *   next power-on.
   * @throws {DriverError} unavailable. For a transient machine: every error, because it has no next power-on.
   */
  async plugIn(machine: Machine, markup: string): Promise<boolean> {
    const { log, timeoutMs } = this.#host;
    try {
      await attempt(`adding a disk to machine ${machine.name}`, () =>
        machine.domain.attachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs }),
      );
      return true;
    } catch (error) {
      // After a timeout, it is unknown whether the guest has the disk, so the error is reported.
      if (!machine.persistent || !(error instanceof DriverError) || error.kind === 'unavailable') throw error;
      log.info(`machine ${machine.name} accepts no disk while it runs: the guest gets it at its next power-on`, {
        error,
      });
      return false;
    }
  }

  /**
   * Plugs a disk of the definition into the running guest. Does nothing if the machine is off, the guest has
   * the disk, or the definition does not have it.
   * @throws {DriverError} as {@link plugIn}, or if libvirt cannot return the definition.
   */
  async plugDefined(machine: Machine, target: string): Promise<void> {
    const { xml, instance } = await readDefinition(machine, this.#host.timeoutMs);
    const markup = diskMarkup(xml, target);
    if (instance === null || markup === undefined || findDisk(instance.domain, target) !== undefined) return;
    await this.plugIn(machine, markup);
  }

  /**
   * Unplugs a disk, and resolves when the guest has released it. Resolves at once if the machine is off or
   * the guest does not have the disk.
   * @throws {DriverError} unavailable, if the guest does not release the disk within 10 s; all other errors
   *   of libvirt.
   */
  async unplug(machine: Machine, target: string): Promise<void> {
    const { timeoutMs } = this.#host;
    const { instance } = await readDefinition(machine, timeoutMs);
    const markup = instance === null ? undefined : diskMarkup(instance.xml, target);
    if (instance === null || markup === undefined) return;
    const doing = `unplugging disk ${target} of machine ${machine.name}`;
    const deadline = performance.now() + UNPLUG_TIMEOUT_MS;
    await attempt(doing, () =>
      machine.domain.detachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs: UNPLUG_TIMEOUT_MS }),
    );
    const isPlugged = async (): Promise<boolean> => {
      const { instance: current } = await readDefinition(machine, timeoutMs);
      return current?.id === instance.id && findDisk(current.domain, target) !== undefined;
    };
    while (await isPlugged()) {
      if (performance.now() > deadline) {
        throw new DriverError('unavailable', `${doing}: its guest has not released it`);
      }
      await sleep(UNPLUG_POLL_MS);
    }
  }
}
