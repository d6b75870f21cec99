/**
 * Measures the worst requests: CPU time of the daemon for each, against a bare `node:http` server
 * that reads and parses the same bytes in the same run. hostile-shapes.ts describes the requests.
 *
 *     npm run bench:hostile -w @rackless/bmc-daemon [-- --requests N] [--only TEXT]
 *
 * Sends each request `--requests` times (default: 20). `--only` selects the requests whose names
 * contain its text. Needs `npm run build` first. Exits 1 if a request costs more than 50 ms on average.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { hash } from 'bcrypt';
import { freePort } from '../../daemon/test/support/free-port.js';
import { bodies, headersAndPaths, type HostileRequest } from './hostile-shapes.js';

const { values: flags } = parseArgs({
  options: { requests: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
});
const requests = Number(flags.requests);
/** The goal in milliseconds of CPU time per request. */
const goal = 50;

const daemonPath = fileURLToPath(new URL('../../../../bin/bmc-daemon.js', import.meta.url));
const parsingPath = fileURLToPath(new URL('parsing-server.js', import.meta.url));

interface Server {
  readonly process: ChildProcess;
  readonly port: number;
}

async function startDaemon(folder: string, options: { readonly authenticated: boolean }): Promise<Server> {
  const port = await freePort();
  const config = join(folder, `${port}.conf`);
  const passwords = join(folder, `${port}.htpasswd`);
  await writeFile(passwords, `admin:${await hash('bench', 4)}\n`, { mode: 0o600 });
  const lines = [`EMULATOR_STATE_DIR = '${folder}/${port}'`, `EMULATOR_AUTH_FILE = '${passwords}'`];
  await writeFile(config, `${lines.slice(0, options.authenticated ? 2 : 1).join('\n')}\n`);
  const child = spawn(
    process.execPath,
    [daemonPath, '--config', config, '--interface', '127.0.0.1', '--port', String(port), '--fake'],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const deadline = Date.now() + 60_000;
  while (!(await isUp(port))) {
    if (Date.now() > deadline) throw new Error(`waiting for the daemon at port ${port}: not there after 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { process: child, port };
}

async function isUp(port: number): Promise<boolean> {
  try {
    return (await send(port, { name: '', method: 'GET', path: '/healthz' })).status === 200;
  } catch {
    // The daemon does not listen yet.
    return false;
  }
}

async function startParsing(): Promise<Server> {
  const child = spawn(process.execPath, [parsingPath], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]; // The server prints only its port.
  return { process: child, port: Number(chunk.toString()) };
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

interface Answer {
  readonly status: number;
  readonly bytes: number;
}

function send(port: number, { method, path, body = '', headers = {} }: HostileRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent }, (incoming) => {
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => (bytes += chunk.length));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, bytes }));
    });
    outgoing.on('error', reject);
    if (body !== '') {
      outgoing.setHeader('Content-Length', Buffer.byteLength(body));
      if (headers['Content-Type'] === undefined) outgoing.setHeader('Content-Type', 'application/json');
    }
    outgoing.end(body);
  });
}

/**
 * Returns the used CPU time of a process in milliseconds.
 * @see proc_pid_stat(5)
 */
async function cpuTimeMs({ process: { pid } }: Server): Promise<number> {
  const stat = await readFile(`/proc/${pid ?? 'none'}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

interface Cost extends Answer {
  readonly cpuMs: number;
}

async function costOf(server: Server, shape: HostileRequest): Promise<Cost> {
  // The first requests make the daemon compile its code, so the measurement excludes them.
  for (let warm = 0; warm < 3; warm += 1) await send(server.port, shape);
  const before = await cpuTimeMs(server);
  let answer: Answer = { status: 0, bytes: 0 };
  for (let sent = 0; sent < requests; sent += 1) answer = await send(server.port, shape);
  return { ...answer, cpuMs: ((await cpuTimeMs(server)) - before) / requests };
}

/** Returns the URI of the first member of a collection. */
async function memberOf(port: number, collection: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${collection}`);
  // The schema requires this property.
  const { Members } = (await answer.json()) as { readonly Members: readonly { readonly '@odata.id': string }[] };
  const [member] = Members;
  if (member === undefined) throw new Error(`looking for a member of ${collection}: there is none`);
  return member['@odata.id'];
}

async function measure(
  title: string,
  server: Server,
  bare: Server,
  shapes: readonly HostileRequest[],
): Promise<boolean> {
  console.log(`\n${title}: ms of CPU for each request`);
  console.log(`  ${'request'.padEnd(52)} status   bytes  daemon   bare   ratio`);
  let isReached = true;
  for (const shape of shapes.filter(({ name }) => name.includes(flags.only))) {
    const cost = await costOf(server, shape);
    const plain = await costOf(bare, shape);
    if (cost.cpuMs > goal) isReached = false;
    const ratio = plain.cpuMs === 0 ? '-' : (cost.cpuMs / plain.cpuMs).toFixed(1);
    console.log(
      `  ${shape.name.padEnd(52)} ${String(cost.status).padStart(6)} ${String(cost.bytes).padStart(7)} ` +
        `${cost.cpuMs.toFixed(1).padStart(7)} ${plain.cpuMs.toFixed(1).padStart(6)} ${ratio.padStart(7)}` +
        (cost.cpuMs > goal ? `  above ${goal} ms` : ''),
    );
  }
  return isReached;
}

const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
const started: Server[] = [];
try {
  const open = await startDaemon(folder, { authenticated: false });
  started.push(open);
  const guarded = await startDaemon(folder, { authenticated: true });
  started.push(guarded);
  const bare = await startParsing();
  started.push(bare);
  const system = await memberOf(open.port, '/redfish/v1/Systems');
  const manager = await memberOf(open.port, '/redfish/v1/Managers');
  const interfaceUri = await memberOf(open.port, `${manager}/EthernetInterfaces`);
  const reached = [
    await measure('Bodies, without a password file', open, bare, bodies(system, interfaceUri)),
    await measure('Headers, paths and queries', open, bare, headersAndPaths(system)),
    await measure('Without credentials, with a password file', guarded, bare, [
      ...bodies(system, interfaceUri),
      ...headersAndPaths(system),
    ]),
  ];
  console.log(
    reached.every(Boolean)
      ? `\nEvery request costs at most ${goal} ms.`
      : `\nNot every request costs at most ${goal} ms.`,
  );
  process.exitCode = reached.every(Boolean) ? 0 : 1;
} finally {
  agent.destroy();
  for (const { process: child } of started) {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
  await rm(folder, { recursive: true });
}
