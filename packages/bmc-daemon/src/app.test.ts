import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestLog } from '../../daemon/test/support/log.js';
import { serve, type Client } from '../test/support/client.js';
import { createApp, type App } from './app.js';
import { DriverError } from './drivers/driver-error.js';
import type { SystemRef, SystemSnapshot } from './drivers/snapshot/system-snapshot.js';
import { FakeDriver } from './drivers/fake/fake-driver.js';
import { sampleMachines } from './drivers/fake/sample-machines.js';
import type { PagesDriver } from './pages/routes.js';
import { fullAccess } from './redfish/authenticate.js';
import { resourceDefiner } from './redfish/resource.js';

const root = resourceDefiner<object>()({
  entity: 'ServiceRoot',
  odataType: '#ServiceRoot.v1_20_0.ServiceRoot',
  uri: '/redfish/v1',
  load: () => ({}),
  render: () => ({ Id: 'RootService' }),
});

const systems = resourceDefiner<object>()({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: '/redfish/v1/Systems',
  load: () => ({}),
  render: (_entity, { self }) => ({
    Members: ['good', ...unreadable.keys()].map((id) => ({ '@odata.id': `${self}/${id}` })),
  }),
});

const system = resourceDefiner<object>()({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: ({ params: { systemId } }) => {
    const error = unreadable.get(systemId);
    if (error !== undefined) throw error;
    return {};
  },
  render: () => ({ Id: 'good' }),
});

/** The systems that cannot be read, with the reasons. */
const unreadable = new Map<string, Error>();
const fake = new FakeDriver();
const logged: string[] = [];
const log = createTestLog({ level: 'info', format: 'json', write: (lines) => logged.push(lines) });
/** The next four variables replace answers of the driver in one test; undefined: the fake driver answers. */
let down: Error | undefined;
let unreadableUuid: string | undefined;
let listed: readonly SystemRef[] | undefined;
let read: PagesDriver['getSystem'] | undefined;
const driver: PagesDriver = {
  name: 'libvirt <test:///default>',
  ping: () => (down === undefined ? fake.ping() : Promise.reject(down)),
  listSystems: () => (down === undefined ? Promise.resolve(listed ?? fake.listSystems()) : Promise.reject(down)),
  getSystem: (id): Promise<SystemSnapshot> =>
    read !== undefined
      ? read(id)
      : id === unreadableUuid
        ? Promise.reject(new DriverError('unavailable', 'reading it: timed out'))
        : fake.getSystem(id),
};
let scopedBy: string | undefined;
let app: App;
let client: Client;

beforeAll(async () => {
  app = createApp({
    resources: [root, systems, system],
    services: {},
    strict: false,
    log,
    driver,
    version: '9.9.9',
    scoping: {
      scopeOf: ({ headers }) => {
        scopedBy = headers.host;
        return null;
      },
      servicesOf: () => ({ driver }),
    },
    authenticate: ({ headers }) => {
      if (headers.authorization === 'Basic broken') throw new Error('bcrypt fell over');
      if (headers.authorization === 'Basic new') return { ...fullAccess, user: 'new', privileges: new Set() };
      return headers.authorization === 'Basic ok' ? { ...fullAccess, user: 'admin' } : { refused: 'no credentials' };
    },
  });
  client = await serve(app.handler, (server) => server.on('clientError', app.clientError));
});
afterAll(async () => {
  await client.close();
  app.close();
});
beforeEach(() => {
  lines();
});
afterEach(() => {
  down = undefined;
  unreadableUuid = undefined;
  listed = undefined;
  read = undefined;
});

const lines = (): unknown[] => {
  log.flush();
  return logged
    .splice(0)
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
};
const authorization = { Authorization: 'Basic ok' };
const anything = expect.anything() as unknown;
const unavailable = new DriverError('unavailable', 'opening libvirt on <test:///default>: connection refused');

describe('the page of the machines', () => {
  it('answers 403 to a user without privileges, and the log names the user', async () => {
    const { status, text } = await client.get('/ui/plain', { Authorization: 'Basic new' });
    expect([status, text.includes('InsufficientPrivilege')]).toEqual([403, true]);
    expect(lines()).toEqual([expect.objectContaining({ path: '/ui/plain', status: 403, user: 'new' })]);
  });
});

describe('the log', () => {
  it.each([
    ['/redfish/v1?password=geheim', '/redfish/v1', 200, 'admin'],
    ['/ui/plain?token=geheim', '/ui/plain', 200, 'admin'],
    ['/ui/', '/ui/', 200, null],
    ['/healthz', '/healthz', 200, null],
    ['/nowhere', '/nowhere', 404, null],
  ])('has one line for a GET of %s, with the path but without the query', async (url, path, status, user) => {
    const { headers } = await client.get(url, authorization);
    expect(lines()).toEqual([
      {
        time: anything,
        level: 'info',
        message: 'request',
        id: headers['x-request-id'],
        user,
        method: 'GET',
        path,
        status,
        ms: anything,
      },
    ]);
  });

  it('has a warning if a host does not answer during an $expand, and an error about a bug', async () => {
    const expandAll = async (headers = {}) =>
      client.get('/redfish/v1/Systems?$expand=.', { ...authorization, ...headers });
    const part = { message: 'a part of an answer could not be read' };
    try {
      unreadable.set('hung', new DriverError('unavailable', 'reading it: no answer'));
      const { status, headers } = await expandAll();
      expect(status).toBe(200);
      expect(lines()[1]).toMatchObject({ ...part, level: 'warn' });
      expect((await expandAll({ 'If-None-Match': headers.etag })).status).toBe(304);
      expect(lines()[1]).toMatchObject({ ...part, level: 'warn' });
      unreadable.set('broken', new TypeError('x is undefined'));
      await expandAll();
      expect(lines()[1]).toMatchObject({ ...part, level: 'error' });
    } finally {
      unreadable.clear();
    }
  });

  it.each(['/redfish/v1', '/ui/plain'])(
    'has the reason why %s rejected credentials, but not the credentials',
    async (path) => {
      expect((await client.get(path, { Authorization: 'Basic c2VjcmV0' })).status).toBe(401);
      const [line] = lines();
      expect(line).toMatchObject({ path, status: 401, user: null, refused: 'no credentials' });
      expect(JSON.stringify(line)).not.toContain('c2VjcmV0');
    },
  );

  it.each(['/redfish/v1', '/ui/plain'])('has the cause of a 500 at %s, with the id of the request', async (path) => {
    const { status, text } = await client.get(path, { Authorization: 'Basic broken', 'X-Request-Id': 'mine.1' });
    expect([status, text.includes('bcrypt')]).toEqual([500, false]);
    expect(lines()).toEqual([
      expect.objectContaining({ message: 'request', id: 'mine.1', status: 500 }),
      expect.objectContaining({
        level: 'error',
        message: 'answering a request failed with an internal error',
        id: 'mine.1',
        error: expect.stringContaining('bcrypt fell over') as unknown,
      }),
    ]);
  });

  it("has the same request id as the answer: the client's X-Request-Id if this has at most 64 safe characters", async () => {
    const ids = [];
    for (const id of ['abc-1', 'x'.repeat(65), 'a b']) {
      const { headers } = await client.get('/redfish', { 'X-Request-Id': id });
      ids.push(headers['x-request-id']);
      expect(lines()).toEqual([expect.objectContaining({ id: headers['x-request-id'] })]);
    }
    expect(ids).toEqual([
      'abc-1',
      expect.stringMatching(/^[\da-f]{8}-\w+$/),
      expect.stringMatching(/^[\da-f]{8}-\w+$/),
    ]);
    expect(ids[1]).not.toBe(ids[2]);
  });
});

describe('a request', () => {
  it.each(['/redfish', '/redfish?x', '/redfish/'])('gets the versions of Redfish at %s', async (path) => {
    expect((await client.get(path)).json).toEqual({ v1: '/redfish/v1/' });
  });

  it.each(['/redfishy', '/rest/v1', '/index.html'])('gets 404 with a Redfish error at %s', async (path) => {
    const { status, json } = await client.get(path, authorization);
    expect([status, json]).toEqual([
      404,
      { error: expect.objectContaining({ code: 'Base.1.22.ResourceMissingAtURI' }) },
    ]);
  });

  it('may have an absolute URL, as proxies send it; the host of the URL replaces the Host header', async () => {
    const answer = await client.raw('GET http://bmc.example/redfish HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*\{"v1":"\/redfish\/v1\/"\}$/);
    // RFC 9112 §3.2.2: the host of an absolute URL replaces the Host header.
    expect(scopedBy).toBe('bmc.example');
  });

  it('gets 501 for an unknown method, and the log has the error of the parser', async () => {
    expect(await client.raw('FAKE / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 501 Not Implemented\r\n/);
    expect(lines()).toEqual([expect.objectContaining({ method: '-', status: 501, refused: 'HPE_INVALID_METHOD' })]);
  });
});

describe('malformed requests', () => {
  const rawError = async (bytes: string) => {
    const answer = await client.raw(bytes);
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { error: { code: string } };
    return [answer.split(' ', 2)[1], body.error.code];
  };

  it('with HTTP/1.1 but without a Host header get 400, with a Redfish error and a line in the log', async () => {
    expect(await rawError('GET /redfish/v1 HTTP/1.1\r\nConnection: close\r\n\r\n')).toEqual([
      '400',
      'Base.1.22.HeaderMissing',
    ]);
    expect(lines()).toEqual([expect.objectContaining({ method: 'GET', path: '/redfish/v1', status: 400 })]);
    // HTTP/1.0 does not require this header, so such a request is valid.
    expect(await client.raw('GET /redfish HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('with two Host headers get 400, even if both have the same value', async () => {
    for (const hosts of ['Host: a\r\nhost: b', 'HOST: a\r\nHost: a']) {
      const answer = await client.raw(`GET /redfish/v1 HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('HeaderInvalid');
    }
  });

  it('with an invalid URL get 404, and the log has no secret of the URL', async () => {
    const target = 'http://u:geheim@[::bad/x?geheim';
    expect(await rawError(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toEqual([
      '404',
      'Base.1.22.ResourceMissingAtURI',
    ]);
    const [line] = lines();
    expect(line).toMatchObject({ method: 'GET', path: 'http://******', status: 404 });
  });
});

describe('the pages outside of Redfish', () => {
  it.each(['/', '/ui/systems/1', '/ui/plain', '/healthz', '/metrics/'])(
    'answer 405 to requests that write at %s, and 204 to OPTIONS, each with the allowed methods',
    async (path) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, headers, json } = await client.send(method, path, { body: '{}', headers: authorization });
        expect([status, headers.allow, json]).toEqual([
          405,
          'GET, HEAD',
          { error: expect.objectContaining({ code: 'Base.1.22.OperationNotAllowed' }) },
        ]);
      }
      const { status, headers, text } = await client.send('OPTIONS', path);
      expect([status, headers.allow, text]).toEqual([204, 'GET, HEAD', '']);
    },
  );
});

describe('the page of the machines', () => {
  it('requires credentials', async () => {
    const { status, headers } = await client.get('/ui/plain');
    expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="Rackless", charset="UTF-8"']);
  });

  it('shows each machine with a link to its system, and has a policy that forbids scripts', async () => {
    const { status, headers, text } = await client.get('/ui/plain', authorization);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-store',
    ]);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    for (const { name, uuid } of await fake.listSystems()) {
      expect(text).toContain(name);
      expect(text).toContain(`href="/redfish/v1/Systems/${uuid}"`);
    }
    expect(text).toContain('9.9.9');
    expect(text).toContain('libvirt &lt;test:///default&gt;');
    expect(text).not.toContain('<script');
  });

  it('shows that the state of one machine could not be read, and still answers 200', async () => {
    unreadableUuid = (await fake.listSystems())[0]?.uuid;
    const { status, text } = await client.get('/ui/plain', authorization);
    expect([status, text.match(/state could not be read/g)?.length]).toEqual([200, 1]);
  });

  it('answers 503 after a few failed reads if the host hangs, without a read of every machine', async () => {
    // A driver can list machines from its cache while the host hangs, but cannot read them.
    const machines = sampleMachines(100);
    const asked: string[] = [];
    listed = machines;
    read = (id) => {
      asked.push(id);
      return Promise.reject(new DriverError('unavailable', `reading machine ${id}: no answer within 4 s`));
    };
    const { status, text } = await client.get('/ui/plain', authorization);
    expect([status, text.includes('no answer within 4 s')]).toEqual([503, true]);
    expect(asked.length).toBeLessThan(10);
  });

  it('shows the machines that it read before the host began to hang, and soon stops reading the others', async () => {
    const machines = sampleMachines(100);
    listed = machines;
    let asked = 0;
    read = (id) => {
      asked += 1;
      const machine = machines.find(({ uuid }) => uuid === id);
      return asked > 12 || machine === undefined
        ? Promise.reject(new DriverError('unavailable', 'reading it: no answer'))
        : Promise.resolve(machine);
    };
    const { status, text } = await client.get('/ui/plain', authorization);
    expect([status, text.match(/state could not be read/g)?.length, asked]).toEqual([200, 88, 24]);
  });

  it('is an HTML page with 503 and the reason while the host is down', async () => {
    down = unavailable;
    const { status, headers, text } = await client.get('/ui/plain', authorization);
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([503, '5', 'text/html; charset=utf-8']);
    expect(text).toContain('opening libvirt on &lt;test:///default&gt;: connection refused');
    expect(lines()).toEqual([
      expect.objectContaining({ status: 503 }),
      expect.objectContaining({ level: 'warn', message: 'a request could not be served' }),
    ]);
  });
});

describe('/healthz', () => {
  it('reports ok while the hypervisor answers', async () => {
    const { status, json } = await client.get('/healthz');
    expect([status, json]).toEqual([200, { status: 'ok', hypervisor: 'libvirt <test:///default>' }]);
  });

  it('answers 503 with the reason while the hypervisor does not answer', async () => {
    down = unavailable;
    const { status, json } = await client.get('/healthz');
    expect([status, json]).toEqual([
      503,
      { status: 'unavailable', hypervisor: 'libvirt <test:///default>', reason: unavailable.message },
    ]);
  });
});

describe('a health check that fails again and again', () => {
  it('causes one warning until the next success; a failed page causes a further one; none has a stack', async () => {
    const warning = {
      level: 'warn',
      message: 'a request could not be served',
      // The log has only the message, without a stack.
      error: unavailable.message,
    };
    const levels = [];
    for (const reason of [undefined, unavailable, unavailable, undefined, unavailable]) {
      down = reason;
      await client.get('/healthz');
      levels.push(lines().map((line) => (line as { readonly level: string }).level)); // each log line has a level
    }
    expect(levels).toEqual([['info'], ['info', 'warn'], ['info'], ['info'], ['info', 'warn']]);
    await client.get('/ui/plain', authorization);
    expect(lines().at(-1)).toMatchObject(warning);
  });
});

describe('the web console', () => {
  it('is the target of the redirect from /', async () => {
    const { status, headers } = await client.get('/');
    expect([status, headers.location]).toEqual([302, '/ui/']);
  });

  it.each(['/ui/', '/ui/systems/1/screen'])(
    'is a page at %s without a login, and browsers can cache its script',
    async (path) => {
      const { status, headers, text } = await client.get(path);
      expect([status, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-cache',
      ]);
      const again = await client.get(path, { 'If-None-Match': String(headers.etag) });
      expect([again.status, again.text]).toEqual([304, '']);
      const [, script = ''] = /src="([^"]+)"/.exec(text) ?? [];
      const asset = await client.get(script);
      expect([asset.status, asset.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    },
  );

  it('has a policy that forbids inline scripts, inline styles and content of other hosts', async () => {
    const { headers } = await client.get('/ui/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:/);
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  it.each(['/ui/assets/none.js', '/ui/assets/..%2fpackage.json', '/ui/assets/../../package.json', '/ui/x.js'])(
    'has no file at %s',
    async (path) => {
      expect((await client.get(path)).status).toBe(404);
    },
  );
});

describe('metrics', () => {
  const value = async (line: string) => {
    const { text } = await client.get('/metrics');
    return text
      .split('\n')
      .find((candidate) => candidate.startsWith(`${line} `))
      ?.slice(line.length + 1);
  };

  it('count requests by method, route template and status, and show how long they took', async () => {
    const count = async (labels: string) => Number((await value(`bmc_http_requests_total{${labels}}`)) ?? 0);
    const before = await count('method="GET",route="/redfish/v1",status="401"');
    await client.get('/redfish/v1');
    await client.get('/redfish/v1/');
    await client.get('/redfish/v1/guess/1');
    expect(await count('method="GET",route="/redfish/v1",status="401"')).toBe(before + 2);
    expect(await count('method="GET",route="unmatched",status="401"')).toBe(1);
    const duration = (part: string) => value(`bmc_http_request_duration_seconds${part}`);
    const answered = await duration('_count{method="GET",route="unmatched"}');
    expect(Number(answered)).toBeGreaterThan(0);
    expect(await duration('_bucket{method="GET",route="unmatched",le="+Inf"}')).toBe(answered);
    expect(Number(await duration('_sum{method="GET",route="unmatched"}'))).toBeGreaterThan(0);
  });

  it('contain the number of requests in flight and the memory of the process', async () => {
    expect(await value('bmc_http_requests_in_flight')).toBe('1');
    expect(Number(await value('process_resident_memory_bytes'))).toBeGreaterThan(1e6);
  });

  it('show whether the hypervisor answers', async () => {
    expect(await value('bmc_hypervisor_up')).toBe('1');
    down = unavailable;
    expect(await value('bmc_hypervisor_up')).toBe('0');
  });

  it('have the content type that Prometheus requires', async () => {
    expect((await client.get('/metrics')).headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });
});

describe('plain HTTP at the port of HTTPS', () => {
  let plain: Client;
  beforeAll(async () => {
    plain = await serve(app.redirect);
  });
  afterAll(() => plain.close());

  it('is redirected to HTTPS with its method, path and query; the log has neither user nor query', async () => {
    const answer = await plain.send('POST', '/redfish/v1/Systems?a=b&token=x', {
      headers: { ...authorization, Host: 'bmc:8443' },
    });
    expect([answer.status, answer.headers.location, answer.text, answer.headers['odata-version']]).toEqual([
      308,
      'https://bmc:8443/redfish/v1/Systems?a=b&token=x',
      '',
      '4.0',
    ]);
    const line = { method: 'POST', path: '/redfish/v1/Systems', status: 308, user: null, refused: 'no TLS' };
    expect(lines()).toEqual([expect.objectContaining(line)]);
  });

  it.each([
    ['GET / HTTP/1.0\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n', 400],
    ['OPTIONS * HTTP/1.1\r\nHost: bmc\r\nConnection: close\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: [::1]:8443\r\nConnection: close\r\n\r\n', 308],
  ])('gets, for the request %j, the status %d', async (bytes, status) => {
    expect(await plain.raw(bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});
