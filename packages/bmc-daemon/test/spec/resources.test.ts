/** Section 2 of the specification: the resources and their fields, one test per row. */
import { expect, it } from '@jest/globals';
import { version } from '../../src/version.js';
import { describeSpec, type Body } from './spec-daemon.js';

const ok = { State: 'Enabled', Health: 'OK', HealthRollup: 'OK', HealthRollUp: 'OK' };

describeSpec('resources and their fields', (spec) => {
  const system = (): Promise<Body> => spec().get(`/redfish/v1/Systems/${spec().uuid}`);
  const boot = async (): Promise<Body> => spec().objectAt(await system(), 'Boot');
  const manager = (): Promise<Body> => spec().get(`/redfish/v1/Managers/${spec().uuid}`);
  const drive = (): Promise<Body> => spec().get(`/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd/`);

  it('§2 Every resource | @odata.id | its own path, which never ends in a slash (B2)', async () => {
    const found = await spec().crawl();
    // The root, two services with three collections, four collections, and what one machine has: a crawl that got nowhere
    // must not pass.
    expect(found.size).toBeGreaterThan(30);
    for (const [path, body] of found) expect(body['@odata.id']).toBe(path);
    for (const path of found.keys()) expect(path).not.toMatch(/\/$/);
  });

  it('§2 Every resource | @odata.type | a string that names the type (B2)', async () => {
    for (const body of (await spec().crawl()).values())
      expect(body['@odata.type']).toMatch(/^#\w+\.(v\d+_\d+_\d+\.)?\w+$/);
  });

  it('§2 Every resource | @odata.context | a string that names the type in the metadata document (B2)', async () => {
    for (const body of (await spec().crawl()).values()) {
      const [, type] = /^#(\w+)\./.exec(String(body['@odata.type'])) ?? [];
      expect(body['@odata.context']).toBe(`/redfish/v1/$metadata#${type ?? ''}.${type ?? ''}`);
    }
  });

  it('§2 Every resource | @Redfish.Copyright | a string (B2)', async () => {
    for (const body of (await spec().crawl()).values()) expect(body['@Redfish.Copyright']).toMatch(/\w/);
  });

  it('§2 Collections | Name | a name for each collection (B3)', async () => {
    expect((await spec().get('/redfish/v1/Systems'))['Name']).toBe('Computer System Collection');
    expect((await spec().get('/redfish/v1/Managers'))['Name']).toBe('Manager Collection');
  });

  it('§2 Collections | Members@odata.count | the number of members (B3)', async () => {
    for (const collection of ['Systems', 'Managers']) {
      const body = await spec().get(`/redfish/v1/${collection}`);
      expect(body['Members@odata.count']).toBe(spec().uuids.length);
      expect(body['Members']).toHaveLength(spec().uuids.length);
    }
  });

  it('§2 Collections | Members | paths of all machines, in another order in each collection (B3)', async () => {
    const ascending = spec().uuids.toSorted();
    expect((await spec().get('/redfish/v1/Systems'))['Members']).toEqual(
      ascending.map((uuid) => ({ '@odata.id': `/redfish/v1/Systems/${uuid}` })),
    );
    expect((await spec().get('/redfish/v1/Managers'))['Members']).toEqual(
      ascending.toReversed().map((uuid) => ({ '@odata.id': `/redfish/v1/Managers/${uuid}` })),
    );
  });

  it('§2 Collections | Oem | empty on the Managers collection, and on that one only (B3)', async () => {
    expect((await spec().get('/redfish/v1/Managers'))['Oem']).toEqual({});
    expect(await spec().get('/redfish/v1/Systems')).not.toHaveProperty('Oem');
  });

  it('§2 Server | Id, UUID | the UUID of the machine (B4)', async () => {
    expect(await system()).toMatchObject({ Id: spec().uuid, UUID: spec().uuid });
  });

  it('§2 Server | Name | the name of the virtual machine (B4)', async () => {
    expect((await system())['Name']).toBe(spec().name);
  });

  it('§2 Server | Manufacturer | Rackless where the machine names none (B4)', async () => {
    expect((await system())['Manufacturer']).toBe('Rackless');
  });

  it('§2 Server | Status | Enabled and OK, and OK rolled up in either spelling (B4)', async () => {
    expect((await system())['Status']).toEqual(ok);
  });

  it('§2 Server | PowerState | Off for a machine that is off, On for one that runs (B4)', async () => {
    expect((await system())['PowerState']).toBe('Off');
    await spec().reset('On');
    expect((await system())['PowerState']).toBe('On');
  });

  it('§2 Server | Boot.BootSourceOverrideEnabled | Continuous on a machine that nobody has touched (B6)', async () => {
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Continuous');
  });

  it('§2 Server | Boot.BootSourceOverrideTarget | the first boot device of a machine that nobody has touched (B6)', async () => {
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
  });

  it('§2 Server | Boot.BootSourceOverrideTarget@Redfish.AllowableValues | Pxe, Cd, Hdd (B6)', async () => {
    // Behind the specification's three, what UEFI has besides.
    expect((await boot())['BootSourceOverrideTarget@Redfish.AllowableValues']).toEqual([
      ...['Pxe', 'Cd', 'Hdd'],
      ...['UefiHttp', 'UefiTarget', 'UefiBootNext'],
    ]);
  });

  it('§2 Server | Boot.BootSourceOverrideMode | UEFI for a machine with UEFI firmware (B6)', async () => {
    expect((await boot())['BootSourceOverrideMode']).toBe('UEFI');
  });

  it('§2 Server | Boot.UefiTargetBootSourceOverride | a path-like string that names the first boot device (B4)', async () => {
    expect((await boot())['UefiTargetBootSourceOverride']).toMatch(/^PciRoot\(0x0\)(\/\w+\([^()]*\))+$/);
  });

  it('§2 Server | ProcessorSummary | the number of CPUs, and their status (B4)', async () => {
    expect((await system())['ProcessorSummary']).toMatchObject({ Count: 2, Status: ok });
  });

  it('§2 Server | MemorySummary | the memory in GiB, and its status (B4)', async () => {
    expect((await system())['MemorySummary']).toMatchObject({ TotalSystemMemoryGiB: 2, Status: ok });
  });

  it('§2 Server | Bios, Processors, Memory, EthernetInterfaces, SimpleStorage, Storage | links that answer with the inventory of the machine (B4)', async () => {
    const self = `/redfish/v1/Systems/${spec().uuid}`;
    const body = await system();
    const names = ['Bios', 'Processors', 'Memory', 'EthernetInterfaces', 'SimpleStorage', 'Storage'] as const;
    for (const name of names) expect(body[name]).toEqual({ '@odata.id': `${self}/${name}` });

    expect(await spec().get(`${self}/Bios`)).toMatchObject({ Id: 'Bios', Description: 'UEFI firmware' });
    expect(await spec().members(`${self}/Processors`)).toMatchObject([
      { ProcessorType: 'CPU', ProcessorArchitecture: 'x86', InstructionSet: 'x86-64', TotalCores: 2, TotalThreads: 2 },
    ]);
    expect(await spec().members(`${self}/Memory`)).toMatchObject([{ CapacityMiB: 2048, MemoryType: 'DRAM' }]);
    expect(await spec().members(`${self}/EthernetInterfaces`)).toMatchObject([
      { Id: spec().mac, MACAddress: spec().mac, LinkStatus: 'LinkUp', Status: { State: 'Enabled', Health: 'OK' } },
    ]);
    const capacity = { CapacityBytes: spec().diskBytes };
    expect(await spec().members(`${self}/SimpleStorage`)).toMatchObject([
      { Id: 'virtio', Devices: [{ Name: 'vda', ...capacity }] },
    ]);
    expect(await spec().members(`${self}/Storage`)).toMatchObject([
      {
        Id: 'virtio',
        Drives: [{ '@odata.id': `${self}/Storage/virtio/Drives/vda` }],
        Controllers: { '@odata.id': `${self}/Storage/virtio/Controllers` },
        Volumes: { '@odata.id': `${self}/Storage/virtio/Volumes` },
      },
    ]);
    expect(await spec().get(`${self}/Storage/virtio/Drives/vda`)).toMatchObject(capacity);
    expect(await spec().members(`${self}/Storage/virtio/Volumes`)).toMatchObject([capacity]);
    expect(await spec().members(`${self}/Storage/virtio/Controllers`)).toMatchObject([{ Id: 'virtio' }]);
  });

  it('§2 Server | IndicatorLED | Lit at first, and writable (B4)', async () => {
    expect((await system())['IndicatorLED']).toBe('Lit');
    for (const IndicatorLED of ['Blinking', 'Off', 'Lit']) {
      const answer = await spec().call('PATCH', `/redfish/v1/Systems/${spec().uuid}`, { IndicatorLED });
      expect(answer.status).toBe(200);
      expect(answer.body?.['IndicatorLED']).toBe(IndicatorLED);
      expect((await system())['IndicatorLED']).toBe(IndicatorLED);
    }
  });

  it('§2 Server | Links.Chassis | one chassis, which answers and links back (B4)', async () => {
    const { uuid } = spec();
    const links = spec().objectAt(await system(), 'Links');
    expect(links['Chassis']).toEqual([{ '@odata.id': `/redfish/v1/Chassis/${uuid}` }]);
    expect(spec().objectAt(await spec().get(`/redfish/v1/Chassis/${uuid}`), 'Links')).toMatchObject({
      ComputerSystems: [{ '@odata.id': `/redfish/v1/Systems/${uuid}` }],
      ManagedBy: [{ '@odata.id': `/redfish/v1/Managers/${uuid}` }],
    });
  });

  it('§2 Server | Links.ManagedBy | the manager of the same UUID (B4)', async () => {
    expect(spec().objectAt(await system(), 'Links')['ManagedBy']).toEqual([
      { '@odata.id': `/redfish/v1/Managers/${spec().uuid}` },
    ]);
  });

  it('§2 Server | Actions | the reset action with its path and the seven types in their order, the other types of DMTF behind (B5, S6)', async () => {
    expect(spec().objectAt(await system(), 'Actions')['#ComputerSystem.Reset']).toEqual({
      target: `/redfish/v1/Systems/${spec().uuid}/Actions/ComputerSystem.Reset`,
      'ResetType@Redfish.AllowableValues': [
        'On',
        'ForceOff',
        'GracefulShutdown',
        'GracefulRestart',
        'ForceRestart',
        'Nmi',
        'ForceOn',
        'PowerCycle',
        'PushPowerButton',
        'Pause',
        'Resume',
        'Suspend',
      ],
    });
  });

  it('§2 Management controller | Id, UUID | the UUID of the machine (B4)', async () => {
    expect(await manager()).toMatchObject({ Id: spec().uuid, UUID: spec().uuid });
  });

  it('§2 Management controller | Name | a string that names the machine (B4)', async () => {
    expect((await manager())['Name']).toBe(`${spec().name}-Manager`);
  });

  it('§2 Management controller | Description | a string (B4)', async () => {
    expect((await manager())['Description']).toBe(`Management controller of ${spec().name}`);
  });

  it('§2 Management controller | FirmwareVersion | the version of this service, where <sysinfo> gives none (B4)', async () => {
    expect((await manager())['FirmwareVersion']).toBe(version);
  });

  it('§2 Management controller | Model | the name of this service, where <sysinfo> gives none (B4)', async () => {
    expect((await manager())['Model']).toBe('Rackless bmc-daemon');
  });

  it('§2 Management controller | ManagerType | BMC (B4)', async () => {
    expect((await manager())['ManagerType']).toBe('BMC');
  });

  it('§2 Management controller | PowerState | On, whatever the machine is (B4)', async () => {
    expect((await manager())['PowerState']).toBe('On');
    expect((await system())['PowerState']).toBe('Off');
  });

  it('§2 Management controller | DateTime | the time, with its offset as a number (B4)', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const DateTime = String((await manager())['DateTime']);
    expect(DateTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
    expect(Date.parse(DateTime)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(DateTime)).toBeLessThanOrEqual(Date.now());
  });

  it('§2 Management controller | DateTimeLocalOffset | the offset that DateTime ends in (B4)', async () => {
    const body = await manager();
    expect(body['DateTimeLocalOffset']).toBe('+00:00');
    expect(String(body['DateTime']).endsWith(String(body['DateTimeLocalOffset']))).toBe(true);
  });

  it('§2 Management controller | ServiceEntryPointUUID | null (B2)', async () => {
    expect((await manager())['ServiceEntryPointUUID']).toBeNull();
  });

  it('§2 Management controller | Status | State and Health (B4)', async () => {
    expect((await manager())['Status']).toEqual({ State: 'Enabled', Health: 'OK' });
  });

  it('§2 Management controller | Links.ManagerForServers | the system of the same UUID (B4)', async () => {
    expect(spec().objectAt(await manager(), 'Links')['ManagerForServers']).toEqual([
      { '@odata.id': `/redfish/v1/Systems/${spec().uuid}` },
    ]);
  });

  it('§2 Management controller | Links.ManagerForChassis | empty (B4)', async () => {
    expect(spec().objectAt(await manager(), 'Links')['ManagerForChassis']).toEqual([]);
  });

  it('§2 Management controller | VirtualMedia | a link to the collection of drives (B4)', async () => {
    const path = `/redfish/v1/Managers/${spec().uuid}/VirtualMedia`;
    expect((await manager())['VirtualMedia']).toEqual({ '@odata.id': path });
    expect((await spec().get(path))['Members']).toEqual(
      ['Cd', 'Floppy', 'Usb'].map((id) => ({ '@odata.id': `${path}/${id}` })),
    );
  });

  it('§2 Virtual media | Inserted | true while an image is attached, under the manager and under the system (B9)', async () => {
    expect((await drive())['Inserted']).toBe(false);
    await spec().insert();
    expect((await drive())['Inserted']).toBe(true);
    expect((await spec().get(`/redfish/v1/Systems/${spec().uuid}/VirtualMedia/Cd`))['Inserted']).toBe(true);
  });
});
