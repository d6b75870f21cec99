/**
 * Attacks accounts: without credentials, without the required privilege, and with guessed
 * passwords.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PASSWORD } from '../daemons.js';
import { crawl, root, writable } from './tree.js';

/** Returns the header for Basic authentication. */
export const basic = (user, password = PASSWORD) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
/** The address that half of the users share with the first group of attackers. */
const NAT = '127.0.0.1';
const USERS = Array.from({ length: 10 }, (_, index) => `user${index}`);

/** Returns the shared daemon with accounts. All of them are administrators. */
const withAccounts = (arena) =>
  arena.share('accounts', () =>
    arena.startBmc({ users: ['admin', ...USERS], settings: { EMULATOR_CONSOLE_LOG: false } }),
  );

/** Returns whether Redfish requires no login for a path. */
const isOpen = (path) => [root, '/redfish', `${root}/`, `${root}/$metadata`, `${root}/odata`].includes(path);

const noCredentials = {
  name: 'every resource and every write that needs a login (a short run: 150 of them), without or with wrong credentials',
  expected: 'each gets 401',
  seconds: 90,
  run: async (arena) => {
    const daemon = await withAccounts(arena);
    const found = await crawl(daemon, { headers: basic('admin') });
    const gets = [...found.keys()].filter((path) => !isOpen(path)).map((path) => ({ method: 'GET', path }));
    const writes = writable(found).filter(({ path }) => !path.endsWith('/Sessions'));
    const tries = arena.random.shuffle([...gets, ...writes]).slice(0, arena.rounds(150, 100_000));
    const wrong = [
      {},
      { 'X-Auth-Token': 'x' },
      { Authorization: 'Basic' },
      { Authorization: 'Basic =' },
      { Authorization: 'Bearer x' },
    ];
    for (const { method, path } of tries) {
      const headers = arena.random.pick(wrong);
      const { status } = await daemon.request({ method, path, headers, body: method === 'GET' ? undefined : {} });
      if (status !== 401) throw new Error(`${method} ${path} with ${JSON.stringify(headers)}: ${status}`);
    }
  },
};

const smallRole = {
  name: 'every write by an account with the role ReadOnly, except to its own account, the login and existing subscriptions',
  expected: 'each gets 403, and a change of its own role a 4xx',
  seconds: 90,
  run: async (arena) => {
    const daemon = await withAccounts(arena);
    const account = { UserName: 'reader', Password: PASSWORD, RoleId: 'ReadOnly' };
    const made = await daemon.request({
      method: 'POST',
      path: `${root}/AccountService/Accounts`,
      body: account,
      headers: basic('admin'),
    });
    if (made.status !== 201) throw new Error(`creating the account: ${made.status} ${made.text.slice(0, 200)}`);
    const headers = basic('reader');
    const writes = writable(await crawl(daemon, { headers: basic('admin') }));
    const own = (path) => path.endsWith('/reader') || path.endsWith('/Sessions') || path.includes('/Subscriptions/');
    const unexpected = [];
    for (const { method, path } of writes.filter((write) => !own(write.path))) {
      const { status } = await daemon.request({ method, path, headers, body: { RoleId: 'Administrator' } });
      if (status !== 403) unexpected.push(`${method} ${path}: ${status}`);
    }
    const role = {
      method: 'PATCH',
      path: `${root}/AccountService/Accounts/reader`,
      headers,
      body: { RoleId: 'Administrator' },
    };
    const { status } = await daemon.request(role);
    if (status < 400 || status >= 500) unexpected.push(`PATCH of its own role: ${status}`);
    if (unexpected.length > 0) throw new Error(unexpected.join('; '));
  },
};

/**
 * Logs in as a client that obeys Retry-After.
 * @throws {Error} if the login gets another status than 201 and 503, or still gets 503 after `seconds`.
 */
async function logIn(daemon, user, from, seconds) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const { status, headers } = await daemon.request({
      method: 'POST',
      path: `${root}/SessionService/Sessions`,
      body: { UserName: user, Password: PASSWORD },
      from,
    });
    if (status === 201) return;
    if (status !== 503) throw new Error(`the right password of ${user} from ${from}: ${status}`);
    if (Date.now() > end) throw new Error(`${user} from ${from} is not logged in after ${seconds} s`);
    await delay(Number(headers['retry-after']) * 1000);
  }
}

const guessers = {
  name: 'guessers of passwords at one address and at many addresses, while users log in for the first time',
  expected:
    'every user logs in (docs/reference/security.md promises 10 s, the limit here is 60 s), no correct password gets another error than 503, and no guess succeeds',
  seconds: 120,
  run: async (arena) => {
    const daemon = await withAccounts(arena);
    let isOver = false;
    const guess = async (index, from) => {
      for (let attempt = 0; !isOver; attempt += 1) {
        const names = ['root', 'admin', `name-${index}-${attempt}`];
        // At the shared address, attackers do not use the names of the users that log in below: a user with the
        // address and the name of an attacker waits as long as the attacker, which is a documented limit.
        const user = arena.random.pick(from === NAT ? names : [...names, USERS[index % USERS.length]]);
        const headers = basic(user, `guess ${index} ${attempt}`);
        // Ignores a failed connection: this guess has no answer.
        const answer = await daemon.request({ path: `${root}/Systems`, headers, from }).catch(() => delay(200));
        if (answer?.status < 300) throw new Error(`a guess of the password of ${user}: ${answer.status}`);
      }
    };
    const here = Array.from({ length: arena.rounds(40, 80) }, (_, index) => guess(index, NAT));
    const others = Array.from({ length: arena.rounds(100, 1000) }, (_, index) =>
      guess(index, `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`),
    );
    const guessing = Promise.all([...here, ...others]);
    guessing.catch(() => undefined);
    try {
      // Half of the users have the attackers' address, as behind NAT. Each other user has an address of its own.
      const users = USERS.map((user, index) => logIn(daemon, user, index % 2 === 0 ? NAT : `127.9.0.${index}`, 60));
      await Promise.all(users);
    } finally {
      isOver = true;
      await guessing;
    }
  },
};

export const rights = [noCredentials, smallRole, guessers];
