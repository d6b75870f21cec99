/**
 * Power actions of servers that boot an image: the image in their virtual CD drive, or iPXE for a
 * boot from the network. Nova boots an image only in its rescue mode. To rescue a server, Nova stops it, and
 * starts it with the image in a CD drive before the disks. Nova rejects most actions in rescue
 * mode. So most power actions first end the rescue mode, which boots the server from its disks.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { DriverError } from '../../driver-error.js';
import type { OperationOptions } from '../../operation-options.js';
import type { PowerAction } from '../../power.js';
import type { MachineQueue } from '../../queue/machine-queue.js';
import type { TurnCheck } from '../../queue/operation-queue.js';
import { mergeBootOverride } from '../../rules/boot-override.js';
import type { SystemRef } from '../../snapshot/system-snapshot.js';
import type { SystemChange } from '../../system-change.js';
import type { Goal } from '../compute/power-plan.js';
import type { Server } from '../compute/server.js';
import { executeAction, executePlan, type PowerControlOptions } from '../power-control.js';
import { bootActions, isBoot, stopActions } from './boot-actions.js';
import { readBeforeBoot, readBeforeStop } from './boot-reads.js';
import type { EditParts } from './edit-parts.js';
import { afterItsBoot, fitsItem, imageToBoot, MAX_ASSET_TAG, type ServerState } from './server-state.js';
import { isMarked, runsImage } from './stored-state.js';

/** Dependencies of {@link RescueBoot}. */
interface RescueBootOptions extends PowerControlOptions, EditParts {
  readonly queue: MachineQueue;
  /** Returns the parts for an edit. They call `check` before each write. */
  readonly partsOf: (check?: TurnCheck) => EditParts;
  readonly log: Log;
  /** Finds a server by UUID or name. */
  readonly find: (id: string) => Promise<SystemRef>;
  /** Reads a server. */
  readonly read: (id: string) => Promise<Server>;
  /** Identifies this daemon. */
  readonly daemon: string;
  /**
   * Returns the id of the image that boots from the network.
   * @throws {DriverError} conflict, if servers cannot boot it, or if none is configured; {CloudFailure}.
   */
  readonly networkImage: () => Promise<string>;
}

/** An image to boot, and the first words of an error message about its boot. */
interface BootImage {
  readonly id: string;
  readonly doing: string;
}

const isRescued: Goal = ({ vmState }) => vmState === 'rescued';
const isActive: Goal = ({ vmState }) => vmState === 'active';

const changedMeanwhile = (doing: string): DriverError =>
  new DriverError('unavailable', `${doing}: another client has changed it meanwhile`);

/** The power actions, the boot override and the asset tags of the servers of one cloud. */
export class RescueBoot {
  readonly #options: RescueBootOptions;

  constructor(options: RescueBootOptions) {
    this.#options = options;
  }

  /** @see HypervisorDriver.power */
  async power(id: string, action: PowerAction, options: OperationOptions): Promise<void> {
    const { queue, find, polls } = this.#options;
    const { uuid, name } = await find(id);
    if (bootActions.has(action)) {
      const boot = async (edit: RescueBoot, checkTurn: TurnCheck | undefined): Promise<void> => {
        await checkTurn?.();
        await edit.#boot(uuid, action, options);
      };
      const run = (checkTurn?: TurnCheck) => this.#edit(uuid, (edit) => polls.run(() => boot(edit, checkTurn)));
      await queue.power({ uuid, name }, run, options);
      return;
    }
    if (!stopActions.has(action)) return polls.run(() => executeAction(uuid, action, options, this.#options));
    queue.switchOff({ uuid, name }, new DriverError('conflict', `starting machine ${name}: it was switched off`));
    await this.#edit(uuid, (edit) => polls.run(() => edit.#stop(uuid, action, options)));
  }

  /**
   * Changes the override and the asset tag. An empty asset tag removes the old one.
   * @throws {DriverError} unsupported, for a boot mode; invalid, if the asset tag is too long; conflict, if
   *   Nova stores no settings in the present state of the server; unavailable, if another daemon has changed
   *   the settings meanwhile, or a newer version has stored them.
   */
  async change(id: string, { boot = {}, assetTag }: Pick<SystemChange, 'boot' | 'assetTag'>): Promise<void> {
    const { queue, find, read, partsOf } = this.#options;
    const { uuid, name } = await find(id);
    const { firmware, ...override } = boot;
    if (firmware !== undefined) {
      const why = 'Nova fixes it when it creates the server';
      throw new DriverError('unsupported', `changing the boot mode of machine ${name}: ${why}`, { field: 'firmware' });
    }
    if (assetTag !== undefined && !fitsItem(assetTag)) {
      const why = `the metadata of the server has room for ${MAX_ASSET_TAG} characters, and a quote or an emoji needs several`;
      throw new DriverError('invalid', `changing the asset tag of machine ${name}: ${why}`, { field: 'assetTag' });
    }
    await queue.edit(uuid, async (check) => {
      const { states } = partsOf(check);
      const server = await read(uuid);
      const state = await states.settle(server);
      const tag = assetTag === undefined ? state.assetTag : assetTag || null;
      await states.write(server, { ...state, boot: mergeBootOverride(state.boot, override), assetTag: tag });
    });
  }

  /**
   * Completes the boot or the power-off that a killed daemon began. Does nothing while this daemon runs an
   * edit of the server.
   * @param own true: completes only a power-off that this daemon began before its restart.
   */
  async complete(id: string, { own }: { readonly own: boolean }): Promise<void> {
    if (this.#options.queue.isEditing(id)) return;
    await this.#edit(id, (edit) => edit.#complete(id, own));
  }

  /** Runs steps in an edit, with the parts of this edit. */
  #edit(id: string, steps: (edit: RescueBoot) => Promise<void>): Promise<void> {
    const { queue, partsOf } = this.#options;
    return queue.edit(id, (check) =>
      steps(check === undefined ? this : new RescueBoot({ ...this.#options, ...partsOf(check) })),
    );
  }

  async #complete(id: string, own: boolean): Promise<void> {
    const { read, states, daemon, log } = this.#options;
    const server = await read(id);
    if (server.task !== null || server.vmState === 'rescued') return;
    const { stopping } = (await states.read(server)).state;
    if (own && stopping?.by !== daemon) return;
    if (stopping === undefined) {
      await states.settle(server);
      return;
    }
    if (await states.isHalfStopped(server, stopping)) {
      log.info('completing the power-off that an interrupted daemon began', { server: id });
      // A shutdown does not wait for the guest, so the caller can continue with other servers.
      await executeAction(id, 'shutdown', {}, this.#options);
    }
    await states.endStop(await read(id));
  }

  /**
   * Switches a server off. Nova cannot stop a server in rescue mode. So a server that runs an image of this
   * service first leaves rescue mode, and runs from its disks for a moment.
   */
  async #stop(id: string, action: PowerAction, options: OperationOptions): Promise<void> {
    // Reads the server again, because another daemon may just have booted the image.
    const server = await readBeforeStop(id, options, this.#options);
    if (!runsImage(server)) return executeAction(id, action, { known: server, ...options }, this.#options);
    const { states, daemon, closing, read } = this.#options;
    // Ignores a failure, because a power-off must be possible while Glance is down.
    await this.#tryToStore(id, () => states.beginStop(server, daemon));
    const end = (): Promise<void> =>
      this.#tryToStore(id, async () => {
        const present = await read(id);
        if (!(await states.endStop(present))) await states.settle(present);
      });
    try {
      await this.#unrescue(server, options);
      await executeAction(id, action, options, this.#options);
    } catch (error) {
      // If the service shuts down, its next start completes the power-off.
      if (!closing.aborted) await end();
      throw error;
    }
    await end();
  }

  async #boot(id: string, action: PowerAction, options: OperationOptions): Promise<void> {
    const { read, states } = this.#options;
    // Reads the server again, because another daemon may just have changed the media or the boot
    // settings.
    let server = await readBeforeBoot(id, options, this.#options);
    // Removes the record of an earlier, incomplete power-off. Otherwise, its completion would end
    // this boot.
    if (isMarked(server) && (await states.endStop(server))) server = await read(id);
    if (!isBoot(action, server)) return executeAction(id, action, { known: server, ...options }, this.#options);
    const state = await states.settle(server);
    // Finds the image before any action, so that the server continues as before if there is none.
    const image = await this.#imageOf(server, state);
    if (image === undefined) {
      if (server.vmState === 'rescued') await this.#endRescue(server, options);
      else await executeAction(id, action, { known: server, ...options }, this.#options);
      if (state.boot.enabled === 'once') await this.#forgetOnce(id);
      return;
    }
    await this.#endRescue(server, options);
    // Nova stores no metadata for a server in the state ERROR. A restart ends this state.
    if (server.vmState === 'error') {
      await executeAction(id, 'reset', options, this.#options);
      await states.settle(await read(id));
    }
    await this.#rescue(id, image, options);
  }

  /**
   * Returns the image for the next boot; undefined if the server boots its disks. Does not check that an image in the
   * CD drive exists.
   * @throws the errors of `networkImage`, for a boot from the network.
   */
  async #imageOf({ name }: Server, state: ServerState): Promise<BootImage | undefined> {
    const device = imageToBoot(state);
    if (device === undefined) return undefined;
    if (device === 'cdrom') return { id: state.cd ?? '', doing: `booting server ${name} from its virtual CD` };
    const doing = `booting server ${name} from the network`;
    try {
      return { id: await this.#options.networkImage(), doing };
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      throw new DriverError(error.kind, `${doing}: ${error.message}`, { cause: error });
    }
  }

  /**
   * Boots an image. A failed boot does not change the override. Without a shared store, another daemon
   * may change the server between any two steps.
   * @throws {DriverError} unavailable, if another daemon has changed what the server boots.
   */
  async #rescue(id: string, image: BootImage, options: OperationOptions): Promise<void> {
    const { states, read } = this.#options;
    const { doing } = image;
    // Gets the mark before it reads the server. If the read misses a boot of another daemon, that boot is
    // newer than the mark.
    const mark = await states.newMark(id);
    const server = await read(id);
    const { state } = await states.read(server);
    const isChanged = (await this.#imageOf(server, state))?.id !== image.id;
    if (isChanged || isMarked(server) || server.task !== null || server.vmState === 'rescued') {
      throw changedMeanwhile(doing);
    }
    const booting = { ...state, bootedAfter: mark };
    await states.write(server, booting);
    const body = { rescue: { rescue_image_ref: image.id } };
    const onAccepted = (): Promise<void> => this.#tryToStore(id, () => states.keepMark(id, booting));
    try {
      await executePlan(await read(id), { body, goal: isRescued }, { doing, onAccepted, ...options }, this.#options);
      await this.#endUnmarkedBoot(id, { doing, ...options });
    } catch (error) {
      // If the removal of the mark fails too, the mark stays in the metadata. A later operation or
      // another daemon removes it.
      await this.#tryToStore(id, async () => void (await states.settle(await read(id))));
      throw error;
    }
  }

  /**
   * Ends a boot whose mark another daemon has removed. Otherwise, no daemon could switch this server off: without
   * the mark, the owner of the server seems to have rescued it.
   */
  async #endUnmarkedBoot(id: string, options: OperationOptions & { readonly doing: string }): Promise<void> {
    // The poll that has seen the end of the boot has also read the metadata, so the list has current metadata.
    const server = this.#options.list.find(id)?.server;
    if (server?.vmState !== 'rescued' || isMarked(server)) return;
    await this.#unrescue(server, options);
    throw changedMeanwhile(options.doing);
  }

  /** Changes the stored state of a server. A failure of this change does not fail the operation. */
  async #tryToStore(id: string, change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } catch (error) {
      this.#options.log.debug('storing the state of a server failed', { server: id, error });
    }
  }

  /**
   * Ends the rescue mode if the server runs an image of this service. The server then runs from its
   * disks.
   */
  async #endRescue(server: Server, options: OperationOptions): Promise<void> {
    if (!runsImage(server)) return;
    const { read, states } = this.#options;
    await this.#unrescue(server, options);
    await states.settle(await read(server.id));
  }

  async #unrescue(server: Server, options: OperationOptions): Promise<void> {
    const doing = `ejecting the boot image of server ${server.name}`;
    await executePlan(server, { body: { unrescue: null }, goal: isActive }, { doing, ...options }, this.#options);
  }

  /** Ends an override for one boot, after a boot that did not need an image. */
  async #forgetOnce(id: string): Promise<void> {
    const { states, read } = this.#options;
    const server = await read(id);
    const state = await states.settle(server);
    if (state.boot.enabled === 'once') await states.write(server, afterItsBoot(state));
  }
}
