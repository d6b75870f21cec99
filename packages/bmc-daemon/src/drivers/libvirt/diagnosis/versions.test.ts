import { describe, expect, it } from '@jest/globals';
import { examinedHost } from './examined-host.js';
import { examineVersions } from './versions.js';

const host = examinedHost('qemu:///system', { uid: 0, name: 'root' }, 1000);
const messages = (libvirt: number, qemu: number | null) =>
  examineVersions({ libvirt, qemu }, host).map(({ severity, message }) => `${severity}: ${message}`);

describe('the versions of a host', () => {
  it('give no finding if they are not older than the oldest tested ones, and have no known fault', () => {
    expect(messages(9_000_000, 7_002_022)).toEqual([]);
    expect(messages(12_001_003, 9_002_000)).toEqual([]);
  });

  it('give warnings if they are older than the oldest tested ones', () => {
    expect(messages(8_009_001, 6_002_010)).toEqual([
      'warning: libvirt 8.9.1 is older than 9.0.0, the oldest tested version, so some requests may fail.',
      'warning: QEMU 6.2.10 is older than 7.2.0, the oldest tested version, so some requests may fail.',
    ]);
  });

  it('give a note if QEMU may stop reading streamed images', () => {
    expect(messages(11_003_000, 10_000_013)).toEqual([
      'note: QEMU 10.0.13 may stop reading streamed images, so clients should use the transfer method Upload.',
    ]);
  });

  it('give no finding about QEMU if its version is unknown', () => {
    expect(messages(9_000_000, null)).toEqual([]);
  });
});
