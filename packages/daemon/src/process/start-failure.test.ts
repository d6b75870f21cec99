import { describe, expect, it } from '@jest/globals';
import { FolderInUseError } from '../files/folder-lock.js';
import { ListenError } from '../network/listener.js';
import { StoreUnavailable } from '../shared-store/store-unavailable.js';
import { exitCodeOfStart } from './start-failure.js';

const codeOf = (cause: unknown) => exitCodeOfStart(new Error('bmc.conf:1: it does not start', { cause }));
const failing = (code: string) => Object.assign(new Error(code), { code });

describe('the exit code of a start that fails', () => {
  it.each([
    ['a port that another process uses', new ListenError('the port is in use', 'port', failing('EADDRINUSE'))],
    ['a folder that another daemon uses', new FolderInUseError('in use')],
    ['a full disk', new Error('writing x', { cause: failing('ENOSPC') })],
    ['no more handles', new Error('reading x', { cause: failing('EMFILE') })],
    ['a shared store that does not answer', new StoreUnavailable('connecting to redis://127.0.0.1:1: no answer')],
    ['a file server that does not answer', failing('ESTALE')],
  ])('is 1 for %s, because a later start may succeed', (_, cause) => {
    expect(codeOf(cause)).toBe(1);
  });

  it.each([
    ['a missing file', new Error('reading x', { cause: failing('ENOENT') })],
    ['a file of another user', failing('EACCES')],
    ['a damaged file', new Error('access.json is damaged')],
    ['no cause', undefined],
  ])('is 78 for %s, because a later start would fail too', (_, cause) => {
    expect(codeOf(cause)).toBe(78);
  });
});
