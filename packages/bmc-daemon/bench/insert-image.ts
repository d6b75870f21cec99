/**
 * Measures the time to insert an image of 300 MiB into 10 machines at once. Compares it with the time
 * of one download of the same URL to the same disk with curl. Each round measures both, so that load on the
 * host affects both. Compares the medians. A second insert into all machines but one measures only
 * the attachments, because the image is in the pool already.
 *
 *     npm run bench:image -w @rackless/bmc-daemon [-- --mib N] [--machines N] [--rounds N]
 *
 * Needs libvirtd and curl, and `npm run build` first. Starts a private libvirtd. The ratio is the time of
 * the inserts without that of the attachments, divided by the time of the download. Exits 1 if the ratio of
 * a daemon that writes into the directory of the pool exceeds the goal. The ratio of a daemon that streams
 * the image through libvirtd has no goal.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startLibvirtd, type PrivateLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { freePort } from '../../daemon/test/support/free-port.js';

const { values: flags } = parseArgs({
  options: {
    mib: { type: 'string', default: '300' },
    machines: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
  },
});
/** The highest ratio: the time of all inserts minus that of the attachments, divided by the time of a download. */
const goal = 1.3;

const run = promisify(execFile);
const packageFolder = '../../../../';
const daemonPath = fileURLToPath(new URL(`${packageFolder}bin/bmc-daemon.js`, import.meta.url));
const fileServerPath = fileURLToPath(new URL('file-server.js', import.meta.url));
const uuids = Array.from(
  { length: Number(flags.machines) },
  (_, index) => `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
);

interface Durations {
  readonly plainMs: number;
  readonly insertMs: number;
  readonly attachMs: number;
}

/** Waits until the condition is true. A condition that rejects counts as false. @throws {Error} after two minutes. */
async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    // An error means that the condition does not hold yet.
    if (await condition().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`waiting for ${what}: not there after two minutes`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function defineMachines(libvirtd: PrivateLibvirtd): Promise<void> {
  for (const [index, uuid] of uuids.entries()) {
    const file = join(libvirtd.dir, 'tmp', 'machine.xml');
    await writeFile(
      file,
      `<domain type='qemu'><name>machine-${index}</name><uuid>${uuid}</uuid><memory unit='MiB'>64</memory>
       <os><type arch='x86_64' machine='q35'>hvm</type></os>
       <devices><disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/></disk></devices></domain>`,
    );
    await run('virsh', ['--quiet', '--connect', libvirtd.uri, 'define', file]);
  }
}

async function startFileServer(file: string): Promise<{ process: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [fileServerPath, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]; // The server prints only its port.
  return { process: child, url: `http://127.0.0.1:${chunk.toString().trim()}/image.iso` };
}

async function startDaemon(
  libvirtd: PrivateLibvirtd,
  pool: string | null,
): Promise<{ process: ChildProcess; url: string }> {
  const port = await freePort();
  const config = join(libvirtd.dir, 'tmp', 'bench.conf');
  await writeFile(
    config,
    `EMULATOR_STORAGE_POOL = ${pool === null ? 'None' : `'${pool}'`}\nEMULATOR_TASK_AFTER_SECONDS = 100\n`,
  );
  const child = spawn(
    process.execPath,
    [
      ...[daemonPath, '--config', config, '--libvirt-uri', libvirtd.uri],
      ...['--interface', '127.0.0.1', '--port', String(port)],
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const url = `http://127.0.0.1:${port}`;
  await until(`the daemon at ${url}`, async () => (await fetch(`${url}/redfish/v1/Systems`)).status === 200);
  return { process: child, url };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function postAction(daemon: string, uuid: string, action: string, body: object): Promise<void> {
  const url = `${daemon}/redfish/v1/Managers/${uuid}/VirtualMedia/Cd/Actions/VirtualMedia.${action}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 204) throw new Error(`${action} of ${uuid}: ${response.status} ${await response.text()}`);
}

const insert = (daemon: string, image: string, on: readonly string[]): Promise<unknown> =>
  Promise.all(on.map((uuid) => postAction(daemon, uuid, 'InsertMedia', { Image: image, Inserted: true })));
const eject = (daemon: string, on: readonly string[]): Promise<unknown> =>
  Promise.all(on.map((uuid) => postAction(daemon, uuid, 'EjectMedia', {})));

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

async function measure(
  libvirtd: PrivateLibvirtd,
  pool: string | null,
  image: string,
  folder: string,
): Promise<Durations> {
  const daemon = await startDaemon(libvirtd, pool);
  const rounds: Durations[] = [];
  try {
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      const plain = join(folder, 'plain.iso');
      const plainMs = await timed(() => run('curl', ['--silent', '--fail', '--output', plain, image]));
      await rm(plain);
      const insertMs = await timed(() => insert(daemon.url, image, uuids));
      // Ejects the image from all machines but the first, so that it stays in the pool.
      await eject(daemon.url, uuids.slice(1));
      const attachMs = await timed(() => insert(daemon.url, image, uuids.slice(1)));
      await eject(daemon.url, uuids);
      rounds.push({ plainMs, insertMs, attachMs });
    }
  } finally {
    await stop(daemon.process);
  }
  const medianOf = (pick: (round: Durations) => number): number => median(rounds.map(pick));
  return {
    plainMs: medianOf(({ plainMs }) => plainMs),
    insertMs: medianOf(({ insertMs }) => insertMs),
    attachMs: medianOf(({ attachMs }) => attachMs),
  };
}

function report(how: string, { plainMs, insertMs, attachMs }: Durations): number {
  const ratio = (insertMs - attachMs) / plainMs;
  const ms = (value: number): string => `${value.toFixed(0).padStart(6)} ms`;
  console.log(`${flags.mib} MiB into ${uuids.length} machines, ${how}`);
  console.log(`  one plain download  ${ms(plainMs)}`);
  console.log(`  all inserts         ${ms(insertMs)}`);
  console.log(`  attach all but one  ${ms(attachMs)}`);
  console.log(
    `  ratio               ${ratio.toFixed(2).padStart(9)} ((all inserts - attachments) / download; goal ${goal})`,
  );
  return ratio;
}

const libvirtd = await startLibvirtd({ driver: 'qemu' });
const started: ChildProcess[] = [];
try {
  const folder = join(libvirtd.dir, 'tmp', 'pool');
  await mkdir(folder);
  await run('virsh', ['--quiet', '--connect', libvirtd.uri, 'pool-create-as', 'bench', 'dir', '--target', folder]);
  await defineMachines(libvirtd);
  const file = join(libvirtd.dir, 'tmp', 'image.iso');
  const handle = await open(file, 'w');
  for (let written = 0; written < Number(flags.mib); written += 1) await handle.write(randomBytes(1_048_576));
  await handle.close();
  const server = await startFileServer(file);
  started.push(server.process);
  const ratios = [
    report('written into the directory of a pool', await measure(libvirtd, 'bench', server.url, folder)),
    // Without a pool, the image goes into libvirtd's own directory. The daemon cannot see it, because
    // this libvirtd has its own mounts. So the daemon streams the image.
    report('streamed through libvirtd', await measure(libvirtd, null, server.url, folder)),
  ];
  process.exitCode = (ratios[0] ?? NaN) <= goal ? 0 : 1;
} finally {
  await Promise.all(started.map(stop));
  await libvirtd.stop();
}
