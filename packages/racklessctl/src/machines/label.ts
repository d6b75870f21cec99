/** Names of machines in tables and messages. Machines of one service can have equal names, for example on two hosts. */
import { groupByKeys } from './by-key.js';
import { chassisOf, type Machine } from './machine.js';

/** Returns a key that two machines share if they belong to one service and have equal names. */
export const nameKey = ({ context, name }: { readonly context?: string | undefined; readonly name: string }): string =>
  JSON.stringify([context, name]);

/**
 * Returns a function that returns the name of a machine. If other machines of the service have the same name, the
 * function adds the chassis in parentheses. It adds the id instead if the machine has no chassis, or if one of these
 * other machines has the same chassis.
 * @param machines all machines that are shown together.
 */
export function labelsIn(machines: readonly Machine[]): (machine: Machine) => string {
  const byName = groupByKeys(machines, (machine) => [nameKey(machine)]);
  return (machine) => {
    const others = (byName.get(nameKey(machine)) ?? []).filter(({ uri }) => uri !== machine.uri);
    if (others.length === 0) return machine.name;
    const chassis = chassisOf(machine).join(' ');
    const isOwn = chassis !== '' && others.every((other) => chassisOf(other).join(' ') !== chassis);
    return `${machine.name} (${isOwn ? chassis : machine.id})`;
  };
}
