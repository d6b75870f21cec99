/** Contract, resources and their properties: one test per row. */
import { expect, it } from '@jest/globals';
import { version } from '../../src/version.js';
import { describeSpec, type Body } from './spec-daemon.js';

const ok = { State: 'Enabled', Health: 'OK', HealthRollup: 'OK', HealthRollUp: 'OK' };

describeSpec('resources and their fields', (spec) => {
  const system = (): Promise<Body> => spec().get(`/redfish/v1/Systems/${spec().uuid}`);
  const boot = async (): Promise<Body> => spec().objectAt(await system(), 'Boot');
  const manager = (): Promise<Body> => spec().get(`/redfish/v1/Managers/${spec().uuid}`);
  const drive = (): Promise<Body> => spec().get(`/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd/`);

  it('RF-12 @odata.id: its own path, without a slash at the end', async () => {
    const found = await spec().crawl();
    // A smaller number means that the crawl has followed too few links.
    expect(found.size).toBeGreaterThan(30);
    for (const [path, body] of found) expect(body['@odata.id']).toBe(path);
    for (const path of found.keys()) expect(path).not.toMatch(/\/$/);
  });

  it('RF-13 @odata.type: the type of the resource, with the form #Type.Type or #Type.v1_2_3.Type', async () => {
    for (const body of (await spec().crawl()).values())
      expect(body['@odata.type']).toMatch(/^#\w+\.(v\d+_\d+_\d+\.)?\w+$/);
  });

  it('RF-14 @odata.context: /redfish/v1/$metadata, then # and the type without a version', async () => {
    for (const body of (await spec().crawl()).values()) {
      const [, type] = /^#(\w+)\./.exec(String(body['@odata.type'])) ?? [];
      expect(body['@odata.context']).toBe(`/redfish/v1/$metadata#${type ?? ''}.${type ?? ''}`);
    }
  });

  it('RF-15 @Redfish.Copyright: a string', async () => {
    for (const body of (await spec().crawl()).values()) expect(body['@Redfish.Copyright']).toMatch(/\w/);
  });

  it('RF-16 Name: a name for each collection', async () => {
    expect((await spec().get('/redfish/v1/Systems'))['Name']).toBe('Computer System Collection');
    expect((await spec().get('/redfish/v1/Managers'))['Name']).toBe('Manager Collection');
  });

  it('RF-17 Members@odata.count: the number of members', async () => {
    for (const collection of ['Systems', 'Managers']) {
      const body = await spec().get(`/redfish/v1/${collection}`);
      expect(body['Members@odata.count']).toBe(spec().uuids.length);
      expect(body['Members']).toHaveLength(spec().uuids.length);
    }
  });

  it('RF-18 Members: the paths of all machines: systems by ascending UUID, managers by descending UUID', async () => {
    const ascending = spec().uuids.toSorted();
    expect((await spec().get('/redfish/v1/Systems'))['Members']).toEqual(
      ascending.map((uuid) => ({ '@odata.id': `/redfish/v1/Systems/${uuid}` })),
    );
    expect((await spec().get('/redfish/v1/Managers'))['Members']).toEqual(
      ascending.toReversed().map((uuid) => ({ '@odata.id': `/redfish/v1/Managers/${uuid}` })),
    );
  });

  it('RF-19 Oem: an empty object in the collection of managers, and the address of the uploads of a drive', async () => {
    expect((await spec().get('/redfish/v1/Managers'))['Oem']).toEqual({});
    expect(await spec().get('/redfish/v1/Systems')).not.toHaveProperty('Oem');
    const drive = `/redfish/v1/Systems/${spec().uuid}/VirtualMedia/Cd`;
    expect((await spec().get(drive))['Oem']).toEqual({
      Rackless: {
        '@odata.type': '#RacklessVirtualMedia.v1_0_0.VirtualMedia',
        UploadURI: `${drive}/Oem/Rackless/Uploads`,
        UploadProtocol: 'tus-1.0.0',
      },
    });
  });

  it('RF-20 Id, UUID: the UUID of the machine', async () => {
    expect(await system()).toMatchObject({ Id: spec().uuid, UUID: spec().uuid });
  });

  it('RF-21 Name: the name of the virtual machine', async () => {
    expect((await system())['Name']).toBe(spec().name);
  });

  it('RF-22 Manufacturer: Rackless for a machine without <sysinfo>', async () => {
    expect((await system())['Manufacturer']).toBe('Rackless');
  });

  it('RF-23 Status: Enabled and OK for a machine without a failure. HealthRollup and HealthRollUp have the value of Health', async () => {
    expect((await system())['Status']).toEqual(ok);
  });

  it('RF-24 PowerState: Off or On for a machine that is off or runs', async () => {
    expect((await system())['PowerState']).toBe('Off');
    await spec().reset('On');
    expect((await system())['PowerState']).toBe('On');
  });

  it('RF-25 Boot.BootSourceOverrideEnabled: Continuous before a client sets it', async () => {
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Continuous');
  });

  it('RF-26 Boot.BootSourceOverrideTarget: the first boot device before a client sets a target', async () => {
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
  });

  it('RF-27 Boot.BootSourceOverrideTarget@Redfish.AllowableValues: Pxe, Cd, Hdd, then Usb if the machine has a USB stick. With UEFI, UefiHttp, UefiTarget, UefiBootNext follow', async () => {
    const targets = async (): Promise<unknown> => (await boot())['BootSourceOverrideTarget@Redfish.AllowableValues'];
    const uefi = ['UefiHttp', 'UefiTarget', 'UefiBootNext'];
    expect(await targets()).toEqual(['Pxe', 'Cd', 'Hdd', ...uefi]);
    // The machine has a USB stick only while an image is inserted.
    await spec().insert('Usb');
    expect(await targets()).toEqual(['Pxe', 'Cd', 'Hdd', 'Usb', ...uefi]);
  });

  it('RF-28 Boot.BootSourceOverrideMode: UEFI for a machine with UEFI firmware', async () => {
    expect((await boot())['BootSourceOverrideMode']).toBe('UEFI');
  });

  it('RF-29 Boot.UefiTargetBootSourceOverride: UEFI device path of the first boot device, for example PciRoot(0x0)/…', async () => {
    expect((await boot())['UefiTargetBootSourceOverride']).toMatch(/^PciRoot\(0x0\)(\/\w+\([^()]*\))+$/);
  });

  it('RF-30 ProcessorSummary: the number of CPUs and their status', async () => {
    expect((await system())['ProcessorSummary']).toMatchObject({ Count: 2, Status: ok });
  });

  it('RF-31 MemorySummary: the memory in GiB and its status', async () => {
    expect((await system())['MemorySummary']).toMatchObject({ TotalSystemMemoryGiB: 2, Status: ok });
  });

  it("RF-32 Hardware links: links to resources that describe the machine's hardware", async () => {
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

  it('RF-33 IndicatorLED: Lit at first. Clients can change it', async () => {
    expect((await system())['IndicatorLED']).toBe('Lit');
    for (const IndicatorLED of ['Blinking', 'Off', 'Lit']) {
      const answer = await spec().call('PATCH', `/redfish/v1/Systems/${spec().uuid}`, { IndicatorLED });
      expect(answer.status).toBe(200);
      expect(answer.body?.['IndicatorLED']).toBe(IndicatorLED);
      expect((await system())['IndicatorLED']).toBe(IndicatorLED);
    }
  });

  it('RF-34 Links.Chassis: a link to one chassis, which exists and links back to the system', async () => {
    const { uuid } = spec();
    const links = spec().objectAt(await system(), 'Links');
    expect(links['Chassis']).toEqual([{ '@odata.id': `/redfish/v1/Chassis/${uuid}` }]);
    expect(spec().objectAt(await spec().get(`/redfish/v1/Chassis/${uuid}`), 'Links')).toMatchObject({
      ComputerSystems: [{ '@odata.id': `/redfish/v1/Systems/${uuid}` }],
      ManagedBy: [{ '@odata.id': `/redfish/v1/Managers/${uuid}` }],
    });
  });

  it('RF-35 Links.ManagedBy: the manager with the same UUID', async () => {
    expect(spec().objectAt(await system(), 'Links')['ManagedBy']).toEqual([
      { '@odata.id': `/redfish/v1/Managers/${spec().uuid}` },
    ]);
  });

  it('RF-36 Actions: the path of the reset action and its types. The list begins with the seven types of the contract', async () => {
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

  it('RF-37 Id, UUID: the UUID of the machine', async () => {
    expect(await manager()).toMatchObject({ Id: spec().uuid, UUID: spec().uuid });
  });

  it('RF-38 Name: the name of the machine with the ending -Manager', async () => {
    expect((await manager())['Name']).toBe(`${spec().name}-Manager`);
  });

  it('RF-39 Description: a sentence with the name of the machine', async () => {
    expect((await manager())['Description']).toBe(`Management controller of ${spec().name}`);
  });

  it('RF-40 FirmwareVersion: the version of the daemon for a machine without <sysinfo>', async () => {
    expect((await manager())['FirmwareVersion']).toBe(version);
  });

  it('RF-41 Model: the name of the daemon for a machine without <sysinfo>', async () => {
    expect((await manager())['Model']).toBe('Rackless bmc-daemon');
  });

  it('RF-42 ManagerType: BMC', async () => {
    expect((await manager())['ManagerType']).toBe('BMC');
  });

  it('RF-43 PowerState: On, also while the machine is off', async () => {
    expect((await manager())['PowerState']).toBe('On');
    expect((await system())['PowerState']).toBe('Off');
  });

  it("RF-44 DateTime: the daemon's time with a numeric offset from UTC", async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const DateTime = String((await manager())['DateTime']);
    expect(DateTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
    expect(Date.parse(DateTime)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(DateTime)).toBeLessThanOrEqual(Date.now());
  });

  it('RF-45 DateTimeLocalOffset: the offset from UTC at the end of DateTime, for example +00:00', async () => {
    const body = await manager();
    expect(body['DateTimeLocalOffset']).toBe('+00:00');
    expect(String(body['DateTime']).endsWith(String(body['DateTimeLocalOffset']))).toBe(true);
  });

  it('RF-46 ServiceEntryPointUUID: null if EMULATOR_DMTF_STRICT is not set', async () => {
    expect((await manager())['ServiceEntryPointUUID']).toBeNull();
  });

  it('RF-47 Status: State and Health', async () => {
    expect((await manager())['Status']).toEqual({ State: 'Enabled', Health: 'OK' });
  });

  it('RF-48 Links.ManagerForServers: the system with the same UUID', async () => {
    expect(spec().objectAt(await manager(), 'Links')['ManagerForServers']).toEqual([
      { '@odata.id': `/redfish/v1/Systems/${spec().uuid}` },
    ]);
  });

  it('RF-49 Links.ManagerForChassis: an empty list if EMULATOR_DMTF_STRICT is not set', async () => {
    expect(spec().objectAt(await manager(), 'Links')['ManagerForChassis']).toEqual([]);
  });

  it('RF-50 VirtualMedia: a link to the collection of virtual drives', async () => {
    const path = `/redfish/v1/Managers/${spec().uuid}/VirtualMedia`;
    expect((await manager())['VirtualMedia']).toEqual({ '@odata.id': path });
    expect((await spec().get(path))['Members']).toEqual(
      ['Cd', 'Floppy', 'Usb'].map((id) => ({ '@odata.id': `${path}/${id}` })),
    );
  });

  it('RF-51 Inserted: true while an image is inserted, at both URIs of the drive', async () => {
    expect((await drive())['Inserted']).toBe(false);
    await spec().insert();
    expect((await drive())['Inserted']).toBe(true);
    expect((await spec().get(`/redfish/v1/Systems/${spec().uuid}/VirtualMedia/Cd`))['Inserted']).toBe(true);
  });
});
