import { describe, expect, it } from '@jest/globals';
import * as args from './arguments.js';

describe('the parser of the arguments of bmc-daemon machine', () => {
  it.each([
    ['512M', 512 * 1024 ** 2],
    ['16g', 16 * 1024 ** 3],
    ['1.5GiB', 1.5 * 1024 ** 3],
    ['2T', 2 * 1024 ** 4],
  ])('reads %s as %d bytes', (text, bytes) => {
    expect(args.parseSize(text)).toBe(bytes);
  });

  it.each(['16', '-1G', 'G', '16 G', '16GB', '1e3M', ''])('rejects the size %j', (text) => {
    expect(() => args.parseSize(text)).toThrow('a number and a unit');
  });

  it.each(['0G', '0.5M', '8192T', '99999999999999999999T'])(
    'rejects the size %j, because it is not from 1M to 8191T',
    (text) => {
      expect(() => args.parseSize(text)).toThrow('from 1M to 8191T');
    },
  );

  it('rejects names of bridges that the kernel does not allow, and empty texts', () => {
    expect([args.parseBridge('br0'), args.parseText('my pool')]).toEqual(['br0', 'my pool']);
    for (const name of ['', 'a b', 'a/b', '..', 'a'.repeat(16), "br0'/>"]) {
      expect(() => args.parseBridge(name)).toThrow('up to 15 characters');
    }
    for (const name of ['', ' ']) expect(() => args.parseText(name)).toThrow('empty');
  });

  it('reads MAC addresses with `-`, and prefixes with or without a final `:`', () => {
    expect(args.parseMac('52-54-00-AA-BB-0c')).toBe('52:54:00:aa:bb:0c');
    expect(args.parseMacPrefix('52:54:00:AA')).toBe('52:54:00:aa');
    expect(args.parseMacPrefix('52:54:00:')).toBe('52:54:00');
  });

  it.each(['52:54:00:12:34', '52:54:00:12:34:56:78', '01:00:5e:00:00:01', '00:00:00:00:00:00', 'x'])(
    'rejects the MAC address %j',
    (text) => {
      expect(() => args.parseMac(text)).toThrow();
    },
  );

  it.each(['', '52:54:00:12:34:56', '53:54:00', '5254'])('rejects the MAC prefix %j', (text) => {
    expect(() => args.parseMacPrefix(text)).toThrow();
  });

  it('reads a boot order, and rejects unknown, repeated and missing steps', () => {
    expect(args.parseSteps('disk, network')).toEqual(['disk', 'network']);
    for (const text of ['', 'usb', 'disk,disk', 'disk,']) expect(() => args.parseSteps(text)).toThrow('at most once');
  });

  it('rejects names that are empty, too long or with forbidden characters, and counts outside of 1 to 10,000', () => {
    expect(args.parseName('rack-1.node_2')).toBe('rack-1.node_2');
    for (const name of ['', '-x', 'a/b', '../x', 'ä', 'a b', 'a'.repeat(61)])
      expect(() => args.parseName(name)).toThrow();
    expect(args.parseCount('20')).toBe(20);
    for (const count of ['0', '1.5', '-1', 'x', '99999']) expect(() => args.parseCount(count)).toThrow();
  });
});
