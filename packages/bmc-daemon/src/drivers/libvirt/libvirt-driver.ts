/** Implements {@link CompleteDriver} for the machines of one libvirt host. */
import { DomainEventType } from '@rackless/libvirt';
import { DriverError, isDriverError } from '../driver-error.js';
import type { CompleteDriver } from '../driver.js';
import type { ChangeOptions, OperationOptions } from '../operation-options.js';
import { everyAction, type PowerAction } from '../power.js';
import type { SystemRef, CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { ConsoleControl } from '../console-control.js';
import type { MediaControl } from '../media-control.js';
import type { GuestNetwork, NetworkFacts } from '../guest-network.js';
import type { HostsControl } from '../hosts-control.js';
import type { MachineChangeListener } from '../machine-change.js';
import type { StatisticsControl } from '../statistics-control.js';
import { everyPart, type SystemChange } from '../system-change.js';
import type { VolumeControl } from '../volume-control.js';
import { connectionFault, connectionRefusal, isDisconnected } from './connection-fault.js';
import { LibvirtConsole } from './console.js';
import { LibvirtDisplay } from './display.js';
import { attempt } from './failure.js';
import type { Host } from './machine/host.js';
import { createParts, type LibvirtParts } from './libvirt-parts.js';
import { type Machine } from './machine/inventory.js';
import type { LibvirtDriverOptions } from './libvirt-driver-options.js';
import { LibvirtStatistics } from './read/statistics.js';

export type { LibvirtDriverOptions } from './libvirt-driver-options.js';

/**
 * Creates a driver. It connects in the background; the caller starts and closes it.
 * @throws {LibvirtError} INVALID_URI.
 */
export function createLibvirtDriver(options: LibvirtDriverOptions): CompleteDriver {
  return new LibvirtDriver(options);
}

class LibvirtDriver implements CompleteDriver {
  readonly name: string;
  readonly console: ConsoleControl;
  readonly display: LibvirtDisplay;
  readonly powerActions = everyAction;
  readonly changeable = everyPart;
  readonly media: MediaControl;
  readonly volumes: VolumeControl;
  readonly statistics?: StatisticsControl;
  readonly guestNetwork: GuestNetwork;
  readonly hosts: HostsControl;
  readonly #parts: LibvirtParts;
  readonly #host: Host;
  readonly #closing = new AbortController();
  readonly #uri: string;
  /** The list that {@link listSystems} returned last. */
  #listed: readonly SystemRef[] | undefined;

  constructor(options: LibvirtDriverOptions) {
    const { uri } = options;
    this.name = `libvirt ${uri}`;
    this.#uri = uri;
    this.#parts = createParts(options);
    this.#host = this.#parts.host;
    this.hosts = this.#parts.hosts;
    this.media = this.#mediaControl();
    this.volumes = this.#volumeControl();
    // libvirt's test driver has no real guests and no statistics.
    if (!uri.startsWith('test')) this.statistics = new LibvirtStatistics(this.#host);
    this.console = new LibvirtConsole({ host: this.#host, find: (id) => this.#find(id) });
    this.display = new LibvirtDisplay({ host: this.#host, uri, find: (id) => this.#find(id) });
    this.guestNetwork = { facts: (id) => this.#networkFacts(id) };
  }

  async start(): Promise<void> {
    const { hypervisor, inventory, log } = this.#host;
    inventory.start();
    this.#parts.hosts.start();
    this.#parts.changes.start();
    const lifecycle = hypervisor.events.on('lifecycle', ({ domain, event, detail }) => {
      if (event === DomainEventType.STOPPED) {
        this.#parts.boot.onStopped(domain.uuid);
        this.#removeImagesIfGone(domain.uuid);
      }
      // The images of the removed machine may now be unused.
      if (event === DomainEventType.UNDEFINED) void this.#parts.store.removeUnused();
      if (event !== DomainEventType.STARTED || this.#parts.coldStart.isOwn(domain.uuid, domain.id)) return;
      this.#parts.boot.onStartedElsewhere(domain.uuid, detail);
    });
    const reboot = hypervisor.events.on('reboot', ({ domain }) => this.#parts.boot.onReboot(domain.uuid));
    for (const { ready } of [lifecycle, reboot]) {
      ready.catch((error: unknown) => log.debug('registering for events of libvirt failed', { error }));
    }
    hypervisor.onStateChange((state) => {
      this.#parts.reader.current.forgetAll();
      if (state === 'connected') {
        log.info(`connected to ${this.name}`);
        this.#parts.store.reopen();
        this.#parts.firmware.forget();
        this.#parts.coldStart.forgetStarted();
        this.#parts.reconciler.startRound();
      } else if (state === 'connecting') {
        this.#reportNoConnection(hypervisor.lastError);
      }
    });
    if (hypervisor.state === 'connected') this.#parts.reconciler.startRound();
    // A host that is down from the beginning causes no change of the connection state. So the
    // reason is logged here.
    hypervisor.connected({ retry: false }).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#reportNoConnection(error);
    });
    await this.#parts.streams.detectDriver();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const ending = [
      this.#parts.reconciler.close(),
      this.#parts.power.close(),
      this.#parts.boot.close(),
      this.#host.queue.close(),
    ];
    // Partial downloads are removed while the connection is open.
    await this.#parts.store.close();
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
    return this.#parts.changes.onChange(listener);
  }

  async listSystems(): Promise<readonly SystemRef[]> {
    this.#assertReachable();
    const machines = await this.#host.inventory.list();
    // The list stays the same array until a machine is defined or removed.
    if (machines === this.#listed) return machines;
    this.#listed = machines;
    const uuids = new Set(machines.map(({ uuid }) => uuid));
    this.#parts.reader.retain(uuids);
    this.#parts.guestNetwork.retain(uuids);
    return machines;
  }

  async getSystem(id: string): Promise<CompleteSnapshot> {
    const snapshot = await this.#parts.reader.read(await this.#find(id));
    // A start by this driver pauses the guest for a moment. Clients must not see this as a paused
    // machine.
    const isHeld = snapshot.state === 'paused' && this.#parts.coldStart.isStarting(snapshot.uuid);
    return isHeld ? { ...snapshot, starting: true } : snapshot;
  }

  async power(id: string, action: PowerAction, options: OperationOptions = {}): Promise<void> {
    await this.#withMachine(id, (machine) => this.#parts.power.power(machine, action, options));
  }

  async change(id: string, change: SystemChange, options: ChangeOptions = {}): Promise<void> {
    await this.#withMachine(id, async (machine) => {
      if (change.display === true) this.display.assertDisplayReachable(machine.name);
      await this.#parts.systemChanges.change(machine, change, options);
      if (change.cd !== undefined) this.#parts.changes.publishOwn(machine, 'media');
    });
  }

  async #networkFacts(id: string): Promise<NetworkFacts> {
    const machine = await this.#find(id);
    return await this.#parts.guestNetwork.read(machine, await this.#parts.reader.read(machine));
  }

  #mediaControl(): MediaControl {
    const media = this.#parts.media;
    const reported = (id: string, change: (machine: Machine) => Promise<void>): Promise<void> =>
      this.#withMachine(id, async (machine) => {
        await change(machine);
        this.#parts.changes.publishOwn(machine, 'media');
      });
    return {
      insert: (id, device, image, options = {}) =>
        reported(id, (machine) => media.insert(machine, device, image, options)),
      eject: (id, device, options = {}) => reported(id, (machine) => media.eject(machine, device, options)),
      set: (id, device, change) => this.#withMachine(id, (machine) => media.set(machine, device, change)),
    };
  }

  #volumeControl(): VolumeControl {
    const volumes = this.#parts.disks;
    return {
      createVolume: (id, volume, options = {}) =>
        this.#withMachine(id, (machine) => volumes.create(machine, volume, options)),
      removeVolume: (id, target) => this.#withMachine(id, (machine) => volumes.remove(machine, target)),
      setDriveIndicator: (id, target, state) =>
        this.#withMachine(id, (machine) => volumes.setIndicator(machine, target, state)),
      provideVolume: (_id, volume, capacityBytes) => volumes.provide(volume, capacityBytes),
    };
  }

  async #find(id: string): Promise<Machine> {
    this.#assertReachable();
    return await this.#host.inventory.find(id);
  }

  /**
   * Finds and reconciles a machine, and runs a change. Then the reader forgets the state of the machine. Exception:
   * libvirt did not answer now, and did not answer the last read. The reader then keeps the last state, so that the
   * next read need not wait.
   */
  async #withMachine<Result>(id: string, change: (machine: Machine) => Promise<Result>): Promise<Result> {
    const machine = await this.#find(id);
    let isAnswered = true;
    try {
      await this.#parts.reconciler.reconcile(machine);
      return await change(machine);
    } catch (error) {
      isAnswered = !isDriverError(error, 'unavailable');
      throw error;
    } finally {
      if (isAnswered) this.#parts.reader.forget(machine.uuid);
      else this.#parts.reader.forgetUnlessSilent(machine.uuid);
    }
  }

  /**
   * Throws at once if the last attempt to connect has failed. The libvirt client retries in the background.
   */
  #assertReachable(): void {
    const { hypervisor } = this.#host;
    if (!isDisconnected(hypervisor)) return;
    const reason = `asking libvirt: ${connectionFault(hypervisor, this.#uri)}`;
    throw new DriverError('unavailable', reason, { cause: hypervisor.lastError });
  }

  #reportNoConnection(error: unknown): void {
    const refusal = connectionRefusal(error, this.#uri);
    this.#host.log.warn(`no connection to ${this.name}${refusal === null ? '' : `: ${refusal}`}`, { error });
  }

  /** Removes the images of a transient machine that ended. libvirt reports its stop, but sends no UNDEFINED event. */
  #removeImagesIfGone(uuid: string): void {
    this.#host.inventory.find(uuid).catch((error: unknown) => {
      if (isDriverError(error, 'notFound')) void this.#parts.store.removeUnused();
    });
  }
}
