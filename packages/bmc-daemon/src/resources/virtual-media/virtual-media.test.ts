import { afterEach, describe, expect, it } from '@jest/globals';
import { certificatePem } from '../../../test/fixtures/certificate.js';
import { waitFor } from '../../../test/daemon/process.js';
import { serveResources, type Body, type Served } from '../../../test/support/served-resources.js';
import type { TestServices } from '../../../test/support/services.js';
import { DriverError } from '../../drivers/driver-error.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import type { ImageRequest } from '../../media/image.js';
import { createTaskStore } from '../../redfish/tasks/task-store.js';

const [off] = sampleMachines(1);
if (off === undefined) throw new Error('a machine expected');
const driveUri = (tree: 'Systems' | 'Managers', id: string): string =>
  `/redfish/v1/${tree}/${off.uuid}/VirtualMedia/${id}`;
const usb = driveUri('Systems', 'Usb');
const configDrive = 'http://images.test/redfish/configdrive-5ac4fa6e';
/** An image that its server does not have. */
const lostImage = 'http://images.test/lost.img';

let driver: FakeDriver;
let served: Served | undefined;
/** The requests of all downloads. */
let fetched: ImageRequest[] = [];
/** The end of each download. */
let downloaded = Promise.resolve();
afterEach(async () => {
  await served?.close();
  served = undefined;
  fetched = [];
  downloaded = Promise.resolve();
});

async function serve(parts: TestServices = {}, machines = sampleMachines(1)): Promise<Served> {
  driver = new FakeDriver({
    machines,
    fetchImage: (image) => {
      fetched.push(image);
      return image.url.href === lostImage
        ? Promise.reject(new DriverError('mediaNotFound', 'reading the image: the server does not have it'))
        : downloaded;
    },
  });
  served = await serveResources(driver, parts);
  return served;
}
const insert = (path: string) => `${path}/Actions/VirtualMedia.InsertMedia`;
const eject = (path: string) => `${path}/Actions/VirtualMedia.EjectMedia`;
const link = (path: string) => ({ '@odata.id': path });

const emptyStick: Body = {
  '@odata.id': usb,
  Id: 'Usb',
  Name: 'Virtual USB Stick',
  MediaTypes: ['USBStick'],
  Inserted: false,
  Image: null,
  ImageName: null,
  ConnectedVia: 'NotConnected',
  WriteProtected: true,
  TransferMethod: null,
  TransferProtocolType: null,
  UserName: null,
  Password: null,
  VerifyCertificate: false,
  Certificates: link(`${usb}/Certificates`),
  Oem: {
    Rackless: {
      '@odata.type': '#RacklessVirtualMedia.v1_0_0.VirtualMedia',
      UploadURI: `${usb}/Oem/Rackless/Uploads`,
      UploadProtocol: 'tus-1.0.0',
    },
  },
};
const fullStick: Body = {
  ...emptyStick,
  Inserted: true,
  Image: configDrive,
  ImageName: 'configdrive-5ac4fa6e',
  ConnectedVia: 'URI',
  TransferMethod: 'Upload',
  TransferProtocolType: 'HTTP',
};
async function readStick({ get }: Served): Promise<Body> {
  return Object.fromEntries(Object.entries(await get(usb)).filter(([name]) => name !== 'Actions'));
}

describe('virtual media', () => {
  it('are a CD drive, a floppy drive and a USB stick, under systems and under managers', async () => {
    const { get } = await serve();
    for (const tree of ['Systems', 'Managers'] as const) {
      expect((await get(`/redfish/v1/${tree}/${off.uuid}/VirtualMedia`))['Members']).toEqual(
        ['Cd', 'Floppy', 'Usb'].map((id) => link(driveUri(tree, id))),
      );
    }
    expect((await get(driveUri('Systems', 'Cd')))['MediaTypes']).toEqual(['CD', 'DVD']);
    expect((await get(driveUri('Managers', 'Floppy')))['MediaTypes']).toEqual(['Floppy']);
  });

  it("accept Ironic's config drive, which has no file extension, on the USB stick", async () => {
    const all = await serve();
    const { send, get } = all;
    expect(await readStick(all)).toEqual(emptyStick);
    expect((await send('POST', insert(driveUri('Managers', 'Usb')), { Image: configDrive })).status).toBe(204);
    expect(await readStick(all)).toEqual(fullStick);
    expect((await get(driveUri('Systems', 'Cd')))['Inserted']).toBe(false);
    const { Boot: boot } = await get(`/redfish/v1/Systems/${off.uuid}`);
    expect(JSON.stringify(boot)).toContain('"Usb"');
    expect((await send('POST', eject(usb))).status).toBe(204);
    expect(await readStick(all)).toEqual(emptyStick);
  });

  it('are the configured drives; a drive for floppy disks and USB sticks is a USB stick', async () => {
    const { get } = await serve({
      settings: {
        vmediaDevices: {
          Cd: { Name: 'Virtual CD', MediaTypes: ['CD'] },
          Floppy: { Name: 'Virtual Removable Media', MediaTypes: ['Floppy', 'USBStick'] },
        },
      },
    });
    expect((await get(`/redfish/v1/Systems/${off.uuid}/VirtualMedia`))['Members']).toEqual(
      ['Cd', 'Floppy'].map((id) => link(driveUri('Systems', id))),
    );
    await driver.media.insert(off.uuid, 'usb', {
      url: new URL(configDrive),
      writeProtected: true,
      verifyCertificate: false,
    });
    expect(await get(driveUri('Systems', 'Floppy'))).toMatchObject({ Name: 'Virtual Removable Media', Inserted: true });
  });

  it('omit drives that the machine cannot have', async () => {
    const arm = { ...off, media: off.media.filter(({ device }) => device !== 'floppy') };
    const { send } = await serve({}, [arm]);
    expect((await send('GET', driveUri('Systems', 'Floppy'))).status).toBe(404);
  });

  it('are writable if a client requests this, except for a CD; a request for a writable CD gets 200', async () => {
    const { send, get } = await serve();
    expect((await send('POST', insert(usb), { Image: configDrive, WriteProtected: false })).status).toBe(204);
    expect(await get(usb)).toMatchObject({ WriteProtected: false });
    expect(fetched[0]?.writeProtected).toBe(false);
    const cd = await send('POST', insert(driveUri('Systems', 'Cd')), { Image: configDrive, WriteProtected: false });
    // A 204 would mean that the service applied the request exactly.
    expect(cd.status).toBe(200);
    expect(await get(driveUri('Systems', 'Cd'))).toMatchObject({ Inserted: true, WriteProtected: true });
  });

  it('list their transfer methods, and reject other methods and the method Stream with credentials', async () => {
    const { send, get, messages } = await serve();
    const methods = async (id: string) => JSON.stringify((await get(driveUri('Systems', id)))['Actions']);
    expect(await methods('Cd')).toContain('"TransferMethod@Redfish.AllowableValues":["Upload","Stream"]');
    expect(await methods('Floppy')).toContain('"TransferMethod@Redfish.AllowableValues":["Upload"]');
    const floppy = await send('POST', insert(driveUri('Systems', 'Floppy')), {
      Image: configDrive,
      TransferMethod: 'Stream',
    });
    expect([floppy.status, messages(floppy)]).toEqual([400, ['ActionParameterValueNotInList']]);
    const secret = { Image: configDrive, TransferMethod: 'Stream', UserName: 'u', Password: 'hunter2' };
    const streamed = await send('POST', insert(usb), secret);
    expect([streamed.status, messages(streamed)]).toEqual([400, ['ActionParameterValueNotInList']]);
    expect(JSON.stringify(streamed.body)).not.toContain('hunter2');
    const inUrl = { Image: configDrive.replace('//', '//u:hunter2@'), TransferMethod: 'Stream' };
    expect(messages(await send('POST', insert(usb), inUrl))).toEqual(['ActionParameterValueNotInList']);
    expect((await send('POST', insert(usb), { Image: configDrive, TransferMethod: 'Stream' })).status).toBe(204);
    expect(await get(usb)).toMatchObject({ TransferMethod: 'Stream' });
  });

  it('accept an image whose URL has encoded path separators in its last segment', async () => {
    const { send, get } = await serve();
    expect((await send('POST', insert(usb), { Image: 'http://h/..%2f..%2fetc%2fpasswd' })).status).toBe(204);
    expect((await get(usb))['Inserted']).toBe(true);
  });
});

describe('a PATCH of virtual media', () => {
  it('inserts, replaces and ejects an image', async () => {
    const all = await serve();
    const { send, get } = all;
    expect(
      (await send('PATCH', usb, { Image: configDrive, UserName: 'u', Password: 'p', Inserted: true })).status,
    ).toBe(200);
    expect(await readStick(all)).toEqual(fullStick);
    expect(fetched[0]).toMatchObject({ userName: 'u', password: 'p' });
    expect((await send('PATCH', usb, { Image: 'http://images.test/other.img' })).body).toMatchObject({
      ImageName: 'other.img',
    });
    // An inserted image is not downloaded again.
    expect((await send('PATCH', usb, { Image: 'http://images.test/other.img' })).status).toBe(200);
    expect(fetched).toHaveLength(2);
    for (const body of [{ Image: null }, { Image: '' }, { Inserted: false }]) {
      await send('PATCH', usb, { Image: configDrive });
      expect((await send('PATCH', usb, body)).status).toBe(200);
      expect(await readStick(all)).toEqual(emptyStick);
    }
    expect((await get(driveUri('Managers', 'Usb')))['Inserted']).toBe(false);
  });

  it('changes VerifyCertificate together with the image, and not if the insert fails', async () => {
    const { send, get } = await serve();
    const floppy = driveUri('Systems', 'Floppy');
    const verifies = async (path: string) => (await get(path))['VerifyCertificate'];
    const unsupported = { VerifyCertificate: true, Image: configDrive, TransferMethod: 'Stream' };
    expect((await send('PATCH', floppy, unsupported)).status).toBe(400);
    expect(await verifies(floppy)).toBe(false);
    expect((await send('PATCH', usb, { VerifyCertificate: true, Image: lostImage })).status).toBe(400);
    expect(await verifies(usb)).toBe(false);
    const changed = await send('PATCH', usb, { VerifyCertificate: true, Image: configDrive });
    expect(changed.body).toMatchObject({ VerifyCertificate: true, Image: configDrive });
    expect(fetched.map(({ verifyCertificate }) => verifyCertificate)).toEqual([true, true]);
    const ejected = await send('PATCH', usb, { VerifyCertificate: false, Image: null });
    expect(ejected.body).toMatchObject({ VerifyCertificate: false, Image: null });
  });

  it('keeps a VerifyCertificate that a client changes while a task inserts an image with another value', async () => {
    const tasks = createTaskStore({ limit: 10, now: () => new Date() });
    const { send, get } = await serve({ operations: { tasks, waitMs: 0, onTaskFailed: () => undefined } });
    let endDownload = (): void => undefined;
    downloaded = new Promise((resolve) => {
      endDownload = resolve;
    });
    const inserted = await send('PATCH', usb, { VerifyCertificate: true, Image: configDrive });
    expect(inserted.status).toBe(202);
    expect((await send('PATCH', usb, { VerifyCertificate: false })).status).toBe(200);
    endDownload();
    await waitFor(
      async () => ((await get(String(inserted.body?.['@odata.id'])))['TaskState'] === 'Completed' ? true : undefined),
      () => 'the task does not end',
    );
    expect(await get(usb)).toMatchObject({ VerifyCertificate: false, Image: configDrive });
  });

  it('accepts values that GET returned for an empty drive', async () => {
    const all = await serve();
    const { Inserted, Image, WriteProtected, UserName, Password, TransferMethod } = emptyStick;
    const same = { Inserted, Image, WriteProtected, UserName, Password, TransferMethod };
    expect((await all.send('PATCH', usb, same)).status).toBe(200);
    expect(await readStick(all)).toEqual(emptyStick);
  });

  it.each<[object, readonly string[]]>([
    [{ Image: 'nfs://h/x' }, ['SourceDoesNotSupportProtocol']],
    [{ Image: 'x' }, ['PropertyValueFormatError']],
    [{ Image: configDrive, Inserted: false }, ['PropertyValueConflict']],
    [{ Image: configDrive, TransferProtocolType: 'HTTPS' }, ['PropertyValueConflict']],
    [{ Image: null, Inserted: true }, ['PropertyMissing']],
    [{ Inserted: true }, ['PropertyMissing']],
    [{ WriteProtected: false }, ['PropertyValueConflict']],
    [{ UserName: 'u', Password: 'p' }, ['PropertyValueConflict', 'PropertyValueConflict']],
    [{ ImageName: 'x' }, ['PropertyNotWritable']],
    [{ Image: configDrive, TransferMethod: 'Carrier' }, ['PropertyValueNotInList']],
  ])('rejects %j with %j', async (body, keys) => {
    const all = await serve();
    const answer = await all.send('PATCH', usb, body);
    expect([answer.status, all.messages(answer)]).toEqual([400, keys]);
    expect(await readStick(all)).toEqual(emptyStick);
  });
});

describe('certificates of image servers', () => {
  const certificates = `${usb}/Certificates`;
  const sent = { CertificateString: certificatePem, CertificateType: 'PEM' };

  it('are verified as configured until a client changes VerifyCertificate of a drive', async () => {
    const { send, get } = await serve({ settings: { vmediaVerifySsl: true } });
    expect((await get(usb))['VerifyCertificate']).toBe(true);
    await send('POST', insert(usb), { Image: configDrive });
    expect((await send('PATCH', usb, { VerifyCertificate: false })).body).toMatchObject({
      VerifyCertificate: false,
      Inserted: true,
    });
    expect((await get(driveUri('Managers', 'Cd')))['VerifyCertificate']).toBe(true);
    await send('POST', eject(usb));
    await send('POST', insert(usb), { Image: configDrive });
    expect(fetched.map(({ verifyCertificate }) => verifyCertificate)).toEqual([true, false]);
  });

  it('are added to a drive, shown, trusted only for images of this drive, and removed', async () => {
    const { send, get } = await serve();
    const made = await send('POST', certificates, sent);
    const name = { CommonName: 'images.example.org', Country: 'DE', Organization: 'Example' };
    expect(made).toEqual({
      status: 201,
      location: `${certificates}/1`,
      body: {
        '@odata.id': `${certificates}/1`,
        Id: '1',
        Name: 'Certificate 1',
        CertificateString: certificatePem,
        CertificateType: 'PEM',
        Issuer: name,
        Subject: { ...name, AlternativeNames: ['images.example.org'] },
        KeyUsage: [],
        SignatureAlgorithm: '1.2.840.10045.4.3.2',
        ValidNotBefore: expect.stringMatching(/^2026-11-20T\d\d:\d\d:\d\dZ$/),
        ValidNotAfter: expect.stringMatching(/^2126-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        SerialNumber: expect.stringMatching(/^([0-9A-F]{2}:)+[0-9A-F]{2}$/),
        Fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
        FingerprintHashAlgorithm: 'TPM_ALG_SHA256',
      },
    });
    expect((await get(certificates))['Members']).toEqual([link(`${certificates}/1`)]);
    expect((await get(`${driveUri('Systems', 'Cd')}/Certificates`))['Members']).toEqual([]);
    await send('POST', insert(usb), { Image: configDrive });
    await send('POST', insert(driveUri('Systems', 'Cd')), { Image: configDrive });
    expect(fetched.map(({ authorities }) => authorities)).toEqual([[certificatePem], undefined]);
    expect((await send('DELETE', `${certificates}/1`)).status).toBe(204);
    expect((await send('GET', `${certificates}/1`)).status).toBe(404);
    expect((await send('POST', certificates, { ...sent, CertificateType: 'PEMchain' })).location).toBe(
      `${certificates}/1`,
    );
  });

  it('are stored and shown without the other text of a PEM file', async () => {
    const { send, get } = await serve();
    const file = `password: secret\n${certificatePem}\u0001\n${certificatePem}more`;
    await send('POST', certificates, { CertificateString: file, CertificateType: 'PEMchain' });
    expect((await get(`${certificates}/1`))['CertificateString']).toBe(certificatePem + certificatePem);
  });

  it('cannot be added with a private key or as another text, and the error does not quote the key', async () => {
    const { send, messages } = await serve();
    const key = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n';
    for (const pem of ['', 'x', key, key + certificatePem, certificatePem.replace('MII', 'MIX')]) {
      const answer = await send('POST', certificates, { ...sent, CertificateString: pem });
      expect([answer.status, messages(answer)]).toEqual([400, ['PropertyValueFormatError']]);
      expect(JSON.stringify(answer.body)).not.toContain('c2VjcmV0');
    }
    const odd = await send('POST', certificates, { ...sent, CertificateType: 'PKCS7' });
    expect([odd.status, messages(odd)]).toEqual([400, ['PropertyValueNotInList']]);
  });

  it('are limited to eight for each drive', async () => {
    const { send, messages } = await serve();
    for (let count = 0; count < 8; count += 1) expect((await send('POST', certificates, sent)).status).toBe(201);
    expect(messages(await send('POST', certificates, sent))).toEqual(['CreateLimitReachedForResource']);
  });
});
