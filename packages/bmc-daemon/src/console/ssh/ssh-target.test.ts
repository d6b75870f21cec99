import { describe, expect, it } from '@jest/globals';
import { readUserName, readRequest } from './ssh-target.js';

const target = (name: string) => readUserName(name, (other) => other === 'node-1');

describe('the request of an SSH client', () => {
  it('has an account, a machine or both in the user name; the machine follows the last slash', () => {
    expect(target('node-1')).toEqual({ account: null, machine: 'node-1' });
    expect(target('admin')).toEqual({ account: 'admin', machine: null });
    expect(target('admin/node-1')).toEqual({ account: 'admin', machine: 'node-1' });
    expect(target('lab/admin/node-9')).toEqual({ account: 'lab/admin', machine: 'node-9' });
    expect(target('/node-1')).toEqual({ account: '', machine: 'node-1' });
  });

  it('is a console of the machine in the user name or in the command', () => {
    expect(readRequest(target('node-1'), 'admin', null)).toEqual({ kind: 'console', machine: 'node-1' });
    expect(readRequest(target('admin'), 'admin', ' node-1 ')).toEqual({ kind: 'console', machine: 'node-1' });
    expect(readRequest(target('admin'), 'admin', null)).toEqual({ kind: 'which' });
    expect(readRequest(target('admin/'), 'admin', '')).toEqual({ kind: 'console', machine: '' });
    // The user name is the account, although a machine has the same name.
    expect(readRequest(target('node-1'), 'node-1', 'node-2')).toEqual({ kind: 'console', machine: 'node-2' });
  });

  it('is rejected if its command is not the name of a machine, with another message for the transfer of files', () => {
    const noFiles = { kind: 'refused', why: 'this is a serial console: it does not accept files' };
    expect(readRequest(target('node-1'), 'admin', 'scp -t /tmp')).toEqual(noFiles);
    expect(readRequest(target('admin'), 'admin', '/usr/lib/openssh/sftp-server')).toEqual(noFiles);
    expect(readRequest(target('node-1'), 'admin', 'reboot')).toEqual({
      kind: 'refused',
      why: 'this is the serial console of node-1: it runs no commands',
    });
  });
});
