/**
 * Counts the libvirt calls of each operation, and of whole requests over HTTP, on the wire. Compares
 * them with the tables of docs/internals/libvirt-calls.md.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { PowerAction } from '../../src/drivers/power.js';
import type { SystemChange } from '../../src/drivers/system-change.js';
import { newFolder, openLab, type Lab } from '../events/event-lab.js';
import { CallRelay } from '../kill/call-relay.js';
import { reaches, TestHost, until, type Guest } from './host.js';

const page = join(import.meta.dirname, '../../../../docs/internals/libvirt-calls.md');

let host: TestHost;
let relay: CallRelay;
let driver: CompleteDriver;
let image: URL;
let lab: Lab;
const folder = newFolder();
beforeAll(async () => {
  host = await TestHost.start();
  relay = await CallRelay.listen(host.file('relay.sock'), host.libvirtd.socket);
  driver = await host.driver({ uri: `qemu+unix:///system?socket=${relay.path}` });
  ({ url: image } = await host.serveImage('a'));
  // The first image creates the pool.
  const guest = await host.guest();
  await insert(guest);
  await driver.media.eject(guest.uuid, 'cdrom');
  lab = await openLab(driver, folder.path);
});
afterAll(async () => {
  await lab.close();
  folder.remove();
  await driver.close();
  await relay.close();
  await host.stop();
});

interface Operation {
  readonly title: string;
  /** Whether the machine runs when the operation begins. */
  readonly running?: boolean;
  readonly before?: (guest: Guest) => Promise<void>;
  readonly run: (guest: Guest) => Promise<void>;
}

const insert = ({ uuid }: Guest): Promise<void> =>
  driver.media.insert(uuid, 'cdrom', { url: image, writeProtected: true, verifyCertificate: false });
const change =
  (parts: SystemChange) =>
  ({ uuid }: Guest): Promise<void> =>
    driver.change(uuid, parts);
const power =
  (action: PowerAction) =>
  ({ uuid }: Guest): Promise<void> =>
    driver.power(uuid, action);
const once = { enabled: 'once', target: 'cdrom' } as const;
const httpBoot = ({ uuid }: Guest): Promise<void> =>
  driver.change(uuid, {
    boot: { ...once, target: 'http', httpUri: image.href },
    cd: { image: { url: image, writeProtected: true, verifyCertificate: false } },
  });
const several = { indicator: 'lit', assetTag: 'shelf 1', autostart: true, boot: once } as const;
const running = true;
const four = {
  IndicatorLED: 'Lit',
  AssetTag: 'shelf 1',
  PowerRestorePolicy: 'AlwaysOn',
  Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' },
};

const operations: readonly Operation[] = [
  { title: 'PATCH AssetTag and IndicatorLED', run: change({ assetTag: 'shelf 1', indicator: 'off' }) },
  { title: 'PATCH AssetTag and IndicatorLED', running, run: change({ assetTag: 'shelf 1', indicator: 'off' }) },
  { title: 'PATCH PowerRestorePolicy', run: change({ autostart: true }) },
  { title: 'PATCH Boot, once', run: change({ boot: once }) },
  { title: 'PATCH Boot, once', running, run: change({ boot: once }) },
  { title: 'PATCH Boot, continuous', running, run: change({ boot: { ...once, enabled: 'continuous' } }) },
  { title: 'PATCH BootOrder', running, run: change({ bootOrder: ['disk:sda', 'disk:vda'] }) },
  { title: 'PATCH of four parts', run: change(several) },
  { title: 'PATCH of four parts', running, run: change(several) },
  { title: 'PATCH HttpBootUri', run: httpBoot },
  { title: 'PATCH HttpBootUri', running, run: httpBoot },
  { title: 'PATCH Bios/Settings', run: change({ settings: { memoryMiB: 16 } }) },
  { title: 'SimpleUpdate', run: change({ firmwareVersion: '1.0.1' }) },
  { title: 'InsertMedia', run: insert },
  { title: 'InsertMedia', running, run: insert },
  { title: 'EjectMedia', before: insert, run: ({ uuid }) => driver.media.eject(uuid, 'cdrom') },
  { title: 'EjectMedia', running, before: insert, run: ({ uuid }) => driver.media.eject(uuid, 'cdrom') },
  { title: 'On', run: power('create') },
  { title: 'On with a one-time boot', before: change({ boot: once }), run: power('create') },
  { title: 'On with settings that wait', before: change({ settings: { memoryMiB: 16 } }), run: power('create') },
  { title: 'ForceOff', running, run: power('destroy') },
  { title: 'GracefulShutdown', running, run: power('shutdown') },
  { title: 'PowerCycle', running, run: power('cycle') },
  { title: 'ForceRestart', running, run: power('reset') },
  {
    title: 'ForceRestart into a new process',
    running,
    before: change({ firmwareVersion: '1.0.1' }),
    run: power('reset'),
  },
  { title: 'GracefulRestart', running, run: power('reboot') },
  { title: 'Nmi', running, run: power('injectNmi') },
  { title: 'Pause', running, run: power('suspend') },
];

const http =
  (method: string, path: string, body?: object) =>
  async ({ uuid }: Guest): Promise<void> => {
    const { status, text } = await lab.client.send(
      method,
      path.replace('{system}', `/redfish/v1/Systems/${uuid}`),
      body === undefined ? {} : { body },
    );
    if (status !== 200 && status !== 204) throw new Error(`${method} ${path}: ${status} ${text}`);
  };
const system = '{system}';
const drive = `${system}/VirtualMedia/Cd`;
const patch = (body: object): Operation['run'] => http('PATCH', system, body);
const reset = (ResetType: string): Operation['run'] =>
  http('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType });
const boot = (enabled: string): object => ({
  Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: enabled },
});
const httpInsert: Operation['run'] = (guest) =>
  http('POST', `${drive}/Actions/VirtualMedia.InsertMedia`, { Image: image.href })(guest);
const httpEject = http('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {});

/** Whole requests, from the first read to the answer. */
const requests: readonly Operation[] = [
  { title: 'GET Systems', run: http('GET', '/redfish/v1/Systems') },
  { title: 'GET System', run: http('GET', system) },
  { title: 'GET System', running, run: http('GET', system) },
  { title: 'PATCH IndicatorLED', run: patch({ IndicatorLED: 'Lit' }) },
  { title: 'PATCH IndicatorLED', running, run: patch({ IndicatorLED: 'Lit' }) },
  { title: 'PATCH AssetTag', run: patch({ AssetTag: 'shelf 1' }) },
  { title: 'PATCH AssetTag', running, run: patch({ AssetTag: 'shelf 1' }) },
  { title: 'PATCH PowerRestorePolicy', run: patch({ PowerRestorePolicy: 'AlwaysOn' }) },
  { title: 'PATCH PowerRestorePolicy', running, run: patch({ PowerRestorePolicy: 'AlwaysOn' }) },
  { title: 'PATCH Boot, once', run: patch(boot('Once')) },
  { title: 'PATCH Boot, once', running, run: patch(boot('Once')) },
  { title: 'PATCH Boot, continuous', run: patch(boot('Continuous')) },
  { title: 'PATCH Boot, continuous', running, run: patch(boot('Continuous')) },
  { title: 'PATCH BootOrder', run: patch({ Boot: { BootOrder: ['Cd.sda', 'Hdd.vda'] } }) },
  { title: 'PATCH BootOrder', running, run: patch({ Boot: { BootOrder: ['Cd.sda', 'Hdd.vda'] } }) },
  { title: 'PATCH of four parts', run: patch(four) },
  { title: 'PATCH of four parts', running, run: patch(four) },
  { title: 'PATCH Bios/Settings', run: http('PATCH', `${system}/Bios/Settings`, { Attributes: { QuietBoot: false } }) },
  {
    title: 'PATCH Bios/Settings',
    running,
    run: http('PATCH', `${system}/Bios/Settings`, { Attributes: { QuietBoot: false } }),
  },
  { title: 'InsertMedia', run: httpInsert },
  { title: 'InsertMedia', running, run: httpInsert },
  { title: 'EjectMedia', before: insert, run: httpEject },
  { title: 'EjectMedia', running, before: insert, run: httpEject },
  { title: 'Reset On', run: reset('On') },
  { title: 'Reset ForceOff', running, run: reset('ForceOff') },
  { title: 'Reset ForceRestart', running, run: reset('ForceRestart') },
];

/**
 * Runs an operation on a new machine.
 * @returns its row of the table.
 */
async function rowOf(
  table: readonly string[],
  { title, running: runs = false, before, run }: Operation,
): Promise<string> {
  const guest = await host.guest({ cdrom: await host.drive('cd') });
  if (runs) {
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
  }
  if (/Media|Http/.test(title)) await host.virsh('change-media', guest.name, 'sda', '--eject', '--config');
  if (/Media|Http/.test(title) && runs) await host.virsh('change-media', guest.name, 'sda', '--eject', '--live');
  await before?.(guest);
  // The first change of a machine reads what an earlier daemon left.
  await driver.change(guest.uuid, {});
  await driver.getSystem(guest.uuid);
  const calls: string[] = [];
  const changes: string[] = [];
  relay.decideBy((call) => {
    calls.push(call.name);
    if (call.changes) changes.push(call.name);
    return 'forward';
  });
  await run(guest);
  const row = (): string => rendered({ title, state: runs ? 'running' : 'off', calls, changes });
  // An event may cause a read after the answer.
  await until('the calls of the table', () => Promise.resolve(table.includes(row()))).catch(() => undefined);
  const last = row();
  relay.decideBy(() => 'forward');
  // This also cancels a restart in progress.
  await driver.power(guest.uuid, 'destroy');
  await reaches(driver, guest, 'shutoff');
  await until('the machine to be gone', async () => {
    await host.virsh('undefine', guest.name);
    return true;
  });
  return last;
}

interface Counted {
  readonly title: string;
  readonly state: 'running' | 'off';
  readonly calls: readonly string[];
  readonly changes: readonly string[];
}

function rendered({ title, state, calls, changes }: Counted): string {
  const count = (name: string): string => String(calls.filter((call) => call === name).length);
  const others = changes.filter((name) => name !== 'domainDefineXmlFlags' && !name.startsWith('storage'));
  const steps = [...new Set(others)].map((name) => {
    const times = others.filter((other) => other === name).length;
    return `${name.replace(/^domain/, '')}${times === 1 ? '' : ` × ${times}`}`;
  });
  const cells = [title, state, count('domainGetXmlDesc'), count('domainDefineXmlFlags'), steps.join(', ')];
  return `| ${cells.join(' | ')} |`.replace('|  |', '| |');
}

/** Returns the rows of the tables, in order: those of the driver and those of whole requests. */
async function documented(): Promise<{ readonly driver: readonly string[]; readonly http: readonly string[] }> {
  const text = (await readFile(page, 'utf8')).replaceAll(/ +/g, ' ');
  const rows = (part: string): readonly string[] =>
    part.split('\n').filter((line) => /^\| .* \| (off|running) \|/.test(line));
  const [before = '', after = ''] = text.split('\n## A request over HTTP\n');
  return { driver: rows(before), http: rows(after) };
}

describe('the calls of an operation', () => {
  it('are those of the table in the documentation', async () => {
    const { driver: table } = await documented();
    const rows: string[] = [];
    for (const operation of operations) rows.push(await rowOf(table, operation));
    expect(rows).toEqual(table);
  });

  it('and of a whole request over HTTP are those of the second table', async () => {
    const { http: table } = await documented();
    const rows: string[] = [];
    for (const operation of requests) rows.push(await rowOf(table, operation));
    expect(rows).toEqual(table);
  });
});
