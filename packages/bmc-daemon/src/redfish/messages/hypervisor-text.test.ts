import { describe, expect, it } from '@jest/globals';
import { hypervisorText } from './hypervisor-text.js';

describe('hypervisorText', () => {
  it.each([
    [
      "Cannot access storage file '/srv/my images/a.qcow2': No such file or directory",
      "Cannot access storage file 'a.qcow2': No such file or directory",
    ],
    [
      'qemu: -blockdev {"driver":"https","url":"https://u:p@images/a.iso?token=x","n":1}: CURL: no',
      'qemu: -blockdev {"driver":"https","url":"https://images/a.iso?******","n":1}: CURL: no',
    ],
    ['cannot open /dev/vg0/disk-1: Permission denied', 'cannot open disk-1: Permission denied'],
    [
      "Network not found: no network with matching name 'lab'",
      "Network not found: no network with matching name 'lab'",
    ],
    ['read/write error of https://images/pool/a.iso', 'read/write error of https://images/pool/a.iso'],
  ])('shows %s as %s', (text, shown) => {
    expect(hypervisorText(text)).toBe(shown);
  });

  it('reads a long text in less than a minute', () => {
    // A pattern that looks for a scheme at each letter takes many minutes.
    const text = 'a'.repeat(500_000);
    expect(hypervisorText(text)).toBe(text);
  }, 60_000);
});
