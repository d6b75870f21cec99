import { describe, expect, it } from '@jest/globals';
import { isRecorded } from './console-services.js';

const host = { featureSet: 'full', fakeDriver: false, libvirtUri: 'qemu:///system' } as const;

describe('recording consoles', () => {
  it.each([
    ['qemu:///system', true],
    ['qemu+tls://host/system', true],
    ['qemu+ssh://root@host/system', false],
    ['qemu+ssh:///system?socket=/run/x', false],
    ['test:///default', true],
  ])('goes by itself where a connection costs no log-in: %s (D2)', (libvirtUri, recorded) => {
    expect(isRecorded({ ...host, libvirtUri, consoleLog: 'auto' })).toBe(recorded);
  });

  it('is as it was asked for (D2)', () => {
    expect(isRecorded({ ...host, libvirtUri: 'qemu+ssh://host/system', consoleLog: true })).toBe(true);
    expect(isRecorded({ ...host, consoleLog: false })).toBe(false);
  });

  it('is not done where nobody could read it (D2)', () => {
    expect(isRecorded({ ...host, featureSet: 'vmedia', consoleLog: true })).toBe(false);
  });

  it('goes by itself for machines in memory, whatever host is named beside them (D2)', () => {
    expect(isRecorded({ ...host, fakeDriver: true, libvirtUri: 'qemu+ssh://host/system', consoleLog: 'auto' })).toBe(
      true,
    );
  });
});
