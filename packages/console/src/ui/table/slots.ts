/** The rows of a table in the page. A row that shows another line later is a slot. */

/** A row that moves or appears costs a browser about this many times the work of a row with new texts. */
const MOVE_COST = 2.5;

/**
 * Returns the slot of each line. A line in the slot of another one needs only new texts. This costs a browser less
 * than removing a row and adding one.
 * @param last the slots before, by line, in the order of the table.
 * @param lines the keys of the lines to show, in order.
 * @param options `isHeld`: the user holds a row, so each line keeps its slot, and no slot gets another line.
 */
export function assignSlots(
  last: ReadonlyMap<string, number>,
  lines: readonly string[],
  { isHeld }: { readonly isHeld: boolean },
): ReadonlyMap<string, number> {
  const before = [...last.keys()];
  const added = lines.filter((line) => !last.has(line)).length;
  const changed = lines.filter((line, index) => line !== before[index]).length;
  // After scrolling, few lines are new, and take the slots of those that have left. After a filter, many lines are new.
  // Then the slots keep their order, because otherwise many rows would move.
  const isKept = isHeld || MOVE_COST * added <= changed;
  const shown = new Set(isKept ? lines : []);
  const free = isHeld ? [] : before.filter((line) => !shown.has(line)).map((line) => last.get(line));
  let unused = Math.max(-1, ...last.values()) + 1;
  const next = new Map<string, number>();
  for (const line of lines) next.set(line, (isKept ? last.get(line) : undefined) ?? free.shift() ?? unused++);
  return next;
}
