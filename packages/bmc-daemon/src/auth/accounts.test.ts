import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { hash } from 'bcrypt';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { stateInMemory, unpaced } from '../../test/support/services.js';
import type { StateFile } from '../state-file.js';
import { openAccess, type Access } from './access.js';
import { initialAccessState, type AccessSettings, type AccessState } from './access-state.js';
import { AccountError, type Accounts } from './accounts.js';
import { PasswordFileWriteError } from '../password-file/password-file-writer.js';

let folder: string;
let file: string;
let state: StateFile<AccessState>;
/** The time of the monotonic clock and of the clock for locks, in milliseconds. */
let time: number;
let access: Access;

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const client = { address: '192.0.2.1', isGone: () => false };

function opened(): Access {
  return openAccess({
    authFile: file,
    state,
    log,
    now: () => time,
    clock: () => time,
    login: unpaced,
  });
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-accounts-'));
  file = path.join(folder, 'users');
  writeFileSync(file, `# ours\nadmin:${await hash('secret', 4)}\n\neve:${await hash('apple', 4)}:x\n`);
  state = stateInMemory(initialAccessState);
  time = 0;
  access = opened();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function accounts(): Accounts {
  if (access.accounts === null) throw new Error('there is a password file, so there are accounts');
  return access.accounts;
}

/** Returns the text of the password file. Replaces each hash by its algorithm and cost. */
const textWithoutHashes = () => readFileSync(file, 'utf8').replace(/(\$2[by]\$\d\d\$)[./A-Za-z0-9]{53}/g, '$1…');
const fault = (kind: AccountError['kind']) => expect.objectContaining({ name: 'AccountError', kind }) as unknown;
const newAccount = { password: 'walnut tree', enabled: true, passwordChangeRequired: false };

/** Returns `in` if a password opens a session; otherwise the reason of the rejection. */
async function logIn(user: string, password: string): Promise<string> {
  const answer = await access.openSession({ user, password }, client);
  return 'refused' in answer ? answer.refused : 'in';
}

describe('accounts', () => {
  it('are the users of the password file, who are administrators by default', () => {
    const [admin, eve] = accounts().list();
    expect(admin).toEqual({
      user: 'admin',
      hash: expect.stringMatching(/^\$2b\$04\$/) as unknown,
      roleId: 'Administrator',
      enabled: true,
      locked: false,
      passwordChangeRequired: false,
      identity: {
        user: 'admin',
        roleId: 'Administrator',
        privileges: new Set(['Login', 'ConfigureManager', 'ConfigureUsers', 'ConfigureComponents', 'ConfigureSelf']),
        session: null,
        passwordChangeRequired: false,
      },
    });
    expect(accounts().find('eve')).toBe(eve);
    expect(accounts().list()).toBe(accounts().list());
    expect(accounts().find('__proto__')).toBeUndefined();
  });

  it('can be created, changed and removed; other lines and the mode of the password file stay unchanged', async () => {
    chmodSync(file, 0o640);
    await accounts().create({ ...newAccount, user: 'bob', roleId: 'ReadOnly' });
    expect(textWithoutHashes()).toBe('# ours\nadmin:$2b$04$…\n\neve:$2b$04$…:x\nbob:$2b$12$…\n');
    expect((statSync(file).mode & 0o777).toString(8)).toBe('640');
    expect(accounts().find('bob')?.identity.privileges).toEqual(new Set(['Login', 'ConfigureSelf']));
    expect(await logIn('bob', 'walnut tree')).toBe('in');
    await accounts().change('bob', { password: 'other walnut', roleId: 'Operator' });
    expect([await logIn('bob', 'walnut tree'), await logIn('bob', 'other walnut')]).toEqual(['wrong password', 'in']);
    expect(accounts().find('bob')?.roleId).toBe('Operator');
    await accounts().remove('eve');
    await accounts().remove('bob');
    expect(textWithoutHashes()).toBe('# ours\nadmin:$2b$04$…\n\n');
    expect(state.state.accounts).toEqual([]);
  });

  it('stay unchanged after an invalid creation, change or removal, and the error gives the reason', async () => {
    const before = readFileSync(file, 'utf8');
    await expect(accounts().create({ ...newAccount, user: 'eve', roleId: 'ReadOnly' })).rejects.toEqual(
      fault('exists'),
    );
    await expect(accounts().create({ ...newAccount, user: 'bob', roleId: 'Nurse' })).rejects.toEqual(
      fault('roleUnknown'),
    );
    await expect(accounts().create({ ...newAccount, user: 'a:b', roleId: 'ReadOnly' })).rejects.toThrow(
      'cannot contain a colon',
    );
    const long = { ...newAccount, user: 'bob', roleId: 'ReadOnly', password: 'x'.repeat(73) };
    await expect(accounts().create(long)).rejects.toThrow('73 bytes');
    await expect(accounts().change('eve', { roleId: 'Nurse' })).rejects.toEqual(fault('roleUnknown'));
    await expect(accounts().change('bob', { enabled: false })).rejects.toEqual(fault('notFound'));
    await expect(accounts().remove('bob')).rejects.toEqual(fault('notFound'));
    expect([readFileSync(file, 'utf8'), state.state]).toEqual([before, initialAccessState]);
  });

  it('are not created if the password file cannot be written: the error names the file, and no state is stored', async () => {
    rmSync(folder, { recursive: true });
    const created = accounts().create({ ...newAccount, user: 'bob', roleId: 'ReadOnly' });
    await expect(created).rejects.toBeInstanceOf(PasswordFileWriteError);
    await expect(created).rejects.toThrow(`writing ${file}: there is no such file`);
    expect(state.state.accounts).toEqual([]);
  });

  it('always include an enabled administrator, even after two concurrent removals', async () => {
    await accounts().change('eve', { enabled: false });
    const refusal = fault('lastAdministrator');
    await expect(accounts().remove('admin')).rejects.toEqual(refusal);
    await expect(accounts().change('admin', { enabled: false })).rejects.toEqual(refusal);
    await expect(accounts().change('admin', { roleId: 'Operator' })).rejects.toEqual(refusal);
    await accounts().change('eve', { enabled: true });
    const both = await Promise.allSettled([accounts().remove('admin'), accounts().remove('eve')]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(
      accounts()
        .list()
        .map(({ user }) => user),
    ).toEqual(['eve']);
  });

  it('follow changes by htpasswd; a user who is removed and added again has the former role', async () => {
    await accounts().change('eve', { roleId: 'ReadOnly' });
    execFileSync('htpasswd', ['-D', file, 'eve'], { stdio: 'pipe' });
    execFileSync('htpasswd', ['-bB', file, 'carl', 'carrot'], { stdio: 'pipe' });
    time += 1000;
    expect(
      accounts()
        .list()
        .map(({ user, roleId }) => [user, roleId]),
    ).toEqual([
      ['admin', 'Administrator'],
      ['carl', 'Administrator'],
    ]);
    execFileSync('htpasswd', ['-bB', file, 'eve', 'apple'], { stdio: 'pipe' });
    // A change of an account reads the file first, so it finds eve before the next check of the file.
    await accounts().change('eve', { passwordChangeRequired: false });
    expect(accounts().find('eve')?.roleId).toBe('ReadOnly');
  });

  it('reject logins at once after they are disabled, even with a cached password, and end their sessions', async () => {
    expect([await logIn('eve', 'apple'), await logIn('eve', 'apple')]).toEqual(['in', 'in']);
    expect(access.sessions.list()).toHaveLength(2);
    await accounts().change('eve', { enabled: false });
    expect(await logIn('eve', 'apple')).toBe('the account is disabled');
    expect(access.sessions.list()).toEqual([]);
    await accounts().change('eve', { enabled: true });
    expect(await logIn('eve', 'apple')).toBe('in');
  });

  it('permit nothing but a change to a different password if the password must be changed', async () => {
    await accounts().change('eve', { passwordChangeRequired: true });
    expect(accounts().find('eve')?.identity).toEqual({
      user: 'eve',
      roleId: 'Administrator',
      privileges: new Set(['ConfigureSelf']),
      session: null,
      passwordChangeRequired: true,
    });
    expect(await access.openSession({ user: 'eve', password: 'apple' }, client)).toMatchObject({
      passwordChangeRequired: true,
    });
    await expect(accounts().change('eve', { password: 'apple' })).rejects.toEqual(fault('samePassword'));
    await accounts().change('eve', { password: 'apple tart' });
    expect(accounts().find('eve')).toMatchObject({ passwordChangeRequired: false, roleId: 'Administrator' });
  });
});

describe('the lock of an account', () => {
  const tryWrongPassword = async (times: number) => {
    for (let attempt = 0; attempt < times; attempt += 1) expect(await logIn('eve', 'pear')).toBe('wrong password');
  };
  const lockAfterThree = async (settings: Partial<AccessSettings> = {}) =>
    access.changeSettings({ lockoutThreshold: 3, lockoutSeconds: 60, lockoutResetSeconds: 30, ...settings });

  it('begins after the threshold of wrong passwords in a row, and lasts for the configured time', async () => {
    await lockAfterThree();
    expect(await logIn('eve', 'apple')).toBe('in');
    await tryWrongPassword(2);
    expect(await logIn('eve', 'apple')).toBe('in');
    await tryWrongPassword(3);
    expect(accounts().find('eve')?.locked).toBe(true);
    expect(await logIn('eve', 'apple')).toBe('the account is locked');
    // Open sessions continue. If a lock ended them, an attacker could use wrong passwords to end a user's sessions.
    expect(access.sessions.list()).toHaveLength(2);
    expect(await logIn('admin', 'secret')).toBe('in');
    time += 59_999;
    expect(accounts().find('eve')?.locked).toBe(true);
    time += 1;
    expect(accounts().find('eve')?.locked).toBe(false);
    expect(await logIn('eve', 'apple')).toBe('in');
  });

  it('ignores earlier wrong passwords after lockoutResetSeconds without a wrong password', async () => {
    await lockAfterThree();
    await tryWrongPassword(2);
    time += 30_001;
    await tryWrongPassword(2);
    expect(accounts().find('eve')?.locked).toBe(false);
    time += 30_000;
    await tryWrongPassword(1);
    expect(accounts().find('eve')?.locked).toBe(true);
  });

  it('survives a restart, ends on request, and never expires without AccountLockoutCounterResetEnabled', async () => {
    await lockAfterThree({ lockoutResets: false });
    await tryWrongPassword(3);
    access = opened();
    time += 1e9;
    expect(await logIn('eve', 'apple')).toBe('the account is locked');
    await accounts().change('eve', { locked: false });
    expect(await logIn('eve', 'apple')).toBe('in');
  });

  it("ends after AccountLockoutDuration at most, even if the host's clock was set back before a restart", async () => {
    time = 1e12;
    await lockAfterThree();
    await tryWrongPassword(3);
    time = 0;
    access = opened();
    expect(accounts().find('eve')?.locked).toBe(true);
    time = 60_000;
    expect(accounts().find('eve')?.locked).toBe(false);
  });

  it("lasts equally long if the host's clock is set forward or back", async () => {
    const hour = 3_600_000;
    let setBy = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + setBy);
    try {
      access = openAccess({ authFile: file, state, log, login: unpaced });
      await lockAfterThree();
      await tryWrongPassword(3);
      setBy = hour;
      expect(accounts().find('eve')?.locked).toBe(true);
      await accounts().change('eve', { locked: false });
      await lockAfterThree({ lockoutSeconds: 0.1 });
      await tryWrongPassword(3);
      setBy = -hour;
      while (accounts().find('eve')?.locked === true) await setImmediate();
    } finally {
      jest.restoreAllMocks();
    }
  });

  it.each([
    ['the threshold is 0', { lockoutThreshold: 0 }],
    ['the duration is 0', { lockoutSeconds: 0, lockoutResetSeconds: 0 }],
  ])('never begins if %s', async (_, settings) => {
    await lockAfterThree(settings);
    await tryWrongPassword(4);
    expect(await logIn('eve', 'apple')).toBe('in');
  });

  it('does not exist for unknown users: their attempts are not stored', async () => {
    await lockAfterThree();
    for (let attempt = 0; attempt < 4; attempt += 1) expect(await logIn('bob', 'x')).toBe('unknown user');
    expect(state.state.accounts).toEqual([]);
  });
});

describe('roles', () => {
  it('include the three roles of Redfish and created ones; two names must differ in more than their case', async () => {
    await access.roles.create('Nurse', ['Login']);
    expect(access.roles.list()).toEqual([
      {
        id: 'Administrator',
        privileges: ['Login', 'ConfigureManager', 'ConfigureUsers', 'ConfigureComponents', 'ConfigureSelf'],
        predefined: true,
      },
      { id: 'Operator', privileges: ['Login', 'ConfigureComponents', 'ConfigureSelf'], predefined: true },
      { id: 'ReadOnly', privileges: ['Login', 'ConfigureSelf'], predefined: true },
      { id: 'Nurse', privileges: ['Login'], predefined: false },
    ]);
    expect(() => access.roles.create('nurse', [])).toThrow('there is a role Nurse already');
    expect(() => access.roles.create('administrator', [])).toThrow('there is a role Administrator already');
  });

  it('apply to their accounts at once after a change, and can be removed if no account has them', async () => {
    await access.roles.create('Nurse', ['Login']);
    await accounts().change('eve', { roleId: 'Nurse' });
    expect(accounts().find('eve')?.identity.privileges).toEqual(new Set(['Login']));
    await access.roles.change('Nurse', ['Login', 'ConfigureUsers']);
    expect(accounts().find('eve')?.identity.privileges).toEqual(new Set(['Login', 'ConfigureUsers']));
    expect(() => access.roles.remove('Nurse')).toThrow('eve has the role Nurse');
    // A user who was removed from the file still has the role in the state file. This does not
    // prevent the removal of the role.
    execFileSync('htpasswd', ['-D', file, 'eve'], { stdio: 'pipe' });
    time += 1000;
    await access.roles.remove('Nurse');
    expect(access.roles.list()).toHaveLength(3);
    execFileSync('htpasswd', ['-bB', file, 'eve', 'apple'], { stdio: 'pipe' });
    time += 1000;
    expect(accounts().find('eve')?.identity.privileges).toEqual(new Set());
  });

  it('give their accounts no privileges if the roles are missing in the state file', () => {
    state.update((old) => ({
      ...old,
      accounts: [{ user: 'eve', roleId: 'Nurse', enabled: true, passwordChangeRequired: false }],
    }));
    expect(accounts().find('eve')?.identity.privileges).toEqual(new Set());
  });
});
