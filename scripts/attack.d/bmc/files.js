/** Attacks on the files that the daemon stores: damaged files, a full disk, and SIGKILL while the daemon writes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder } from '../daemons.js';
import { root } from './tree.js';

const subscriptions = `${root}/EventService/Subscriptions`;
const subscription = (Context) => ({
  method: 'POST',
  path: subscriptions,
  body: { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish', Context },
});

/** Returns whether the attack damages a file. With a damaged access.json, the daemon does not start, on purpose. */
const mayBeDamaged = (name) => name.endsWith('.json') && name !== 'access.json';

const damage = {
  'invalid UTF-8': (bytes) => Buffer.concat([bytes.subarray(0, 5), Buffer.from([0xff, 0xfe]), bytes.subarray(5)]),
  'half of the file': (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2)),
  'an empty file': () => Buffer.alloc(0),
  'random bytes': (_, random) => random.bytes(300),
  'another kind of JSON': (_, random) =>
    Buffer.from(random.pick(['null', '[]', '7', '"x"', '{"version":9}', '[{"a":{"length":1}}]'])),
  'deep nesting': () => Buffer.from('['.repeat(100_000)),
};

/** Starts a daemon that stores a subscription and two settings, and stops the daemon. */
async function storeSomething(arena, folder) {
  const daemon = await arena.startBmc({ folder });
  const { json } = await daemon.request({ path: `${root}/Managers` });
  const write = async (options) => {
    const { status, text } = await daemon.request(options);
    if (status >= 300) throw new Error(`${options.method} ${options.path}: ${status} ${text.slice(0, 200)}`);
  };
  await write(subscription('before the damage'));
  await write({ method: 'PATCH', path: `${root}/SessionService`, body: { SessionTimeout: 600 } });
  await write({
    method: 'PATCH',
    path: `${json.Members[0]['@odata.id']}/NetworkProtocol`,
    body: { SSDP: { ProtocolEnabled: false } },
  });
  await daemon.stop();
}

const damagedFiles = {
  name: 'damaged state files',
  expected: 'the daemon starts, renames at least one of the damaged files to *.broken, and stores a new subscription',
  seconds: 120,
  run: async (arena) => {
    const folder = makeFolder();
    const state = join(folder, 'state');
    await storeSomething(arena, folder);
    const names = readdirSync(state).filter(mayBeDamaged);
    if (names.length === 0) throw new Error('there is no state file to damage');
    const good = new Map(names.map((name) => [name, readFileSync(join(state, name))]));
    for (const [what, change] of arena.random.shuffle(Object.entries(damage)).slice(0, arena.rounds(3, 6))) {
      for (const name of readdirSync(state).filter((file) => file.endsWith('.broken'))) rmSync(join(state, name));
      for (const [name, bytes] of good) writeFileSync(join(state, name), change(bytes, arena.random));
      const daemon = await arena.startBmc({ folder });
      try {
        await daemon.check();
        const renamed = readdirSync(state).filter((name) => name.endsWith('.broken'));
        if (renamed.length === 0)
          throw new Error(`${what} in ${names.join(', ')}: the daemon renamed no file to *.broken`);
        const { status } = await daemon.request(subscription('after the damage'));
        if (status !== 201) throw new Error(`a subscription after ${what}: ${status}`);
      } finally {
        await daemon.kill();
      }
    }
  },
};

/**
 * Fills a file system until it has no space for another 4 KiB.
 * @returns a function that frees the space.
 */
function fill(folder) {
  const filler = join(folder, 'filler');
  for (let pages = 0; pages < 1000; pages += 1) {
    try {
      writeFileSync(filler, Buffer.alloc(4096, 'x'), { flag: 'a' });
    } catch {
      return () => rmSync(filler);
    }
  }
  throw new Error('the file system has space for 4 MB');
}

const fullDisk = {
  name: 'a full disk',
  expected: 'a new subscription gets 507 with a path on the disk and is not added; it gets 201 when space is free',
  seconds: 60,
  run: async (arena) => {
    if (process.getuid() !== 0) return 'only root can mount its own file system';
    const disk = join(makeFolder(), 'disk');
    mkdirSync(disk);
    const script = 'mount -t tmpfs -o size=256k,mode=700 tmpfs "$0" && exec "$@"';
    const through = ['unshare', '--mount', 'sh', '-c', script, disk];
    const daemon = await arena.startBmc({ settings: { EMULATOR_STATE_DIR: join(disk, 'state') }, through });
    const count = async () => (await daemon.request({ path: subscriptions })).json.Members.length;
    const diskInNamespace = join(`/proc/${daemon.pid}/root`, disk);
    const free = fill(diskInNamespace);
    const { status, text } = await daemon.request(subscription('on a full disk'));
    if (status !== 507 || !text.includes(disk)) throw new Error(`a subscription: ${status} ${text.slice(0, 300)}`);
    if ((await count()) !== 0) throw new Error('a subscription exists that was not stored');
    free();
    const retried = await daemon.request(subscription('after space was freed'));
    if (retried.status !== 201 || (await count()) !== 1)
      throw new Error(`a subscription after space was freed: ${retried.status}`);
  },
};

/**
 * Adds subscriptions for a time, and then kills the daemon during the writes.
 * @returns the URIs of the subscriptions that the daemon acknowledged with 201.
 */
async function writeUntilKilled(daemon, milliseconds) {
  const acknowledged = [];
  const writer = async () => {
    for (;;) {
      const { status, headers } = await daemon.request(subscription('x'.repeat(200)));
      if (status === 201) acknowledged.push(new URL(headers.location, 'http://x').pathname);
    }
  };
  // Each writer ends with an error when the kill breaks its connection.
  const writers = Array.from({ length: 4 }, () => writer().catch(() => undefined));
  await delay(milliseconds);
  await daemon.kill();
  await Promise.all(writers);
  return acknowledged;
}

const killedWriter = {
  name: 'SIGKILL at random moments of writes',
  expected:
    'the daemon starts and has every acknowledged subscription; the state folder has no temporary file, and subscriptions.json is not empty',
  seconds: 120,
  run: async (arena) => {
    const folder = makeFolder();
    const state = join(folder, 'state');
    let acknowledged = [];
    for (let left = arena.rounds(3, 200); left >= 0; left -= 1) {
      const daemon = await arena.startBmc({ folder });
      const { json } = await daemon.request({ path: subscriptions });
      const existing = new Set(json.Members.map((member) => member['@odata.id']));
      const lost = acknowledged.filter((path) => !existing.has(path));
      const stored = existsSync(state) ? readdirSync(state) : [];
      const unexpected = stored.filter((name) => !/^[\w-]+(\.(json|broken|pem|key))*$/.test(name));
      if (lost.length > 0) throw new Error(`${lost.length} acknowledged writes are gone: ${lost[0]}`);
      if (unexpected.length > 0) throw new Error(`unexpected files in the state folder: ${unexpected.join(', ')}`);
      if (existsSync(`${state}/subscriptions.json`) && statSync(`${state}/subscriptions.json`).size === 0) {
        throw new Error('subscriptions.json is empty');
      }
      // The last start only checks the writes of the last round.
      if (left === 0) break;
      // The number of subscriptions is limited, so each round begins without any.
      for (const path of existing) await daemon.request({ method: 'DELETE', path });
      acknowledged = await writeUntilKilled(daemon, arena.random.integer(400));
    }
  },
};

export const files = [damagedFiles, fullDisk, killedWriter];
