import { expect, it } from '@jest/globals';
import { tableLines } from './groups.js';
import { lineAfterKey, withRange } from './keys.js';

const grouping = {
  groupOf: (name: string) => name.replace(/\d+$/, '*').replace(/^[a-z]+$/, ''),
  nameOf: (group: string) => group,
  detailOf: () => null,
  onToggle: () => undefined,
};
const shown = (closed: readonly string[]) =>
  tableLines(['b2', 'jump', 'a1', 'b1'], (name) => name, { ...grouping, closed: new Set(closed) }).map(
    ({ kind, key }) => `${kind} ${key}`,
  );

it('tableLines sorts the groups, and puts the rows below their heading in the order of the table', () => {
  expect(shown([])).toEqual(['group a*', 'row a1', 'group b*', 'row b2', 'row b1', 'group ', 'row jump']);
});

it('tableLines leaves out the rows of a closed group', () => {
  expect(shown(['b*'])).toEqual(['group a*', 'row a1', 'group b*', 'group ', 'row jump']);
});

it.each([
  [{ from: 'b', to: 'd' }, ['x', 'b', 'c', 'd']],
  [{ from: 'd', to: 'b' }, ['x', 'b', 'c', 'd']],
  [{ from: null, to: 'c' }, ['x', 'c']],
  [{ from: 'hidden', to: 'c' }, ['x', 'c']],
])('withRange selects the range %j', (range, selected) => {
  expect([...withRange(new Set(['x']), ['a', 'b', 'c', 'd'], range)]).toEqual(selected);
});

it.each([
  ['ArrowDown', 5, 6],
  ['ArrowUp', 5, 4],
  ['PageDown', 5, 15],
  ['PageDown', 95, 99],
  ['PageUp', 5, 0],
  ['Home', 5, 0],
  ['End', 5, 99],
  ['ArrowUp', 0, null],
  ['ArrowDown', 99, null],
  ['End', 99, null],
  ['Enter', 5, null],
])('lineAfterKey moves with %s from line %d of 100 to %p', (key, line, target) => {
  const pressed = { key, altKey: false, ctrlKey: false, metaKey: false };
  expect(lineAfterKey(pressed, { line, count: 100, page: 10 })).toBe(target);
  expect(lineAfterKey({ ...pressed, altKey: true }, { line, count: 100, page: 10 })).toBeNull();
});
