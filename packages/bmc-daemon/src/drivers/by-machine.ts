/**
 * Finds machines in lists. Wraps drivers: each call for one machine goes to a selected driver, with
 * a replaced id.
 */
import { DriverError } from './driver-error.js';
import type { SystemRef } from './snapshot/system-snapshot.js';

/**
 * Returns the machine with the given UUID (any case). If there is none, returns all machines with
 * the given name, because two hosts can have machines with equal names.
 */
export function matching<Ref extends SystemRef>(machines: readonly Ref[], id: string): readonly Ref[] {
  const lower = id.toLowerCase();
  const found = machines.find(({ uuid }) => uuid === lower);
  return found === undefined ? machines.filter(({ name }) => name === id) : [found];
}

/**
 * Returns the only machine with the given UUID or name.
 * @throws {DriverError} notFound, if there is none, or if several machines have the name.
 */
export function onlyMachine<Ref extends SystemRef>(machines: readonly Ref[], id: string): Ref {
  const [found, ...others] = matching(machines, id);
  if (found === undefined) throw new DriverError('notFound', `looking up machine ${id}: no such machine`);
  if (others.length === 0) return found;
  const uuids = [found, ...others].map(({ uuid }) => uuid).join(', ');
  throw new DriverError('notFound', `looking up machine ${id}: several machines have this name, use a UUID: ${uuids}`);
}

/** Runs a call for a machine, with the selected object and the machine's UUID. */
export type OnMachine<Group> = <Result>(
  id: string,
  call: (group: Group, uuid: string) => Promise<Result>,
) => Promise<Result>;

/**
 * Names of the methods that concern one machine: their first parameter is the id of the machine.
 */
type MachineMethod<Group> = {
  [Name in keyof Group]-?: Group[Name] extends (id: string, ...rest: never[]) => Promise<unknown>
    ? Parameters<Group[Name]> extends [string, ...unknown[]]
      ? Name
      : never
    : never;
}[keyof Group];

/** All other members. If a new member is missing here, the compiler reports it. */
type OtherMembers<Group> = {
  readonly [Name in Exclude<keyof Group, MachineMethod<Group>>]-?: Group[Name] | undefined;
};

/**
 * Returns an object with the members of a driver or of a part of it. `onMachine` runs the methods of one
 * machine; `others` has all other members, and methods of one machine that need more.
 */
export function byMachine<Group extends object>(
  onMachine: OnMachine<Group>,
  others: OtherMembers<Group> & { readonly [Name in MachineMethod<Group>]?: Group[Name] },
): Group {
  const methods = new Map<string, unknown>();
  const method = (name: string): unknown => {
    const known = methods.get(name);
    if (known !== undefined) return known;
    const made = (id: string, ...rest: unknown[]): Promise<unknown> =>
      onMachine(id, (group, uuid) => {
        // All other names are methods of one machine: see OtherMembers.
        const member = Reflect.get(group, name) as (...words: unknown[]) => Promise<unknown>;
        return Reflect.apply(member, group, [uuid, ...rest]);
      });
    methods.set(name, made);
    return made;
  };
  // The proxy answers for every member of the type.
  return new Proxy({} as Group, {
    get(_target, name): unknown {
      if (Object.hasOwn(others, name)) return Reflect.get(others, name);
      // `await` reads `then` of an object. A function would make this object look like a promise.
      return typeof name === 'symbol' || name === 'then' ? undefined : method(name);
    },
  });
}
