/**
 * Tests the behavior of the request pipeline on every resource. A new resource needs no change of
 * these tests.
 */
import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { resources } from '../../src/features.js';
import { certificatePem } from '../fixtures/certificate.js';
import { describeSpec, type Answer, type Body, type SpecDaemon } from '../spec/spec-daemon.js';
import { serve } from '../support/client.js';
import { testServices } from '../support/services.js';
import { dmtfRules } from './dmtf-rules.js';

const methods = ['POST', 'PUT', 'PATCH', 'DELETE'];
const allowOf = (answer: Answer): readonly string[] => (answer.headers.get('allow') ?? '').split(', ');
/** Returns the headers without those that differ between answers or connections. */
const headersOf = ({ headers }: Answer): Body =>
  Object.fromEntries(
    [...headers].filter(([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name)),
  );
/** Returns the body without the time, which differs between two reads. */
const withoutTime = (body: Body | undefined): Body => ({
  ...body,
  ...(body && 'DateTime' in body ? { DateTime: null } : {}),
});
const actionsOf = (body: Body | undefined): readonly [string, Body][] =>
  // The schema requires this property.
  Object.entries((body?.['Actions'] ?? {}) as Readonly<Record<string, Body>>).filter(([name]) => name.startsWith('#'));

interface Paths {
  readonly paths: readonly string[];
  readonly monitor: string;
  /** Files of registries and schemas. Resources name them as `Uri`, but do not link to them. */
  readonly files: readonly string[];
}

/**
 * Creates a task, a certificate, a session, a subscription and a log entry. Returns the paths of all
 * linked resources, of their files, and of the monitor of the task, which has no link.
 */
async function everyPath(daemon: SpecDaemon): Promise<Paths> {
  const slow = await daemon.call(
    'POST',
    `/redfish/v1/Managers/${daemon.uuid}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`,
    { Image: daemon.image('slow.iso') },
  );
  expect(slow.status).toBe(202);
  const certificate = { CertificateString: certificatePem, CertificateType: 'PEM' };
  const certificates = `/redfish/v1/Systems/${daemon.uuid}/VirtualMedia/Cd/Certificates`;
  expect((await daemon.call('POST', certificates, certificate)).status).toBe(201);
  const session = { UserName: 'admin', Password: 'secret' };
  expect((await daemon.call('POST', '/redfish/v1/SessionService/Sessions', session)).status).toBe(201);
  // No server listens there, and no test waits for an event.
  const listener = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish' };
  expect((await daemon.call('POST', '/redfish/v1/EventService/Subscriptions', listener)).status).toBe(201);
  const lit = await daemon.call('PATCH', `/redfish/v1/Systems/${daemon.uuid}`, { IndicatorLED: 'Lit' });
  expect(lit.status).toBe(200);
  const found = await daemon.crawl();
  const files = [...JSON.stringify([...found.values()]).matchAll(/"Uri":"([^"]+)"/g)].map(([, uri = '']) => uri);
  return { paths: [...found.keys()], monitor: slow.headers.get('location') ?? '', files };
}

describeSpec(
  'every resource',
  (spec) => {
    let paths: readonly string[];
    let monitor: string;
    let files: readonly string[];
    beforeEach(async () => {
      ({ paths, monitor, files } = await everyPath(spec()));
    });

    it('is reachable by links, every URI template occurs, and every link leads to the named resource', async () => {
      const hasHosts = paths.includes('/redfish/v1/UpdateService/SoftwareInventory');
      const templates = resources
        // Accounts need a password file, sessions a login, and console logs a recording. The test
        // of the crawler has all of them. Only servers of a cloud have an action log, which
        // test/nova crawls. Machines in memory have no hosts.
        .filter(({ entity }) => entity !== 'ManagerAccount' && entity !== 'Session')
        .filter(({ uri }) => !/\/(ConsoleLog|ActionLog)/.test(uri))
        .filter(({ uri }) => hasHosts || !/\/(SoftwareInventory|Chassis\/[^/]+\/(Processors|Memory))/.test(uri))
        .map(({ uri }) => new RegExp(`^${uri.replace(/\{\w+\}/g, '[^/]+')}$`));
      const unreached = templates.filter(
        (template) => ![...paths, ...files, monitor].some((path) => template.test(path)),
      );
      expect(unreached).toEqual([]);
      for (const path of paths) {
        expect(path).not.toMatch(/\/$/);
        expect((await spec().get(path))['@odata.id']).toBe(path);
      }
    });

    it('names only URIs of existing files, which have Allow and no @odata.id', async () => {
      expect(files.length).toBeGreaterThan(2);
      for (const path of files) {
        const { status, headers, body = {} } = await spec().call('GET', path);
        expect([path, status, body['@odata.id'], headers.get('allow')]).toEqual([path, 200, undefined, 'GET, HEAD']);
        // A schema contains its path, and a registry its id.
        expect(body['$id'] ?? path.replace(/[^/]+$/, `${String(body['Id'])}.json`)).toBe(path);
      }
    });

    /**
     * Returns the answers to GET and HEAD for the same state. Repeats both if the state has changed:
     * a sensor can get a new reading between two requests.
     */
    const getAndHead = async (path: string) => {
      for (;;) {
        const [get, head] = [await spec().call('GET', path), await spec().call('HEAD', path)];
        const { headers } = await spec().call('GET', path);
        if (headers.get('etag') === get.headers.get('etag')) return { get, head };
      }
    };

    it('has the headers of the protocol, and HEAD has all headers of GET', async () => {
      for (const path of paths) {
        const { get, head } = await getAndHead(path);
        const schema = String(get.body?.['@odata.type']).replace(/^#(.+)\.\w+$/, '$1');
        expect(headersOf(get)).toMatchObject({
          'odata-version': '4.0',
          'cache-control': 'no-cache',
          'content-type': 'application/json; charset=utf-8',
          allow: expect.stringMatching(/^GET, HEAD/) as unknown,
          etag: expect.stringMatching(/^"[^"]+"$/) as unknown,
          link: `<http://redfish.dmtf.org/schemas/v1/${schema}.json>; rel=describedby`,
        });
        expect([head.status, head.body, headersOf(head)]).toEqual([200, undefined, headersOf(get)]);
      }
    });

    it('is the same with a trailing slash', async () => {
      for (const path of paths) {
        // Figures of the host, such as its used memory, may change between two reads. So only a difference that stays
        // counts.
        for (let repeats = 10; ; repeats -= 1) {
          const [plain, slashed] = [await spec().call('GET', path), await spec().call('GET', `${path}/`)];
          const [found, wanted] = [
            [slashed.status, withoutTime(slashed.body)],
            [200, withoutTime(plain.body)],
          ];
          if (repeats > 0 && !isDeepStrictEqual(found, wanted)) continue;
          expect(found).toEqual(wanted);
          break;
        }
      }
    });

    it('answers a method that Allow does not name with 405 and the same Allow, and OPTIONS with 204', async () => {
      for (const path of [
        ...paths,
        '/redfish',
        '/redfish/v1/odata',
        '/redfish/v1/$metadata',
        '/redfish/v1/openapi.yaml',
      ]) {
        const options = await spec().call('OPTIONS', path);
        expect([path, options.status, options.body]).toEqual([path, 204, undefined]);
        for (const method of methods.filter((candidate) => !allowOf(options).includes(candidate))) {
          for (const spelling of [path, `${path}/`]) {
            const { status, headers } = await spec().call(method, spelling, method === 'DELETE' ? undefined : {});
            expect([method, spelling, status, headers.get('allow')]).toEqual([
              method,
              spelling,
              405,
              allowOf(options).join(', '),
            ]);
          }
        }
      }
    });

    it('has an ETag that does not change between two reads, and answers If-None-Match with 304', async () => {
      for (const path of paths) {
        const etag = (await spec().call('GET', path)).headers.get('etag') ?? '';
        const again = await spec().call('GET', path, undefined, { 'If-None-Match': etag });
        expect([path, again.status, again.body, again.headers.get('etag')]).toEqual([path, 304, undefined, etag]);
      }
    });

    it('rejects every PATCH and DELETE with a stale If-Match with 412, and ignores If-Match in a POST', async () => {
      const stale = { 'If-Match': '"stale"' };
      const writes = [];
      for (const path of paths) {
        const get = await spec().call('GET', path);
        for (const method of methods.filter((candidate) => allowOf(get).includes(candidate)))
          writes.push({ method, path });
        for (const [, { target }] of actionsOf(get.body)) writes.push({ method: 'POST', path: String(target) });
      }
      for (const { method, path } of writes) {
        const { status } = await spec().call(method, path, method === 'DELETE' ? undefined : { Foo: 1 }, stale);
        expect([method, path, status === 412]).toEqual([method, path, method !== 'POST']);
      }
      expect(writes.map(({ method }) => method)).toEqual(expect.arrayContaining(['PATCH', 'POST', 'DELETE']));
    });

    it('serves each action at its advertised target, only for POST, and checks its parameters', async () => {
      let actions = 0;
      for (const path of paths) {
        for (const [name, { target }] of actionsOf(await spec().get(path))) {
          actions += 1;
          const uri = String(target);
          expect(uri).toBe(`${path}/Actions/${name.slice(1)}`);
          const get = await spec().call('GET', uri);
          expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
          const { status, body = {} } = await spec().call('POST', uri, { Foo: 1 });
          expect(status).toBe(400);
          expect(JSON.stringify(body)).toContain(`"MessageArgs":["${name.slice(1)}","Foo"]`);
        }
      }
      expect(actions).toBeGreaterThan(0);
    });

    it('reports each unknown property of a PATCH, and requires a known one', async () => {
      let patched = 0;
      for (const path of paths) {
        const get = await spec().call('GET', path);
        if (!allowOf(get).includes('PATCH')) continue;
        patched += 1;
        const { status, body = {} } = await spec().call('PATCH', path, { Foo: 1, Id: 'x' });
        expect([path, status, [...spec().messageIds({ status, body, headers: get.headers })].sort()]).toEqual([
          path,
          400,
          ['PropertyNotWritable', 'PropertyUnknown'],
        ]);
        const nothing = await spec().call('PATCH', path, { '@odata.id': path });
        expect([path, nothing.status, spec().messageIds(nothing)]).toEqual([path, 400, ['NoOperation']]);
      }
      expect(patched).toBeGreaterThan(0);
    });

    const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
    if (folder === undefined && process.env['RACKLESS_REQUIRE_ALL'] !== '1') {
      it.skip("obeys DMTF's rules: RACKLESS_REDFISH_SCHEMAS is not set", () => undefined);
    } else {
      // With RACKLESS_REQUIRE_ALL a missing path is a failure here, not a skip.
      it("has a URI, methods and annotations that DMTF's rules permit, except for Copyright", async () => {
        const rules = dmtfRules(folder ?? '');
        for (const path of paths) {
          const answer = await spec().call('GET', path);
          const copyright = `${path}: @Redfish.Copyright has no place in a payload`;
          expect(rules.faults(answer.body ?? {}, allowOf(answer))).toEqual([copyright]);
        }
        for (const [path, body] of await spec().crawlStrict()) {
          expect({ path, faults: rules.faults(body, []) }).toEqual({ path, faults: [] });
        }
      });
    }
  },
  // Actions that take longer become tasks, so that a task exists.
  { waitMs: 200 },
);

describe('a client without credentials', () => {
  it('can GET and HEAD the resources that need no login, and learns nothing about other URIs', async () => {
    const driver = new FakeDriver();
    const pipeline = createPipeline({
      resources,
      services: testServices(driver, { settings: { vmediaVerifySsl: true } }),
      authenticate: () => ({ refused: 'no credentials' }),
      strict: false,
    });
    const client = await serve((request, response) => void pipeline(request, response, '1'));
    const withoutLogin = [
      ...['/redfish', '/redfish/v1', '/redfish/v1/odata', '/redfish/v1/$metadata', '/redfish/v1/openapi.yaml'],
      ...['RacklessVirtualMedia_v1.xml', 'RacklessVirtualMedia.v1_0_0.json'].map(
        (name) => `/redfish/v1/Schemas/${name}`,
      ),
    ];
    const [machine] = await driver.listSystems();
    const all = [...resources.map(({ uri }) => uri.replace(/\{\w+\}/g, machine?.uuid ?? '')), '/redfish/v1/nothing'];
    try {
      for (const path of new Set([...withoutLogin, ...all])) {
        for (const method of ['GET', 'HEAD', ...methods, 'OPTIONS']) {
          // The creation of a session needs no login.
          if (method === 'POST' && path === '/redfish/v1/SessionService/Sessions') continue;
          const expected = withoutLogin.includes(path) && (method === 'GET' || method === 'HEAD') ? 200 : 401;
          const { status, headers } = await client.send(method, path);
          expect([method, path, status, headers['www-authenticate'] !== undefined]).toEqual([
            method,
            path,
            expected,
            expected === 401,
          ]);
        }
      }
    } finally {
      await client.close();
      await driver.close();
    }
  });
});
