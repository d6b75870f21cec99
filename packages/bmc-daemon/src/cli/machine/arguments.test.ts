import { describe, expect, it } from '@jest/globals';
import {
  parseBridge,
  parseCount,
  parseMac,
  parseMacPrefix,
  parseName,
  parseSize,
  parseSteps,
  parseText,
} from './arguments.js';

describe('arguments of bmc-daemon machine', () => {
  it.each([
    ['512M', 512 * 1024 ** 2],
    ['16g', 16 * 1024 ** 3],
    ['1.5GiB', 1.5 * 1024 ** 3],
    ['2T', 2 * 1024 ** 4],
  ])('reads %s as %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['16', '-1G', 'G', '16 G', '16GB', '1e3M', ''])('rejects the size %j', (text) => {
    expect(() => parseSize(text)).toThrow('a number and a unit');
  });

  it.each(['0G', '0.5M', '8192T', '99999999999999999999T'])('rejects the size %j, which no disk has', (text) => {
    expect(() => parseSize(text)).toThrow('from 1M to 8191T');
  });

  it('rejects names of bridges that the kernel does not have, and empty names', () => {
    expect([parseBridge('br0'), parseText('my pool')]).toEqual(['br0', 'my pool']);
    for (const name of ['', 'a b', 'a/b', '..', 'a'.repeat(16), "br0'/>"]) {
      expect(() => parseBridge(name)).toThrow('up to 15 characters');
    }
    for (const name of ['', ' ']) expect(() => parseText(name)).toThrow('empty');
  });

  it('reads MAC addresses and prefixes in both notations', () => {
    expect(parseMac('52-54-00-AA-BB-0c')).toBe('52:54:00:aa:bb:0c');
    expect(parseMacPrefix('52:54:00:AA')).toBe('52:54:00:aa');
    expect(parseMacPrefix('52:54:00:')).toBe('52:54:00');
  });

  it.each(['52:54:00:12:34', '52:54:00:12:34:56:78', '01:00:5e:00:00:01', '00:00:00:00:00:00', 'x'])(
    'rejects the address %j',
    (text) => {
      expect(() => parseMac(text)).toThrow();
    },
  );

  it.each(['', '52:54:00:12:34:56', '53:54:00', '5254'])('rejects the prefix %j', (text) => {
    expect(() => parseMacPrefix(text)).toThrow();
  });

  it('reads a boot order, and rejects unknown and repeated steps', () => {
    expect(parseSteps('disk, network')).toEqual(['disk', 'network']);
    for (const text of ['', 'usb', 'disk,disk', 'disk,']) expect(() => parseSteps(text)).toThrow('at most once');
  });

  it('rejects names that cannot be in a path or a URI, and counts that are not numbers', () => {
    expect(parseName('rack-1.node_2')).toBe('rack-1.node_2');
    for (const name of ['', '-x', 'a/b', '../x', 'ä', 'a b', 'a'.repeat(61)]) expect(() => parseName(name)).toThrow();
    expect(parseCount('20')).toBe(20);
    for (const count of ['0', '1.5', '-1', 'x', '99999']) expect(() => parseCount(count)).toThrow();
  });
});
