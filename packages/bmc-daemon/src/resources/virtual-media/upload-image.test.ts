import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serve, type Client, type Received } from '../../../test/support/client.js';
import { testServices, type TestServices } from '../../../test/support/services.js';
import { DriverError } from '../../drivers/driver-error.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { resourcesOf } from '../../features.js';
import { mediaFailure } from '../../drivers/media-failure.js';
import type { ImageDownload } from '../../media/image-download.js';
import { ImageError } from '../../media/image-error.js';
import type { ImageUpload } from '../../media/image-upload.js';
import type { ImageRequest } from '../../media/image.js';
import type { InsertOptions } from '../../drivers/operation-options.js';
import { withoutLogin } from '../../redfish/authenticate.js';
import { createPipeline } from '../../redfish/pipeline.js';

const [machine, other] = sampleMachines(2);
if (machine === undefined || other === undefined) throw new Error('two machines expected');
const drive = `/redfish/v1/Systems/${machine.uuid}/VirtualMedia/Cd`;
const uploads = `${drive}/Oem/Rackless/Uploads`;
const tus = { 'Tus-Resumable': '1.0.0' };
const fileNameMetadata = (name: string, more = ''): string => `filename ${Buffer.from(name).toString('base64')}${more}`;

let client: Client | undefined;
let driver: FakeDriver;
/** The images that were stored completely. */
let stored: Buffer[] = [];
afterEach(async () => {
  await driver.close();
  await client?.close();
  client = undefined;
  stored = [];
});

function openBody(upload: ImageUpload, signal: AbortSignal): ImageDownload {
  try {
    return upload.open(1000, signal);
  } catch (error) {
    throw error instanceof ImageError ? mediaFailure(error) : error;
  }
}

/** Stores an upload in `stored`, as a driver stores it in a pool. @throws {DriverError} if it ends early. */
async function store(
  { upload }: ImageRequest,
  { signal = new AbortController().signal }: InsertOptions,
): Promise<void> {
  if (upload === undefined) throw new Error('an upload expected');
  const { body } = openBody(upload, signal);
  signal.addEventListener('abort', () => body.destroy(signal.reason as Error));
  const bytes = await buffer(body).catch((error: unknown) => {
    throw new DriverError('insertFailed', String(error));
  });
  stored.push(bytes);
}

async function start(fetchImage = store, settings: TestServices['settings'] = {}): Promise<Client> {
  driver = new FakeDriver({ machines: sampleMachines(2), fetchImage });
  const services = testServices(driver, { settings });
  const pipeline = createPipeline({
    resources: resourcesOf(driver),
    services,
    authenticate: withoutLogin,
    strict: false,
  });
  client = await serve((incoming, response) => void pipeline(incoming, response, '1'));
  return client;
}
const announce = async (size: number, metadata = fileNameMetadata('a b.iso')): Promise<Received> =>
  await sender().send('POST', uploads, {
    headers: { ...tus, 'Upload-Length': String(size), 'Upload-Metadata': metadata },
  });
const sender = (): Client => {
  if (client === undefined) throw new Error('a started service expected');
  return client;
};
async function begin(size: number): Promise<string> {
  const { status, headers } = await announce(size);
  expect(status).toBe(201);
  return headers.location ?? '';
}
const patchHeaders = (offset: number) => ({
  ...tus,
  'Content-Type': 'application/offset+octet-stream',
  'Upload-Offset': String(offset),
});
const append = (path: string, offset: number, body: string): Promise<Received> =>
  sender().send('PATCH', path, { headers: patchHeaders(offset), body });
const inspect = (path: string): Promise<Received> => sender().send('HEAD', path, { headers: tus });
const shownDrive = async (): Promise<unknown> => (await sender().get(drive)).json;
const messageOf = ({ json }: Received): string => JSON.stringify(json);

/** Begins a PATCH. Returns the request, which is still open, when the service has received its first bytes. */
async function open(path: string, offset: number, bytes: string): Promise<ClientRequest> {
  const outgoing = request({
    host: '127.0.0.1',
    port: sender().port,
    method: 'PATCH',
    path,
    agent: false,
    headers: { ...patchHeaders(offset), 'Transfer-Encoding': 'chunked' },
  });
  outgoing.on('error', () => undefined);
  outgoing.write(bytes);
  await untilReceived(path, offset + bytes.length);
  return outgoing;
}
async function statusOf(outgoing: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  outgoing.destroy();
  return response.statusCode;
}
/** Waits until the service has received this number of bytes of an upload. */
async function untilReceived(path: string, offset: number): Promise<void> {
  while ((await inspect(path)).headers['upload-offset'] !== String(offset));
}

describe('uploads of images', () => {
  it('are advertised by the drive, with the capabilities of the protocol', async () => {
    await start();
    expect(await shownDrive()).toMatchObject({
      Oem: { Rackless: { UploadURI: uploads, UploadProtocol: 'tus-1.0.0' } },
    });
    const { status, headers } = await sender().send('OPTIONS', uploads);
    expect([status, headers.allow, headers['tus-version'], headers['tus-extension']]).toEqual([
      204,
      'POST',
      '1.0.0',
      'creation,termination,expiration',
    ]);
    expect((await sender().get(uploads)).status).toBe(405);
  });

  it('are tasks, and insert the image with the last byte', async () => {
    await start();
    const begun = await announce(10);
    expect(begun.status).toBe(201);
    expect(begun.json).toMatchObject({ TaskState: 'Running', Name: `Upload an image into Cd of ${machine.name}` });
    const path = begun.headers.location ?? '';
    const first = await append(path, 0, '01234');
    expect([first.status, first.headers['upload-offset']]).toEqual([204, '5']);
    expect(Date.parse(first.headers['upload-expires'] as string)).toBeGreaterThan(Date.now());
    expect(await shownDrive()).toMatchObject({ Inserted: false });
    const last = await append(path, 5, '56789');
    expect([last.status, last.headers['upload-offset'], last.headers['upload-expires']]).toEqual([
      204,
      '10',
      undefined,
    ]);
    expect(stored.map(String)).toEqual(['0123456789']);
    expect(await shownDrive()).toMatchObject({
      Inserted: true,
      Image: null,
      ImageName: 'a b.iso',
      ConnectedVia: 'Applet',
      TransferMethod: 'Upload',
      TransferProtocolType: null,
    });
    const { json: task } = await sender().get((begun.json as { '@odata.id': string })['@odata.id']);
    expect(task).toMatchObject({ TaskState: 'Completed', PercentComplete: 100 });
    // The client may have lost the last answer, so a repetition of the last request succeeds, too.
    expect((await inspect(path)).headers).toMatchObject({ 'upload-offset': '10', 'upload-length': '10' });
    expect((await append(path, 10, '')).status).toBe(204);
    expect((await announce(5)).status).toBe(409);
  });

  it('continue where a connection broke, any number of times', async () => {
    await start();
    const text = Array.from({ length: 900 }, (_, index) => String(index % 10)).join('');
    const path = await begin(text.length);
    for (let offset = 0; offset < text.length - 200;) {
      const size = 1 + Math.floor(Math.random() * 200);
      const half = await open(path, offset, text.slice(offset, offset + size));
      half.destroy();
      offset += size;
    }
    const offset = Number((await inspect(path)).headers['upload-offset']);
    expect((await append(path, offset, text.slice(offset))).status).toBe(204);
    expect(stored.map(String)).toEqual([text]);
  });

  it('continue at once if an earlier request is still open; the earlier one gets 409', async () => {
    await start();
    const path = await begin(10);
    const lost = await open(path, 0, '0123');
    const ended = statusOf(lost);
    expect((await append(path, 4, '456789')).status).toBe(204);
    expect(await ended).toBe(409);
    expect(stored.map(String)).toEqual(['0123456789']);
  });

  it('reject bytes at another offset and do not change, so that two clients cannot mix their bytes', async () => {
    await start();
    const path = await begin(10);
    expect((await append(path, 0, '0123')).status).toBe(204);
    for (const offset of [0, 3, 5, 10, 999_999_999_999_999]) {
      const answer = await append(path, offset, 'xx');
      expect([answer.status, answer.headers['upload-offset']]).toEqual([409, '4']);
    }
    expect((await append(path, 4, '456789x')).status).toBe(413);
    expect((await append(path, 4, '456789')).status).toBe(204);
    expect(stored.map(String)).toEqual(['0123456789']);
  });

  it('reject more bytes than the client announced in a request without Content-Length', async () => {
    await start();
    const path = await begin(4);
    const outgoing = request({
      host: '127.0.0.1',
      port: sender().port,
      method: 'PATCH',
      path,
      agent: false,
      headers: { ...patchHeaders(0), 'Transfer-Encoding': 'chunked' },
    });
    outgoing.end('01234');
    expect(await statusOf(outgoing)).toBe(413);
    expect((await append(path, 0, '0123')).status).toBe(204);
    expect(stored.map(String)).toEqual(['0123']);
  });

  it('are limited to one for each drive; after a client cancels the upload, the drive accepts another', async () => {
    await start();
    const path = await begin(10);
    expect((await announce(10)).status).toBe(409);
    const half = await open(path, 0, '0123');
    const ended = statusOf(half);
    expect((await sender().send('DELETE', path, { headers: tus })).status).toBe(204);
    expect(await ended).toBe(410);
    expect((await inspect(path)).status).toBe(410);
    const refused = await append(path, 4, '456789');
    expect([refused.status, messageOf(refused)]).toEqual([410, expect.stringContaining('cancelled')]);
    expect((await append(await begin(4), 0, '0123')).status).toBe(204);
    expect(stored.map(String)).toEqual(['0123']);
  });

  it('end when a client calls EjectMedia or deletes their task', async () => {
    await start();
    const ejected = await begin(10);
    expect((await sender().send('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, { body: {} })).status).toBe(204);
    expect((await inspect(ejected)).status).toBe(410);
    const { json, headers } = await announce(10);
    const task = (json as { '@odata.id': string })['@odata.id'];
    expect((await sender().send('DELETE', task)).status).toBeLessThan(300);
    while ((await inspect(headers.location ?? '')).status !== 410);
  });

  it('expire when the client sends nothing for the configured time', async () => {
    await start(store, { vmediaUploadExpirySeconds: 0.2 });
    const path = await begin(10);
    while ((await inspect(path)).status !== 410);
    const answer = await append(path, 0, '0123456789');
    expect(messageOf(answer)).toContain('the client sent nothing for 0.2 s');
    expect(stored).toEqual([]);
  });

  it('report a failure of the storage at the next request; the first request of a too large image is rejected', async () => {
    await start(async ({ upload }, { signal = new AbortController().signal }) => {
      if (upload === undefined) throw new Error('an upload expected');
      for await (const _chunk of openBody(upload, signal).body) {
        throw new DriverError('storageFull', 'storing the image: the storage pool is full', { field: 'image' });
      }
    });
    const path = await begin(10);
    await append(path, 0, '01234');
    while ((await inspect(path)).status !== 410);
    const answer = await append(path, 5, '56789');
    expect([answer.status, messageOf(answer)]).toEqual([507, expect.stringContaining('InsufficientStorage')]);
    expect((await announce(2_000)).status).toBe(400);
  });

  it.each<[string, Readonly<Record<string, string>>, number]>([
    ['a request without a version', { 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('a') }, 412],
    [
      'a request with another version',
      { 'Tus-Resumable': '0.2.2', 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('a') },
      412,
    ],
    ['a request without a length', { ...tus, 'Upload-Metadata': fileNameMetadata('a') }, 400],
    [
      'a request with a negative length',
      { ...tus, 'Upload-Length': '-1', 'Upload-Metadata': fileNameMetadata('a') },
      400,
    ],
    [
      'a request with a length of zero',
      { ...tus, 'Upload-Length': '0', 'Upload-Metadata': fileNameMetadata('a') },
      400,
    ],
    [
      'a request with a length that is too large for an integer',
      { ...tus, 'Upload-Length': '9'.repeat(30), 'Upload-Metadata': fileNameMetadata('a') },
      400,
    ],
    [
      'a request that defers its length',
      { ...tus, 'Upload-Defer-Length': '1', 'Upload-Metadata': fileNameMetadata('a') },
      400,
    ],
    ['a request without a name', { ...tus, 'Upload-Length': '5' }, 400],
    [
      'a request with a folder in the name',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('../../etc/passwd') },
      400,
    ],
    [
      'a request with a line break in the name',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('a\r\nX: y') },
      400,
    ],
    [
      'a request with a name that is no UTF-8',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': 'filename /w==' },
      400,
    ],
    [
      'a request with a name that is no Base64',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': 'filename <x>' },
      400,
    ],
    [
      'a request with a name that is too long',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('a'.repeat(256)) },
      400,
    ],
    [
      'a request with an unknown write protection',
      { ...tus, 'Upload-Length': '5', 'Upload-Metadata': fileNameMetadata('a', ',writeprotected eA==') },
      400,
    ],
  ])('reject %s', async (_what, headers, status) => {
    await start();
    const answer = await sender().send('POST', uploads, { headers });
    expect([answer.status, answer.headers['tus-resumable']]).toEqual([status, '1.0.0']);
    expect((await announce(5)).status).toBe(201);
  });

  it('exist only under their drive, in the trees of systems and managers', async () => {
    await start();
    const id = (await begin(10)).split('/').at(-1) ?? '';
    const elsewhere = uploads.replace(machine.uuid, other.uuid);
    for (const path of [`${elsewhere}/${id}`, `${uploads.replace('/Cd/', '/Usb/')}/${id}`, `${uploads}/x`]) {
      expect((await inspect(path)).status).toBe(404);
      expect((await append(path, 0, '0123456789')).status).toBe(404);
      expect((await sender().send('DELETE', path, { headers: tus })).status).toBe(404);
    }
    // The manager shows the same drive, so it also shows the drive's uploads.
    expect((await inspect(`${uploads.replace('/Systems/', '/Managers/')}/${id}`)).status).toBe(200);
  });

  it('let the client wait while the storage does not read', async () => {
    let read: () => void = () => undefined;
    const mayRead = new Promise<void>((resolve) => (read = resolve));
    await start(async ({ upload }, options) => {
      const signal = options.signal ?? new AbortController().signal;
      const body = upload?.open(100_000_000, signal).body;
      body?.read(0);
      await mayRead;
      for await (const chunk of body ?? []) stored.push(Buffer.from([(chunk as Buffer).length % 256]));
    });
    const path = await begin(20_000_000);
    const sent = append(path, 0, 'x'.repeat(20_000_000));
    while (Number((await inspect(path)).headers['upload-offset']) < 1_048_576);
    expect(Number((await inspect(path)).headers['upload-offset'])).toBeLessThan(2_000_000);
    read();
    expect((await sent).status).toBe(204);
  });
});
