import { describe, expect, it } from '@jest/globals';
import { readUserName, readWish } from './ssh-target.js';

const target = (name: string) => readUserName(name, (other) => other === 'node-1');

describe('who an SSH client is and what it wants', () => {
  it('is told by the user name: an account, a machine, or both', () => {
    expect(target('node-1')).toEqual({ account: null, machine: 'node-1' });
    expect(target('admin')).toEqual({ account: 'admin', machine: null });
    expect(target('admin/node-1')).toEqual({ account: 'admin', machine: 'node-1' });
    expect(target('lab/admin/node-9')).toEqual({ account: 'lab/admin', machine: 'node-9' });
    expect(target('/node-1')).toEqual({ account: '', machine: 'node-1' });
  });

  it('is a console, by the user name or by the command', () => {
    expect(readWish(target('node-1'), 'admin', null)).toEqual({ kind: 'console', machine: 'node-1' });
    expect(readWish(target('admin'), 'admin', ' node-1 ')).toEqual({ kind: 'console', machine: 'node-1' });
    expect(readWish(target('admin'), 'admin', null)).toEqual({ kind: 'which' });
    expect(readWish(target('admin/'), 'admin', '')).toEqual({ kind: 'console', machine: '' });
    // Somebody whose account is called as a machine is.
    expect(readWish(target('node-1'), 'node-1', 'node-2')).toEqual({ kind: 'console', machine: 'node-2' });
  });

  it('is refused where it is anything else', () => {
    const noFiles = { kind: 'refused', why: 'this is a serial console: it takes no files' };
    expect(readWish(target('node-1'), 'admin', 'scp -t /tmp')).toEqual(noFiles);
    expect(readWish(target('admin'), 'admin', '/usr/lib/openssh/sftp-server')).toEqual(noFiles);
    expect(readWish(target('node-1'), 'admin', 'reboot')).toEqual({
      kind: 'refused',
      why: 'this is the serial console of node-1: it runs no commands',
    });
  });
});
