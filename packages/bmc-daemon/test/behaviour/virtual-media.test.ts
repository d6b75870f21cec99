/** Virtual media as clients use it, and the errors of images. */
import { expect, it } from '@jest/globals';
import { describeSpec, type Answer, type Body, type SpecDaemon } from '../spec/spec-daemon.js';

const empty = { Inserted: false, Image: null, ImageName: null, ConnectedVia: 'NotConnected' };

describeSpec('virtual media', (spec) => {
  const drivePath = (parent = 'Managers'): string => `/redfish/v1/${parent}/${spec().uuid}/VirtualMedia/Cd`;
  const insert = (body: Body, parent?: string): Promise<Answer> =>
    spec().call('POST', `${drivePath(parent)}/Actions/VirtualMedia.InsertMedia`, body);
  const eject = (parent?: string): Promise<Answer> =>
    spec().call('POST', `${drivePath(parent)}/Actions/VirtualMedia.EjectMedia`, {});
  const drive = (): Promise<Body> => spec().get(drivePath());
  const refusal = async (body: Body): Promise<readonly unknown[]> => {
    const answer = await insert(body);
    return [answer.status, ...spec().messageIds(answer)];
  };

  it('is the same drive under the manager and under the system', async () => {
    expect((await insert({ Image: spec().imageUrl }, 'Systems')).status).toBe(204);
    const inserted = {
      Inserted: true,
      Image: spec().imageUrl,
      ImageName: 'disc.iso',
      ConnectedVia: 'URI',
      WriteProtected: true,
      TransferMethod: 'Upload',
      TransferProtocolType: 'HTTP',
    };
    expect(await drive()).toMatchObject(inserted);
    expect(await spec().get(drivePath('Systems'))).toMatchObject(inserted);
    expect((await eject('Managers')).status).toBe(204);
    expect(await spec().get(drivePath('Systems'))).toMatchObject(empty);
  });

  it('accepts the same image again while it is inserted, and rejects another image until an eject', async () => {
    await spec().insert();
    await spec().insert();
    await expect(refusal({ Image: spec().image('other.iso') })).resolves.toEqual([409, 'ResourceInUse']);
    expect(await drive()).toMatchObject({ Inserted: true, Image: spec().imageUrl });
    await eject();
    expect((await insert({ Image: spec().image('other.iso') })).status).toBe(204);
    expect(await drive()).toMatchObject({ Image: spec().image('other.iso'), ImageName: 'other.iso' });
  });

  it('accepts the requests of Ironic, sushy and Ansible', async () => {
    const bodies: readonly Body[] = [
      { Image: spec().imageUrl },
      { Image: spec().imageUrl, Inserted: true, WriteProtected: true },
      { Image: spec().imageUrl, Inserted: true, TransferMethod: 'Upload', TransferProtocolType: 'HTTP' },
      { Image: spec().imageUrl, UserName: null, Password: null },
    ];
    for (const body of bodies) {
      expect((await insert(body)).status).toBe(204);
      expect((await eject()).status).toBe(204);
    }
  });

  it('is write-protected in a CD drive; a request for a writable CD gets a message about this', async () => {
    const answer = await insert({ Image: spec().imageUrl, WriteProtected: false });
    expect([answer.status, spec().messageIds(answer)]).toEqual([200, ['PropertyValueModified']]);
    expect(await drive()).toMatchObject({ Inserted: true, WriteProtected: true });
  });

  it('rejects Inserted false', async () => {
    await expect(refusal({ Image: spec().imageUrl, Inserted: false })).resolves.toEqual([
      400,
      'ActionParameterValueNotInList',
    ]);
    expect(await drive()).toMatchObject(empty);
  });

  it('sends user name and password of parameters or URL to the image server, and never shows the password', async () => {
    const secret = spec().image('secret.iso');
    await expect(refusal({ Image: secret })).resolves.toEqual([400, 'ResourceAtUriUnauthorized']);
    const inUrl = secret.replace('http://', 'http://user:pass%20word@');
    const ways: readonly Body[] = [{ Image: secret, UserName: 'user', Password: 'pass word' }, { Image: inUrl }];
    for (const body of ways) {
      expect((await insert(body)).status).toBe(204);
      const shown = await drive();
      expect(shown).toMatchObject({ Inserted: true, Image: secret });
      expect(JSON.stringify(shown)).not.toMatch(/pass/);
      await eject();
    }
    const wrong = await insert({ Image: secret.replace('http://', 'http://user:guess@') });
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(wrong.body)).not.toContain('guess');
    expect(spec().logged().join()).not.toMatch(/pass(%20| )word|guess/);
  });

  it("masks the query of an image's URL in messages and in the log", async () => {
    const answer = await insert({ Image: `${spec().image('gone.iso')}?signature=hidden` });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain('/gone.iso');
    expect(JSON.stringify(answer.body)).not.toContain('hidden');
    expect(spec().logged().join()).not.toContain('hidden');
  });

  const refusals: readonly [string, (daemon: SpecDaemon) => Body, readonly [number, ...string[]]][] = [
    ['no image', () => ({}), [400, 'ActionParameterMissing']],
    ['an image that is not a URL', () => ({ Image: 'disc.iso' }), [400, 'ActionParameterValueFormatError']],
    ['an image that is not a string', () => ({ Image: 7 }), [400, 'ActionParameterValueTypeError']],
    ['a file of the host', () => ({ Image: 'file:///etc/shadow' }), [400, 'SourceDoesNotSupportProtocol']],
    ['a server that does not listen', () => ({ Image: 'http://127.0.0.1:1/a' }), [502, 'CouldNotEstablishConnection']],
    ['a missing image', (daemon) => ({ Image: daemon.image('gone.iso') }), [400, 'ResourceMissingAtURI']],
    [
      'a server that does not speak TLS',
      (daemon) => ({ Image: daemon.imageUrl.replace('http:', 'https:') }),
      [400, 'AccessDenied'],
    ],
    ['an unknown parameter', (daemon) => ({ Image: daemon.imageUrl, Speed: 1 }), [400, 'ActionParameterUnknown']],
  ];
  it.each(refusals)('returns a specific error for %s and leaves the drive empty', async (_name, body, expected) => {
    await expect(refusal(body(spec()))).resolves.toEqual(expected);
    expect(await drive()).toMatchObject(empty);
  });

  it('returns 404 for unknown drives and unknown actions, and 400 for an unknown parameter of EjectMedia', async () => {
    expect((await spec().call('GET', `/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Tape`)).status).toBe(404);
    expect((await spec().call('POST', `${drivePath()}/Actions/VirtualMedia.Burn`, {})).status).toBe(404);
    const odd = await spec().call('POST', `${drivePath()}/Actions/VirtualMedia.EjectMedia`, { Force: true });
    expect([odd.status, spec().messageIds(odd)]).toEqual([400, ['ActionParameterUnknown']]);
  });
});
