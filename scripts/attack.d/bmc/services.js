/**
 * Attacks on rights, on the limited places for streams and SSH connections, and on the state folder. Attacks by
 * web pages in the browser of an operator.
 */
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder, PASSWORD } from '../daemons.js';
import { PATIENCE } from '../wire.js';
import { root } from './tree.js';
import { basic } from './rights.js';

const accounts = `${root}/AccountService/Accounts`;
const roles = `${root}/AccountService/Roles`;

/** Starts a daemon with the account `admin`, only for this attack. */
const startGuarded = (arena, options = {}) => arena.startBmc({ users: ['admin'], ...options });

/**
 * Sends a request, as `admin` unless `options` has other headers.
 * @throws {Error} if the status is not the expected one.
 */
async function expectStatus(daemon, expected, options, what = `${options.method} ${options.path}`) {
  const answer = await daemon.request({ headers: basic('admin'), ...options });
  if (answer.status !== expected) throw new Error(`${what}: ${answer.status}, not ${expected}`);
  return answer;
}

const create = (daemon, UserName, RoleId) =>
  expectStatus(daemon, 201, { method: 'POST', path: accounts, body: { UserName, Password: PASSWORD, RoleId } });

/**
 * Opens an event stream.
 * @returns `{status, headers, ended, close}`. `ended` resolves when the stream has ended.
 */
async function openStream(daemon, user, from) {
  const path = `${root}/EventService/SSE`;
  const sent = request({
    host: '127.0.0.1',
    port: daemon.port,
    path,
    localAddress: from,
    headers: basic(user),
    agent: false,
  });
  sent.on('error', () => undefined);
  sent.end();
  const [incoming] = await once(sent, 'response', { signal: AbortSignal.timeout(PATIENCE * 1000) });
  const ended = new Promise((resolve) => incoming.once('close', () => resolve('ended')));
  incoming.on('error', () => undefined).resume();
  return { status: incoming.statusCode, headers: incoming.headers, ended, close: () => sent.destroy() };
}

const rightsAttack = {
  name: 'accounts that give themselves rights; a role and an account with the reserved name Members; an open stream',
  expected:
    '403 for more rights, 400 for the name Members; a stream of events ends within 60 s after the password of its account changes',
  seconds: 120,
  run: async (arena) => {
    const daemon = await startGuarded(arena);
    const few = ['Login', 'ConfigureSelf', 'ConfigureComponents', 'ConfigureManager'];
    await expectStatus(daemon, 201, {
      method: 'POST',
      path: roles,
      body: { RoleId: 'Few', AssignedPrivileges: few },
    });
    await create(daemon, 'few', 'Few');
    const AssignedPrivileges = [...few, 'ConfigureUsers'];
    const own = { method: 'PATCH', path: `${roles}/Few`, body: { AssignedPrivileges }, headers: basic('few') };
    await expectStatus(daemon, 403, own, 'its own role with ConfigureUsers');
    const hidden = { RoleId: 'Members', AssignedPrivileges: [] };
    await expectStatus(daemon, 400, { method: 'POST', path: roles, body: hidden }, 'a role named Members');
    const body = { UserName: 'Members', Password: PASSWORD, RoleId: 'Administrator' };
    await expectStatus(daemon, 400, { method: 'POST', path: accounts, body }, 'an account named Members');
    const stream = await openStream(daemon, 'few');
    if (stream.status !== 200) throw new Error(`a stream of events: ${stream.status}`);
    const change = { method: 'PATCH', path: `${accounts}/few`, body: { Password: `${PASSWORD} and more` } };
    await expectStatus(daemon, 200, change);
    const late = delay(PATIENCE * 1000, 'late', { ref: false });
    if ((await Promise.race([stream.ended, late])) === 'late') throw new Error('the stream continues');
  },
};

const streamAttack = {
  name: 'one account opens as many event streams as possible',
  expected: 'the account gets 50 streams, then 503 with Retry-After; two accounts at other addresses get a stream',
  seconds: 120,
  run: async (arena) => {
    const daemon = await startGuarded(arena);
    const streams = [];
    const open = async (user, from) => {
      const stream = await openStream(daemon, user, from);
      streams.push(stream);
      return stream;
    };
    try {
      for (const user of ['one', 'two', 'three']) await create(daemon, user, 'ReadOnly');
      for (const user of ['one', 'two', 'three', 'admin']) await open(user, '127.0.3.1');
      const more = await Promise.all(Array.from({ length: 60 }, () => open('one', '127.0.3.1')));
      const refused = more.filter(({ status }) => status === 503);
      if (refused.length !== 11) throw new Error(`${refused.length} of 61 streams of one account were refused, not 11`);
      if (refused[0].headers['retry-after'] === undefined) throw new Error('503 without Retry-After');
      // The second account uses the rest of the address's share. A third account at another address
      // has its own share.
      await Promise.all(Array.from({ length: 60 }, () => open('two', '127.0.3.1')));
      for (const [user, from] of [
        ['three', '127.0.3.2'],
        ['admin', '127.0.3.3'],
      ]) {
        const { status } = await open(user, from);
        if (status !== 200) throw new Error(`a stream of ${user} at another address: ${status}`);
      }
    } finally {
      for (const stream of streams) stream.close();
    }
  },
};

const folderAttack = {
  name: 'a second daemon in the state folder of the first daemon, and SIGKILL of the first daemon',
  expected:
    'the second daemon ends with exit code 1, because the folder is in use; the first one continues; a third one starts after the SIGKILL',
  seconds: 120,
  run: async (arena) => {
    const folder = makeFolder();
    const first = await startGuarded(arena, { folder });
    try {
      const second = await startGuarded(arena, { folder }).then(
        (daemon) => daemon.kill().then(() => 'it serves'),
        (error) => error.message,
      );
      if (!second.includes('is in use by another daemon') || !second.includes('ended with exit code 1 '))
        throw new Error(`the second daemon: ${second.slice(0, 300)}`);
      await first.check();
    } finally {
      await first.kill();
    }
    await startGuarded(arena, { folder });
  },
};

/**
 * Opens a connection to an SSH server, and adds it to `held`.
 * @returns the greeting of the server; empty if none arrives within 10 s, or if the server closes the connection.
 */
async function greeting(port, from, held) {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from }).on('error', () => undefined);
  held.push(socket);
  const got = await Promise.race([
    once(socket, 'data').catch(() => ['']),
    once(socket, 'close').then(() => ['']),
    delay(10_000, [''], { ref: false }),
  ]);
  return String(got[0]);
}

const consoleAttack = {
  name: 'clients at three addresses take all places for SSH connections that have not logged in',
  expected: 'two clients at another address get a greeting within 10 s',
  seconds: 90,
  run: async (arena) => {
    const daemon = await startGuarded(arena, { settings: { EMULATOR_CONSOLE_SSH_PORT: 0 } });
    const held = [];
    try {
      const [, port] = await daemon.waitForOutput(/consoles over SSH at port (\d+)/);
      for (const from of ['127.0.4.1', '127.0.4.2', '127.0.4.3']) {
        await Promise.all(Array.from({ length: 10 }, () => greeting(Number(port), from, held)));
      }
      for (let client = 0; client < 2; client += 1) {
        const text = await greeting(Number(port), '127.0.4.99', held);
        if (!text.startsWith('SSH-2.0'))
          throw new Error(`client ${client} at another address: ${JSON.stringify(text)}`);
      }
    } finally {
      for (const socket of held) socket.destroy();
    }
  },
};

/** Headers of requests that a page of another site, or in a sandboxed frame, sends to the service. */
const pages = {
  'of another site': { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' },
  'in a sandboxed frame': { Origin: 'null' },
};

const pageAttack = {
  name: 'web pages of other sites that send writes, to which the browser adds its password; without accounts, DNS rebinding',
  expected: 'each write gets 403, with accounts and without accounts',
  seconds: 60,
  run: async (arena) => {
    const guarded = await startGuarded(arena);
    for (const [daemon, credentials] of [
      [guarded, basic('admin')],
      [await arena.bmc(), {}],
    ]) {
      const system = (await daemon.request({ path: `${root}/Systems`, headers: credentials })).json.Members[0][
        '@odata.id'
      ];
      // For a POST without a body, or with a body without a type, browsers do not ask first (no preflight).
      const writes = [
        [`${system}/Actions/ComputerSystem.Reset`, Buffer.from('{"ResetType":"ForceOff"}')],
        [`${system}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`, ''],
        [`${root}/SessionService/Sessions`, Buffer.from('{}')],
      ];
      const rebound = { Origin: 'http://evil.example:8000', Host: 'evil.example:8000' };
      const all = { ...pages, ...(daemon === guarded ? {} : { 'after DNS rebinding': rebound }) };
      for (const [who, headers] of Object.entries(all)) {
        for (const [path, body] of writes) {
          // A login at a rebound name is no attack: without accounts, it gives no rights. With accounts, it needs a
          // password, which the page does not have.
          if (who === 'after DNS rebinding' && path.endsWith('/Sessions')) continue;
          const options = {
            method: 'POST',
            path,
            body,
            headers: { ...credentials, 'Content-Type': null, ...headers },
          };
          const { status } = await daemon.request(options);
          if (status !== 403) throw new Error(`a page ${who}: POST ${path}: ${status}`);
        }
      }
    }
  },
};

const storedAttack = {
  name: 'an Operator fills all places with subscriptions of 16 KB, and tries one of 780 KB; an administrator creates 110 roles',
  expected:
    '201, then 503 without a free place, 413 for the large one and 400 for too many roles; the state folder has at most 8 MiB, and memory grows by at most 150 MiB',
  seconds: 180,
  run: async (arena) => {
    const folder = makeFolder();
    const daemon = await startGuarded(arena, { folder });
    await create(daemon, 'operator', 'Operator');
    const before = daemon.memoryMiB();
    const path = `${root}/EventService/Subscriptions`;
    const statuses = new Set();
    for (const headerCount of [4, 200]) {
      const names = Array.from({ length: headerCount }, (_, index) => `X-${index}`);
      const HttpHeaders = [Object.fromEntries(names.map((name) => [name, 'x'.repeat(3900)]))];
      const body = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish', HttpHeaders };
      for (let count = 0; count < 190; count += 1) {
        const { status } = await daemon.request({ method: 'POST', path, body, headers: basic('operator') });
        statuses.add(status);
        if (status !== 201) break;
      }
    }
    for (let count = 0; count < 110; count += 1) {
      const body = { RoleId: `Role${count}`, AssignedPrivileges: ['Login'] };
      statuses.add((await daemon.request({ method: 'POST', path: roles, body, headers: basic('admin') })).status);
    }
    const seen = [...statuses].sort((left, right) => left - right).join(' ');
    if (seen !== '201 400 413 503') throw new Error(`statuses ${seen}`);
    const state = join(folder, 'state');
    const bytes = readdirSync(state).reduce((sum, name) => sum + statSync(join(state, name)).size, 0);
    if (bytes > 8 * 1024 * 1024) throw new Error(`the state folder has ${bytes} bytes`);
    const grown = Math.round(daemon.memoryMiB() - before);
    if (grown > 150) throw new Error(`memory grew by ${grown} MiB`);
  },
};

export const services = [storedAttack, rightsAttack, streamAttack, folderAttack, consoleAttack, pageAttack];
