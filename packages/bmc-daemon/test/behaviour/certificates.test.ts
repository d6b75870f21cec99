/** The certificate service: the HTTPS certificate, signing requests, and replacement. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadTls, type TlsOptions } from '@rackless/daemon/network/tls.js';
import { noRequestedKeys, openServerCertificate } from '../../src/certificates/server-certificate.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { createEventBus } from '../../src/events/event-bus.js';
import { publishWrites } from '../../src/events/publishers/published-writes.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { createTaskStore, taskMonitorUri, taskUri, type TaskStore } from '../../src/redfish/tasks/task-store.js';
import { resources } from '../../src/features.js';
import { certificatePem } from '../fixtures/certificate.js';
import { createAuthority, openssl, type Authority } from '../support/authority.js';
import { serve, type Client } from '../support/client.js';
import { stateInMemory, testServices } from '../support/services.js';

type Body = Readonly<Record<string, unknown>>;

const service = '/redfish/v1/CertificateService';
const generate = `${service}/Actions/CertificateService.GenerateCSR`;
const replace = `${service}/Actions/CertificateService.ReplaceCertificate`;

let folder: string;
let authority: Authority;
let client: Client;
let driver: FakeDriver;
let tasks: TaskStore;
let uuid: string;
let collection: string;
let shownToClients: TlsOptions | undefined;
let published: { readonly messageId: string; readonly origin: string | null; readonly text: string }[];
const pathOf = (name: string) => path.join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-certificates-'));
  authority = createAuthority(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Starts the service with the certificate `first` in server.pem. Clients of the test use plain HTTP with both schemes.
 * @param scheme `http`: the service knows no HTTPS certificate.
 * @param waitMs time until an action becomes a task.
 */
async function start(scheme: 'http' | 'https', waitMs = 120_000): Promise<void> {
  driver = new FakeDriver();
  const files = { sslCert: pathOf('server.pem'), sslKey: pathOf('server.key') };
  const first = authority.issue('first');
  writeFileSync(files.sslCert, first.certificate);
  writeFileSync(files.sslKey, first.key);
  shownToClients = undefined;
  published = [];
  const events = createEventBus((error) => {
    throw error;
  });
  events.subscribe(({ messageId, origin, message = '' }) => published.push({ messageId, origin, text: message }));
  tasks = createTaskStore({ limit: 10, now: () => new Date() });
  const services = testServices(driver, {
    operations: { tasks, waitMs, onTaskFailed: () => undefined },
    events,
    serverCertificate:
      scheme === 'http'
        ? null
        : openServerCertificate({
            tls: loadTls(files),
            files: () => files,
            setTls: (tls) => (shownToClients = tls),
            state: stateInMemory(noRequestedKeys),
            log: { info: () => undefined, warn: () => undefined },
            now: () => new Date(),
          }),
  });
  const pipeline = createPipeline({
    resources,
    services,
    authenticate: withoutLogin,
    strict: true,
    onChange: publishWrites(events),
  });
  client = await serve((request, response) => void pipeline(request, response, '1'));
  const [machine] = await driver.listSystems();
  uuid = machine?.uuid ?? '';
  collection = `/redfish/v1/Managers/${uuid}/NetworkProtocol/HTTPS/Certificates`;
}
afterEach(async () => {
  await client.close();
  await driver.close();
});

const get = async (uri: string): Promise<Body> => (await client.get(uri)).json as Body; // Answers of Redfish are JSON objects.
const post = async (uri: string, body: object) => {
  const { status, headers, json } = await client.send('POST', uri, { body });
  return { status, location: headers.location, body: (json ?? {}) as Body }; // Answers of Redfish are JSON objects.
};
/** Returns the texts of the messages in an answer. */
const faults = ({ body }: { readonly body: Body }): readonly string[] =>
  [...JSON.stringify(body).matchAll(/"Message":"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text);

describe('the certificate of HTTPS', () => {
  beforeEach(() => start('https'));

  it('is shown under every manager and linked from the service root', async () => {
    const pem = readFileSync(pathOf('server.pem'), 'utf8');
    expect((await get('/redfish/v1'))['CertificateService']).toEqual({ '@odata.id': service });
    const all = (await driver.listSystems()).map((one) => one.uuid).sort();
    expect(await get(`${service}/CertificateLocations`)).toMatchObject({
      Links: {
        'Certificates@odata.count': all.length,
        Certificates: all.map((one) => ({
          '@odata.id': `/redfish/v1/Managers/${one}/NetworkProtocol/HTTPS/Certificates/1`,
        })),
      },
    });
    expect(await get(collection)).toMatchObject({
      Members: [{ '@odata.id': `${collection}/1` }],
      '@Redfish.SupportedCertificates': ['PEM', 'PEMchain'],
    });
    const fingerprint = openssl(['x509', '-noout', '-fingerprint', '-sha256'], pem).trim().split('=')[1];
    expect(await get(`${collection}/1`)).toEqual({
      '@odata.id': `${collection}/1`,
      '@odata.type': '#Certificate.v1_11_0.Certificate',
      '@odata.context': '/redfish/v1/$metadata#Certificate.Certificate',
      Id: '1',
      Name: 'HTTPS Certificate',
      Description: 'The certificate of this service, which the managers of all machines share',
      CertificateString: pem,
      CertificateType: 'PEM',
      CertificateUsageTypes: ['Web'],
      Issuer: { Organization: 'Example', CommonName: 'root' },
      Subject: { CommonName: 'first', AlternativeNames: ['localhost', '127.0.0.1'] },
      ValidNotBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      ValidNotAfter: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      KeyUsage: [],
      SerialNumber: expect.stringMatching(/^([0-9A-F]{2}:)+[0-9A-F]{2}$/),
      SignatureAlgorithm: '1.2.840.10045.4.3.2',
      Fingerprint: fingerprint,
      FingerprintHashAlgorithm: 'TPM_ALG_SHA256',
    });
    expect((await client.get(`${collection}/2`)).status).toBe(404);
  });

  it('is requested, signed by a CA and replaced, and clients see the new certificate', async () => {
    const asked = await post(generate, {
      CertificateCollection: { '@odata.id': `${collection}/` },
      CommonName: 'bmc.example.org',
      AlternativeNames: ['DNS:localhost', 'IP:127.0.0.1', 'bmc.example.org'],
      Organization: 'Example',
      OrganizationalUnit: 'Rack 7',
      City: 'Berlin',
      State: '',
      Country: 'DE',
      Email: 'admin@example.org',
      KeyPairAlgorithm: 'TPM_ALG_RSA',
      KeyBitLength: 2048,
    });
    const csr = String(asked.body['CSRString']);
    expect(asked).toEqual({
      status: 200,
      location: undefined,
      body: {
        CertificateCollection: { '@odata.id': collection },
        CSRString: expect.stringMatching(/^-----BEGIN CERTIFICATE REQUEST-----\n/),
      },
    });
    const answer = await post(replace, {
      CertificateUri: { '@odata.id': `${collection}/1` },
      CertificateString: authority.sign(csr) + authority.root,
      CertificateType: 'PEMchain',
    });
    expect(answer).toMatchObject({ status: 200, location: `${collection}/1` });
    expect(answer.body).toEqual(await get(`${collection}/1`));
    expect(answer.body).toMatchObject({
      CertificateType: 'PEMchain',
      KeyUsage: ['DigitalSignature', 'KeyEncipherment', 'ServerAuthentication'],
      Subject: {
        CommonName: 'bmc.example.org',
        Organization: 'Example',
        OrganizationalUnit: 'Rack 7',
        City: 'Berlin',
        Country: 'DE',
        Email: 'admin@example.org',
        AlternativeNames: ['bmc.example.org', 'localhost', '127.0.0.1'],
      },
    });
    expect(shownToClients?.cert).toBe(answer.body['CertificateString']);
    expect(JSON.stringify(published)).not.toContain('PRIVATE KEY');
    expect(published.map(({ messageId, origin }) => [messageId.split('.').at(-1), origin])).toEqual([
      ['ResourceChanged', service],
      ['ResourceChanged', `${collection}/1`],
    ]);
  });

  it('is replaced by a POST of a certificate with its key', async () => {
    const next = authority.issue('next');
    const answer = await post(collection, {
      CertificateString: `${next.key}${next.certificate}`,
      CertificateType: 'PEM',
    });
    expect(answer).toMatchObject({ status: 201, location: `${collection}/1` });
    expect(answer.body['CertificateString']).toBe(next.certificate);
    expect(shownToClients?.cert).toBe(next.certificate);
    expect(JSON.stringify(answer.body)).not.toContain('PRIVATE KEY');
  });

  it('does not change if the new one is invalid or cannot be written, and the error has the reason', async () => {
    const next = authority.issue('next');
    const other = authority.issue('other');
    const send = async (CertificateString: string) => {
      const body = { CertificateUri: { '@odata.id': `${collection}/1` }, CertificateString, CertificateType: 'PEM' };
      const answer = await post(replace, body);
      expect(JSON.stringify(answer.body)).not.toMatch(/BEGIN|[A-Za-z0-9+/]{40}/);
      return [answer.status, ...faults(answer)];
    };
    const action = 'of the action CertificateService.ReplaceCertificate';
    expect([
      await send(`${next.certificate}${other.key}`),
      await send(next.certificate.slice(0, 100)),
      await send('x'.repeat(70_000)),
    ]).toEqual([
      [
        400,
        `The value of the parameter CertificateString ${action} is not valid. The private key does not ` +
          'belong to the first certificate.',
      ],
      [
        400,
        `The value '******' has the wrong format for the parameter CertificateString ${action}. The text ` +
          'is truncated, or not PEM.',
      ],
      [400, "The string '******' is longer than 65536 characters."],
    ]);
    const toCollection = await post(collection, { CertificateString: next.certificate, CertificateType: 'PEM' });
    expect([toCollection.status, faults(toCollection)[0]]).toEqual([
      400,
      expect.stringMatching(
        /^The value of the property CertificateString is not valid\. The text contains no private key/,
      ),
    ]);
    writeFileSync(pathOf('server.key'), 'no key');
    rmSync(pathOf('server.pem'));
    // The file of the certificate is now a folder, so the service cannot replace it.
    mkdirSync(pathOf('server.pem'));
    const unwritten = await send(`${next.certificate}${next.key}`);
    rmSync(pathOf('server.pem'), { recursive: true });
    expect([unwritten[0], String(unwritten[1]).replace(folder, '')]).toEqual([
      500,
      expect.stringMatching(/Writing \/server\.pem: /),
    ]);
    expect(shownToClients).toBeUndefined();
    expect((await get(`${collection}/1`))['Subject']).toMatchObject({ CommonName: 'first' });
  });

  it('cannot be requested with invalid parameters, and the error names each of them', async () => {
    const good = { CertificateCollection: { '@odata.id': collection }, CommonName: 'bmc' };
    const keysOf = async (change: object) => {
      const { status, body } = await post(generate, { ...good, ...change });
      expect(status).toBe(400);
      return [...JSON.stringify(body).matchAll(/"MessageId":"[^"]*\.(\w+)".*?"MessageArgs":\[(.*?)\]/g)].map(
        ([, key = '', args = '']) =>
          `${key} ${args.replace(/"CertificateService\.GenerateCSR",|,"CertificateService\.GenerateCSR"/, '')}`,
      );
    };
    expect([
      await keysOf({ CommonName: undefined }),
      await keysOf({ CommonName: '' }),
      await keysOf({ Country: 'Germany' }),
      await keysOf({ KeyPairAlgorithm: 'RSA' }),
      await keysOf({ KeyBitLength: 1024 }),
      await keysOf({ KeyPairAlgorithm: 'TPM_ALG_ECDSA', KeyBitLength: 2048 }),
      await keysOf({ KeyBitLength: 2048, KeyCurveId: 'TPM_ECC_NIST_P256' }),
      await keysOf({ KeyUsage: ['DigitalSignature', 'Everything'] }),
      await keysOf({ AlternativeNames: ['not a name'] }),
      await keysOf({ CertificateCollection: { '@odata.id': '/redfish/v1/AccountService/LDAP/Certificates' } }),
      await keysOf({ CertificateCollection: { '@odata.id': collection.replace(uuid, 'nobody') } }),
      await keysOf({ Organization: 'a\nb', Foo: 1 }),
    ]).toEqual([
      ['ActionParameterMissing "CommonName"'],
      ['StringValueTooShort "","1"'],
      ['ActionParameterValueFormatError "Germany","Country"'],
      ['ActionParameterValueNotInList "RSA","KeyPairAlgorithm"'],
      ['ActionParameterValueNotInList "1024","KeyBitLength"'],
      ['ActionParameterValueConflict "KeyBitLength","2048"'],
      ['ActionParameterValueConflict "KeyCurveId","TPM_ECC_NIST_P256"'],
      ['ActionParameterValueNotInList "Everything","KeyUsage/1"'],
      ['ActionParameterValueError "AlternativeNames/0"'],
      ['ActionParameterValueFormatError "/redfish/v1/AccountService/LDAP/Certificates","CertificateCollection"'],
      [`ActionParameterValueFormatError "${collection.replace(uuid, 'nobody')}","CertificateCollection"`],
      ['ActionParameterValueFormatError "a\\nb","Organization"', 'ActionParameterUnknown "Foo"'],
    ]);
  });

  it('has actions for requests and replacements, which describe all their parameters', async () => {
    // The schema requires this property.
    const { Actions: actions } = (await get(service)) as { readonly Actions: Readonly<Record<string, Body>> };
    const allowableValueNames = (name: string) =>
      Object.keys(actions[name] ?? {})
        .map((key) => key.split('@')[0])
        .filter((key) => key !== 'target' && key !== '');
    expect(new Set(allowableValueNames('#CertificateService.ReplaceCertificate'))).toEqual(
      new Set(['CertificateUri', 'CertificateString', 'CertificateType', 'Password']),
    );
    expect(actions['#CertificateService.GenerateCSR']).toMatchObject({
      target: generate,
      'KeyPairAlgorithm@Redfish.AllowableValues': ['TPM_ALG_RSA', 'TPM_ALG_ECDSA'],
      'KeyBitLength@Redfish.AllowableNumbers': ['2048', '3072', '4096'],
      'KeyCurveId@Redfish.AllowableValues': ['TPM_ECC_NIST_P256', 'TPM_ECC_NIST_P384', 'TPM_ECC_NIST_P521'],
      'KeyUsage@Redfish.AllowableValues': expect.arrayContaining(['DigitalSignature', 'OCSPSigning']),
      'CommonName@Redfish.AllowableValues': [],
      '@Redfish.ActionInfo': `${service}/GenerateCSRActionInfo`,
    });
    const { Parameters: parameters, ...info } = await get(`${service}/GenerateCSRActionInfo`);
    expect(info).toEqual({
      '@odata.id': `${service}/GenerateCSRActionInfo`,
      '@odata.type': '#ActionInfo.v1_5_0.ActionInfo',
      '@odata.context': '/redfish/v1/$metadata#ActionInfo.ActionInfo',
      Id: 'GenerateCSRActionInfo',
      Name: 'Parameters of CertificateService.GenerateCSR',
    });
    expect(parameters).toHaveLength(new Set(allowableValueNames('#CertificateService.GenerateCSR')).size);
    expect(parameters).toEqual(
      expect.arrayContaining([
        { Name: 'CertificateCollection', Required: true, DataType: 'Object' },
        { Name: 'CommonName', Required: true, DataType: 'String' },
        { Name: 'AlternativeNames', Required: false, DataType: 'StringArray' },
        { Name: 'KeyBitLength', Required: false, DataType: 'Number', AllowableNumbers: ['2048', '3072', '4096'] },
        {
          Name: 'KeyPairAlgorithm',
          Required: false,
          DataType: 'String',
          AllowableValues: ['TPM_ALG_RSA', 'TPM_ALG_ECDSA'],
        },
      ]),
    );
    expect((await get(`${service}/ReplaceCertificateActionInfo`))['Parameters']).toEqual([
      { Name: 'CertificateUri', Required: true, DataType: 'Object' },
      { Name: 'CertificateString', Required: true, DataType: 'String' },
      { Name: 'CertificateType', Required: true, DataType: 'String', AllowableValues: ['PEM', 'PEMchain'] },
      { Name: 'Password', Required: false, DataType: 'String' },
    ]);
  });
});

describe('a signing request with a slow key', () => {
  beforeEach(() => start('https', 0));

  it('becomes a task, whose monitor returns the signing request at the end of the task', async () => {
    const started = await post(generate, {
      CertificateCollection: { '@odata.id': collection },
      CommonName: 'bmc.example.org',
      KeyBitLength: 2048,
    });
    expect(started.status).toBe(202);
    const monitor = started.location ?? '';
    let done = await client.get(monitor);
    for (let turn = 0; done.status === 202 && turn < 6_000; turn += 1) {
      await delay(40);
      done = await client.get(monitor);
    }
    expect(done).toMatchObject({ status: 200, json: { CertificateCollection: { '@odata.id': collection } } });
    const { CSRString: csr } = done.json as Body; // Answers of Redfish are JSON objects.
    expect(openssl(['req', '-noout', '-text', '-verify'], String(csr))).toContain('Public-Key: (2048 bit)');
  });

  it('is shown at its monitor only to the user who asked for it, because it can contain a challenge password', async () => {
    const owner = { user: 'somebody else', address: '192.0.2.1' };
    const { id } = tasks.create({ name: 'Make a key', targetUri: generate, owner });
    expect((await client.get(taskMonitorUri(id))).status).toBe(202);
    tasks.complete(id, [], { CSRString: 'their request' });
    const answer = await client.get(taskMonitorUri(id));
    expect(answer.status).toBe(403);
    expect(JSON.stringify(answer.json)).not.toContain('their request');
    expect((await client.get(taskUri(id))).json).toMatchObject({ TaskState: 'Completed' });
  });
});

describe('the certificate of a drive', () => {
  beforeEach(() => start('https'));

  it('keeps its URI when it is replaced, and only a certificate can replace it', async () => {
    const own = `/redfish/v1/Systems/${uuid}/VirtualMedia/Cd/Certificates`;
    expect((await post(own, { CertificateString: certificatePem, CertificateType: 'PEM' })).status).toBe(201);
    const locations = JSON.stringify(await get(`${service}/CertificateLocations`));
    expect(locations).toContain(`"${own}/1"`);
    const next = authority.issue('images');
    const body = (uri: string, CertificateString: string) => ({
      CertificateUri: { '@odata.id': uri },
      CertificateString,
      CertificateType: 'PEM',
    });
    expect((await post(replace, body(`${own}/1`, next.key))).status).toBe(400);
    // The definition of the machine stores the certificate, so its length is limited.
    const long = `${next.key}${' '.repeat(32_768)}${next.certificate}`;
    for (const answer of [
      await post(replace, body(`${own}/1`, long)),
      await post(own, { CertificateString: long, CertificateType: 'PEM' }),
    ]) {
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.body)).toContain("The string '******' is longer than 32768 characters.");
    }
    expect(await post(replace, body(`${own}/1`, next.certificate))).toMatchObject({
      status: 200,
      location: `${own}/1`,
      body: { CertificateString: next.certificate, Id: '1' },
    });
    const byName = own.replace(uuid, (await driver.getSystem(uuid)).name.replaceAll('-', '%2D'));
    const named = await post(replace, body(`${byName}/1`, certificatePem));
    expect(named).toMatchObject({ status: 200, location: `${own}/1` });
    for (const uri of [`${own}/2`, own, '/redfish/v1', `/redfish/v1/Managers/nobody${collection.slice(0, 3)}`]) {
      const answer = await post(replace, body(uri, next.certificate));
      expect([uri, answer.status, JSON.stringify(answer.body).includes('"#/CertificateUri"')]).toEqual([
        uri,
        400,
        true,
      ]);
    }
    expect(shownToClients).toBeUndefined();
  });
});

describe('a service with plain HTTP', () => {
  beforeEach(() => start('http'));

  it('has no certificate and no links to certificates', async () => {
    expect((await client.get(collection)).status).toBe(404);
    expect((await client.get(`${collection}/1`)).status).toBe(404);
    const { HTTPS: https } = await get(`/redfish/v1/Managers/${uuid}/NetworkProtocol`);
    expect(https).not.toHaveProperty('Certificates');
    expect((await get(`${service}/CertificateLocations`))['Links']).toEqual({
      Certificates: [],
      'Certificates@odata.count': 0,
    });
    const { Actions: actions } = await get(service);
    expect(Object.keys(actions as object)).toEqual(['#CertificateService.ReplaceCertificate']);
    const request = { CertificateCollection: { '@odata.id': collection }, CommonName: 'bmc' };
    expect((await post(generate, request)).status).toBe(404);
    expect((await client.get(`${service}/GenerateCSRActionInfo`)).status).toBe(404);
    const body = { CertificateString: certificatePem, CertificateType: 'PEM' };
    expect((await post(replace, { ...body, CertificateUri: { '@odata.id': `${collection}/1` } })).status).toBe(400);
  });
});
