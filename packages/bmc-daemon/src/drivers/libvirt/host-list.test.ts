import { describe, expect, it } from '@jest/globals';
import { hostFaults, hostsOf } from './host-list.js';

describe('the hosts of a setting', () => {
  it('have the names of a mapping, or of the hosts in the URIs', () => {
    expect(hostsOf({ 'rack-1': 'qemu+ssh://root@192.0.2.1/system', local: 'qemu:///system' })).toEqual([
      { name: 'rack-1', uri: 'qemu+ssh://root@192.0.2.1/system' },
      { name: 'local', uri: 'qemu:///system' },
    ]);
    expect(hostsOf(['qemu+tls://KVM-1.example/system', 'qemu:///system', 'qemu+tcp://[2001:db8::1]/system'])).toEqual([
      { name: 'kvm-1.example', uri: 'qemu+tls://KVM-1.example/system' },
      { name: 'localhost', uri: 'qemu:///system' },
      { name: '2001-db8--1', uri: 'qemu+tcp://[2001:db8::1]/system' },
    ]);
    expect(hostsOf('qemu:///system')).toEqual([{ name: 'localhost', uri: 'qemu:///system' }]);
  });

  it('are valid if names and URIs differ', () => {
    expect(hostFaults('qemu:///system')).toEqual([]);
    expect(hostFaults(['qemu:///system', 'qemu+ssh://a/system'])).toEqual([]);
    expect(hostFaults({ a: 'qemu:///system', b: 'qemu+ssh://a/system' })).toEqual([]);
  });

  it('have a fault for each invalid entry, without its password', () => {
    expect(hostFaults({ a: 'nonsense', b: 'qemu:///system', c: 'qemu+tcp://u:secret@host/system' })).toEqual([
      {
        key: 'a',
        fault: 'cannot be used: reading the connection URI "nonsense": a libvirt URI looks like qemu:///system',
      },
      { key: 'c', fault: expect.stringMatching(/^cannot be used: reading .*a password in a URI is not/) as unknown },
    ]);
    expect(JSON.stringify(hostFaults({ c: 'qemu+tcp://u:secret@host/system' }))).not.toContain('secret');
    const swapped = hostFaults({ 'qemu+tcp://u:secret@host/system': 'qemu:///system', b: 'qemu:///system' });
    expect(swapped[1]?.fault).toBe("cannot be used: entry 'qemu+tcp://u:******@host/system' has the same URI");
  });

  it('have a fault for a name that cannot be an id', () => {
    const fault =
      'cannot be used: the name of a host has 1 to 63 letters, digits, dots, underscores and dashes, and begins ' +
      'with a letter or a digit';
    for (const name of ['', 'rack 1', '-1', 'a/b', 'x'.repeat(64)]) {
      expect(hostFaults({ [name]: 'qemu:///system' })).toEqual([{ key: name, fault }]);
    }
  });

  it('have a fault for a name or a URI that an earlier entry has', () => {
    expect(hostFaults(['qemu+tcp://kvm:1/system', 'qemu+tcp://kvm:2/system'])).toEqual([
      {
        key: 1,
        fault: "cannot be used: entry 0 has the same name, kvm; give the hosts names, as in {'rack-1': '…'}",
      },
    ]);
    expect(hostFaults({ a: 'qemu:///system', b: 'qemu:///system' })).toEqual([
      { key: 'b', fault: "cannot be used: entry 'a' has the same URI" },
    ]);
    expect(hostFaults({ a: 'qemu:///system', A: 'qemu+tcp://kvm/system' })).toEqual([
      { key: 'A', fault: "cannot be used: entry 'a' has the same name, A" },
    ]);
  });

  it('must not be empty', () => {
    expect(hostFaults([])).toEqual([{ key: null, fault: 'names no host' }]);
    expect(hostFaults({})).toEqual([{ key: null, fault: 'names no host' }]);
  });
});
