/** Operations that make several calls to libvirt, each with the state that it starts from. */
import { until } from '../libvirt-driver/host.js';
import type { KillLab } from './kill-lab.js';

/** An operation during which the daemon is killed, or libvirt rejects a call. */
export interface Operation {
  readonly title: string;
  /** Prepares the machine for the operation. Default: the machine is off and untouched. */
  readonly before?: (lab: KillLab) => Promise<void>;
  /** The requests of the operation. The promise resolves when they are complete. */
  readonly run: (lab: KillLab) => Promise<void>;
  /** Whether the default test run includes the operation. */
  readonly always?: boolean;
}

const once = { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' };
const running = (lab: KillLab): Promise<void> => lab.boot();
const reset = (type: string) => (lab: KillLab) => lab.resetSystem(type);
const patch = (body: object) => (lab: KillLab) => lab.request('PATCH', lab.path, body);
const setPendingBios = (lab: KillLab): Promise<void> =>
  lab.request('PATCH', `${lab.path}/Bios/Settings`, { Attributes: { NumCores: 2 } });
const update = (lab: KillLab): Promise<void> =>
  lab.request('POST', '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate', {
    ImageURI: 'http://127.0.0.1:1/firmware-2.0.0.bin',
    Targets: [lab.path],
  });
const inOrder =
  (...steps: readonly ((lab: KillLab) => Promise<void>)[]) =>
  async (lab: KillLab): Promise<void> => {
    for (const step of steps) await step(lab);
  };
const save = async (lab: KillLab): Promise<void> => {
  await lab.virsh('managedsave', lab.name);
};
const saved = inOrder(running, save);
const media = (lab: KillLab, drive: string, action: string): string =>
  `${lab.manager}/VirtualMedia/${drive}/Actions/VirtualMedia.${action}`;
const insert = (drive: string) => (lab: KillLab) =>
  lab.request('POST', media(lab, drive, 'InsertMedia'), { Image: lab.images.url('a.iso') });
const eject = (drive: string) => (lab: KillLab) => lab.request('POST', media(lab, drive, 'EjectMedia'), {});
const isRunning = async (lab: KillLab): Promise<boolean> =>
  (await lab.virsh('domstate', lab.name)).trim() === 'running';

/** Waits for a restart that installs firmware; returns early if the daemon was killed. */
const untilUpdated = (lab: KillLab): Promise<void> =>
  until(
    'the machine to restart',
    async () => {
      if (lab.isKilled) return true;
      const { BiosVersion } = (await lab.bmc.get(lab.path)) as { BiosVersion: unknown }; // The schema requires this form.
      return BiosVersion === '2.0.0' && (await isRunning(lab));
    },
    600_000,
  );

/** Power actions, by Redfish's reset types. */
const power: readonly Operation[] = [
  { title: 'On', run: reset('On') },
  {
    title: 'On with a one-time boot',
    before: inOrder(insert('Cd'), patch({ Boot: once })),
    run: reset('On'),
    always: true,
  },
  {
    title: 'On with settings and firmware that wait',
    before: inOrder(setPendingBios, update),
    run: reset('On'),
    always: true,
  },
  {
    title: 'On from a saved state, after an image was inserted',
    before: inOrder(saved, insert('Cd')),
    run: reset('On'),
  },
  { title: 'ForceOff', before: running, run: reset('ForceOff') },
  { title: 'PowerCycle', before: running, run: reset('PowerCycle'), always: true },
  { title: 'PowerCycle of a saved machine', before: saved, run: reset('PowerCycle') },
  {
    title: 'ForceRestart into a new process',
    before: inOrder(running, update),
    run: reset('ForceRestart'),
    always: true,
  },
  {
    title: 'GracefulRestart into a new process',
    before: inOrder(running, update),
    run: inOrder(reset('GracefulRestart'), untilUpdated),
  },
];

const httpBoot = (image: string) => (lab: KillLab) =>
  lab.request('PATCH', lab.path, {
    ...parts,
    Boot: {
      ...once,
      BootSourceOverrideTarget: 'UefiHttp',
      BootSourceOverrideMode: 'UEFI',
      HttpBootUri: lab.images.url(image),
    },
  });
const bootMode = (mode: string) => patch({ Boot: { BootSourceOverrideMode: mode } });
const uefi = (lab: KillLab): Promise<void> => lab.makeUefi();
const parts = { AssetTag: 'shelf 1', IndicatorLED: 'Blinking', PowerRestorePolicy: 'AlwaysOn' };

/** Changes of the properties, the settings and the firmware of the machine. */
const changes: readonly Operation[] = [
  { title: 'PATCH of one part', run: patch({ AssetTag: 'shelf 1' }) },
  { title: 'PATCH of several parts, running', before: running, run: patch({ ...parts, Boot: once }), always: true },
  { title: 'PATCH of several parts with an HTTP boot, off', run: httpBoot('a.iso') },
  { title: 'PATCH of several parts with an HTTP boot, running', before: running, run: httpBoot('a.iso'), always: true },
  {
    title: 'PATCH of several parts with another HTTP boot, running',
    before: inOrder(running, httpBoot('a.iso')),
    run: httpBoot('b.iso'),
  },
  {
    title: 'PATCH of BootOrder, running',
    before: running,
    run: patch({ Boot: { BootOrder: ['Cd.sda', 'Hdd.vda'] } }),
    always: true,
  },
  { title: 'PATCH of settings', run: setPendingBios },
  { title: 'SimpleUpdate', run: update },
  { title: 'PATCH of the boot mode to UEFI', run: bootMode('UEFI'), always: true },
  { title: 'PATCH of the boot mode to legacy', before: uefi, run: bootMode('Legacy') },
  {
    title: 'PATCH of the boot mode back to UEFI',
    before: inOrder(uefi, bootMode('Legacy')),
    run: bootMode('UEFI'),
  },
];

/** Changes of UEFI variables. If such a change fails, the next start of the machine changes the variables. */
const variables: readonly Operation[] = [
  {
    title: 'PATCH of SecureBoot, off',
    before: uefi,
    run: (lab) => lab.request('PATCH', `${lab.path}/SecureBoot`, { SecureBootEnable: true }),
  },
];

/** Inserts and ejects of images. */
const images: readonly Operation[] = ['Cd', 'Usb'].flatMap((drive) => [
  { title: `InsertMedia ${drive}, off`, run: insert(drive) },
  { title: `InsertMedia ${drive}, running`, before: running, run: insert(drive), always: drive === 'Cd' },
  { title: `EjectMedia ${drive}, off`, before: insert(drive), run: eject(drive) },
  {
    title: `EjectMedia ${drive}, running`,
    before: inOrder(running, insert(drive)),
    run: eject(drive),
    always: drive === 'Cd',
  },
]);

const volumes = (lab: KillLab): string => `${lab.path}/Storage/scsi/Volumes`;
const create = (lab: KillLab): Promise<void> =>
  lab.request('POST', volumes(lab), { CapacityBytes: 1_048_576, Name: 'data' });
const remove = async (lab: KillLab): Promise<void> => {
  const { Members: members } = (await lab.bmc.get(volumes(lab))) as { Members: readonly { '@odata.id': string }[] };
  // `sdx` is in the machine's own definition.
  const made = members.find(({ '@odata.id': path }) => !path.endsWith('/sdx'));
  await lab.request('DELETE', made?.['@odata.id'] ?? '');
};

/** Creations and deletions of volumes. */
const disks: readonly Operation[] = [
  { title: 'POST of a volume, off', run: create },
  { title: 'POST of a volume, running', before: running, run: create },
  { title: 'DELETE of a volume, off', before: create, run: remove },
  { title: 'DELETE of a volume, running', before: inOrder(create, running), run: remove },
];

/** Operations that change everything or nothing, even if libvirt refuses one of their calls. */
export const atomicOperations: readonly Operation[] = [...changes, ...images, ...disks];

/** All operations. */
export const operations: readonly Operation[] = [...power, ...variables, ...atomicOperations];
