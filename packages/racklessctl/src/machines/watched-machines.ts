/** The machines for which `racklessctl watch` shows events. */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { CommandFailure } from '../failure.js';
import { linkAt, type Resource } from '../redfish/resource.js';
import type { Service } from '../redfish/service.js';
import { eventsIn, machinesByLink, type MachineEvent, type MachinesByLink } from './events.js';
import { labelsIn } from './label.js';
import { readMachines, selectShownMachines, type Machine, type MachineList, type UnreadMachine } from './machine.js';

/** Minimum time between two reads that events of unknown machines cause, in milliseconds. */
const REFRESH_MS = 5000;

/** Options of {@link WatchedMachines.read}. */
interface WatchedOptions {
  readonly service: Service;
  /** The context of the service. */
  readonly context: string | undefined;
  /** Names and globs of machines; empty: all machines, and events of the service itself. */
  readonly patterns: readonly string[];
}

/** The machines of a service, and those of them that the command shows. */
export class WatchedMachines {
  readonly #options: WatchedOptions;
  #machines: readonly Machine[] = [];
  #unread: readonly UnreadMachine[] = [];
  #byLink: MachinesByLink = new Map();
  #labelOf = labelsIn([]);
  /** URIs of the machines to show; undefined: everything. */
  #selected: ReadonlySet<string> | undefined;
  /** When an event last caused a read. */
  #refreshedAt = -Infinity;

  private constructor(options: WatchedOptions) {
    this.#options = options;
  }

  /** Reads the machines. @throws {CommandFailure} also if a pattern selects no machine. */
  static async read(options: WatchedOptions): Promise<WatchedMachines> {
    const watched = new WatchedMachines(options);
    await watched.readAgain();
    return watched;
  }

  /** The machines of the last read, and those of earlier reads that the service now lists but does not return. */
  get all(): readonly Machine[] {
    return this.#machines;
  }

  /** Returns the name of a machine, as {@link labelsIn}. */
  labelOf(machine: Machine): string {
    return this.#labelOf(machine);
  }

  /** Reads the machines again. @returns {@link all}. @throws {CommandFailure} */
  async readAgain(): Promise<readonly Machine[]> {
    const { service, context, patterns } = this.#options;
    const list = await readMachines(service, context);
    const missing = new Set(list.unread.map(({ uri }) => uri));
    // A machine that the service lists but does not return still exists, so it stays in the list.
    const machines = [...list.machines, ...this.#machines.filter(({ uri }) => missing.has(uri))];
    if (patterns.length > 0) {
      // Keeps the machines that were selected. A machine that is now gone or has another name may
      // still have events.
      const known = this.#selected ?? new Set();
      this.#selected = new Set([...known, ...selectedOf({ ...list, machines }, patterns, known.size > 0)]);
    }
    this.#machines = machines;
    this.#labelOf = labelsIn(machines);
    this.#unread = list.unread;
    this.#byLink = machinesByLink(machines);
    return machines;
  }

  /**
   * Returns the events in an object of a stream. Reads the machines again if an event is about an
   * unknown machine, at most once in five seconds.
   */
  async eventsIn(body: Resource): Promise<readonly MachineEvent[]> {
    const events = eventsIn(body, this.#byLink);
    const isDue = performance.now() - this.#refreshedAt >= REFRESH_MS;
    if (!isDue || !events.some((event) => this.#isOfUnknownMachine(event))) return events;
    this.#refreshedAt = performance.now();
    try {
      await this.readAgain();
    } catch (error) {
      // Ignores the failure. The command then shows the URI of the machine instead of its name.
      if (!(error instanceof CommandFailure)) throw error;
    }
    return eventsIn(body, this.#byLink);
  }

  /** Returns whether the command shows an event: with patterns, only events about a selected machine. */
  shows({ machines }: MachineEvent): boolean {
    const selected = this.#selected;
    return selected === undefined || machines.some(({ uri }) => selected.has(uri));
  }

  /** Returns the URIs of all machines that the service listed, but did not return, at the last read. */
  unreadUris(): ReadonlySet<string> {
    return new Set(this.#unread.map(({ uri }) => uri));
  }

  /**
   * Returns the unread machines that the command shows. With patterns, these are the machines that the patterns
   * have selected in earlier reads, and all machines that no read has returned yet.
   */
  shownUnread(): readonly UnreadMachine[] {
    const known = new Set(this.#machines.map(({ uri }) => uri));
    return this.#unread.filter(({ uri }) => this.#selected?.has(uri) !== false || !known.has(uri));
  }

  #isOfUnknownMachine({ machines, origin = '' }: MachineEvent): boolean {
    const systems = linkAt(this.#options.service.root, 'Systems');
    return machines.length === 0 && systems !== undefined && origin.startsWith(`${withoutTrailingSlashes(systems)}/`);
  }
}

/** Returns the URIs of the machines that patterns select. @param mayBeNone a pattern may select no machine. */
function selectedOf(list: MachineList, patterns: readonly string[], mayBeNone: boolean): readonly string[] {
  return patterns.flatMap((pattern) => {
    try {
      return selectShownMachines(list, [pattern]).map(({ uri }) => uri);
    } catch (error) {
      if (mayBeNone && error instanceof CommandFailure) return [];
      throw error;
    }
  });
}
