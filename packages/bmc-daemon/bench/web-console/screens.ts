/**
 * Measures screens: many guests whose picture changes 18 times a second, each with a viewer.
 *
 *     npm run bench:screens -w @rackless/bmc-daemon [-- --screens N] [--seconds N] [--rounds N]
 *
 * Needs `npm run build` first, and Debian's libvirt and QEMU. Compares the daemon with a bare bridge between
 * WebSockets and the same displays: in each round, each of them for `--seconds`. Exits 1 if it misses a goal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Hypervisor } from '@rackless/libvirt';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { inFolder, readFlags, report } from '../harness/benchmark.js';
import { cpuMs, median, startDaemon, untilListed } from '../measured-daemon.js';
import { memoryOf } from '../process-use.js';
import { openViewer } from './screen-viewer.js';

const flags = readFlags({ screens: 20, seconds: 20, rounds: 3 });

/** Maximum CPU time per KiB of picture relative to the bare bridge, and maximum memory per screen in MiB. */
const goals = { ratio: 2, memoryMiB: 2 };

/** Fills a line of the screen at each tick of the timer: sti; hlt; 80 times int 10h; the next character; again. */
const PROGRAM = 'fbb221f4b95000b40e88d0bb0700cd10e2f54280e27f80ca20ebe8';

const uuidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

const machineXml = (index: number, disk: string, socket: string): string => `<domain type='qemu'>
  <name>screen-${index}</name><uuid>${uuidOf(index)}</uuid>
  <memory unit='MiB'>16</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${disk}'/>
      <target dev='hda' bus='ide'/></disk>
    <graphics type='vnc' socket='${socket}'/><video><model type='vga'/></video><memballoon model='none'/>
  </devices>
</domain>`;

/** Starts the guests. @returns the sockets of their displays. */
async function startGuests({ uri, dir }: PrivateLibvirtd): Promise<readonly string[]> {
  const sockets = Array.from({ length: flags.screens }, (_, index) => join(dir, 'tmp', `screen-${index}.sock`));
  const hypervisor = Hypervisor.connect(uri, { callTimeoutMs: 60_000 });
  for (const [index, socket] of sockets.entries()) {
    const disk = join(dir, 'tmp', `screen-${index}.img`);
    const sector = Buffer.alloc(512);
    sector.write(PROGRAM, 'hex');
    sector.writeUInt16LE(0xaa55, 510);
    await writeFile(disk, Buffer.concat([sector, Buffer.alloc(1_048_576)]));
    const domain = await hypervisor.domainDefineXml(machineXml(index, disk, socket), 0, { timeoutMs: 60_000 });
    await domain.create();
  }
  await hypervisor.close();
  return sockets;
}

/** CPU time of the measured process, and KiB that the viewers received, for each screen and second. */
interface Cost {
  readonly cpuMs: number;
  readonly kib: number;
}

/** Watches all screens, and measures the process between them and the viewers. */
async function watch(pid: number, urlOf: (index: number) => string): Promise<Cost> {
  const viewers = await Promise.all(Array.from({ length: flags.screens }, (_, index) => openViewer(urlOf(index))));
  const bytes = (): number => viewers.reduce((sum, viewer) => sum + viewer.bytes(), 0);
  // The first pictures are complete, not changes. Waits until they have passed, so that they are not measured.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const before = { cpu: await cpuMs(pid), bytes: bytes() };
  await new Promise((resolve) => setTimeout(resolve, flags.seconds * 1000));
  const each = flags.screens * flags.seconds;
  const cost = { cpuMs: ((await cpuMs(pid)) - before.cpu) / each, kib: (bytes() - before.bytes) / 1024 / each };
  for (const viewer of viewers) viewer.close();
  return cost;
}

process.exitCode = await inFolder(async (folder) => {
  const libvirtd = await startLibvirtd({ driver: 'qemu' });
  try {
    const sockets = await startGuests(libvirtd);
    const daemon = await startDaemon(folder, libvirtd.uri);
    const script = fileURLToPath(new URL('./bare-bridge.js', import.meta.url));
    const bare = spawn(process.execPath, [script, ...sockets], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      // The program prints only its port.
      const [port] = (await once(bare.stdout.setEncoding('utf8'), 'data')) as [string];
      await untilListed(daemon, flags.screens);
      const memory = (await memoryOf(daemon.pid)).now;
      const found = { daemon: [] as Cost[], bare: [] as Cost[] };
      const ws = daemon.url.replace('http', 'ws');
      for (let round = 0; round < flags.rounds; round += 1) {
        found.bare.push(await watch(bare.pid ?? NaN, (index) => `ws://127.0.0.1:${port.trim()}/${index}`));
        found.daemon.push(
          await watch(daemon.pid, (index) => `${ws}/redfish/v1/Systems/${uuidOf(index)}/GraphicalConsole`),
        );
      }
      const grown = (await memoryOf(daemon.pid)).peak - memory;
      console.log(`${flags.screens} screens, medians of ${flags.rounds} rounds`);
      report('pictures of a screen', median(found.daemon.map(({ kib }) => kib)), ' KiB/s');
      report('pictures of a screen through the bare bridge', median(found.bare.map(({ kib }) => kib)), ' KiB/s');
      report('CPU of the daemon for a screen', median(found.daemon.map((cost) => cost.cpuMs)) / 10, ' % of a core');
      report('CPU of the bare bridge for a screen', median(found.bare.map((cost) => cost.cpuMs)) / 10, ' % of a core');
      // The load of the host differs from round to round, so the ratio compares the two values of one round.
      const ratios = found.daemon.map((cost, round) => perKib(cost) / perKib(found.bare[round]));
      const met = [
        report('CPU time of a KiB, relative to the bare bridge', median(ratios), '', goals.ratio),
        report('memory of a screen', grown / flags.screens, ' MiB', goals.memoryMiB),
      ];
      return met.every(Boolean) ? 0 : 1;
    } finally {
      bare.kill();
      await daemon.stop();
    }
  } finally {
    await libvirtd.stop();
  }
});

function perKib(cost: Cost | undefined): number {
  return cost === undefined ? NaN : cost.cpuMs / cost.kib;
}
