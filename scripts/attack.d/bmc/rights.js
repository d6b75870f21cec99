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
/** The address that half of the users share with some of the attackers. */
const NAT = '127.0.0.1';
const USERS = Array.from({ length: 10 }, (_, index) => `user${index}`);

const withAccounts = (arena) =>
  arena.share('accounts', () =>
    arena.startBmc({ users: ['admin', ...USERS], settings: { EMULATOR_CONSOLE_LOG: false } }),
  );

/** Returns whether Redfish requires no login for a path. */
const isOpen = (path) => [root, '/redfish', `${root}/`, `${root}/$metadata`, `${root}/odata`].includes(path);

const noCredentials = {
  name: 'every resource and every write, without credentials or with wrong ones',
  expected: '401 for all but the service root and the login',
  seconds: 90,
  run: async (arena) => {
    const daemon = await withAccounts(arena);
    const found = await crawl(daemon, { headers: basic('admin') });
    const gets = [...found.keys()].filter((path) => !isOpen(path)).map((path) => ({ method: 'GET', path }));
    const places = writable(found).filter(({ path }) => !path.endsWith('/Sessions'));
    const tries = arena.random.shuffle([...gets, ...places]).slice(0, arena.rounds(150, 100_000));
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
  name: 'every write by an account with the role ReadOnly',
  expected: '403 for everything except its own account',
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
    const places = writable(await crawl(daemon, { headers: basic('admin') }));
    const own = (path) => path.endsWith('/reader') || path.endsWith('/Sessions') || path.includes('/Subscriptions/');
    const passed = [];
    for (const { method, path } of places.filter((place) => !own(place.path))) {
      const { status } = await daemon.request({ method, path, headers, body: { RoleId: 'Administrator' } });
      if (status !== 403) passed.push(`${method} ${path}: ${status}`);
    }
    const role = {
      method: 'PATCH',
      path: `${root}/AccountService/Accounts/reader`,
      headers,
      body: { RoleId: 'Administrator' },
    };
    const { status } = await daemon.request(role);
    if (status < 400 || status >= 500) passed.push(`an account changed its own role: ${status}`);
    if (passed.length > 0) throw new Error(passed.join('; '));
  },
};

/**
 * Logs in as a client that obeys Retry-After.
 * @throws {Error} if the login is rejected, or takes longer than `seconds`.
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
  name: 'guessers at one address and at many, while users log in for the first time',
  expected: 'every user logs in (the promise is 10 s, the limit here 60 s), and no correct password gets a 401',
  seconds: 120,
  run: async (arena) => {
    const daemon = await withAccounts(arena);
    let isOver = false;
    const guess = async (index, from) => {
      for (let attempt = 0; !isOver; attempt += 1) {
        const names = ['root', 'admin', `name-${index}-${attempt}`];
        // At the shared address, attackers do not use names of users: a user with the address and
        // the name of an attacker waits as long as the attacker, which is a documented limit.
        const user = arena.random.pick(from === NAT ? names : [...names, USERS[index % USERS.length]]);
        const headers = basic(user, `guess ${index} ${attempt}`);
        // A failed connection is a guess without an answer.
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
      // Some users have the attackers' address, as behind NAT, and some have their own addresses.
      const users = USERS.map((user, index) => logIn(daemon, user, index % 2 === 0 ? NAT : `127.9.0.${index}`, 60));
      await Promise.all(users);
    } finally {
      isOver = true;
      await guessing;
    }
  },
};

export const rights = [noCredentials, smallRole, guessers];
