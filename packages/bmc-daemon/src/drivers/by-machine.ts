/**
 * Finds machines in lists by UUID or name, and makes drivers that forward each call for a machine to the
 * driver of this machine.
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

/**
 * A function that runs a call for the machine with an id. The call gets the driver, or the part of a
 * driver, that serves this machine, and the machine's UUID.
 */
export type OnMachine<Group> = <Result>(
  id: string,
  call: (group: Group, uuid: string) => Promise<Result>,
) => Promise<Result>;

/**
 * Names of the methods that concern one machine: asynchronous methods whose first parameter is the id of
 * the machine.
 */
type MachineMethod<Group> = {
  [Name in keyof Group]-?: Group[Name] extends (id: string, ...rest: never[]) => Promise<unknown>
    ? Parameters<Group[Name]> extends [string, ...unknown[]]
      ? Name
      : never
    : never;
}[keyof Group];

/** All other members. The compiler reports an object of this type that lacks a member. */
type OtherMembers<Group> = {
  readonly [Name in Exclude<keyof Group, MachineMethod<Group>>]-?: Group[Name] | undefined;
};

/**
 * Makes a driver, or a part of a driver such as `media`, that forwards the calls for one machine.
 * @param onMachine resolves the id, and selects the object that receives the call.
 * @param others all other members, and each method for one machine that must do more than forward.
 */
export function byMachine<Group extends object>(
  onMachine: OnMachine<Group>,
  others: OtherMembers<Group> & { readonly [Name in MachineMethod<Group>]?: Group[Name] },
): Group {
  const methods = new Map<string, unknown>();
  const method = (name: string): unknown => {
    const known = methods.get(name);
    if (known !== undefined) return known;
    const forward = (id: string, ...rest: unknown[]): Promise<unknown> =>
      onMachine(id, (group, uuid) => {
        // `others` does not have the name, so it is a method for one machine: see OtherMembers.
        const member = Reflect.get(group, name) as (...args: unknown[]) => Promise<unknown>;
        return Reflect.apply(member, group, [uuid, ...rest]);
      });
    methods.set(name, forward);
    return forward;
  };
  // For each name that `others` does not have, the proxy returns a forwarding method.
  return new Proxy({} as Group, {
    get(_target, name): unknown {
      if (Object.hasOwn(others, name)) return Reflect.get(others, name);
      // `await` reads `then` of an object. A function would make this object look like a promise.
      return typeof name === 'symbol' || name === 'then' ? undefined : method(name);
    },
  });
}
