import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hash } from 'bcrypt';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stateInMemory, unpaced } from '../../test/support/services.js';
import { StateFileError, type StateFile } from '../state-file.js';
import { openAccess, type Access } from './access.js';
import { initialAccessState, type AccessState } from './access-state.js';
import type { Accounts } from './accounts.js';
import { PasswordFileWriteError } from '../password-file/password-file-writer.js';

let folder: string;
let file: string;
let state: StateFile<AccessState>;
let access: Access;
const logged: string[] = [];
const log = { info: () => undefined, warn: () => undefined, error: (text: string) => void logged.push(text) };

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-account-writes-'));
  file = path.join(folder, 'users');
  writeFileSync(
    file,
    `# ours\nadmin:${await hash('secret', 4)}\neve:${await hash('apple', 4)}:x\nbob:${await hash('b', 4)}\n`,
  );
  state = stateInMemory(initialAccessState);
  access = openAccess({ authFile: file, state, log, login: unpaced });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function accounts(): Accounts {
  if (access.accounts === null) throw new Error('the accounts are missing although there is a password file');
  return access.accounts;
}
const text = () => readFileSync(file, 'utf8');
/** Returns `in` if a password opens a session; otherwise the reason of the rejection. */
async function logIn(user: string, password: string): Promise<string> {
  const answer = await access.openSession({ user, password }, { address: '192.0.2.1', isGone: () => false });
  return 'refused' in answer ? answer.refused : 'in';
}

describe('an account that is renamed', () => {
  it('keeps its password, role, flags and lock; only the name in its line of the password file changes', async () => {
    await accounts().change('eve', { roleId: 'Operator', enabled: true });
    // Null: locked until an administrator unlocks the account.
    state.update((old) => ({ ...old, accounts: old.accounts.map((account) => ({ ...account, lockedUntil: null })) }));
    const before = text();
    await accounts().change('eve', { user: 'mallory' });
    expect(text()).toBe(before.replace('eve:', 'mallory:'));
    expect(state.state.accounts).toEqual([
      { user: 'mallory', roleId: 'Operator', enabled: true, passwordChangeRequired: false, lockedUntil: null },
    ]);
    expect([accounts().find('eve'), accounts().find('mallory')?.locked]).toEqual([undefined, true]);
    await accounts().change('mallory', { locked: false });
    expect([await logIn('mallory', 'apple'), await logIn('eve', 'apple')]).toEqual(['in', 'unknown user']);
  });

  it('is never an administrator during the change if it was not one before', async () => {
    await accounts().change('eve', { roleId: 'ReadOnly' });
    // A user without an entry in the state file has all rights, so each step must leave an entry for the user.
    const roles: unknown[] = [];
    const real = state.update.bind(state);
    state.update = (change) => {
      real(change);
      roles.push(
        accounts()
          .list()
          .map(({ user, roleId }) => `${user} ${roleId}`),
      );
    };
    await accounts().change('eve', { user: 'mallory', password: 'new apple' });
    roles.push(
      accounts()
        .list()
        .map(({ user, roleId }) => `${user} ${roleId}`),
    );
    expect(JSON.stringify(roles)).not.toMatch(/(eve|mallory) Administrator/);
    expect([await logIn('mallory', 'new apple'), await logIn('mallory', 'apple')]).toEqual(['in', 'wrong password']);
  });

  it('stays unchanged if the new name is invalid or exists already; a missing account is reported', async () => {
    const before = text();
    await expect(accounts().change('eve', { user: 'bob' })).rejects.toMatchObject({ kind: 'exists' });
    for (const user of ['', 'a:b', '#eve', '..']) {
      await expect(accounts().change('eve', { user })).rejects.toMatchObject({
        name: 'CredentialsError',
        about: 'user',
      });
    }
    await expect(accounts().change('carol', { user: 'dave' })).rejects.toMatchObject({ kind: 'notFound' });
    expect([text(), state.state]).toEqual([before, initialAccessState]);
  });
});

describe('a change of an account whose password file cannot be written', () => {
  it('fails with the error of the password file, and logs an error if the old state cannot be restored', async () => {
    await accounts().change('eve', { roleId: 'ReadOnly' });
    const before = state.state;
    // Another process is writing the file and never finishes.
    writeFileSync(path.join(folder, '.users.lock'), '');
    const real = state.update.bind(state);
    let writesBeforeFailure = 0;
    state.update = (change) => {
      if (writesBeforeFailure === 0)
        throw new StateFileError('writing access.json: there is no room left on the device');
      writesBeforeFailure -= 1;
      real(change);
    };
    await expect(accounts().remove('eve')).rejects.toBeInstanceOf(PasswordFileWriteError);
    expect(state.state).toBe(before);
    // The first write of the state now succeeds, and the write that reverts it fails.
    writesBeforeFailure = 1;
    await expect(accounts().change('eve', { password: 'pear' })).rejects.toBeInstanceOf(PasswordFileWriteError);
    expect(logged).toEqual(['restoring the stored state of an account failed']);
  });
});
