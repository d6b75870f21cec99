/**
 * Runs attacks; see scripts/attack --help. Ends with status 1 if an attack fails, and 2 for wrong arguments or if there
 * is no build.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from './random.js';
import { startBmc, startProxy, UPSTREAM_KEY } from './daemons.js';
import { files } from './bmc/files.js';
import { images } from './bmc/images.js';
import { loads } from './bmc/loads.js';
import { certificates } from './bmc/certificates.js';
import { consoles } from './bmc/consoles.js';
import { hostileNames } from './bmc/names.js';
import { network } from './bmc/network.js';
import { services } from './bmc/services.js';
import { rights } from './bmc/rights.js';
import { bodyAttacks } from './bmc/bodies.js';
import { requests } from './bmc/requests.js';
import { answers } from './proxy/answers.js';
import { clients } from './proxy/clients.js';
import { configurations } from './proxy/configurations.js';
import { connections } from './proxy/connections.js';
import { descriptors } from './proxy/descriptors.js';
import { secrets } from './proxy/secrets.js';
import { upstreams } from './proxy/upstreams.js';

/**
 * The attacks by daemon. `name` states what an attack tries, and `expected` what the daemon must
 * do. `run(arena)` throws if the daemon does something else. If the attack is not possible on this host, `run`
 * returns the reason. `seconds` is the time limit of the attack in a short run, even on a busy host. In a long
 * run, the limit is ten times as long.
 */
const attacks = {
  bmc: [
    ...bodyAttacks,
    ...requests,
    ...images,
    ...rights,
    ...services,
    ...consoles,
    ...certificates,
    ...network,
    ...hostileNames,
    ...files,
    ...loads,
  ],
  proxy: [...upstreams, ...answers, ...secrets, ...clients, ...connections, ...descriptors, ...configurations],
};

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    seed: { type: 'string' },
    tree: { type: 'string' },
  },
});
const fail = (message) => {
  console.error(`scripts/attack: ${message} (see --help)`);
  process.exit(2);
};
const seed = Number(flags.seed ?? (flags.long ? Date.now() % 1_000_000_000 : 20_261_122));
if (!Number.isSafeInteger(seed)) fail(`--seed ${flags.seed} is no integer`);
const unknown = positionals.find((name) => !Object.hasOwn(attacks, name));
if (unknown !== undefined) fail(`${unknown} is none of ${Object.keys(attacks).join(', ')}`);
const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const tree = resolve(flags.tree ?? repository);
if (!existsSync(join(tree, 'packages/bmc-daemon/dist'))) fail(`${tree} has no build (npm run build)`);

const targets = positionals.length > 0 ? [...new Set(positionals)] : Object.keys(attacks);
const chosen = targets.flatMap((target) =>
  attacks[target].filter(({ name }) => name.includes(flags.only)).map((attack) => ({ ...attack, target })),
);
if (chosen.length === 0) fail(`no attack has "${flags.only}" in its name`);

/**
 * Makes the shared context of the attacks on a daemon. The first attack that needs a shared daemon
 * starts it.
 */
function openArena(target) {
  const shared = new Map();
  /** Daemons that only the current attack uses. */
  const own = new Set();
  const started = async (starting) => {
    const daemon = await starting;
    own.add(daemon);
    return daemon;
  };
  /**
   * Returns the result of `start`: the shared daemon of this name, or a shared object with `daemon` and what the
   * attacks need besides, such as an upstream. Only the first call for a name calls `start`.
   */
  const share = (name, start) => {
    if (!shared.has(name)) {
      const sharing = async () => {
        const entry = await start();
        own.delete(entry.daemon ?? entry);
        return entry;
      };
      shared.set(name, sharing());
    }
    return shared.get(name);
  };
  return {
    of: (name) => ({
      tree,
      isLong: flags.long,
      /** Returns the number of rounds for a short or a long run. */
      rounds: (short, long) => (flags.long ? long : short),
      random: seededRandom(seed, `${target} ${name}`),
      /** Returns a shared bmc-daemon without accounts. An attack changes nothing in it that other attacks need. */
      bmc: () => share('bmc', () => startBmc(tree)),
      /** Starts a bmc-daemon that ends with the attack. */
      startBmc: (options) => started(startBmc(tree, options)),
      /** Starts a model-proxy that ends with the attack. */
      startProxy: (text, options) => started(startProxy(tree, text, options)),
      share,
    }),
    /** Ends the daemons of the current attack. */
    endOwn: async () => {
      await Promise.all([...own].map((daemon) => daemon.kill()));
      own.clear();
    },
    /**
     * Checks the shared daemons.
     * @throws {Error} if one of them does not work.
     */
    check: async () => {
      for (const entry of await Promise.all(shared.values())) await (entry.daemon ?? entry).check();
    },
    /** Ends the shared daemons after a failed attack. The next attack starts new ones. */
    drop: async () => {
      const entries = await Promise.all([...shared.values()].map((starting) => starting.catch(() => undefined)));
      shared.clear();
      for (const entry of entries.filter((started) => started !== undefined)) {
        await (entry.daemon ?? entry).kill();
        entry.close?.();
      }
    },
    /**
     * Stops the shared daemons with SIGTERM.
     * @throws {Error} if one of them ends with another exit code than 0, or logged the key of an upstream.
     */
    close: async () => {
      const faults = [];
      for (const [name, starting] of shared) {
        const entry = await starting.catch(() => undefined);
        const daemon = entry?.daemon ?? entry;
        if (daemon === undefined) continue;
        const code = await daemon.stop();
        if (code !== 0) faults.push(`${name}: exit code ${code}: ${daemon.output.slice(-500)}`);
        if (daemon.output.includes(UPSTREAM_KEY)) faults.push(`${name}: the log has the key of an upstream`);
        entry.close?.();
      }
      if (faults.length > 0) throw new Error(faults.join('; '));
    },
  };
}

/**
 * Runs one attack and prints its line.
 * @returns whether the daemon behaved as expected. With CI=true, a skipped attack counts as a failure.
 */
async function run({ target, name, expected, seconds }, attack) {
  const started = Date.now();
  const limit = seconds * (flags.long ? 10 : 1);
  const late = delay(limit * 1000, undefined, { ref: false }).then(() => {
    throw new Error(`not over within ${limit} s`);
  });
  const head = target.padEnd(5);
  try {
    const note = await Promise.race([attack(), late]);
    const skipped = typeof note === 'string' ? note : undefined;
    const time = `${((Date.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${skipped ? 'skip' : 'ok  '}  ${head}  ${name}: ${skipped ?? expected} (${time})`);
    return skipped === undefined || process.env.CI !== 'true';
  } catch (error) {
    console.log(`FAIL  ${head}  ${name}: ${error.message.slice(0, 2000)}`);
    console.log(`      expected: ${expected}; to repeat: scripts/attack ${target} --only '${name}' --seed ${seed}`);
    return false;
  } finally {
    late.catch(() => undefined);
  }
}

async function runAll(target) {
  const arena = openArena(target);
  let failed = 0;
  for (const attack of chosen.filter((candidate) => candidate.target === target)) {
    const passed = await run(attack, async () => {
      const note = await attack.run(arena.of(attack.name));
      await arena.check();
      return note;
    });
    await arena.endOwn();
    if (passed) continue;
    failed += 1;
    await arena.drop();
  }
  const end = {
    target,
    name: 'SIGTERM after all attacks',
    expected: 'each shared daemon ends with exit code 0, and has not logged the key of an upstream',
    seconds: 180,
  };
  if (!(await run(end, () => arena.close()))) failed += 1;
  return failed;
}

if (flags.list) {
  for (const { target, name, expected } of chosen) console.log(`${target.padEnd(5)}  ${name}: ${expected}`);
} else {
  console.log(`seed ${seed}, ${chosen.length} attacks`);
  // Attacks the daemons at the same time, because most attacks spend their time with waiting.
  const failed = (await Promise.all(targets.map(runAll))).reduce((sum, count) => sum + count, 0);
  console.log(failed === 0 ? 'No attack failed.' : `${failed} attacks failed.`);
  process.exit(failed === 0 ? 0 : 1);
}
