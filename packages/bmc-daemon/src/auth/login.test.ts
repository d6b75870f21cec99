import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hash } from 'bcrypt';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stateInMemory, unpaced } from '../../test/support/services.js';
import { openAccess, type Access } from './access.js';
import { initialAccessState } from './access-state.js';
import type { RefusedAttempt } from '../offers/logins.js';

let folder: string;
let access: Access;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const client = { address: '192.0.2.1', isGone: () => false };

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-login-'));
  const authFile = path.join(folder, 'users');
  writeFileSync(authFile, `admin:${await hash('secret', 4)}\neve:${await hash('apple', 4)}\n`);
  access = openAccess({
    authFile,
    state: stateInMemory(initialAccessState),
    log,
    now: () => 0,
    login: unpaced,
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a rejected login', () => {
  it('is reported with its account, but without an unknown name, which may be a password', async () => {
    const attempts: RefusedAttempt[] = [];
    const leave = access.onRefusedLogin((attempt) => attempts.push(attempt));
    const logIn = (user: string, password: string) => access.openSession({ user, password }, client);
    await logIn('admin', 'secret');
    await logIn('eve', 'apple');
    await logIn('admin', 'guess');
    await logIn('apple', 'eve');
    await access.accounts?.change('eve', { enabled: false });
    // The password of this user is right and cached, but the account is disabled.
    await logIn('eve', 'apple');
    const { address } = client;
    expect(attempts).toEqual([
      { account: 'admin', address, reason: 'wrong password' },
      { account: null, address, reason: 'unknown user' },
      { account: 'eve', address, reason: 'the account is disabled' },
    ]);
    leave();
    await logIn('admin', 'guess');
    expect(attempts).toHaveLength(3);
  });
});
