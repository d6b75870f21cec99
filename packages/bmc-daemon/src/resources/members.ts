/** The order in which the machines stand in a collection. */
import type { SystemRef } from '../drivers/driver.js';

export type Order = 'ascending' | 'descending';

const sorted = {
  ascending: new WeakMap<readonly SystemRef[], readonly SystemRef[]>(),
  descending: new WeakMap<readonly SystemRef[], readonly SystemRef[]>(),
} as const satisfies Readonly<Record<Order, unknown>>;

/**
 * The machines by UUID. The same list gives the same object again, so that what was rendered from it is not rendered anew:
 * a driver answers with the same list until a machine comes or goes.
 */
export function inOrder(machines: readonly SystemRef[], order: Order): readonly SystemRef[] {
  const known = sorted[order].get(machines);
  if (known !== undefined) return known;
  const sign = order === 'ascending' ? 1 : -1;
  const result = machines.toSorted((left, right) => (left.uuid < right.uuid ? -sign : sign));
  sorted[order].set(machines, result);
  return result;
}
