import { describe, expect, it } from '@jest/globals';
import { anyText, anything, listOf, mappingOf, numberFrom, scalarText, trueOrFalse, type Check } from './check.js';

/** The value, or the paths of what is wrong. */
function outcome(check: Check<unknown>, value: unknown): unknown {
  const checked = check(value);
  return 'wrong' in checked ? { wrong: checked.wrong } : checked.value;
}

const wrong = { wrong: [[]] };

describe('a check', () => {
  it.each<[string, Check<unknown>, unknown, unknown]>([
    ['a text', anyText, 'x', 'x'],
    ['a text', anyText, '', wrong],
    ['a text', anyText, 5, wrong],
    ['a boolean', trueOrFalse, false, false],
    ['a boolean', trueOrFalse, ' Yes ', true],
    ['a boolean', trueOrFalse, 'OFF', false],
    ['a boolean', trueOrFalse, 'maybe', wrong],
    ['a boolean', trueOrFalse, 1, wrong],
    ['a number', numberFrom(0, 10), 10, 10],
    ['a number', numberFrom(0, 10), ' 2.5 ', 2.5],
    ['a number', numberFrom(0, 10), 10.5, wrong],
    ['a number', numberFrom(0, 10), '0x2', wrong],
    ['a number', numberFrom(0, 10), '', wrong],
    ['a number', numberFrom(0, Infinity), NaN, wrong],
    ['a number', numberFrom(0, 1e9), Infinity, wrong],
    ['a scalar', scalarText, true, 'true'],
    ['a scalar', scalarText, null, wrong],
    ['a list', listOf(anyText), ['a', 'b'], ['a', 'b']],
    ['a list', listOf(anyText), ['a', 1, '', 'b'], { wrong: [[1], [2]] }],
    ['a list', listOf(anyText), { 0: 'a' }, wrong],
    ['a mapping', mappingOf(anything), { a: null }, { a: null }],
    ['a mapping', mappingOf(anyText), [], wrong],
    ['a mapping', mappingOf(anyText), null, wrong],
    ['a mapping', mappingOf(listOf(numberFrom(0, 1))), { a: [0, 2], b: 3, c: [1] }, { wrong: [['a', 1], ['b']] }],
  ])('for %s takes what is right and names what is wrong (C3)', (_kind, check, value, expected) => {
    expect(outcome(check, value)).toEqual(expected);
  });

  it('takes every name in a mapping for a name (C3)', () => {
    const value = JSON.parse('{"__proto__": "a", "constructor": "b"}') as unknown;
    expect(outcome(mappingOf(anyText), value)).toEqual(value);
  });
});
