import { describe, expect, it } from '@jest/globals';
import {
  boolean,
  httpUrl,
  key,
  mapping,
  number,
  oneOf,
  optionalKey,
  seconds,
  text,
  textMapping,
  texts,
  verification,
  type SettingDefinition,
} from './setting-types.js';

const given = { name: 'setting', doc: 'A setting.' };

/** Returns the value, or the paths of the faults. */
function outcome({ type }: SettingDefinition<unknown>, value: unknown): unknown {
  const result = type.safeParse(value);
  return result.success ? result.data : { wrong: result.error.issues.map(({ path }) => path) };
}

const wrong = { wrong: [[]] };

describe('a setting', () => {
  it.each<[string, SettingDefinition<unknown>, unknown, unknown]>([
    ['a text', text(given), 'x', 'x'],
    ['a text', text(given), '', wrong],
    ['a text', text(given), 5, wrong],
    ['a key', key(given), ' sk-1\n', 'sk-1'],
    ['a key', key(given), ' ', wrong],
    ['a key', key(given), 'sk\n1', wrong],
    ['a key', key(given), 'sk-\u20ac', wrong],
    ['an optional key', optionalKey(given), ' ', null],
    ['an address', httpUrl(given), ' https://host/v1/ ', 'https://host/v1'],
    ['an address', httpUrl(given), 'https://user@host/v1', wrong],
    ['an address', httpUrl(given), 'ftp://host', wrong],
    ['a boolean', boolean(given), false, false],
    ['a boolean', boolean(given), ' Yes ', true],
    ['a boolean', boolean(given), 'OFF', false],
    ['a boolean', boolean(given), 'maybe', wrong],
    ['a boolean', boolean(given), 1, wrong],
    ['a number', number(0, 10, given), 10, 10],
    ['a number', number(0, 10, given), ' 2.5 ', 2.5],
    ['a number', number(0, 10, given), 10.5, wrong],
    ['a number', number(0, 10, given), '0x2', wrong],
    ['a number', number(0, 10, given), '', wrong],
    ['a number', number(0, Infinity, given), NaN, wrong],
    ['a time', seconds(given), Infinity, wrong],
    ['a choice', oneOf(['a', 'b'], given), 'b', 'b'],
    ['a choice', oneOf(['a', 'b'], given), 'c', wrong],
    ['a list of texts', texts(given), ['a', 'b'], ['a', 'b']],
    ['a list of texts', texts(given), ['a', 1, '', 'b'], { wrong: [[1], [2]] }],
    ['a list of texts', texts(given), { 0: 'a' }, wrong],
    ['a mapping', mapping(given), { a: null }, { a: null }],
    ['a mapping', mapping(given), [], wrong],
    ['a mapping', mapping(given), null, wrong],
    ['a mapping of texts', textMapping(given), { a: 1, constructor: true }, { a: '1', constructor: 'true' }],
    ['a mapping of texts', textMapping(given), { a: [0], b: 'x', c: null }, { wrong: [['a'], ['c']] }],
    ['a verification', verification(given), 'TRUE', true],
    ['a verification', verification(given), 'False', false],
    ['a verification', verification(given), 'ca.pem', 'ca.pem'],
    ['a verification', verification(given), '', wrong],
  ])('with the type %s accepts valid values and reports invalid ones', (_kind, definition, value, expected) => {
    expect(outcome(definition, value)).toEqual(expected);
  });
});
