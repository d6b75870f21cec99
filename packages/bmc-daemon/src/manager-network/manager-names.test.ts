import { describe, expect, it } from '@jest/globals';
import { requestNames, nameOfHost, shownNames } from './manager-names.js';

const host = { hostName: 'kvm1', fqdn: 'kvm1.example.org' };
const bare = { hostName: 'kvm1', fqdn: null };
const none = { hostName: null, fqdn: null };

describe('the names of a manager', () => {
  it.each([
    [none, host, host, []],
    [{ hostName: 'Web', fqdn: null }, host, { hostName: 'Web', fqdn: 'Web.example.org' }, ['web', 'web.example.org']],
    [{ hostName: 'web', fqdn: null }, bare, { hostName: 'web', fqdn: null }, ['web']],
    [{ hostName: null, fqdn: 'a.lab' }, host, { hostName: 'a', fqdn: 'a.lab' }, ['a', 'a.lab']],
    [{ hostName: 'b', fqdn: 'a.lab' }, host, { hostName: 'b', fqdn: 'a.lab' }, ['b', 'a.lab']],
    // The name of the host always means the host, never a manager.
    [{ hostName: null, fqdn: 'kvm1.lab' }, host, { hostName: 'kvm1', fqdn: 'kvm1.lab' }, ['kvm1.lab']],
  ])('follow from its own names %j and the names %j of the host: %j', (own, of, shown, requested) => {
    expect([shownNames(own, of), requestNames(own, of)]).toEqual([shown, requested]);
  });

  it.each([
    ['Web.Example.org:8000', 'web.example.org'],
    ['web.', 'web'],
    ['192.0.2.1:8000', '192.0.2.1'],
    ['[2001:db8::1]:8000', undefined],
    ['', undefined],
  ])('are read from the header Host %j as %j', (header, name) => {
    expect(nameOfHost(header)).toBe(name);
  });
});
