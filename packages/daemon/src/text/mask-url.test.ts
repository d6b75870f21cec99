import { describe, expect, it } from '@jest/globals';
import { maskPassword, maskPath, maskUrl } from './mask-url.js';

describe('maskUrl', () => {
  it.each([
    ['http://images/a.iso', 'http://images/a.iso'],
    ['https://u:p@images:8443/a.iso?token=x&sig=y#f', 'https://images:8443/a.iso?******'],
    ['https://u:p@ss@images/a@b.iso#frag?ment', 'https://images/a@b.iso'],
    ['https://images/a.iso?justatoken', 'https://images/a.iso?******'],
    ['not a url?token=x', 'not a url?******'],
    ['file:///srv/a.iso', 'file:///srv/a.iso'],
    // The URL parser treats these like http://u:p@images/a.iso.
    ['http:u:p@images/a.iso', 'http:images/a.iso'],
    ['http:\\\\u:p@images/a.iso', 'http:\\\\images/a.iso'],
    [' http:/u:p@images/a.iso?t', ' http:/images/a.iso?******'],
    // The end of a password is unknown if it has an unescaped delimiter.
    ['http://u:p/ss@images/a.iso', 'http://******'],
    ['http://u:p?ss@images/a.iso', 'http://******'],
    ['http://u:p#ss@images/a.iso', 'http://******'],
    ['http://u:12/ss@images/a.iso', 'http://******'],
    ['http://u:/ss@images/a.iso', 'http://******'],
    ['http://u:12?ss@images/a.iso', 'http://******'],
    // No password: an IPv6 address with an at sign in the path, and a port without an at sign after it.
    ['http://[::1]/a@b.iso', 'http://[::1]/a@b.iso'],
    ['http://images:80/a.iso', 'http://images:80/a.iso'],
    ['//u:p@images/a.iso?t', '******'],
    ['u:p@images/a.iso', 'u:images/a.iso'],
  ])('shows %s as %s', (url, shown) => {
    expect(maskUrl(url)).toBe(shown);
  });

  it('accepts a URL object', () => {
    expect(maskUrl(new URL('https://u:p@images/a.iso?t=1'))).toBe('https://images/a.iso?******');
  });
});

describe('maskPath', () => {
  it.each([
    ['https://hooks.test/services/T0/B0/secret', 'https://hooks.test/******'],
    ['https://hooks.test:8443/secret?key=secret#secret', 'https://hooks.test:8443/******'],
    ['https://hooks.test?key=secret', 'https://hooks.test/******'],
    ['https://u:secret@hooks.test/', 'https://hooks.test/'],
    ['https://u:se/cret@hooks.test/x', 'https://******'],
    ['http://[::1]:8080/secret', 'http://[::1]:8080/******'],
    ['https://hooks.test', 'https://hooks.test'],
    ['http:\\\\hooks.test\\secret', 'http:\\\\hooks.test/******'],
  ])('shows %s as %s', (url, shown) => {
    expect(maskPath(url)).toBe(shown);
  });
});

describe('maskPassword', () => {
  it.each([
    ['qemu+tcp://user:secret@host/system', 'qemu+tcp://user:******@host/system'],
    ['qemu+tcp://user%3Asecret@host/system', 'qemu+tcp://user%3A******@host/system'],
    ['redis://:se/cr?e#t@x@host:6379/0', 'redis://:******@host:6379/0'],
    ['qemu+ssh://root@[::1]:2222/system?keyfile=/a@b', 'qemu+ssh://root@[::1]:2222/system?keyfile=/a@b'],
    ['qemu+tls://host:16514/system?pkipath=/a', 'qemu+tls://host:16514/system?pkipath=/a'],
    ['qemu:///system?socket=/run/a:b', 'qemu:///system?socket=/run/a:b'],
    ['a: b@c', 'a: b@c'],
  ])('shows %s as %s', (url, shown) => {
    expect(maskPassword(url)).toBe(shown);
  });
});
