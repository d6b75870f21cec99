/**
 * The interface between resources and a hypervisor, in hypervisor terms. A driver has no database
 * of machines. It reads them from the hypervisor, and stores all data of a machine (boot override,
 * indicator, media source) with the machine.
 */
import type { ConsoleControl } from './console-control.js';
import type { DisplayControl } from './display-control.js';
import { DriverError } from './driver-error.js';
import type { GraphicalConsoleControl } from './graphical-console-control.js';
import type { GuestNetwork } from './guest-network.js';
import type { HostsControl } from './hosts-control.js';
import type { HypervisorLogs } from './hypervisor-logs.js';
import type { MachineChangeListener } from './machine-change.js';
import type { MediaControl } from './media-control.js';
import type { ChangeOptions, OperationOptions } from './operation-options.js';
import { everyAction, type PowerAction } from './power.js';
import type { CompleteSnapshot, SystemDetails, SystemRef, SystemSnapshot } from './snapshot/system-snapshot.js';
import type { StatisticsControl } from './statistics-control.js';
import type { SystemChange, SystemChangePart } from './system-change.js';
import type { VolumeControl } from './volume-control.js';

/**
 * The mandatory methods of a driver: it lists and reads machines, and changes their power. An id is a
 * UUID or a name. A UUID has precedence over an equal name. If a method fails, it rejects with a
 * {@link DriverError}, for example notFound (no such machine) or unavailable (the host does not answer).
 */
interface MinimalDriver {
  /** Name for logs and the status page, such as `libvirt qemu:///system` or `fake`. */
  readonly name: string;
  /** Returns all machines in no particular order. */
  listSystems(): Promise<readonly SystemRef[]>;
  /**
   * Reads one machine. If the machine has not changed, two reads may return the same object.
   * @param shown details that the caller shows in full. Default: none. If a detail needs additional
   *   requests, a driver makes them only for these details. It returns all other details as far as known.
   * @param options.maxAgeMs data up to this age are sufficient, because the operation that follows reads
   *   the machine again. Default: 0, so the driver reads the machine now.
   */
  getSystem(
    id: string,
    shown?: readonly (keyof SystemDetails)[],
    options?: { readonly maxAgeMs?: number },
  ): Promise<SystemSnapshot>;
  /**
   * Runs a power action. Resolves when the hypervisor has completed it. If `shutdown`, `reboot` or
   * `pressButton` needs the guest, it resolves after the request to the guest. If the guest ignores a `reboot`,
   * the driver later forces the restart. `create` of a running machine and `destroy` of a stopped machine
   * do nothing. `create`, `reboot`, `reset`, `cycle` and `pressButton` wait for a pending insert, and fail
   * if the insert fails. So a guest never boots from an empty drive.
   * @throws {DriverError} conflict, if the state of the machine does not allow the action; transient, if
   *   the machine would be lost; unsupported; insertFailed; the reason of the signal.
   */
  power(id: string, action: PowerAction, options?: OperationOptions): Promise<void>;
}

/** A hypervisor, or several hosts behind one driver, as resources use it. */
export interface HypervisorDriver extends MinimalDriver {
  /**
   * Returns true while the machines of a host are unknown, because the host has never answered.
   * Callers must then not remove the data of machines that the list lacks. Absent: always false.
   */
  readonly isListIncomplete?: () => boolean;
  /** Connects in the background. Does not throw if the host is down. */
  start(): Promise<void>;
  /** Closes connections and aborts downloads. Removes partial downloads. */
  close(): Promise<void>;
  /**
   * Resolves if the host, or one of several hosts, answers in time.
   * @throws {DriverError} usually unavailable.
   */
  ping(): Promise<void>;
  /**
   * Reports all changes of machines in order, from the start of the driver on: those of this driver, of
   * guests and of other programs. After a lost connection, the driver compares the states of the machines to find the
   * changes.
   * @param listener must not throw.
   * @returns the function that removes the listener.
   */
  onChange(listener: MachineChangeListener): () => void;

  /** Power actions that this hypervisor supports. Resources show only these. */
  readonly powerActions: ReadonlySet<PowerAction>;
  /** Parts of a change that this hypervisor supports. Resources show only these. */
  readonly changeable: ReadonlySet<SystemChangePart>;
  /**
   * Changes a machine: all parts or none. Downloads an image before any change. A power-on during
   * the download waits for the change.
   * @throws {DriverError} for the first part that the machine or the hypervisor rejects; its field, if it has
   *   one, names this part. Also throws as {@link MediaControl.insert} for an image, and the reason of the signal.
   */
  change(id: string, change: SystemChange, options?: ChangeOptions): Promise<void>;

  /** Virtual media; absent if the hypervisor has none. */
  readonly media?: MediaControl;
  /** Serial consoles; absent if the hypervisor has none. */
  readonly console?: ConsoleControl;
  /** Graphical consoles; absent if the hypervisor opens none for clients. */
  readonly graphicalConsole?: GraphicalConsoleControl;
  /** Displays for VNC; absent if the hypervisor has none. */
  readonly display?: DisplayControl;
  /** Addresses and names of running guests; absent if the hypervisor does not report them. */
  readonly guestNetwork?: GuestNetwork;
  /** Volumes; absent if the hypervisor has no storage pools. */
  readonly volumes?: VolumeControl;
  /** The hosts of the machines; absent if the driver does not know them. */
  readonly hosts?: HostsControl;
  /** Logs that the hypervisor stores; absent if it stores none. */
  readonly logs?: HypervisorLogs;
  /** CPU time, memory, disk and network statistics; absent if the hypervisor has none. */
  readonly statistics?: StatisticsControl;
}

/**
 * A driver with media, consoles, guest addresses, volumes and complete snapshots. Statistics are
 * optional, because libvirt's test driver has none.
 */
export interface CompleteDriver extends HypervisorDriver {
  getSystem(id: string): Promise<CompleteSnapshot>;
  readonly media: MediaControl;
  readonly console: ConsoleControl;
  readonly guestNetwork: GuestNetwork;
  readonly volumes: VolumeControl;
}

/**
 * Completes a driver. By default, a driver supports no changes and all power actions, reports no
 * changes, and its `ping` lists the machines.
 */
export function defineDriver(driver: MinimalDriver & Partial<HypervisorDriver>): HypervisorDriver {
  return {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    ping: async () => void (await driver.listSystems()),
    onChange: () => () => undefined,
    powerActions: everyAction,
    changeable: new Set(),
    change: (id) =>
      Promise.reject(new DriverError('unsupported', `changing machine ${id}: ${driver.name} supports no changes`)),
    ...driver,
  };
}
