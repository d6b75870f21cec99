/** Contract, endpoints, errors and versioning: one test per row. */
import { expect, it } from '@jest/globals';
import { describeSpec } from './spec-daemon.js';

describeSpec('endpoints', (spec) => {
  const systemPath = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const managerPath = (): string => `/redfish/v1/Managers/${spec().uuid}`;
  const drivePath = (): string => `${managerPath()}/VirtualMedia/Cd/`;

  it('RF-61 GET /redfish/v1/Managers: the collection of managers, with and without a slash at the end', async () => {
    const answer = await spec().call('GET', '/redfish/v1/Managers');
    expect(answer).toMatchObject({
      status: 200,
      body: { '@odata.type': '#ManagerCollection.ManagerCollection', '@odata.id': '/redfish/v1/Managers' },
    });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await spec().call('GET', '/redfish/v1/Managers/')).body).toEqual(answer.body);
  });

  it('RF-62 GET /redfish/v1/Systems: the collection of systems, with and without a slash at the end', async () => {
    const answer = await spec().call('GET', '/redfish/v1/Systems');
    expect(answer).toMatchObject({
      status: 200,
      body: {
        '@odata.type': '#ComputerSystemCollection.ComputerSystemCollection',
        '@odata.id': '/redfish/v1/Systems',
      },
    });
    expect((await spec().call('GET', '/redfish/v1/Systems/')).body).toEqual(answer.body);
  });

  it('RF-63 GET /redfish/v1/Systems/{uuid}: the system, by its UUID or by its name', async () => {
    const answer = await spec().call('GET', systemPath());
    expect(answer).toMatchObject({ status: 200, body: { '@odata.id': systemPath(), Id: spec().uuid } });
    expect((await spec().call('GET', `/redfish/v1/Systems/${spec().name}`)).body).toEqual(answer.body);
    expect(
      (await spec().call('GET', `${systemPath().toUpperCase().replace('/REDFISH/V1/SYSTEMS', '/redfish/v1/Systems')}/`))
        .body,
    ).toEqual(answer.body);
    const unknown = await spec().call('GET', '/redfish/v1/Systems/5ac4fa6e-ffff-4fff-8fff-ffffffffffff');
    expect(unknown.status).toBe(404);
    expect(spec().messageIds(unknown)).toEqual(['ResourceMissingAtURI']);
  });

  it('RF-64 GET /redfish/v1/Managers/{uuid}: the manager, by its UUID or by its name', async () => {
    const withoutTime = async (path: string) => ({ ...(await spec().get(path)), DateTime: null });
    const body = await withoutTime(managerPath());
    expect(body).toMatchObject({ '@odata.id': managerPath(), ManagerType: 'BMC' });
    await expect(withoutTime(`/redfish/v1/Managers/${spec().name}`)).resolves.toEqual(body);
  });

  it('RF-65 POST ComputerSystem.Reset: 204 for a listed reset type. Other types get 400, with the list in the message', async () => {
    const { target } = spec().objectAt(
      spec().objectAt(await spec().get(systemPath()), 'Actions'),
      '#ComputerSystem.Reset',
    );
    expect(target).toBe(`${systemPath()}/Actions/ComputerSystem.Reset`);
    const accepted = await spec().call('POST', String(target), { ResetType: 'On' });
    expect({ status: accepted.status, body: accepted.body }).toEqual({ status: 204, body: undefined });

    const unknown = await spec().call('POST', String(target), { ResetType: 'Bogus' });
    expect(unknown.status).toBe(400);
    expect(spec().messageIds(unknown)).toEqual(['ActionParameterValueNotInList']);
    const missing = await spec().call('POST', String(target), {});
    expect(missing.status).toBe(400);
    expect(spec().messageIds(missing)).toEqual(['ActionParameterMissing']);
    for (const answer of [unknown, missing]) {
      expect(JSON.stringify(answer.body)).toContain(
        'On, ForceOff, GracefulShutdown, GracefulRestart, ForceRestart, Nmi, ForceOn',
      );
    }
  });

  it('RF-66 PATCH /redfish/v1/Systems/{uuid}: 200 with the changed system', async () => {
    const before = await spec().get(systemPath());
    for (const [target, enabled] of [
      ['Cd', 'Once'],
      ['Pxe', 'Continuous'],
      ['Hdd', 'Continuous'],
    ]) {
      const answer = await spec().call('PATCH', systemPath(), {
        Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled },
      });
      expect({ status: answer.status, body: answer.body }).toEqual({
        status: 200,
        body: {
          ...before,
          Boot: {
            ...spec().objectAt(before, 'Boot'),
            BootSourceOverrideTarget: target,
            BootSourceOverrideEnabled: enabled,
            // This path follows the boot order of the machine's definition.
            UefiTargetBootSourceOverride: spec().objectAt(answer.body ?? {}, 'Boot')['UefiTargetBootSourceOverride'],
          },
        },
      });
      await expect(spec().get(systemPath())).resolves.toEqual(answer.body);
    }
  });

  it('RF-67 GET VirtualMedia/Cd/: the drive with Inserted, with and without the slash at the end', async () => {
    const answer = await spec().call('GET', drivePath());
    expect(answer).toMatchObject({
      status: 200,
      body: {
        '@odata.id': `${managerPath()}/VirtualMedia/Cd`,
        Inserted: false,
        Image: null,
        ImageName: null,
        ConnectedVia: 'NotConnected',
        WriteProtected: true,
        MediaTypes: ['CD', 'DVD'],
      },
    });
    expect((await spec().call('GET', drivePath().slice(0, -1))).body).toEqual(answer.body);
  });

  it('RF-68 POST VirtualMedia.InsertMedia: 204. The drive shows the image afterwards', async () => {
    const answer = await spec().call('POST', `${drivePath()}Actions/VirtualMedia.InsertMedia`, {
      Image: spec().imageUrl,
      Inserted: true,
    });
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 204, body: undefined });
    expect(await spec().get(drivePath())).toMatchObject({
      Inserted: true,
      Image: spec().imageUrl,
      ImageName: 'disc.iso',
      ConnectedVia: 'URI',
      WriteProtected: true,
      MediaTypes: ['CD', 'DVD'],
    });
  });

  it('RF-95 upload: 201 and 204, and the drive shows the image after the last byte', async () => {
    const { Oem: oem } = await spec().get(drivePath());
    const { UploadURI: uri } = (oem as { Rackless: { UploadURI: string } }).Rackless;
    const tus = { 'Tus-Resumable': '1.0.0' };
    const announced = { ...tus, 'Upload-Length': '6', 'Upload-Metadata': `filename ${btoa('a.iso')}` };
    const begun = await spec().call('POST', uri, undefined, { ...announced, 'Content-Length': '0' });
    expect(begun.status).toBe(201);
    const type = { 'Content-Type': 'application/offset+octet-stream', 'Content-Length': '3' };
    const path = begun.headers.get('location') ?? '';
    for (const [offset, bytes] of [
      [0, 'abc'],
      [3, 'def'],
    ] as const) {
      const headers = { ...tus, ...type, 'Upload-Offset': String(offset) };
      const answer = await spec().call('PATCH', path, bytes, headers);
      expect([answer.status, answer.headers.get('upload-offset')]).toEqual([204, String(offset + 3)]);
    }
    const shown = { Inserted: true, ConnectedVia: 'Applet', Image: null, ImageName: 'a.iso', TransferMethod: 'Upload' };
    expect(await spec().get(drivePath())).toMatchObject(shown);
    expect((await spec().call('POST', `${drivePath()}Actions/VirtualMedia.EjectMedia`)).status).toBe(204);
  });

  it('RF-98 registry of the settings: value, default and origin of EMULATOR_LISTEN_IP', async () => {
    const member = await spec().get('/redfish/v1/Registries/RacklessServiceAttributeRegistry.v1_0_0');
    const [location] = member['Location'] as readonly { readonly Uri: string }[]; // DMTF's schema requires this form
    const { RegistryEntries: entries } = await spec().get(location?.Uri ?? '');
    expect((entries as { Attributes: readonly object[] }).Attributes).toContainEqual(
      expect.objectContaining({
        AttributeName: 'EMULATOR_LISTEN_IP',
        CurrentValue: '192.0.2.1',
        DefaultValue: '0.0.0.0',
        Oem: {
          Rackless: {
            '@odata.type': '#RacklessAttributeRegistry.v1_0_0.Attribute',
            Origin: 'environment EMULATOR_LISTEN_IP',
          },
        },
      }),
    );
  });

  it('RF-69 POST EjectMedia: 204 without a body, also with the content type of JSON, or with {}', async () => {
    const path = `${drivePath()}Actions/VirtualMedia.EjectMedia`;
    const json = { 'Content-Type': 'application/json' };
    for (const eject of [
      () => spec().call('POST', path),
      () => spec().call('POST', path, {}),
      () => spec().call('POST', path, undefined, json),
    ]) {
      await spec().insert();
      expect((await eject()).status).toBe(204);
      expect(await spec().get(drivePath())).toMatchObject({ Inserted: false, Image: null, ImageName: null });
    }
    // Ejecting an empty drive succeeds.
    expect((await spec().call('POST', path)).status).toBe(204);
  });

  it('RF-70 Unreachable image address: 502, and the message names the address', async () => {
    const path = `${drivePath()}Actions/VirtualMedia.InsertMedia`;
    const unreachable = await spec().call('POST', path, { Image: 'http://127.0.0.1:1/disc.iso' });
    expect(unreachable.status).toBe(502);
    expect(spec().messageIds(unreachable)).toEqual(['CouldNotEstablishConnection']);
    expect(JSON.stringify(unreachable.body)).toContain('http://127.0.0.1:1/disc.iso');
  });

  it('RF-71 Request bodies: 415 for a content type other than JSON and for a compressed body, 400 for malformed JSON', async () => {
    const path = `${systemPath()}/Actions/ComputerSystem.Reset`;
    const text = await spec().call('POST', path, { ResetType: 'On' }, { 'Content-Type': 'text/plain' });
    expect(text.status).toBe(415);
    const json = { 'Content-Type': 'application/json' };
    const compressed = await spec().call('POST', path, { ResetType: 'On' }, { ...json, 'Content-Encoding': 'gzip' });
    expect(compressed.status).toBe(415);
    const broken = await spec().call('POST', path, '{"ResetType":', json);
    expect(broken.status).toBe(400);
    expect(spec().messageIds(broken)).toEqual(['MalformedJSON']);
  });

  it('RF-72 Path of the reset action: the target is the path of RF-65. The collection and Actions/Reset reject a reset', async () => {
    const actions = spec().objectAt(await spec().get(systemPath()), 'Actions');
    const { target } = spec().objectAt(actions, '#ComputerSystem.Reset');
    expect(target).toBe(`${systemPath()}/Actions/ComputerSystem.Reset`);
    const collection = await spec().call('POST', '/redfish/v1/Systems', { ResetType: 'On' });
    expect(collection.status).toBe(405);
    expect(collection.headers.get('allow')).toBe('GET, HEAD');
    expect((await spec().call('POST', `${systemPath()}/Actions/Reset`, { ResetType: 'On' })).status).toBe(404);
  });

  it("RF-76 Error bodies: every error has a body in DMTF's format", async () => {
    const answer = await spec().call('POST', `${drivePath()}Actions/VirtualMedia.InsertMedia`, {});
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: {
        code: expect.stringMatching(/^Base\.\d+\.\d+\.ActionParameterMissing$/),
        message: expect.stringContaining('Image'),
        '@Message.ExtendedInfo': [
          {
            '@odata.type': expect.stringMatching(/^#Message\.v\d_\d_\d\.Message$/),
            MessageId: expect.stringMatching(/^Base\.\d+\.\d+\.ActionParameterMissing$/),
            Message: expect.stringContaining('Image'),
            MessageArgs: ['VirtualMedia.InsertMedia', 'Image'],
            MessageSeverity: 'Critical',
            Resolution: expect.stringMatching(/\w/),
            RelatedProperties: ['#/Image'],
          },
        ],
      },
    });
  });

  it('RF-78 Path prefix: resources exist below /redfish/v1 only. /redfish lists this version', async () => {
    expect((await spec().call('GET', '/redfish')).body).toEqual({ v1: '/redfish/v1/' });
    expect((await spec().call('GET', '/Systems')).status).toBe(404);
    expect((await spec().call('GET', '/redfish/v2/Systems')).status).toBe(404);
  });

  it('RF-79 Type versions: @odata.type of a resource has a schema version, that of a collection has none', async () => {
    const types = async (...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await spec().get(path))['@odata.type']));
    for (const type of await types('/redfish/v1', systemPath(), managerPath(), drivePath())) {
      expect(type).toMatch(/^#(\w+)\.v\d+_\d+_\d+\.\1$/);
    }
    for (const type of await types('/redfish/v1/Systems', '/redfish/v1/Managers', '/redfish/v1/Chassis')) {
      expect(type).toMatch(/^#(\w+Collection)\.\1$/);
    }
  });
});
