import { describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '@rackless/libvirt';
import { libvirtError } from '../../../test/support/libvirt-error.js';
import { ImageError } from '../../media/image-error.js';
import { DriverError } from '../driver-error.js';
import { attempt, driverError } from './failure.js';

describe('driverError', () => {
  it.each<[ErrorCode, string]>([
    ['NO_DOMAIN', 'notFound'],
    ['CALL_TIMEOUT', 'unavailable'],
    ['NOT_CONNECTED', 'unavailable'],
    ['OPERATION_TIMEOUT', 'unavailable'],
    ['OPERATION_INVALID', 'conflict'],
    ['DEVICE_MISSING', 'conflict'],
    ['OPERATION_ABORTED', 'conflict'],
    ['NO_SUPPORT', 'unsupported'],
    ['ACCESS_DENIED', 'unsupported'],
    ['XML_ERROR', 'failed'],
    ['UNKNOWN_999', 'failed'],
  ])('translates %s to the kind %s', (code, kind) => {
    const cause = libvirtError(code, 'why');
    const error = driverError('doing x on y', cause);
    expect([error.kind, error.message, error.cause]).toEqual([kind, 'doing x on y: why', cause]);
  });

  it('recognizes a full disk from the message of libvirt, and puts the message on one line', () => {
    const { kind, message } = driverError(
      'x',
      libvirtError('SYSTEM_ERROR', 'cannot write:\n  No space left on device\n'),
    );
    expect([kind, message]).toEqual(['storageFull', 'x: cannot write: No space left on device']);
  });

  it.each(["cannot extend file '/p/v.img': File too large", "The image size is too large for file format 'qcow2'"])(
    'recognizes a file that is too large for its storage or its format in: %s',
    (words) => expect(driverError('x', libvirtError('SYSTEM_ERROR', words)).kind).toBe('storageFull'),
  );

  it.each([
    "operation failed: domain 'other' is already defined with uuid e3b14251-0fc7-4758-8711-65af004df781",
    "operation failed: domain 'plain' is already being removed",
    'internal error: process exited while connecting to monitor: qemu: terminating on signal 15 from pid 16 (libvirtd)',
    'operation failed: domain is no longer running',
    'Unable to read from monitor: Connection reset by peer',
    'Unable to write to monitor: Broken pipe',
    'internal error: QEMU monitor was closed',
    "internal error: End of file from qemu monitor (vm='g2')",
    'operation failed: guest unexpectedly quit during hotplug',
    "internal error: disk 'sda' not found",
    'operation failed: target sda already exists',
  ])('recognizes a machine that another client changes at the same moment: %s', (words) =>
    expect(driverError('x', libvirtError('OPERATION_FAILED', words)).kind).toBe('conflict'),
  );

  it.each([
    'internal error: process exited while connecting to monitor',
    'internal error: qemu unexpectedly closed the monitor',
    'internal error: process exited while connecting to monitor: char device redirected to /dev/pts/3 (label charserial0)',
    "internal error: qemu unexpectedly closed the monitor: qemu-system-x86_64: warning: host doesn't support AVX\n",
  ])('recognizes a QEMU that another program ended at its start: %s', (words) => {
    const { kind, message } = driverError('x', libvirtError('INTERNAL_ERROR', words));
    expect([kind, message]).toEqual(['conflict', expect.stringMatching(/; QEMU ended without an error, so another/)]);
  });

  it.each([
    'internal error: process exited while connecting to monitor: qemu: -drive file=/x: Could not open /x',
    'internal error: qemu unexpectedly closed the monitor: qemu: warning: slow\nqemu: cannot set up guest memory',
  ])('returns the kind failed and the text of QEMU if QEMU reports why it ended: %s', (words) => {
    const { kind, message } = driverError('x', libvirtError('INTERNAL_ERROR', words));
    expect([kind, message]).toEqual(['failed', `x: ${words.replace('\n', ' ')}`]);
  });

  it.each([
    ['Connection refused', 'conflict'],
    ['No such file or directory', 'conflict'],
    ['Permission denied', 'failed'],
  ])('translates a monitor that libvirt cannot connect to because of "%s" to the kind %s', (why, kind) => {
    const words = `internal error: failed to connect to monitor socket: ${why}`;
    expect(driverError('x', libvirtError('INTERNAL_ERROR', words)).kind).toBe(kind);
  });

  it('recognizes from the message of libvirt that a machine has no free slot', () => {
    const full = libvirtError('INTERNAL_ERROR', 'internal error: No more available PCI slots');
    expect(driverError('x', full).kind).toBe('noPlace');
  });

  it('keeps the kind and the message of an image error, and adds the field; the kind aborted becomes unavailable', () => {
    const error = driverError('x', new ImageError('mediaNotFound', 'reading image http://h/: 404'));
    expect([error.kind, error.message, error.field]).toEqual([
      'mediaNotFound',
      'reading image http://h/: 404',
      'image',
    ]);
    expect(driverError('x', new ImageError('aborted', 'given up')).kind).toBe('unavailable');
  });

  it('keeps a DriverError unchanged in `attempt`, and makes an unexpected error internal', async () => {
    const own = new DriverError('conflict', 'mine');
    await expect(attempt('x', () => Promise.reject(own))).rejects.toBe(own);
    const cause = new TypeError('a fault of ours');
    await expect(attempt('x', () => Promise.reject(cause))).rejects.toMatchObject({ kind: 'internal', cause });
  });
});
