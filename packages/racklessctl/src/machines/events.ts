/** Changes of machines, as events of the service or by comparing two reads. */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { linkAt, listAt, textAt, type Resource } from '../redfish/resource.js';
import { groupByKeys } from './by-key.js';
import { linksOf, summaryOf, type Machine, type MachineSummary } from './machine.js';

/** An event of a machine or of another resource, or a difference between two reads of a machine. */
export interface MachineEvent {
  /** ISO 8601. If the event of a service has no time, the time of its arrival. */
  readonly time: string;
  readonly severity: string | undefined;
  /** The machines that the event concerns: none, one, or all machines of a chassis or manager. */
  readonly machines: readonly Machine[];
  /** URI of the resource that changed. */
  readonly origin: string | undefined;
  /** The message id, such as `ResourceEvent.1.4.ResourceChanged`. */
  readonly messageId: string | undefined;
  readonly message: string;
}

/**
 * Returns the events in an object of a stream of events. Objects of other kinds, such as metric
 * reports, contain no events.
 */
export function eventsIn(body: Resource, machines: MachinesByLink): readonly MachineEvent[] {
  return listAt(body, 'Events').map((record) => {
    const origin = linkAt(record, 'OriginOfCondition');
    const messageId = textAt(record, 'MessageId');
    return {
      time: textAt(record, 'EventTimestamp') ?? new Date().toISOString(),
      severity: textAt(record, 'MessageSeverity') ?? textAt(record, 'Severity'),
      machines: origin === undefined ? [] : machinesOf(origin, machines),
      origin,
      messageId,
      message: textAt(record, 'Message') ?? messageId ?? 'an event without a message',
    };
  });
}

/** Machines by the URIs of themselves, their managers and their chassis. */
export type MachinesByLink = ReadonlyMap<string, readonly Machine[]>;

/**
 * Returns an index of machines for {@link eventsIn}. A service may have 10,000 machines and
 * hundreds of events a second, so a search through all machines for each event would be slow.
 */
export function machinesByLink(machines: readonly Machine[]): MachinesByLink {
  // Several machines may share a chassis, for example the host of virtual machines.
  return groupByKeys(machines, (machine) => new Set(linksOf(machine).map(withoutTrailingSlashes)));
}

/** Returns the machines whose resource, manager or chassis has the URI `origin`, or the nearest URI above it. */
function machinesOf(origin: string, machines: MachinesByLink): readonly Machine[] {
  for (let uri = origin; uri !== ''; uri = uri.slice(0, Math.max(0, uri.lastIndexOf('/')))) {
    const found = machines.get(uri);
    if (found !== undefined) return found;
  }
  return [];
}

const shownChanges: readonly (readonly [key: Exclude<keyof MachineSummary, 'chassis'>, name: string])[] = [
  ['power', 'power state'],
  ['health', 'health'],
  ['state', 'state'],
  ['name', 'name'],
];

/**
 * Returns the differences between two reads of a service's machines.
 * @param unseen URIs of machines that exist, but that no former read returned. If the second read
 *   returns one, the function does not report it as new.
 * @param time the time of the second read.
 */
export function eventsBetween(
  before: readonly Machine[],
  after: readonly Machine[],
  unseen: ReadonlySet<string>,
  time: string,
): readonly MachineEvent[] {
  const event = (machine: Machine, message: string): MachineEvent => ({
    ...{ time, machines: [machine], message, messageId: undefined },
    ...{ origin: machine.uri, severity: summaryOf(machine).health },
  });
  const known = new Map(before.map((machine) => [machine.uri, machine]));
  const present = new Set(after.map(({ uri }) => uri));
  return [
    ...after.flatMap((machine) => {
      const old = known.get(machine.uri);
      if (old === undefined) return unseen.has(machine.uri) ? [] : [event(machine, 'the machine is new')];
      const [was, is] = [summaryOf(old), summaryOf(machine)];
      return shownChanges.flatMap(([key, name]) =>
        was[key] === is[key] ? [] : [event(machine, `${name}: ${was[key] ?? 'unknown'} → ${is[key] ?? 'unknown'}`)],
      );
    }),
    ...before.filter(({ uri }) => !present.has(uri)).map((machine) => event(machine, 'the machine is gone')),
  ];
}
