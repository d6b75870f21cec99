import { describe, expect, it } from '@jest/globals';
import { ImageError } from './image-error.js';
import { imageHosts, isHostRule, type HostRules } from './image-hosts.js';

const noList: HostRules = { allowed: null, ipFamily: null };

/** Returns `allowed`, or the kind of the error. */
function verdict(rules: HostRules, url: string): string {
  try {
    imageHosts(rules).check(new URL(url));
    return 'allowed';
  } catch (error) {
    if (error instanceof ImageError) return error.kind;
    throw error;
  }
}

/** Returns the addresses of a lookup, or the kind of its error. */
function lookUpAddresses(rules: HostRules, name: string): Promise<readonly string[] | string> {
  return new Promise((resolve, reject) => {
    const lookup = imageHosts(rules).lookupFor(new URL(`http://${name}/`));
    lookup(name, { all: true }, (error, addresses) => {
      if (error instanceof ImageError) resolve(error.kind);
      else if (error !== null) reject(error);
      else resolve(typeof addresses === 'string' ? [addresses] : addresses.map(({ address }) => address));
    });
  });
}

describe('the rules for image hosts without a list', () => {
  it.each([
    'http://127.0.0.1/x',
    'http://[::1]/x',
    'http://192.168.1.9/x',
    'http://10.0.0.1/x',
    'http://8.8.8.8/x',
    'http://[2001:db8::1]/x',
    'http://[::ffff:10.0.0.1]/x',
    'http://[64:ff9b::10.0.0.1]/x',
    'http://[2002:a00:1::1]/x',
    'http://[2001:db8:a9fe:a9fe::1]/x',
  ])('allow %s, which has a loopback, private or public address', (url) => {
    expect(verdict(noList, url)).toBe('allowed');
  });

  it.each([
    'http://169.254.169.254/latest/meta-data',
    'http://169.254.1.1/x',
    // The next URLs have the address 169.254.169.254 in other notations.
    'http://2852039166/x',
    'http://0xa9fea9fe/x',
    'http://0251.0376.0251.0376/x',
    'http://[::ffff:169.254.169.254]/x',
    'http://[64:ff9b::169.254.169.254]/x',
    'http://[2002:a9fe:a9fe::]/x',
    'http://[::169.254.169.254]/x',
    'http://[fe80::1]/x',
    'http://[fd00:ec2::254]/x',
    'http://100.100.100.200/x',
    'http://224.0.0.1/x',
    'http://[ff02::1]/x',
    'http://168.63.129.16/x',
    'http://168.63.129.16./x',
    'http://0xa83f8110/x',
    'http://192.0.0.192/x',
    'http://[fd00:ec2::23]/x',
    'http://[fd00:42::42]/x',
    'http://[fd00:c1::a9fe:a9fe]/x',
    'http://[fd00:a9fe:a9fe::1]/x',
    'http://[::ffff:0:169.254.169.254]/x',
    'http://[::ffff:0:168.63.129.16]/x',
    'http://[::ffff:168.63.129.16]/x',
    'http://[64:ff9b::168.63.129.16]/x',
    'http://[64:ff9b:1:a9fe:a9:fe00::]/x',
    'http://[64:ff9b:1:a9:fe:a9fe::]/x',
    'http://[64:ff9b:1:0:a9:fea9:fe00:0]/x',
    'http://[64:ff9b:1::169.254.169.254]/x',
    'http://[2002:a83f:8110::1]/x',
    'http://[2001:0:1:2:3:4:5601:5601]/x',
    'http://[2001:db8::5efe:169.254.169.254]/x',
    'http://[2001:db8::200:5efe:169.254.169.254]/x',
    'http://[::100.100.100.200]/x',
  ])('reject %s, which can serve secrets, or is multicast', (url) => {
    expect(verdict(noList, url)).toBe('mediaForbidden');
  });

  it('allow the name localhost, which resolves to a loopback address', async () => {
    expect(await lookUpAddresses(noList, 'localhost')).toEqual(expect.arrayContaining(['127.0.0.1']));
  });
});

describe('the rules for image hosts with a list', () => {
  const rules: HostRules = {
    allowed: ['10.1.0.0/16', 'fd01::/16', '*.lab.test', 'localhost', '192.0.2.7'],
    ipFamily: null,
  };

  it.each([
    ['http://10.1.2.3/x', 'allowed'],
    ['http://[fd01::1]/x', 'allowed'],
    ['http://192.0.2.7/x', 'allowed'],
    ['http://[::ffff:10.1.2.3]/x', 'allowed'],
    ['http://10.2.0.1/x', 'mediaForbidden'],
    ['http://192.0.2.8/x', 'mediaForbidden'],
    ['http://127.0.0.1/x', 'mediaForbidden'],
    ['http://[::1]/x', 'mediaForbidden'],
  ])('give for %s the result %s', (url, expected) => {
    expect(verdict(rules, url)).toBe(expected);
  });

  it('allow only the names of the list, and names that resolve into its networks', async () => {
    expect(await lookUpAddresses(rules, 'localhost')).toEqual(expect.arrayContaining(['127.0.0.1']));
    expect(await lookUpAddresses(rules, 'LOCALHOST')).toEqual(expect.arrayContaining(['127.0.0.1']));
    expect(await lookUpAddresses({ ...rules, allowed: ['127.0.0.0/8'] }, 'localhost')).toEqual(['127.0.0.1']);
    expect(await lookUpAddresses({ ...rules, allowed: ['*.localhost', 'host', '10.0.0.0/8'] }, 'localhost')).toBe(
      'mediaForbidden',
    );
  });

  it('allow a forbidden address by an entry for it or its network, but not by an entry for everything', () => {
    const verdicts = (allowed: readonly string[]) =>
      ['http://169.254.3.4/x', 'http://[::ffff:169.254.3.4]/x', 'http://8.8.8.8/x'].map((url) =>
        verdict({ ...noList, allowed }, url),
      );
    expect(verdicts(['169.254.0.0/16'])).toEqual(['allowed', 'allowed', 'mediaForbidden']);
    expect(verdicts(['169.254.3.4'])).toEqual(['allowed', 'allowed', 'mediaForbidden']);
    expect(verdicts(['0.0.0.0/0', '::/0'])).toEqual(['mediaForbidden', 'mediaForbidden', 'allowed']);
  });

  it('check an address with a zone, such as fe80::1%lo, that a lookup returned', async () => {
    const lookup: HostRules['lookup'] = (_name, _options, give) => give(null, [{ address: 'fe80::1%lo', family: 6 }]);
    expect(await lookUpAddresses({ ...noList, lookup }, 'here')).toBe('mediaForbidden');
    expect(await lookUpAddresses({ ...noList, allowed: ['here'], lookup }, 'here')).toBe('mediaForbidden');
    expect(await lookUpAddresses({ ...noList, allowed: ['fe80::/64'], lookup }, 'here')).toEqual(['fe80::1%lo']);
  });
});

describe('the version of IP', () => {
  it('applies to addresses and names', async () => {
    const four: HostRules = { allowed: null, ipFamily: 4 };
    expect(verdict(four, 'http://10.0.0.1/')).toBe('allowed');
    expect(verdict(four, 'http://[2001:db8::1]/')).toBe('mediaForbidden');
    expect(verdict({ allowed: null, ipFamily: 6 }, 'http://10.0.0.1/')).toBe('mediaForbidden');
    expect(await lookUpAddresses(four, 'localhost')).toEqual(['127.0.0.1']);
  });
});

describe('a rule', () => {
  it.each(['images.test', '*.images.test', 'a', '10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.1', 'x_y.test.'])(
    'may be %s',
    (rule) => {
      expect(isHostRule(rule)).toBe(true);
    },
  );
  it.each([
    '',
    '*',
    '*.',
    'http://x',
    'a b',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '-',
    'x:80',
    '::/129',
    'a/24',
    '010.0.0.1',
    '0x7f.1',
    '127.1',
    'fe80::1%lo',
  ])('cannot be %j', (rule) => {
    expect(isHostRule(rule)).toBe(false);
  });
});
