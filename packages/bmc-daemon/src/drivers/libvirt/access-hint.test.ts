import { describe, expect, it } from '@jest/globals';
import { LibvirtError } from '@rackless/libvirt';
import { accessHint } from './access-hint.js';

const bob = { uid: 1000, name: 'bob' };
const hint =
  'libvirt runs here, but does not admit the account bob: run "sudo usermod -aG libvirt bob", log in again, and restart bmc-daemon';

const refusedBySocket = Object.assign(new Error('connect EACCES /run/libvirt/libvirt-sock'), { code: 'EACCES' });
const refusedByPolkit = new LibvirtError('authentication unavailable: no polkit agent available', {
  code: 'AUTH_UNAVAILABLE',
  codeNumber: 94,
  domain: 'POLKIT',
  domainNumber: 60,
  level: 'ERROR',
  procedure: 'authPolkit',
  mayHaveRun: true,
  str1: null,
  str2: null,
  str3: null,
  int1: 0,
  int2: 0,
});

describe('the advice for an account that libvirt rejects', () => {
  it.each([
    ['a socket that it may not open', refusedBySocket],
    ['polkit', refusedByPolkit],
    [
      'a socket, behind other errors',
      new Error('not connected', { cause: new Error('connecting', { cause: refusedBySocket }) }),
    ],
    ['one of several sockets', new AggregateError([new Error('ENOENT'), refusedBySocket], 'no socket answered')],
  ])('names the command for a rejection by %s', (_, failure) => {
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
