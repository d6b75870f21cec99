import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveResources, type Served, type ServedAnswer } from '../../../test/support/served-resources.js';
import type { TestServices } from '../../../test/support/services.js';
import { DriverError } from '../../drivers/driver-error.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { createTaskStore } from '../../redfish/tasks/task-store.js';

const [off, running] = sampleMachines(2);
if (off === undefined || running === undefined) throw new Error('two machines expected');
const bus = `/redfish/v1/Systems/${off.uuid}/Storage/virtio`;
const volumes = `${bus}/Volumes`;
const gib = 1024 ** 3;
const link = (path: string) => ({ '@odata.id': path });
const ok = { State: 'Enabled', Health: 'OK' };

let driver: FakeDriver;
let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

async function serve(parts: TestServices = {}, machines = sampleMachines(2)): Promise<Served> {
  driver = new FakeDriver({ machines });
  served = await serveResources(driver, parts);
  return served;
}

const bodyText = ({ body }: ServedAnswer) => JSON.stringify(body);

describe('a volume', () => {
  it('is created, shown with its drive, and deleted', async () => {
    const { send, get } = await serve();
    const made = await send('POST', volumes, { CapacityBytes: gib, Name: 'data', RAIDType: 'None' });
    const path = `${volumes}/vdb`;
    const volume = {
      '@odata.id': path,
      Id: 'vdb',
      Name: 'data',
      CapacityBytes: gib,
      RAIDType: 'None',
      Status: ok,
      Links: { Drives: [link(`${bus}/Drives/vdb`)], 'Drives@odata.count': 1 },
    };
    expect(made).toEqual({ status: 201, location: path, body: volume });
    expect((await get(volumes))['Members']).toEqual([link(`${volumes}/vda`), link(path)]);
    expect(await get(`${bus}/Drives/vdb`)).toMatchObject({ CapacityBytes: gib, Links: { Volumes: [link(path)] } });
    expect((await send('DELETE', path)).status).toBe(204);
    expect((await send('GET', path)).status).toBe(404);
    expect((await get(volumes))['Members']).toEqual([link(`${volumes}/vda`)]);
  });

  it('is thin unless the client requests Fixed, and has a capacity of whole sectors', async () => {
    const { send } = await serve();
    const createdDisk = async (body: object) => {
      const { location } = await send('POST', volumes, body);
      const disk = (await driver.getSystem(off.uuid)).disks.find(({ target }) => location?.endsWith(target));
      return [disk?.source?.split('.').at(-1), disk?.capacityBytes];
    };
    expect(await createdDisk({ CapacityBytes: 1 })).toEqual(['qcow2', 512]);
    expect(await createdDisk({ CapacityBytes: 512, ProvisioningPolicy: 'Thin' })).toEqual(['qcow2', 512]);
    expect(await createdDisk({ CapacityBytes: 513, ProvisioningPolicy: 'Fixed' })).toEqual(['img', 1024]);
  });

  it('is created immediately if the request has the apply time Immediate', async () => {
    const { send, get } = await serve();
    expect((await send('GET', volumes)).status).toBe(200);
    const applied = { '@Redfish.OperationApplyTime': 'Immediate' };
    const body = { CapacityBytes: gib, VolumeType: 'NonRedundant', Encrypted: false, ...applied };
    expect((await send('POST', volumes, body)).status).toBe(201);
    expect(await get(volumes)).toMatchObject({ 'Members@odata.count': 2 });
  });

  it('is not created if the request has errors, and the answer has all of them', async () => {
    const { send, messages } = await serve();
    const ask = async (body: object) => {
      const answer = await send('POST', volumes, body);
      return [answer.status, ...messages(answer)];
    };
    expect(await ask({})).toEqual([400, 'PropertyMissing']);
    expect(await ask({ CapacityBytes: 0, RAIDType: 'RAID5', Foo: 1 })).toEqual([
      400,
      'PropertyValueOutOfRange',
      'PropertyValueNotInList',
      'PropertyUnknown',
    ]);
    expect(await ask({ CapacityBytes: gib, '@Redfish.OperationApplyTime': 'OnReset' })).toEqual([
      400,
      'PropertyValueNotInList',
    ]);
  });

  it('waits for the next power-on if the machine runs and the bus has no hot-plug', async () => {
    const { send, get } = await serve();
    const waiting = { State: 'StandbyOffline', Health: 'OK' };
    const storage = `/redfish/v1/Systems/${running.uuid}/Storage`;
    const sata = await send('POST', `${storage}/sata/Volumes`, { CapacityBytes: gib });
    expect(sata.body?.['Status']).toEqual(waiting);
    expect((await get(`${storage}/sata/Drives/${String(sata.body?.['Id'])}`))['Status']).toEqual(waiting);
    const { Devices } = await get(`/redfish/v1/Systems/${running.uuid}/SimpleStorage/sata`);
    expect(Devices).toEqual([expect.anything(), expect.objectContaining({ Status: waiting })]);
    const virtio = await send('POST', `${storage}/virtio/Volumes`, { CapacityBytes: gib });
    expect(virtio.body?.['Status']).toEqual(ok);
  });

  it('is not deleted if it is outside of a storage pool', async () => {
    const [machine] = sampleMachines(1);
    if (machine === undefined) throw new Error('a machine expected');
    const disks = machine.disks.map((disk) => ({ ...disk, source: '/home/me/precious.img' }));
    const { send, messages } = await serve({}, [{ ...machine, disks }]);
    const answer = await send('DELETE', `${volumes}/vda`);
    expect([answer.status, ...messages(answer)]).toEqual([409, 'ResourceCannotBeDeleted']);
    expect(bodyText(answer)).toContain('no storage pool of the host has /home/me/precious.img');
    expect((await driver.getSystem(off.uuid)).disks[0]?.source).toBe('/home/me/precious.img');
  });

  it('is created by a task if the creation is slow, and the task ends with success or failure', async () => {
    const { send, get } = await serve({
      operations: { ...slowOperations(), onTaskFailed: () => undefined },
    });
    const held = holdCreation(driver);
    const creating = await send('POST', volumes, { CapacityBytes: gib });
    expect([creating.status, creating.body?.['TaskState']]).toEqual([202, 'Running']);
    held.finish();
    const task = String(creating.body?.['@odata.id']);
    await untilTrue(async () => (await get(task))['TaskState'] === 'Completed');
    expect(JSON.stringify(await get(task))).toContain('Created');
    expect((await get(volumes))['Members@odata.count']).toBe(2);

    const failing = await send('POST', volumes, { CapacityBytes: gib });
    held.finish(new DriverError('storageFull', 'making a volume: the disk of the host is full'));
    const failed = String(failing.body?.['@odata.id']);
    await untilTrue(async () => (await get(failed))['TaskState'] === 'Exception');
    expect(JSON.stringify(await get(failed))).toContain('InsufficientStorage');
  });

  it('does not exist after a client cancels its slow creation', async () => {
    const { send, get } = await serve({ operations: { ...slowOperations(), onTaskFailed: () => undefined } });
    const held = holdCreation(driver);
    const creating = await send('POST', volumes, { CapacityBytes: gib });
    const task = String(creating.body?.['@odata.id']);
    expect((await send('DELETE', task)).status).toBeLessThan(300);
    held.finish();
    // A cancelled task is removed, or shows the state Cancelled.
    await untilTrue(async () => {
      const { status, body } = await send('GET', task);
      return status === 404 || body?.['TaskState'] === 'Cancelled';
    });
    expect((await get(volumes))['Members@odata.count']).toBe(1);
  });
});

describe('a machine without disks', () => {
  it('has a storage resource for its first disk', async () => {
    const { send, get } = await serve({}, [{ ...off, disks: [] }]);
    const storage = `/redfish/v1/Systems/${off.uuid}/Storage`;
    expect((await get(storage))['Members']).toEqual([link(bus)]);
    expect(await get(bus)).toMatchObject({ Drives: [], Links: { Enclosures: [expect.anything()] } });
    expect((await get(`/redfish/v1/Systems/${off.uuid}/SimpleStorage`))['Members']).toEqual([]);
    expect((await send('POST', volumes, { CapacityBytes: gib })).location).toBe(`${volumes}/vda`);
    expect((await get(`/redfish/v1/Systems/${off.uuid}/SimpleStorage`))['Members@odata.count']).toBe(1);
  });
});

describe('a drive', () => {
  it('has an indicator, which is stored with its machine', async () => {
    const { send, get } = await serve();
    const path = `${bus}/Drives/vda`;
    const indicatorState = async () => {
      const { IndicatorLED, LocationIndicatorActive } = await get(path);
      return [IndicatorLED, LocationIndicatorActive];
    };
    expect(await indicatorState()).toEqual(['Lit', false]);
    expect((await send('PATCH', path, { LocationIndicatorActive: true })).status).toBe(200);
    expect(await indicatorState()).toEqual(['Blinking', true]);
    await send('PATCH', path, { IndicatorLED: 'Off' });
    expect(await indicatorState()).toEqual(['Off', false]);
    expect((await driver.getSystem(off.uuid)).disks[0]?.indicator).toBe('off');
  });
});

describe('the drives in a chassis', () => {
  const chassis = (id: string) => `/redfish/v1/Chassis/${id}`;

  it('are the drives of its machine; their ids contain the id of the storage', async () => {
    const { send, get } = await serve();
    const drives = `${chassis(running.uuid)}/Drives`;
    expect((await get(chassis(running.uuid)))['Drives']).toEqual(link(drives));
    const members = (await get(drives))['Members'];
    expect(members).toEqual([link(`${drives}/virtio-vda`), link(`${drives}/sata-sdb`)]);

    const own = `${chassis(off.uuid)}/Drives/virtio-vda`;
    const { '@odata.id': at, Id: id, ...here } = await get(own);
    const { '@odata.id': storageAt, Id: storageId, ...there } = await get(`${bus}/Drives/vda`);
    expect([at, id, storageAt, storageId]).toEqual([own, 'virtio-vda', `${bus}/Drives/vda`, 'vda']);
    expect(here).toEqual(there);
    expect((await send('PATCH', own, { LocationIndicatorActive: true })).body).toEqual({
      ...here,
      '@odata.id': own,
      Id: 'virtio-vda',
      IndicatorLED: 'Blinking',
      LocationIndicatorActive: true,
    });
    expect((await get(`${bus}/Drives/vda`))['LocationIndicatorActive']).toBe(true);
    for (const unknownId of ['vda', 'virtio-vdz', `${off.uuid}-virtio-vda`]) {
      expect((await send('GET', `${chassis(off.uuid)}/Drives/${unknownId}`)).status).toBe(404);
    }
  });

  it('are the drives of all machines in a shared chassis; their ids also contain the UUID of the machine', async () => {
    const shelf = { Id: 'shelf', UUID: '48295861-2522-3561-6729-621118518810' };
    const empty = { Id: 'empty', UUID: '48295861-2522-3561-6729-621118518811' };
    const { get } = await serve({ settings: { chassis: [shelf, empty] } });
    const drives = `${chassis(shelf.UUID)}/Drives`;
    const members = [
      link(`${drives}/${off.uuid}-virtio-vda`),
      link(`${drives}/${running.uuid}-sata-sdb`),
      link(`${drives}/${running.uuid}-virtio-vda`),
    ];
    expect((await get(drives))['Members']).toEqual(expect.arrayContaining(members));
    expect(await get(`${drives}/${off.uuid}-virtio-vda`)).toMatchObject({
      Links: { Chassis: link(chassis(shelf.UUID)), Storage: link(bus) },
    });
    expect((await get(`${chassis(empty.UUID)}/Drives`))['Members']).toEqual([]);
  });

  it('lack, if machines share the chassis, those of a machine that cannot be read; a message has the reason', async () => {
    const shelf = { Id: 'shelf', UUID: '48295861-2522-3561-6729-621118518810' };
    const { get, send } = await serve({ settings: { chassis: [shelf] } });
    const original = driver.getSystem.bind(driver);
    driver.getSystem = (id) =>
      id === off.uuid ? Promise.reject(new DriverError('unavailable', 'reading it: no answer')) : original(id);
    const drives = `${chassis(shelf.UUID)}/Drives`;
    // `get` removes the annotations of the resource itself, so the test reads them in the expanded chassis.
    expect((await get(`${chassis(shelf.UUID)}?$expand=.`))['Drives']).toMatchObject({
      Members: [link(`${drives}/${running.uuid}-virtio-vda`), link(`${drives}/${running.uuid}-sata-sdb`)],
      '@Message.ExtendedInfo': [
        { Message: expect.stringContaining(`lacks the drives of '/redfish/v1/Systems/${off.uuid}', which`) },
      ],
    });
    expect((await send('GET', `${drives}/${off.uuid}-virtio-vda`)).status).toBe(503);
    expect((await send('GET', `${drives}/${running.uuid}-virtio-vda`)).status).toBe(200);
  });
});

describe('EMULATOR_STORAGE, EMULATOR_DRIVES and EMULATOR_VOLUMES', () => {
  const key = JSON.stringify([off.uuid, '1']);
  const raid = `/redfish/v1/Systems/${off.uuid}/Storage/1`;
  const settings = {
    storage: {
      [off.uuid]: [
        {
          Id: '1',
          Name: 'Local Storage',
          StorageControllers: [{ MemberId: '0', Name: 'Integrated RAID', SpeedGbps: 12 }],
          Drives: ['D1'],
        },
      ],
    },
    drives: {
      [key]: [
        { Id: 'D1', Name: 'Drive Sample', CapacityBytes: 899527000000, Protocol: 'SAS' },
        { Id: 'D2', CapacityBytes: 1 },
      ],
    },
    volumes: {
      [key]: [
        { Id: '1', Name: 'Sample', VolumeType: 'Mirrored', CapacityBytes: 23748, libvirtVolName: 'testVol' },
        { Id: '2', CapacityBytes: 48395, libvirtPoolName: 'absent', libvirtVolName: 'x' },
      ],
    },
  };

  it('replace the disks of the configured machine only', async () => {
    const { get } = await serve({ settings });
    expect((await get(`/redfish/v1/Systems/${off.uuid}/Storage`))['Members']).toEqual([link(raid)]);
    expect(await get(raid)).toMatchObject({
      Id: '1',
      Name: 'Local Storage',
      Drives: [link(`${raid}/Drives/D1`)],
      'Drives@odata.count': 1,
    });
    expect(await get(`${raid}/Controllers/0`)).toMatchObject({
      Name: 'Integrated RAID',
      SpeedGbps: 12,
      SupportedDeviceProtocols: ['SAS'],
    });
    expect(await get(`${raid}/Drives/D1`)).toMatchObject({
      Name: 'Drive Sample',
      CapacityBytes: 899527000000,
      Protocol: 'SAS',
      Links: { Volumes: [] },
    });
    const other = await get(`/redfish/v1/Systems/${running.uuid}/Storage`);
    expect(other['Members@odata.count']).toBe(2);
  });

  it('remove the link from the SimpleStorage of the configured machine, whose bus has no Storage', async () => {
    const { get } = await serve({ settings });
    const linksOf = async (uuid: string) => (await get(`/redfish/v1/Systems/${uuid}/SimpleStorage/virtio`))['Links'];
    expect(await linksOf(off.uuid)).toEqual({ Chassis: link(`/redfish/v1/Chassis/${off.uuid}`) });
    const storage = link(`/redfish/v1/Systems/${running.uuid}/Storage/virtio`);
    expect(await linksOf(running.uuid)).toMatchObject({ Storage: storage });
  });

  it('create missing libvirt volumes, show failures, and log a failure once', async () => {
    const warnings: string[] = [];
    const { get } = await serve({ settings, log: { warn: (text) => void warnings.push(text) } });
    refusePool(driver, 'absent');
    expect((await get(`${raid}/Volumes`))['Members']).toEqual([link(`${raid}/Volumes/1`), link(`${raid}/Volumes/2`)]);
    expect(driver.volumes.unattached).toEqual(['/testVol']);
    expect(await get(`${raid}/Volumes/1`)).toMatchObject({
      Name: 'Sample',
      VolumeType: 'Mirrored',
      RAIDType: 'RAID1',
      CapacityBytes: 23748,
      Status: ok,
    });
    expect((await get(`${raid}/Volumes/2`))['Status']).toEqual({ State: 'UnavailableOffline', Health: 'Critical' });
    // A repeated read does not log the failure again.
    expect(warnings).toEqual(['cannot create volume x of EMULATOR_VOLUMES']);
  });

  it('accept new volumes, which become disks of the machine, and protect configured volumes', async () => {
    const { send, get, messages } = await serve({ settings });
    const made = await send('POST', `${raid}/Volumes`, { CapacityBytes: gib, Name: 'more' });
    expect(made).toMatchObject({ status: 201, location: `${raid}/Volumes/vdb`, body: { Name: 'more', Status: ok } });
    expect((await get(raid))['Drives']).toEqual([link(`${raid}/Drives/D1`), link(`${raid}/Drives/vdb`)]);
    expect((await driver.getSystem(off.uuid)).disks.at(-1)).toMatchObject({
      target: 'vdb',
      bus: 'virtio',
      storage: '1',
    });
    expect((await send('DELETE', `${raid}/Volumes/vdb`)).status).toBe(204);
    const configured = await send('DELETE', `${raid}/Volumes/1`);
    expect([configured.status, ...messages(configured)]).toEqual([409, 'ResourceCannotBeDeleted']);
    const indicator = await send('PATCH', `${raid}/Drives/D1`, { IndicatorLED: 'Off' });
    expect([indicator.status, ...messages(indicator)]).toEqual([400, 'PropertyNotWritable']);
  });
});

function slowOperations() {
  const now = () => new Date();
  return { tasks: createTaskStore({ limit: 10, now }), waitMs: 20 };
}

/** Makes the creation of a volume wait until the test calls `finish`; with an error, the creation fails. */
function holdCreation(target: FakeDriver): { readonly finish: (error?: Error) => void } {
  const real = target.volumes.createVolume.bind(target.volumes);
  let end: (error?: Error) => void = () => undefined;
  target.volumes.createVolume = async (...args) => {
    const error = await new Promise<Error | undefined>((resolve) => (end = resolve));
    if (error !== undefined) throw error;
    return real(...args);
  };
  return { finish: (error) => end(error) };
}

/** Makes the driver reject volumes in one storage pool. */
function refusePool(target: FakeDriver, name: string): void {
  const real = target.volumes.provideVolume.bind(target.volumes);
  target.volumes.provideVolume = async (id, volume, ...others) => {
    if (volume.pool === name) throw new DriverError('unsupported', `opening storage pool ${name}: there is none`);
    await real(id, volume, ...others);
  };
}

/** Polls until the probe returns true. @throws {Error} after about 120 s. */
async function untilTrue(probe: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await probe()); turn += 1) {
    if (turn > 12_000) throw new Error('waiting for a task: nothing after 120 s');
    await sleep(10);
  }
}
