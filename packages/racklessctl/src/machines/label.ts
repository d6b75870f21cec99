/** Names of machines in tables and messages. Machines of one service can have equal names, for example on two hosts. */
import { chassisOf, type Machine } from './machine.js';

/**
 * Returns a function that returns the name of a machine. If several machines of its service have the name, the chassis
 * follows in parentheses, or the id if they have no chassis of their own.
 * @param machines all machines that are shown together.
 */
export function labelsIn(machines: readonly Machine[]): (machine: Machine) => string {
  const keyOf = ({ context, name }: Machine): string => JSON.stringify([context, name]);
  const byName = new Map<string, Machine[]>();
  for (const machine of machines) {
    const namesakes = byName.get(keyOf(machine));
    if (namesakes === undefined) byName.set(keyOf(machine), [machine]);
    else namesakes.push(machine);
  }
  return (machine) => {
    const others = (byName.get(keyOf(machine)) ?? []).filter(({ uri }) => uri !== machine.uri);
    if (others.length === 0) return machine.name;
    const chassis = chassisOf(machine).join(' ');
    const isOwn = chassis !== '' && others.every((other) => chassisOf(other).join(' ') !== chassis);
    return `${machine.name} (${isOwn ? chassis : machine.id})`;
  };
}
