/**
 * Measures GET of a system, of its manager and of the collection: without authentication, with
 * Basic and with a session's token. Compares with a bare `node:http` server that sends the same bytes.
 * Daemon and bare server take turns within one run, so that a busy host slows both alike. Each ratio
 * is the median of the ratios of all rounds. Without `--libvirt-uri`, the machines are in memory.
 *
 *     npm run bench -w @rackless/bmc-daemon [-- --libvirt-uri URI] [--seconds N] [--rounds N]
 *
 * `--seconds` is the time for each server in a round (default: 5). Needs `wrk`, and `npm run build`
 * first. Exits 1 if it misses a goal.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { hash } from 'bcrypt';
import { freePort } from '../../daemon/test/support/free-port.js';
import { fetchWhole, startBareServer } from './bare-process.js';

const { values: flags } = parseArgs({
  options: {
    'libvirt-uri': { type: 'string' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
});
const connections = 64;
/**
 * Minimum ratios of requests per second. `open`: the daemon without authentication to the bare server.
 * `authenticated`: the daemon with authentication to the daemon without.
 */
const goals = { open: 0.6, authenticated: 0.7 };

const daemonPath = fileURLToPath(new URL('../../../../bin/bmc-daemon.js', import.meta.url));
const credentials = { Authorization: `Basic ${Buffer.from('admin:bench').toString('base64')}` };

interface Server {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

interface Round {
  readonly perSecond: number;
  /**
   * CPU time of the server per request in microseconds. It has less noise than the rate on a shared
   * host.
   */
  readonly cpuUs: number;
}

async function startDaemon(folder: string, options: { readonly authenticated: boolean }): Promise<Server> {
  const port = await freePort();
  const config = join(folder, `${port}.conf`);
  const passwords = join(folder, `${port}.htpasswd`);
  await writeFile(passwords, `admin:${await hash('bench', 10)}\n`);
  await writeFile(
    config,
    `EMULATOR_STATE_DIR = '${folder}/${port}'\n${options.authenticated ? `EMULATOR_AUTH_FILE = '${passwords}'\n` : ''}`,
  );
  const backend = flags['libvirt-uri'] === undefined ? ['--fake'] : ['--libvirt-uri', flags['libvirt-uri']];
  const child = spawn(
    process.execPath,
    [daemonPath, '--config', config, '--interface', '127.0.0.1', '--port', String(port), ...backend],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const url = `http://127.0.0.1:${port}`;
  await until(`an answer of the daemon at ${url}`, async () => (await fetchWhole(`${url}/healthz`)).status === 200);
  return { pid: child.pid ?? NaN, url, stop: () => stop(child) };
}

/**
 * Logs in.
 * @returns the headers for further requests.
 */
async function logIn({ url }: Server): Promise<Readonly<Record<string, string>>> {
  const { headers } = await fetch(`${url}/redfish/v1/SessionService/Sessions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ UserName: 'admin', Password: 'bench' }),
  });
  const token = headers.get('x-auth-token');
  if (token === null) throw new Error(`logging in at ${url}: there was no token`);
  return { 'X-Auth-Token': token };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Waits until the condition is true. A condition that rejects counts as false. @throws {Error} after 20 s. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    // An error means that the server does not listen yet.
    if (await condition().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waiting for ${what}: not there after 20 s`);
}

/**
 * Returns the used CPU time of a process in microseconds.
 * @see proc_pid_stat(5)
 */
async function cpuTimeUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function load(server: Server, path: string, headers: Readonly<Record<string, string>>): Promise<Round> {
  const before = await cpuTimeUs(server.pid);
  const { stdout } = await promisify(execFile)('wrk', [
    ...['-t', '1', '-c', String(connections), '-d', `${flags.seconds}s`],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    `${server.url}${path}`,
  ]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`loading ${server.url}${path}: ${stdout}`);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
  return { perSecond, cpuUs: ((await cpuTimeUs(server.pid)) - before) / requests };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

function medianRatio(rounds: readonly Round[], others: readonly Round[]): number {
  return median(rounds.map(({ perSecond }, index) => perSecond / (others[index]?.perSecond ?? NaN)));
}

async function compare(what: string, path: string, open: Server, authenticated: Server): Promise<boolean> {
  const bare = await startBareServer(folder, await fetchWhole(`${open.url}${path}`));
  const servers = [
    { name: 'bare node:http', server: bare, headers: {} },
    { name: 'bmc-daemon', server: open, headers: {} },
    { name: 'with Basic auth', server: authenticated, headers: credentials },
    { name: 'with a session', server: authenticated, headers: await logIn(authenticated) },
  ];
  const rounds: Round[][] = servers.map(() => []);
  try {
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      for (const [index, { server, headers }] of servers.entries())
        rounds[index]?.push(await load(server, path, headers));
    }
  } finally {
    await bare.stop();
  }
  console.log(`GET of ${what}, ${connections} connections`);
  for (const [index, { name }] of servers.entries()) {
    const results = rounds[index] ?? [];
    const rate = median(results.map(({ perSecond }) => perSecond));
    const cpu = median(results.map(({ cpuUs }) => cpuUs));
    console.log(
      `  ${name.padEnd(16)} ${rate.toFixed(0).padStart(6)} requests/s  CPU ${cpu.toFixed(0).padStart(4)} us/request`,
    );
  }
  // Compares results of the same round, so that a slow phase of the host affects both.
  const [ofBare = [], ofOpen = [], ofBasic = [], ofSession = []] = rounds;
  const ratio = medianRatio(ofOpen, ofBare);
  const basic = medianRatio(ofBasic, ofOpen);
  const session = medianRatio(ofSession, ofOpen);
  console.log(
    `  ratio of the daemon to the bare server ${ratio.toFixed(2)} (goal ${goals.open}), of Basic auth to ` +
      `no auth ${basic.toFixed(2)}, of a session to no auth ${session.toFixed(2)} (goal ${goals.authenticated})`,
  );
  return ratio >= goals.open && basic >= goals.authenticated && session >= goals.authenticated;
}

const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
const started: Server[] = [];
try {
  const open = await startDaemon(folder, { authenticated: false });
  started.push(open);
  const authenticated = await startDaemon(folder, { authenticated: true });
  started.push(authenticated);
  const { body } = await fetchWhole(`${open.url}/redfish/v1/Systems`);
  // The service sends this form.
  const collection = JSON.parse(body) as { readonly Members: readonly { readonly '@odata.id': string }[] };
  const system = collection.Members[0]?.['@odata.id'];
  if (system === undefined) throw new Error('looking for a machine to read: there is none');
  const reached = [
    await compare('a system', system, open, authenticated),
    await compare('its manager', system.replace('Systems', 'Managers'), open, authenticated),
    await compare('the collection', '/redfish/v1/Systems', open, authenticated),
  ];
  process.exitCode = reached.every(Boolean) ? 0 : 1;
} finally {
  await Promise.all(started.map((server) => server.stop()));
  await rm(folder, { recursive: true });
}
