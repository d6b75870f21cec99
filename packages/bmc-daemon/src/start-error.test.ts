import { describe, expect, it } from '@jest/globals';
import { ListenError } from '@rackless/daemon/network/listener.js';
import { StartError } from './start-error.js';
import { StateFileError } from './state-file.js';
import { FolderInUseError } from '@rackless/daemon/files/folder-lock.js';

const codeOf = (cause: unknown) => new StartError('bmc.conf:1: it does not start', { cause }).exitCode;
const failing = (code: string) => Object.assign(new Error(code), { code });

describe('the exit code of a start that fails', () => {
  it.each([
    ['a port that another process has', new ListenError('the port is in use', 'port', failing('EADDRINUSE'))],
    ['a folder that another daemon has', new FolderInUseError('in use')],
    ['a full disk', new StateFileError('writing x', { cause: failing('ENOSPC') })],
    ['no more handles', new Error('reading x', { cause: failing('EMFILE') })],
    ['a file server that is away', failing('ESTALE')],
  ])('is 1 for %s, because a later start may succeed', (_, cause) => {
    expect(codeOf(cause)).toBe(1);
  });

  it.each([
    ['a missing file', new Error('reading x', { cause: failing('ENOENT') })],
    ['a file of another user', failing('EACCES')],
    ['a damaged file', new StateFileError('access.json is damaged')],
    ['no cause', undefined],
  ])('is 78 for %s, because only a person can correct it', (_, cause) => {
    expect(codeOf(cause)).toBe(78);
  });
});
