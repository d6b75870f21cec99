/**
 * Measures logins during password guessing: 80 attackers at one shared address and 1,000 at other
 * addresses guess without a pause, while ten users log in for the first time. Prints how many log in,
 * their times, and the rate of the attackers. Compares this rate with that of bcrypt in this process,
 * measured before the daemon starts.
 *
 *     npm run bench:logins -w @rackless/bmc-daemon -- \
 *       [--scenario NAME] [--cost N] [--guessers N] [--others N] [--warm-up SECONDS]
 *
 * `--scenario` runs only one scenario. `--guessers` is the number of attackers at the shared address,
 * `--others` the number of those at other addresses, `--cost` the cost of bcrypt. The users log in
 * `--warm-up` seconds after the attackers have begun (default: 10).
 *
 * Needs `npm run build` first. Exits 1 if a login fails or takes more than 10 s.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compare, hash } from 'bcrypt';

const { values: flags } = parseArgs({
  options: {
    scenario: { type: 'string' },
    cost: { type: 'string', default: '12' },
    guessers: { type: 'string', default: '80' },
    others: { type: 'string', default: '1000' },
    'warm-up': { type: 'string', default: '10' },
  },
});
const GOAL_MS = 10_000;
const USERS = 10;
const SHARED_ADDRESS = '127.0.0.1';

interface Scenario {
  readonly about: string;
  /** Returns the next name that an attacker tries. */
  readonly name: (guesser: number, attempt: number) => string;
  /** Returns the address of a user. */
  readonly from: (user: number) => string;
}

const userName = (at: number): string => (at === 0 ? 'admin' : `user${at}`);
const newAddress = (user: number): string => `127.77.0.${user + 1}`;
const scenarios: Readonly<Record<string, Scenario>> = {
  nat: {
    about: 'attackers try "root"; the users have the shared address',
    name: () => 'root',
    from: () => SHARED_ADDRESS,
  },
  admin: {
    about: 'attackers try "admin"; the real admin logs in from a new address; the other users have the shared address',
    name: () => 'admin',
    from: (user) => (user === 0 ? newAddress(user) : SHARED_ADDRESS),
  },
  names: {
    about: 'attackers try a new name each time; the users have the shared address',
    name: (guesser, attempt) => `name-${guesser}-${attempt}`,
    from: () => SHARED_ADDRESS,
  },
  users: {
    about: 'attackers try the names of the users, who have new addresses',
    name: (guesser) => userName(guesser % USERS),
    from: newAddress,
  },
};

const agents = new Map<string, Agent>();

/**
 * Sends a GET of the systems from an address, or a login if there is a body.
 * @returns the status of the answer, and its Retry-After in milliseconds; 0: the answer has no Retry-After.
 */
function ask(port: number, from: string, options: { readonly body?: object; readonly authorization?: string }) {
  const agent = agents.get(from) ?? new Agent({ keepAlive: true });
  agents.set(from, agent);
  const { body, authorization } = options;
  return new Promise<{ readonly status: number; readonly retryAfterMs: number }>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: from,
        agent,
        method: body === undefined ? 'GET' : 'POST',
        path: body === undefined ? '/redfish/v1/Systems' : '/redfish/v1/SessionService/Sessions',
        headers: {
          ...(authorization === undefined ? {} : { Authorization: authorization }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
      },
      (response) => {
        response.resume();
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            retryAfterMs: Number(response.headers['retry-after'] ?? 0) * 1000,
          }),
        );
      },
    );
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface Guessers {
  /** Numbers of answers by address and status. */
  readonly answers: ReadonlyMap<string, ReadonlyMap<number, number>>;
  stop(): Promise<void>;
}

function startGuessers(port: number, { name }: Scenario): Guessers {
  const answers = new Map<string, Map<number, number>>();
  let isOver = false;
  const guess = async (guesser: number, from: string): Promise<void> => {
    const own = answers.get(from) ?? new Map<number, number>();
    answers.set(from, own);
    for (let attempt = 0; !isOver; attempt += 1) {
      const credentials = Buffer.from(`${name(guesser, attempt)}:guess ${guesser} ${attempt}`).toString('base64');
      try {
        const { status } = await ask(port, from, { authorization: `Basic ${credentials}` });
        own.set(status, (own.get(status) ?? 0) + 1);
      } catch {
        // A failed connection is a guess without an answer. A loop without a pause would load the
        // host, not the daemon.
        await delay(100);
      }
    }
  };
  const atShared = Array.from({ length: Number(flags.guessers) }, (_, at) => guess(at, SHARED_ADDRESS));
  const others = Array.from({ length: Number(flags.others) }, (_, at) =>
    guess(at, `127.1.${Math.floor(at / 250)}.${(at % 250) + 1}`),
  );
  return {
    answers,
    async stop() {
      isOver = true;
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
      await Promise.all([...atShared, ...others]);
    },
  };
}

/**
 * Logs in. After a 503, waits for the time of Retry-After and tries again, until a minute has passed.
 * @returns the last status, the milliseconds until then, and `repeats`, the number of 503 answers.
 */
async function logIn(port: number, user: string, from: string) {
  const began = performance.now();
  for (let repeats = 0; ; repeats += 1) {
    const { status, retryAfterMs } = await ask(port, from, { body: { UserName: user, Password: `right ${user}` } });
    const ms = performance.now() - began;
    if (status !== 503 || ms > 6 * GOAL_MS) return { user, from, status, ms, repeats };
    await delay(retryAfterMs);
  }
}

async function startDaemon(folder: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const users = join(folder, 'users');
  const cost = Number(flags.cost);
  const lines = Array.from({ length: USERS }, async (_, at) => {
    return `${userName(at)}:${await hash(`right ${userName(at)}`, cost)}\n`;
  });
  await writeFile(users, (await Promise.all(lines)).join(''));
  const config = join(folder, 'bmc.conf');
  await writeFile(config, `EMULATOR_AUTH_FILE = '${users}'\nEMULATOR_STATE_DIR = '${join(folder, 'state')}'\n`);
  const bin = fileURLToPath(new URL('../../../../bin/bmc-daemon.js', import.meta.url));
  const child = spawn(process.execPath, [bin, '--config', config, '--fake', '-i', '0.0.0.0', '-p', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, EMULATOR_CONSOLE_SSH_PORT: 'None' },
  });
  const port = await new Promise<number>((resolve, reject) => {
    let head = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      head = `${head}${text}`.slice(-10_000);
      const found = /serving .* at http:\/\/[^"]*:(\d+)\/redfish/.exec(head)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(`the daemon ended: ${head}`)));
  });
  return { child, port };
}

/** Returns CPU seconds and resident MiB of a process. */
async function usage({ pid }: ChildProcess) {
  const fields = (await readFile(`/proc/${pid ?? 0}/stat`, 'utf8')).split(' ');
  const status = await readFile(`/proc/${pid ?? 0}/status`, 'utf8');
  return {
    cpuSeconds: (Number(fields[13]) + Number(fields[14])) / 100,
    mib: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
  };
}

/**
 * Returns the passwords per second that bcrypt verifies here, with as many threads as the daemon
 * uses.
 */
async function bareRate(): Promise<number> {
  const stored = await hash('x', Number(flags.cost));
  const began = performance.now();
  const thread = async () => {
    for (let round = 0; round < 5; round += 1) await compare('y', stored);
  };
  await Promise.all([thread(), thread()]);
  return 10_000 / (performance.now() - began);
}

async function run(name: string, scenario: Scenario, bare: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-logins-'));
  const { child, port } = await startDaemon(folder);
  try {
    const guessers = startGuessers(port, scenario);
    await delay(Number(flags['warm-up']) * 1000);
    const before = countOf(guessers, () => true, 401);
    const [beforeShared, began, used] = [countOf(guessers, isShared, 401), performance.now(), await usage(child)];
    const logins = await Promise.all(
      Array.from({ length: USERS }, (_, at) => logIn(port, userName(at), scenario.from(at))),
    );
    await delay(Math.max(0, GOAL_MS - (performance.now() - began)));
    const seconds = (performance.now() - began) / 1000;
    const now = await usage(child);
    const rate = (countOf(guessers, () => true, 401) - before) / seconds;
    const sharedRate = (countOf(guessers, isShared, 401) - beforeShared) / seconds;
    await guessers.stop();

    const inTime = logins.filter(({ status, ms }) => status === 201 && ms <= GOAL_MS);
    const times = logins.map(({ ms }) => Math.round(ms)).toSorted((left, right) => left - right);
    console.log(`${name}: ${scenario.about}`);
    console.log(`  logged in within 10 s: ${inTime.length} of ${USERS}; ms: ${times.join(' ')}`);
    for (const { user, from, status, ms, repeats } of logins)
      if (status !== 201 || ms > GOAL_MS)
        console.log(`  ${user} from ${from}: ${status} after ${Math.round(ms)} ms, ${repeats} times 503`);
    const share = ((100 * rate) / bare).toFixed(0);
    console.log(
      `  guesses answered with 401: ${rate.toFixed(2)} a second (${share} % of bare bcrypt), ` +
        `from ${SHARED_ADDRESS}: ${sharedRate.toFixed(2)}`,
    );
    const cpu = ((now.cpuSeconds - used.cpuSeconds) / seconds).toFixed(2);
    console.log(`  the daemon: ${cpu} cores, ${now.mib} MiB`);
    return inTime.length === USERS;
  } finally {
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await rm(folder, { recursive: true });
  }
}

const isShared = (address: string): boolean => address === SHARED_ADDRESS;

function countOf({ answers }: Guessers, wants: (address: string) => boolean, status: number): number {
  return [...answers].reduce((sum, [address, own]) => sum + (wants(address) ? (own.get(status) ?? 0) : 0), 0);
}

const bare = await bareRate();
const load = execFileSync('cat', ['/proc/loadavg'], { encoding: 'utf8' }).split(' ')[0] ?? '';
console.log(
  `bcrypt of cost ${flags.cost} alone, two threads: ${bare.toFixed(1)} a second; load of the machine: ${load}`,
);
let isReached = true;
for (const [name, scenario] of Object.entries(scenarios)) {
  if (flags.scenario !== undefined && flags.scenario !== name) continue;
  isReached = (await run(name, scenario, bare)) && isReached;
}
process.exitCode = isReached ? 0 : 1;
