/** Implements {@link CompleteDriver} for the machines of one libvirt host. */
import { userInfo } from 'node:os';
import { DomainEventType, Hypervisor } from '@rackless/libvirt';
import { DriverError } from '../driver-error.js';
import type { CompleteDriver } from '../driver.js';
import type { InsertOptions, OperationOptions } from '../operation-options.js';
import { everyAction, type PowerAction } from '../power.js';
import type { SystemRef, CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { ConsoleControl } from '../console-control.js';
import type { MediaControl } from '../media-control.js';
import type { GuestNetwork, NetworkFacts } from '../guest-network.js';
import type { MachineChangeListener } from '../machine-change.js';
import type { StatisticsControl } from '../statistics-control.js';
import { everyPart, type SystemChange } from '../system-change.js';
import { MachineQueue } from '../queue/machine-queue.js';
import type { VolumeControl } from '../volume-control.js';
import { accessHint, type Account } from './access-hint.js';
import { BootControl } from './boot/boot-control.js';
import { ChangeFeed } from './read/change-feed.js';
import { ColdStart } from './power/cold-start.js';
import { LibvirtConsole } from './console.js';
import { attempt, isUnavailable } from './failure.js';
import { FirmwareChooser } from './firmware/firmware-choice.js';
import { GuestNetworkReader } from './read/guest-network.js';
import type { Host } from './machine/host.js';
import { HostCpu } from './read/host-cpu.js';
import { openPool } from './media/image-pool.js';
import { openPoolImages } from './media/pool-images.js';
import { ImageStore } from './media/image-store.js';
import { ImageStreams } from './media/image-stream.js';
import { Inventory, type Machine } from './machine/inventory.js';
import type { LibvirtDriverOptions } from './libvirt-driver-options.js';
import { LibvirtMedia } from './media/media-control.js';
import { Variables } from './firmware/nvram.js';
import { PendingSettings } from './firmware/pending-settings.js';
import { PowerControl } from './power/power-control.js';
import { updateMedia } from './media/saved-state-media.js';
import { sourcesInUse } from './media/sources-in-use.js';
import { LibvirtStatistics } from './read/statistics.js';
import { SystemChanges } from './change/system-changes.js';
import { SystemReader } from './read/system-reader.js';
import { Reconciler } from './machine/reconciler.js';
import { LibvirtVolumes } from './volumes/volume-control.js';

export type { LibvirtDriverOptions } from './libvirt-driver-options.js';

/**
 * Creates a driver. It connects when started; the caller closes it.
 * @throws {LibvirtError} INVALID_URI.
 */
export function createLibvirtDriver(options: LibvirtDriverOptions): CompleteDriver {
  return new LibvirtDriver(options);
}

class LibvirtDriver implements CompleteDriver {
  readonly name: string;
  readonly console: ConsoleControl;
  readonly powerActions = everyAction;
  readonly changeable = everyPart;
  readonly media: MediaControl;
  readonly #firmwareFiles: FirmwareChooser;
  readonly #host: Host;
  readonly #reader: SystemReader;
  readonly #boot: BootControl;
  readonly #coldStart: ColdStart;
  readonly #power: PowerControl;
  readonly #media: LibvirtMedia;
  readonly volumes: VolumeControl;
  readonly #disks: LibvirtVolumes;
  readonly statistics?: StatisticsControl;
  readonly guestNetwork: GuestNetwork;
  readonly #guestNetwork: GuestNetworkReader;
  readonly #store: ImageStore;
  readonly #streams: ImageStreams;
  readonly #changes: ChangeFeed;
  readonly #systemChanges: SystemChanges;
  readonly #reconciler: Reconciler;
  readonly #closing = new AbortController();
  readonly #uri: string;

  constructor(options: LibvirtDriverOptions) {
    const { uri, timeoutMs, log } = options;
    this.name = `libvirt ${uri}`;
    this.#uri = uri;
    const hypervisor = Hypervisor.connect(uri, {
      callTimeoutMs: timeoutMs,
      onWarning: (error) => log.warn('libvirt connection', { error }),
    });
    const inventory = new Inventory(hypervisor, timeoutMs);
    this.#host = { hypervisor, inventory, queue: new MachineQueue(), log, timeoutMs };
    const templates = options.secureBootTemplates ?? { enabled: null, disabled: null };
    this.#firmwareFiles = new FirmwareChooser({
      bootLoaderMap: options.bootLoaderMap,
      templates,
      hypervisor,
      timeoutMs,
    });
    const hostCpu = new HostCpu(hypervisor);
    this.#reader = new SystemReader({
      inventory,
      timeoutMs,
      diskSizeWaitMs: options.diskSizeWaitMs ?? 1_000,
      knowledge: () => this.#firmwareFiles.knowledge(),
      hostCpuModel: () => hostCpu.model(),
      streams: () => this.#streams.isOffered,
    });
    this.#streams = new ImageStreams(options.images);
    this.#store = new ImageStore({
      openPoolImages: async ({ create }) => {
        const pool = await openPool({ hypervisor, uri, name: options.storagePool, create, timeoutMs });
        return pool === null ? null : openPoolImages(pool, timeoutMs);
      },
      sourcesInUse: () => sourcesInUse(this.#host),
      limits: options.images,
      warn: (message, error) => log.warn(message, { error }),
    });
    const host = this.#host;
    this.#boot = new BootControl({ host, bootLoaderMap: options.bootLoaderMap, variables: templates.disabled });
    const pending = new PendingSettings({
      host,
      firmware: this.#firmwareFiles,
      wantedFirmware: (type, architecture) => this.#boot.wantedFirmware(type, architecture),
      now: () => new Date(),
    });
    const variables = new Variables({ host, uri, knowledge: () => this.#firmwareFiles.knowledge() });
    this.#coldStart = new ColdStart(host, {
      applySettings: (machine, xml) => pending.apply(machine, xml),
      carryVariables: (machine, xml) => variables.carryOver(machine, xml),
      catchUp: (machine) => this.#catchUp(machine),
    });
    this.#changes = new ChangeFeed({ host, isStarting: (uuid) => this.#coldStart.isStarting(uuid) });
    this.#power = new PowerControl({
      host,
      boot: this.#boot,
      coldStart: this.#coldStart,
      gracefulRestartWaitMs: options.gracefulRestartWaitMs,
    });
    this.#media = new LibvirtMedia({
      host,
      reader: this.#reader,
      boot: this.#boot,
      store: this.#store,
      streams: this.#streams,
    });
    this.media = this.#mediaControl();
    this.#systemChanges = new SystemChanges({
      host,
      reader: this.#reader,
      boot: this.#boot,
      media: this.#media,
      firmware: this.#firmwareFiles,
      variables,
      removeUnusedImages: () => this.#store.removeUnused(),
    });
    this.#disks = new LibvirtVolumes({
      host,
      openPool: async () => {
        const opened = await openPool({ hypervisor, uri, name: options.storagePool, create: true, timeoutMs });
        if (opened === null) throw new DriverError('unsupported', 'opening the storage pool: there is none');
        return opened.pool;
      },
    });
    this.volumes = this.#volumeControl();
    // libvirt's test driver has no real guests and no statistics.
    if (!uri.startsWith('test')) this.statistics = new LibvirtStatistics(this.#host);
    this.console = new LibvirtConsole({ host, find: (id) => this.#find(id) });
    this.#reconciler = new Reconciler({
      host,
      hostTasks: [
        { doing: 'looking for changes without a connection', run: () => this.#changes.catchUp() },
        { doing: 'tidying the image store', run: () => this.#store.tidy() },
        { doing: 'removing leftover pools', run: () => variables.removeLeftoverPools() },
      ],
      machineParts: [this.#systemChanges, variables, this.#coldStart, this.#boot, this.#power, this.#disks],
    });
    this.#guestNetwork = new GuestNetworkReader(host);
    this.guestNetwork = { facts: (id) => this.#networkFacts(id) };
  }

  async start(): Promise<void> {
    const { hypervisor, inventory, log } = this.#host;
    inventory.start();
    this.#changes.start();
    const lifecycle = hypervisor.events.on('lifecycle', ({ domain, event, detail }) => {
      if (event === DomainEventType.STOPPED) {
        this.#boot.onStopped(domain.uuid);
        this.#removeImagesIfGone(domain.uuid);
      }
      // The images in its drives may now be unused.
      if (event === DomainEventType.UNDEFINED) void this.#store.removeUnused();
      if (event !== DomainEventType.STARTED || this.#coldStart.isOwn(domain.uuid, domain.id)) return;
      this.#boot.onStartedElsewhere(domain.uuid, detail);
    });
    const reboot = hypervisor.events.on('reboot', ({ domain }) => this.#boot.onReboot(domain.uuid));
    for (const { ready } of [lifecycle, reboot]) {
      ready.catch((error: unknown) => log.debug('libvirt sends no such events', { error }));
    }
    hypervisor.onStateChange((state) => {
      if (state === 'connected') {
        log.info(`connected to ${this.name}`);
        this.#store.reopen();
        this.#firmwareFiles.forget();
        this.#coldStart.forgetStarted();
        this.#reconciler.startRound();
      } else if (state === 'connecting') {
        this.#reportNoConnection(hypervisor.lastError);
      }
    });
    if (hypervisor.state === 'connected') this.#reconciler.startRound();
    // A host that is down at the start changes no state. Whoever starts the service must see the
    // reason in the log.
    hypervisor.connected({ retry: false }).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#reportNoConnection(error);
    });
    await this.#streams.look();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const ending = [this.#reconciler.close(), this.#power.close(), this.#boot.close(), this.#host.queue.close()];
    // Partial downloads are removed while the connection is open.
    await this.#store.close();
    // Running operations end with the connection.
    await this.#host.hypervisor.close();
    await Promise.allSettled(ending);
  }

  async ping(): Promise<void> {
    this.#assertReachable();
    const { hypervisor, timeoutMs } = this.#host;
    await attempt('asking libvirt', () => hypervisor.getLibVersion({ timeoutMs }));
  }

  onChange(listener: MachineChangeListener): () => void {
    return this.#changes.onChange(listener);
  }

  async listSystems(): Promise<readonly SystemRef[]> {
    this.#assertReachable();
    const machines = await this.#host.inventory.list();
    const uuids = new Set(machines.map(({ uuid }) => uuid));
    this.#reader.retain(uuids);
    this.#guestNetwork.retain(uuids);
    return machines;
  }

  async getSystem(id: string): Promise<CompleteSnapshot> {
    const snapshot = await this.#reader.read(await this.#find(id));
    // A start by this driver pauses the guest for a moment, which is not a real pause.
    const isHeld = snapshot.state === 'paused' && this.#coldStart.isStarting(snapshot.uuid);
    return isHeld ? { ...snapshot, starting: true } : snapshot;
  }

  async power(id: string, action: PowerAction, options: OperationOptions = {}): Promise<void> {
    await this.#changing(id, (machine) => this.#power.power(machine, action, options));
  }

  async change(id: string, change: SystemChange, options: InsertOptions = {}): Promise<void> {
    await this.#changing(id, async (machine) => {
      await this.#systemChanges.change(machine, change, options);
      if (change.cd !== undefined) this.#changes.publishOwn(machine, 'media');
    });
  }

  async #networkFacts(id: string): Promise<NetworkFacts> {
    const machine = await this.#find(id);
    return await this.#guestNetwork.read(machine, await this.#reader.read(machine));
  }

  #mediaControl(): MediaControl {
    const media = this.#media;
    const reported = (id: string, change: (machine: Machine) => Promise<void>): Promise<void> =>
      this.#changing(id, async (machine) => {
        await change(machine);
        this.#changes.publishOwn(machine, 'media');
      });
    return {
      insert: (id, device, image, options = {}) =>
        reported(id, (machine) => media.insert(machine, device, image, options)),
      eject: (id, device, options = {}) => reported(id, (machine) => media.eject(machine, device, options)),
      set: (id, device, change) => this.#changing(id, (machine) => media.set(machine, device, change)),
    };
  }

  #volumeControl(): VolumeControl {
    const volumes = this.#disks;
    return {
      createVolume: (id, volume, words = {}) => this.#changing(id, (machine) => volumes.create(machine, volume, words)),
      removeVolume: (id, target) => this.#changing(id, (machine) => volumes.remove(machine, target)),
      setDriveIndicator: (id, target, state) =>
        this.#changing(id, (machine) => volumes.setIndicator(machine, target, state)),
      provideVolume: (volume, capacityBytes) => volumes.provide(volume, capacityBytes),
    };
  }

  async #find(id: string): Promise<Machine> {
    this.#assertReachable();
    return await this.#host.inventory.find(id);
  }

  async #changing<Result>(id: string, change: (machine: Machine) => Promise<Result>): Promise<Result> {
    const machine = await this.#find(id);
    let isAnswered = true;
    try {
      await this.#reconciler.reconcile(machine);
      return await change(machine);
    } catch (error) {
      isAnswered = !isUnavailable(error);
      throw error;
    } finally {
      if (isAnswered) this.#reader.forget(machine.uuid);
      else this.#reader.forgetUnlessSilent(machine.uuid);
    }
  }

  /** Rejects at once if the host is known to be down. The link retries in the background. */
  #assertReachable(): void {
    const { state, lastError } = this.#host.hypervisor;
    if (state === 'connected' || (state === 'connecting' && lastError === null)) return;
    const reason = this.#refusal(lastError) ?? 'there is no connection to the host';
    throw new DriverError('unavailable', `asking libvirt: ${reason}`, { cause: lastError });
  }

  #reportNoConnection(error: unknown): void {
    const refusal = this.#refusal(error);
    this.#host.log.warn(`no connection to ${this.name}${refusal === null ? '' : `: ${refusal}`}`, { error });
  }

  /** Returns the advice if libvirt rejects the account of this process, else null. */
  #refusal(error: unknown): string | null {
    return accessHint(error, this.#uri, thisAccount());
  }

  /** Removes the images of a transient machine that ended: libvirt reports only the stop. */
  #removeImagesIfGone(uuid: string): void {
    this.#host.inventory.find(uuid).catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'notFound') void this.#store.removeUnused();
    });
  }

  /** @see StartPreparations.catchUp */
  async #catchUp(machine: Machine): Promise<void> {
    await updateMedia(this.#host, machine);
    // The images of the saved state may now be unused.
    void this.#store.removeUnused();
    await this.#boot.applyOrder(machine).catch((error: unknown) => {
      this.#host.log.warn(`setting the boot order of machine ${machine.name} failed`, { error });
    });
  }
}

/**
 * Returns the account of this process. Without a name, as in some containers, its number is its
 * name.
 */
function thisAccount(): Account {
  const uid = process.getuid?.() ?? 0;
  try {
    return { uid, name: userInfo().username };
  } catch {
    return { uid, name: String(uid) };
  }
}
