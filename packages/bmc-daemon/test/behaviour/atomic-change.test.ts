/** A PATCH changes all properties or none. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { newFolder, openLab, type Lab } from '../events/event-lab.js';
import { describeSpec, type Body } from '../spec/spec-daemon.js';

/** Valid values of three properties. Some tests add `Boot`. */
const parts = { AssetTag: 'shelf 1', IndicatorLED: 'Blinking', PowerRestorePolicy: 'AlwaysOn' };

describeSpec('a PATCH of several properties', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const patch = (body: Body) => spec().call('PATCH', path(), body);
  const shownValues = async () => {
    const system = await spec().get(path());
    const { AssetTag, IndicatorLED, PowerRestorePolicy, Boot } = system;
    const drive = await spec().get(`/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd`);
    return { AssetTag, IndicatorLED, PowerRestorePolicy, Boot, Image: drive['Image'] };
  };
  const httpBoot = (uri: string): Body => ({
    BootSourceOverrideTarget: 'UefiHttp',
    BootSourceOverrideEnabled: 'Once',
    HttpBootUri: uri,
  });

  it('changes all properties, whether the machine runs or not', async () => {
    for (const state of ['off', 'running']) {
      if (state === 'running') await spec().reset('On');
      const uri = spec().image(state === 'off' ? 'disc.iso' : 'other.iso');
      expect((await patch({ ...parts, Boot: httpBoot(uri) })).status).toBe(200);
      const { Boot, ...rest } = await shownValues();
      expect(rest).toEqual({ ...parts, Image: uri });
      expect(Boot).toMatchObject({ BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: uri });
    }
    await spec().reset('ForceOff');
  });

  it('changes nothing if one property fails, whether the machine runs or not', async () => {
    for (const state of ['off', 'running']) {
      if (state === 'running') await spec().reset('On');
      const before = await shownValues();
      expect((await patch({ ...parts, Boot: httpBoot('http://127.0.0.1:1/disc.iso') })).status).toBe(502);
      expect(await shownValues()).toEqual(before);
      expect((await patch({ ...parts, Boot: httpBoot(spec().image('gone.iso')) })).status).toBe(400);
      expect(await shownValues()).toEqual(before);
    }
    await spec().reset('ForceOff');
  });

  it('keeps the image of an HTTP boot when the next image cannot be downloaded', async () => {
    expect((await patch({ Boot: httpBoot(spec().imageUrl) })).status).toBe(200);
    const before = await shownValues();
    expect((await patch({ ...parts, Boot: httpBoot(spec().image('gone.iso')) })).status).toBe(400);
    expect(await shownValues()).toEqual(before);
    expect((await patch({ Boot: { BootSourceOverrideTarget: 'Hdd' } })).status).toBe(200);
    expect((await shownValues()).Image).toBeNull();
  });

  it('is rejected with 409, and changes nothing, if the drive for its HTTP boot already has an image', async () => {
    await spec().insert();
    const before = await shownValues();
    expect((await patch({ ...parts, Boot: httpBoot(spec().image('other.iso')) })).status).toBe(409);
    expect(await shownValues()).toEqual(before);
  });
});

describe('the event of a PATCH', () => {
  const folder = newFolder();
  const driver = new FakeDriver();
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab(driver, folder.path);
  });
  afterAll(async () => {
    await lab.close();
    await driver.close();
    folder.remove();
  });

  it('is the only event of this PATCH, and contains all its properties; a failed PATCH has no event', async () => {
    const { uuid } = await driver.getSystem('node-2');
    const seen: unknown[] = [];
    const stop = driver.onChange(({ kind }) => seen.push(kind));
    const path = `/redfish/v1/Systems/${uuid}`;
    const uri = 'http://127.0.0.1:1/disc.iso';
    const Boot = { BootSourceOverrideMode: 'UEFI', BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: uri };
    expect((await lab.client.send('PATCH', path, { body: { ...parts, Boot } })).status).toBe(502);
    expect(seen).toEqual([]);
    expect((await lab.client.send('PATCH', path, { body: parts })).status).toBe(200);
    expect(seen).toEqual(['changed']);
    stop();
    const { Members } = await lab.get(`${path}/LogServices/EventLog/Entries`);
    expect(Members).toMatchObject([
      {
        Message: 'A resource was changed. AssetTag shelf 1, IndicatorLED Blinking, PowerRestorePolicy AlwaysOn.',
        OriginatorType: 'Client',
      },
    ]);
  });
});
