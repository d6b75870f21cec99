import { describe, expect, it } from '@jest/globals';
import { examineAcceleration } from './acceleration.js';
import type { HostCapabilities } from '../host-capabilities.js';
import { examinedHost } from './examined-host.js';

const local = examinedHost('qemu:///system', { uid: 1000, name: 'ada' }, 1000);
const remote = examinedHost('qemu+ssh://root@lab-1/system', { uid: 1000, name: 'ada' }, 1000);
const capabilities: HostCapabilities = {
  architecture: 'x86_64',
  emulator: '/usr/bin/qemu-system-x86_64',
  hasKvm: true,
  // An account that exists on no host, so that it has no further groups.
  qemuAccount: { uid: 64_999, gid: 108 },
};
const device = (mode: number, gid = 108) => ({ mode: 0o20_000 | mode, uid: 0, gid });
const repair = 'sudo sh -c "chgrp kvm /dev/kvm && chmod 660 /dev/kvm"';

describe('KVM', () => {
  it.each([
    ['660', 0o660],
    ['666', 0o666],
  ])('is usable with mode %s and the group of QEMU', (_, mode) => {
    expect(examineAcceleration(capabilities, local, device(mode))).toEqual([]);
  });

  it.each([
    ['the mode', device(0o600)],
    ['the group', device(0o660, 0)],
  ])('is a problem if %s of the device denies access to the account of QEMU', (_, found) => {
    expect(examineAcceleration(capabilities, local, found)).toEqual([
      {
        severity: 'problem',
        subject: 'kvm',
        message: 'The account of QEMU (64999) may not open /dev/kvm, so machines with KVM cannot start.',
        fix: repair,
      },
    ]);
  });

  it('gives only a warning if root alone may open the device, and QEMU runs as root', () => {
    const asRoot = { ...capabilities, qemuAccount: { uid: 0, gid: 0 } };
    expect(examineAcceleration(asRoot, local, device(0o600, 0))).toEqual([
      expect.objectContaining({ severity: 'warning', message: expect.stringContaining('(mode 600)'), fix: repair }),
    ]);
  });

  it('gives a warning if libvirt does not offer it', () => {
    const none = { ...capabilities, hasKvm: false };
    expect(examineAcceleration(none, remote, undefined)).toEqual([
      {
        severity: 'warning',
        subject: 'kvm',
        message: 'The host does not offer KVM, so guests are emulated, and boots take minutes.',
        fix: `ssh root@lab-1 'sh -c "modprobe kvm_intel || modprobe kvm_amd"'`,
      },
    ]);
    expect(examineAcceleration(none, local, device(0o600, 0))).toEqual([
      expect.objectContaining({ message: expect.stringContaining('libvirt cannot use /dev/kvm (mode 600)') }),
    ]);
  });
});

describe('QEMU', () => {
  it('is a problem if it is not installed', () => {
    expect(examineAcceleration({ ...capabilities, emulator: null }, local, device(0o660))).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: 'libvirt finds no QEMU for x86_64, so no machine can start.',
        fix: expect.stringMatching(/^sudo .* install /),
      }),
    ]);
  });
});
