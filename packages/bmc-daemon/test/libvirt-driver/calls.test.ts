/**
 * Counts the libvirt calls of each operation, and of whole requests over HTTP, on the wire.
 * Compares the counted calls with the tables of docs/internals/libvirt-calls.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { PowerAction } from '../../src/drivers/power.js';
import { resetTypeNames } from '../../src/resources/systems/reset.js';
import type { SystemChange } from '../../src/drivers/system-change.js';
import { newFolder, openLab, type Lab } from '../events/event-lab.js';
import { CallRelay } from '../kill/call-relay.js';
import type { Sent } from '../support/client.js';
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
  // The first image creates the pool, so that no counted operation does.
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
  /** Whether the machine has UEFI firmware. It then does not boot the disk. */
  readonly uefi?: boolean;
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

/** Requests of the table, such as `PATCH /redfish/v1/Systems/x`. */
const requested: string[] = [];

function http(method: string, path: string, body?: object | ((guest: Guest) => object)): Operation['run'] {
  const pathOf = (uuid: string): string =>
    path.replace('{system}', `/redfish/v1/Systems/${uuid}`).replace('{uuid}', uuid);
  requested.push(`${method} ${pathOf('x')}`);
  return async (guest) => {
    const sent = typeof body === 'function' ? (body as (guest: Guest) => object)(guest) : body;
    const { status, text } = await lab.client.send(
      method,
      pathOf(guest.uuid),
      sent === undefined ? {} : { body: sent },
    );
    // 202: a task, whose calls the table counts too.
    if (![200, 201, 202, 204].includes(status)) throw new Error(`${method} ${path}: ${status} ${text}`);
  };
}
const system = '{system}';
const drive = `${system}/VirtualMedia/Cd`;
const patch = (body: object): Operation['run'] => http('PATCH', system, body);
const reset = (ResetType: string): Operation['run'] =>
  http('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType });
const boot = (enabled: string): object => ({
  Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: enabled },
});
const theImage = (): object => ({ Image: image.href });
const httpInsert = http('POST', `${drive}/Actions/VirtualMedia.InsertMedia`, theImage);
const httpEject = http('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {});

const uploads = `${drive}/Oem/Rackless/Uploads`;
const tus = { 'Tus-Resumable': '1.0.0' };
requested.push(`POST /redfish/v1/Systems/x/VirtualMedia/Cd/Oem/Rackless/Uploads`);
for (const method of ['HEAD', 'PATCH', 'DELETE'])
  requested.push(`${method} /redfish/v1/Systems/x/VirtualMedia/Cd/Oem/Rackless/Uploads/1`);

/** Announces an upload of 4 bytes, sends them unless the upload is cancelled, and asks how many arrived. */
const upload =
  ({ isCancelled = false } = {}): Operation['run'] =>
  async ({ uuid }) => {
    const ask = async (method: string, path: string, sent: Sent, expected: number) => {
      const { status, headers, text } = await lab.client.send(method, path, sent);
      if (status !== expected) throw new Error(`${method} ${path}: ${status} ${text}`);
      return headers;
    };
    const uri = uploads.replace(system, `/redfish/v1/Systems/${uuid}`);
    const metadata = `filename ${btoa('own.iso')}`;
    const begin = { headers: { ...tus, 'Upload-Length': '4', 'Upload-Metadata': metadata } };
    const { location = '' } = await ask('POST', uri, begin, 201);
    await ask('HEAD', location, { headers: tus }, 200);
    const headers = { ...tus, 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' };
    if (isCancelled) await ask('DELETE', location, { headers: tus }, 204);
    else await ask('PATCH', location, { headers, body: 'data' }, 204);
  };

const httpBootUri = http('PATCH', system, () => ({
  Boot: { BootSourceOverrideTarget: 'UefiHttp', BootSourceOverrideEnabled: 'Once', HttpBootUri: image.href },
}));
const patchImage = http('PATCH', drive, theImage);
const volumes = `${system}/Storage/virtio/Volumes`;
const newVolume = http('POST', volumes, { Name: 'data', CapacityBytes: 1_048_576 });
const simpleUpdate = http('POST', '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate', ({ uuid }) => ({
  ImageURI: image.href,
  Targets: [`/redfish/v1/UpdateService/FirmwareInventory/BIOS-${uuid}`],
}));
const resetKeys = { ResetKeysType: 'ResetAllKeysToDefault' };
const uefi = true;

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
  { title: 'Upload to VirtualMedia', run: upload() },
  { title: 'Upload to VirtualMedia', running, run: upload() },
  { title: 'Upload to VirtualMedia, cancelled', run: upload({ isCancelled: true }) },
  { title: 'EjectMedia', before: insert, run: httpEject },
  { title: 'EjectMedia', running, before: insert, run: httpEject },
  { title: 'Reset On', run: reset('On') },
  { title: 'Reset ForceOff', running, run: reset('ForceOff') },
  { title: 'Reset ForceRestart', running, run: reset('ForceRestart') },
  { title: 'Reset GracefulShutdown', running, run: reset('GracefulShutdown') },
  { title: 'Reset GracefulRestart', running, run: reset('GracefulRestart') },
  { title: 'Reset PowerCycle', running, run: reset('PowerCycle') },
  { title: 'Reset PushPowerButton', run: reset('PushPowerButton') },
  { title: 'Reset PushPowerButton', running, run: reset('PushPowerButton') },
  { title: 'Reset Nmi', running, run: reset('Nmi') },
  { title: 'Reset Pause', running, run: reset('Pause') },
  { title: 'Reset Resume', running, before: power('suspend'), run: reset('Resume') },
  { title: 'PATCH HttpBootUri', uefi, run: httpBootUri },
  { title: 'PATCH HttpBootUri', uefi, running, run: httpBootUri },
  { title: 'PATCH BootOption', run: http('PATCH', `${system}/BootOptions/Cd.sda`, { BootOptionEnabled: true }) },
  { title: 'ResetBios', run: http('POST', `${system}/Bios/Actions/Bios.ResetBios`, {}) },
  { title: 'PATCH SecureBoot', uefi, run: http('PATCH', `${system}/SecureBoot`, { SecureBootEnable: true }) },
  { title: 'ResetKeys', uefi, run: http('POST', `${system}/SecureBoot/Actions/SecureBoot.ResetKeys`, resetKeys) },
  { title: 'SimpleUpdate', run: simpleUpdate },
  { title: 'SimpleUpdate', running, run: simpleUpdate },
  { title: 'PATCH VirtualMedia, Image', run: patchImage },
  { title: 'PATCH VirtualMedia, Image', running, run: patchImage },
  { title: 'PATCH VirtualMedia, VerifyCertificate', run: http('PATCH', drive, { VerifyCertificate: true }) },
  { title: 'PATCH Chassis', run: http('PATCH', '/redfish/v1/Chassis/{uuid}', { IndicatorLED: 'Lit' }) },
  {
    title: 'PATCH Drive',
    run: http('PATCH', `${system}/Storage/virtio/Drives/vda`, { LocationIndicatorActive: true }),
  },
  { title: 'POST Volumes', run: newVolume },
  { title: 'POST Volumes', running, run: newVolume },
  { title: 'DELETE Volume', before: newVolume, run: http('DELETE', `${volumes}/vdb`) },
];

/** Lets libvirt select UEFI firmware without Secure Boot. */
async function giveUefi({ name, xml }: Guest): Promise<void> {
  const choice = `<firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>`;
  const changed = xml.replace('<os>', `<os firmware='efi'>`).replace('</os>', `${choice}</os>`);
  await writeFile(host.file(`${name}.xml`), changed.replace(`<memory unit='MiB'>16`, `<memory unit='MiB'>128`));
  await host.virsh('define', host.file(`${name}.xml`));
}

/**
 * Runs an operation on a new machine.
 * @returns its row of the table.
 */
async function rowOf(
  table: readonly string[],
  { title, running: runs = false, uefi: hasUefi = false, before, run }: Operation,
): Promise<string> {
  const guest = await host.guest({ cdrom: await host.drive('cd') });
  if (hasUefi) await giveUefi(guest);
  if (runs) {
    await driver.power(guest.uuid, 'create');
    if (!hasUefi) await guest.serial.reaches(2);
  }
  if (/Media|Http/.test(title)) await host.virsh('change-media', guest.name, 'sda', '--eject', '--config');
  if (/Media|Http/.test(title) && runs) await host.virsh('change-media', guest.name, 'sda', '--eject', '--live');
  await before?.(guest);
  // The first change of a machine completes operations from before the start of the daemon.
  await driver.change(guest.uuid, {});
  await driver.getSystem(guest.uuid);
  const calls: string[] = [];
  const changes: string[] = [];
  relay.decideBy((call) => {
    // The parts of an upload are messages of its call.
    if (!call.name.endsWith(' part')) calls.push(call.name);
    if (call.changes) changes.push(call.name);
    return 'forward';
  });
  await run(guest);
  const row = (): string => rendered({ title, state: runs ? 'running' : 'off', calls, changes });
  // An event may cause a read after the answer.
  await until('the calls of the table', () => Promise.resolve(table.includes(row()))).catch(() => undefined);
  const last = row();
  relay.decideBy(() => 'forward');
  // The power-off also cancels a restart in progress.
  await driver.power(guest.uuid, 'destroy');
  await reaches(driver, guest, 'shutoff');
  await until('the machine to be gone', async () => {
    await host.virsh('undefine', guest.name, ...(hasUefi ? ['--nvram'] : []));
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
  const cells = [
    title,
    state,
    String(calls.length),
    count('domainGetXmlDesc'),
    count('domainDefineXmlFlags'),
    steps.join(', '),
  ];
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

/** Writes that the table leaves out, with the reason. */
const leftOut: readonly (readonly [RegExp, string])[] = [
  [/ \/redfish\/v1\/Managers\/\{systemId\}\/VirtualMedia\//, 'the same as below Systems'],
  [/ PATCH \/redfish\/v1\/Chassis\/\{chassisId\}\/Drives\//, 'the same as below Systems'],
  [/\/VirtualMedia\/\{mediaId\}\/Certificates/, 'changes the metadata, as PATCH of VerifyCertificate'],
  [/\/LogServices\//, 'changes files of the daemon'],
  [/RacklessComputerSystem\.OpenConsole$/, 'only for servers of a cloud'],
  [/ \/redfish\/v1\/Managers\/\{managerId\}/, 'changes files and addresses of the daemon'],
];
/** `ForceOn` is `On`; `Suspend` needs an agent in the guest. */
const otherResets = ['ForceOn', 'Suspend'];

describe('the table of requests', () => {
  it('has each write that a client can send to a machine, except those of `leftOut`', async () => {
    const resources = await readFile(join(import.meta.dirname, '../../../../docs/reference/resources.md'), 'utf8');
    const rows = [
      ...resources.matchAll(/^\| `(\/redfish\/v1\/(?:Systems|Chassis|Managers|UpdateService)\/?\S*)` \| (\w+) /gm),
    ];
    const writes = rows
      .filter(([, , method]) => method !== 'GET')
      .map(([, uri = '', method = '']) => ({ uri, method }));
    expect(writes.length).toBeGreaterThan(20);
    const missing = writes
      .filter(({ uri, method }) => {
        const pattern = new RegExp(`^${method} ${uri.replace(/\{\w+\}/g, '[^/]+')}$`);
        return !requested.some((request) => pattern.test(request));
      })
      .map(({ uri, method }) => ` ${method} ${uri}`);
    expect(missing.filter((write) => !leftOut.some(([pattern]) => pattern.test(write)))).toEqual([]);
  });

  it('has each type of reset except those of `otherResets`', () => {
    const shown = requests.flatMap(({ title }) => /^Reset (\w+)$/.exec(title)?.[1] ?? []);
    expect(resetTypeNames.filter((type) => !shown.includes(type))).toEqual(otherResets);
  });
});

describe('the calls of an operation', () => {
  it('are those of the first table in the documentation', async () => {
    const { driver: table } = await documented();
    const rows: string[] = [];
    for (const operation of operations) rows.push(await rowOf(table, operation));
    expect(rows).toEqual(table);
  });

  it('are those of the second table for a whole request over HTTP', async () => {
    const { http: table } = await documented();
    const rows: string[] = [];
    for (const operation of requests) rows.push(await rowOf(table, operation));
    expect(rows).toEqual(table);
  });
});

describe('a new connection', () => {
  it('makes the driver read machines before a client does', async () => {
    await host.guest();
    const calls: string[] = [];
    relay.decideBy(({ name }) => {
      calls.push(name);
      return 'forward';
    });
    await host.driver({ uri: `qemu+unix:///system?socket=${relay.path}` });
    // Only a reader of the machine asks for the size of its disk.
    await until('a read', () => Promise.resolve(calls.includes('domainGetBlockInfo')));
    relay.decideBy(() => 'forward');
  });

  it('makes the driver read no machine that clients do not see', async () => {
    await host.guest();
    await host.guest();
    const guests = await driver.listSystems();
    // The driver reads the machines in the order of the list, so it would read the others first.
    const last = guests.at(-1)?.uuid ?? '';
    const read = new Set<string>();
    relay.decideBy(({ name, concerns }) => {
      // Only a reader of the machine asks for the size of its disk.
      if (name === 'domainGetBlockInfo') for (const { uuid } of guests) if (concerns(uuid)) read.add(uuid);
      return 'forward';
    });
    const only = await host.driver({
      uri: `qemu+unix:///system?socket=${relay.path}`,
      isServed: ({ uuid }) => uuid === last,
    });
    await until('a read', () => Promise.resolve(read.has(last)));
    await only.close();
    relay.decideBy(() => 'forward');
    expect([...read]).toEqual([last]);
  });
});
