/** Sorts the machines of a collection. */
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';

type Order = 'ascending' | 'descending';

const sorted = {
  ascending: new WeakMap<readonly SystemRef[], readonly SystemRef[]>(),
  descending: new WeakMap<readonly SystemRef[], readonly SystemRef[]>(),
} as const satisfies Readonly<Record<Order, unknown>>;

/**
 * Returns the machines sorted by UUID. The same list gives the same result object, so that its
 * cached rendering stays valid: a driver returns the same list until a machine is added or removed.
 */
export function inOrder(machines: readonly SystemRef[], order: Order): readonly SystemRef[] {
  const known = sorted[order].get(machines);
  if (known !== undefined) return known;
  const sign = order === 'ascending' ? 1 : -1;
  const result = machines.toSorted((left, right) => (left.uuid < right.uuid ? -sign : sign));
  sorted[order].set(machines, result);
  return result;
}
