import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../test/support/libvirt-error.js';
import { accessHint } from './access-hint.js';

const bob = { uid: 1000, name: 'bob' };
const hint =
  'libvirt on this host rejects the account bob: run "sudo usermod -aG libvirt bob", log in again, and ' +
  'restart bmc-daemon';

const refusedBySocket = Object.assign(new Error('connect EACCES /run/libvirt/libvirt-sock'), { code: 'EACCES' });
const refusedByPolkit = libvirtError('AUTH_UNAVAILABLE', 'authentication unavailable: no polkit agent available');

describe('the advice for an account that libvirt rejects', () => {
  it.each([
    ['a socket that the account may not open', refusedBySocket],
    ['polkit', refusedByPolkit],
    [
      'a socket, behind other errors',
      new Error('not connected', { cause: new Error('connecting', { cause: refusedBySocket }) }),
    ],
    ['one of several sockets', new AggregateError([new Error('ENOENT'), refusedBySocket], 'no socket answered')],
  ])('contains the command for a rejection by %s', (_, failure) => {
    expect(accessHint(failure, 'qemu:///system', bob)).toBe(hint);
    expect(accessHint(failure, 'qemu+unix:///system?socket=/run/s', bob)).toBe(hint);
  });

  it.each([
    ['another reason', Object.assign(new Error('ENOENT'), { code: 'ENOENT' }), 'qemu:///system', bob],
    ['no reason yet', null, 'qemu:///system', bob],
    ['another host', refusedByPolkit, 'qemu+tls://host.example.net/system', bob],
    ['root', refusedBySocket, 'qemu:///system', { uid: 0, name: 'root' }],
  ])('is absent for %s', (_, failure, uri, account) => {
    expect(accessHint(failure, uri, account)).toBeNull();
  });
});
