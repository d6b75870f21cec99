import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../../../test/support/authority.js';
import {
  PASSWORD,
  sendJson,
  settingsFor,
  startCloudServer,
  type CloudServer,
  whenRead,
} from '../../../../test/support/cloud-server.js';
import { CloudError } from '../cloud/cloud-error.js';
import { CloudFailure, RejectedCredentials } from './cloud-failure.js';
import { createSession, type CloudSession } from './session.js';
import type { SilenceTimes } from './silence.js';

let cloud: CloudServer;
let sessions: CloudSession[];

beforeEach(async () => {
  cloud = await startCloudServer();
  sessions = [];
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const session of sessions) session.close();
  await cloud.close();
});

/** Opens a session. It is closed after the test. */
function open(
  parts: Parameters<typeof settingsFor>[1] = {},
  {
    timeoutMs = 60_000,
    url = cloud.url,
    ...times
  }: { readonly timeoutMs?: number; readonly url?: string; readonly silenceTimes?: SilenceTimes } = {},
): CloudSession {
  const session = createSession(settingsFor(url, parts), { timeoutMs, ...times });
  sessions.push(session);
  return session;
}

const get = (session: CloudSession) => session.request({ method: 'GET', path: '/servers', query: { limit: '1' } });
const sendAction = (session: CloudSession) =>
  session.request({ method: 'POST', path: '/servers/1/action', body: { x: null } });
const ofNova = () => cloud.requests.filter((line) => line.includes('/compute'));
const ofKeystone = () => cloud.requests.filter((line) => !line.includes('/compute'));

/** Answers each request with the next of these answers, and further requests with the last one. */
function answerInTurn(...answers: readonly ((response: ServerResponse) => void)[]): void {
  let count = 0;
  cloud.nova = (_request, response) => {
    const answer = answers[Math.min(count, answers.length - 1)];
    count += 1;
    answer?.(response);
  };
}
const answerOk = (response: ServerResponse) => sendJson(response, 200, { fine: true });
const status =
  (code: number, headers: object = {}) =>
  (response: ServerResponse) =>
    sendJson(response, code, { error: { message: 'not now' } }, headers);

describe('tokens', () => {
  it('are shared by requests, and sent to the endpoint of the configured interface', async () => {
    const tokens: unknown[] = [];
    cloud.nova = (request, response) => {
      tokens.push(request.headers['x-auth-token']);
      answerOk(response);
    };
    const session = open({ interface: 'internal' });
    await Promise.all([get(session), get(session), get(session)]);
    expect(tokens).toEqual(['token-1', 'token-1', 'token-1']);
    expect(cloud.requests.slice(0, 2)).toEqual(['POST /v3/auth/tokens', 'GET /compute/internal/servers?limit=1']);
    expect(ofKeystone()).toHaveLength(1);
  });

  it('are renewed once after a 401, with the credentials', async () => {
    const tokens: unknown[] = [];
    cloud.nova = (request, response) => {
      tokens.push(request.headers['x-auth-token']);
      if (request.headers['x-auth-token'] === 'token-1') response.writeHead(401).end('Authentication required');
      else answerOk(response);
    };
    const session = open();
    expect((await sendAction(session)).status).toBe(200);
    expect((await get(session)).status).toBe(200);
    expect(tokens).toEqual(['token-1', 'token-2', 'token-2']);
  });

  it('are not renewed again if the new token is rejected too', async () => {
    answerInTurn((response) => response.writeHead(401).end('<h1>No</h1>'));
    await expect(get(open())).rejects.toThrow('GET /servers: Nova answers 401: No');
    expect([ofNova().length, ofKeystone().length]).toEqual([2, 2]);
  });

  it('are not requested again soon after rejected credentials, and the error names the place of the credentials', async () => {
    const session = open({ password: 'wrong pass' });
    const errors = await Promise.all([1, 2].map(() => get(session).catch((error: unknown) => error)));
    errors.push(await get(session).catch((error: unknown) => error));
    for (const error of errors) {
      expect(error).toBeInstanceOf(RejectedCredentials);
      expect(String(error)).toContain('clouds.yaml:7: auth.password: Keystone rejects the credentials (401: no access');
      // In this test, Keystone's answer contains the request, with its password.
      expect(String(error)).not.toContain('wrong pass');
    }
    expect(cloud.requests).toEqual(['POST /v3/auth/tokens']);
  });

  /** Replaces the clock of the session. `passed` advances it by some seconds. */
  function clock(): { readonly passed: (seconds: number) => void } {
    let passedMs = 0;
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
    return { passed: (seconds) => void (passedMs += seconds * 1000) };
  }

  it('are requested again after rejections with growing pauses up to five minutes', async () => {
    const { passed } = clock();
    const session = open({ password: 'wrong' });
    const logins: number[] = [];
    for (let second = 0; second <= 1200; second += 10) {
      const before = ofKeystone().length;
      await expect(get(session)).rejects.toBeInstanceOf(RejectedCredentials);
      if (ofKeystone().length > before) logins.push(second);
      passed(10);
    }
    expect(logins).toEqual([0, 30, 90, 210, 450, 750, 1050]);
  });

  it('are requested again only after the Retry-After of a 429, whichever request needs them', async () => {
    const { passed } = clock();
    const { keystone } = cloud;
    cloud.keystone = (_request, response) => status(429, { 'retry-after': '120' })(response);
    cloud.nova = (_request, response) => answerOk(response);
    const session = open();
    const message = 'asking Keystone for a token: it answers 429: not now';
    for (const request of [get, sendAction]) await expect(request(session)).rejects.toThrow(message);
    passed(110);
    await expect(session.offers('compute')).rejects.toThrow(message);
    expect(ofKeystone()).toHaveLength(1);
    cloud.keystone = keystone;
    passed(11);
    expect((await get(session)).status).toBe(200);
    expect(ofKeystone()).toHaveLength(2);
  });

  it.each<[string, Parameters<typeof settingsFor>[1], string]>([
    ['region', { region: 'R9' }, "clouds.yaml:3: region_name: the catalog has no region 'R9'; it has R1"],
    [
      'interface',
      { interface: 'admin' },
      'clouds.yaml:3: interface: the service compute has no admin endpoint; it has public, internal',
    ],
  ])('cause a fault of the settings if their catalog lacks the configured %s', async (_, parts, message) => {
    await expect(get(open(parts))).rejects.toEqual(new CloudError([message]));
  });

  it('cannot be requested without a Keystone at auth_url, and the error is a fault of this setting', async () => {
    cloud.keystone = (_request, response) => response.writeHead(404).end('nothing here');
    const message = 'clouds.yaml:3: auth.auth_url: there is no Keystone API version 3 (it answers 404)';
    await expect(get(open())).rejects.toEqual(new CloudError([message]));
  });

  it('are valid for the other services of the catalog, and the error of a service contains its name', async () => {
    cloud.others.set('block-storage', (_request, response) => answerOk(response));
    cloud.others.set('image', (_request, response) => response.writeHead(500).end('broken'));
    const session = open();
    const read = (service: 'image' | 'volume') => session.request({ method: 'GET', service, path: '/things' });
    expect((await read('volume')).status).toBe(200);
    await expect(read('image')).rejects.toThrow('GET /things: Glance answers 500: broken');
    expect(cloud.requests.slice(1)).toEqual(['GET /block-storage/things', 'GET /image/things']);
    expect(await Promise.all((['compute', 'image', 'volume'] as const).map((name) => session.offers(name)))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('give no access to a service that the catalog lacks, and `offers` returns false for this service', async () => {
    const session = open();
    expect(await session.offers('volume')).toBe(false);
    await expect(session.request({ method: 'GET', service: 'volume', path: '/' })).rejects.toEqual(
      new CloudError([
        'clouds.yaml:3: auth: the catalog of the project has no service of the type volumev3 or block-storage',
      ]),
    );
    expect(await open({ region: 'R9' }).offers('compute')).toBe(false);
  });

  it('cause a fault of the settings if their catalog has an invalid URL, also for `offers`', async () => {
    cloud.keystone = (request, response) => {
      request.resume();
      const catalog = [{ type: 'image', endpoints: [{ interface: 'public', region_id: 'R1', url: 'ftp://glance' }] }];
      sendJson(response, 201, { token: { catalog } }, { 'x-subject-token': 'token' });
    };
    const message =
      'clouds.yaml:3: image_endpoint_override must be set to a URL with http or https: ' +
      "the catalog has 'ftp://glance' for image";
    await expect(open().offers('image')).rejects.toEqual(new CloudError([message]));
  });

  it('are valid for Glance at a URL with and without its version', async () => {
    cloud.others.set('image', (_request, response) => answerOk(response));
    for (const url of [`${cloud.url}/image/v2`, `${cloud.url}/image`]) {
      await open({ endpoints: { image: url } }).request({ method: 'GET', service: 'image', path: '/v2/images' });
    }
    expect(cloud.requests.filter((line) => line.startsWith('GET'))).toEqual([
      'GET /image/v2/images',
      'GET /image/v2/images',
    ]);
  });

  it('are sent to the endpoint in the settings, even if the catalog lacks the configured region', async () => {
    cloud.nova = (_request, response) => answerOk(response);
    await get(open({ endpoints: { compute: `${cloud.url}/compute/other` }, region: 'R9' }));
    expect(ofNova()).toEqual(['GET /compute/other/servers?limit=1']);
  });
});

describe('the retries of requests to a cloud', () => {
  it.each([429, 502, 503, 504])('follow the answer %d to a GET, after the time in Retry-After', async (code) => {
    answerInTurn(status(code, { 'retry-after': '1' }), answerOk);
    const begin = performance.now();
    expect((await get(open())).status).toBe(200);
    expect(performance.now() - begin).toBeGreaterThanOrEqual(990);
  });

  it('follow a POST only after the answers 429 and 503, which mean that Nova did not execute it', async () => {
    const session = open();
    answerInTurn(status(503, { 'retry-after': '0' }), status(429, { 'retry-after': '0' }), answerOk);
    expect((await sendAction(session)).status).toBe(200);
    for (const code of [500, 502, 504]) {
      cloud.requests.length = 0;
      answerInTurn(status(code));
      await expect(sendAction(session)).rejects.toThrow(`POST /servers/1/action: Nova answers ${code}: not now`);
      expect(ofNova()).toHaveLength(1);
    }
  });

  it('do not follow a POST if the connection ends before the answer', async () => {
    answerInTurn((response) => response.destroy());
    await expect(sendAction(open())).rejects.toBeInstanceOf(CloudFailure);
    expect(ofNova()).toHaveLength(1);
  });

  it('follow an incomplete answer to a GET', async () => {
    answerInTurn((response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"half":');
      setImmediate(() => response.destroy());
    }, answerOk);
    expect((await get(open())).text).toBe('{"fine":true}');
  });

  it('end after three attempts', async () => {
    answerInTurn(status(503, { 'retry-after': '0' }));
    await expect(get(open())).rejects.toThrow('GET /servers: Nova answers 503: not now');
    expect(ofNova()).toHaveLength(3);
  });

  it('end at once if Retry-After exceeds the time of the request', async () => {
    answerInTurn(status(503, { 'retry-after': '3600' }));
    await expect(get(open())).rejects.toThrow('503: not now');
    const tomorrow = new Date(Date.now() + 86_400_000).toUTCString();
    answerInTurn(status(429, { 'retry-after': tomorrow }));
    await expect(get(open())).rejects.toThrow('429: not now');
    expect(ofNova()).toHaveLength(2);
  });

  it('end if no connection is possible, and a later request succeeds when the cloud answers again', async () => {
    const { port } = new URL(cloud.url);
    const session = open();
    await cloud.close();
    const { origin } = new URL(cloud.url);
    const failure: unknown = await get(session).catch((error: unknown) => error);
    // Clients see the message; the log has the causes too.
    const { message, cause } = failure as Error;
    expect(message).toBe('POST /v3/auth/tokens: connection refused');
    expect((cause as Error).message).toBe(`requesting ${origin}`);
    cloud = await startCloudServer({ port: Number(port) });
    cloud.nova = (_request, response) => answerOk(response);
    expect((await get(session)).status).toBe(200);
  });
});

describe('the limits of requests to a cloud', () => {
  /** Starts a server that answers each connection with `start`, and then sends a byte every 20 ms without an end. */
  async function startEndlessServer(start: string): Promise<{ url: string; close: () => void }> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(start);
        const timer = setInterval(() => socket.write('x'), 20);
        socket.once('close', () => clearInterval(timer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
    return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
  }

  it.each([
    ['head', 'HTTP/1.1 200 OK\r\nx-slow: '],
    ['body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'],
  ])('end a %s that arrives in small parts too slowly', async (_, start) => {
    const slow = await startEndlessServer(start);
    const session = open({ endpoints: { compute: slow.url } }, { timeoutMs: 500 });
    await expect(get(session)).rejects.toMatchObject({ kind: 'timeout' });
    session.close();
    slow.close();
  });

  it('end the wait for a Keystone that does not answer', async () => {
    cloud.keystone = () => undefined;
    const session = open({}, { timeoutMs: 300 });
    const errors = await Promise.all([1, 2].map(() => get(session).catch((error: unknown) => error)));
    for (const error of errors) expect(error).toMatchObject({ kind: 'timeout' });
  });

  it('end an endless answer by its size', async () => {
    answerInTurn((response) => {
      const piece = Buffer.alloc(1024 * 1024, 0x20);
      response.writeHead(200);
      const more = (): void => {
        if (response.destroyed) return;
        if (response.write(piece)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    await expect(get(open())).rejects.toThrow('its answer is larger than 64 MiB');
  });

  it('reject compressed answers and redirects', async () => {
    const session = open();
    answerInTurn((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'));
    await expect(get(session)).rejects.toThrow('it sends its answer compressed (gzip)');
    answerInTurn((response) => response.writeHead(302, { location: 'http://elsewhere' }).end());
    await expect(get(session)).rejects.toThrow('GET /servers: Nova answers 302');
  });

  it('include the close of the session, which ends running requests', async () => {
    cloud.nova = () => session.close();
    const session = open();
    await expect(get(session)).rejects.toMatchObject({ kind: 'closed' });
  });
});

describe('the reasons of failed answers', () => {
  it.each([
    ['plain text', 'text/plain', 'Authentication  required\n', '418: Authentication required'],
    [
      'HTML',
      'text/html',
      '<html><title>503</title><style>p{}</style><body><h1>Service</h1>down</body>',
      '418: Service down',
    ],
    // A regular expression that looks for the end of each tag needs seconds for this.
    ['HTML of many tags without an end', 'text/html', '<title'.repeat(100_000), `418: ${'<title'.repeat(50)}…`],
    ["Nova's JSON", 'application/json', '{"conflictingRequest": {"code": 409, "message": "busy"}}', '418: busy'],
    ['other JSON', 'application/json', '{"odd": [1]}', '418'],
    ['text that repeats secrets', 'text/plain', `a ${PASSWORD} b token-1 c \u0000 d`, '418: a ****** b ****** c d'],
    ['a long text', 'text/plain', 'y'.repeat(1000), `418: ${'y'.repeat(300)}…`],
  ])('from %s are one line without secrets', async (_, type, text, expected) => {
    answerInTurn((response) => response.writeHead(418, { 'content-type': type }).end(text));
    const session = open();
    expect(session.reason(await get(session))).toBe(expected);
  });
});

describe('the reason of an answer that repeats the request', () => {
  it('hides the token of the request, although another request has renewed it meanwhile', async () => {
    let echo: (() => void) | undefined;
    cloud.nova = ({ headers }, response) => {
      const answer = (): void => void response.writeHead(418).end(`got ${String(headers['x-auth-token'])}`);
      if (echo === undefined) echo = answer;
      else if (headers['x-auth-token'] === 'token-1') response.writeHead(401).end();
      else answer();
    };
    const session = open();
    const slow = get(session);
    while (echo === undefined) await delay(5);
    expect(session.reason(await get(session))).toBe('418: got ******');
    echo();
    expect(session.reason(await slow)).toBe('418: got ******');
  });

  it.each<[string, string, (body: string) => string]>([
    ['JSON', 'hunter " and \\ hunter', (body) => `got ${body}`],
    ['the ASCII JSON of Python', 'hunter ñ "hunter"', (body) => `got ${body.replaceAll('ñ', '\\u00f1')}`],
    ['JSON in a message', 'hunter " and \\ hunter', (body) => JSON.stringify({ message: `got ${body}` })],
    ['text with a part like HTML', 'hunter <b> hunter', (body) => `got ${body}`],
  ])('hides a password in %s', async (_, password, answer) => {
    cloud.keystone = (request, response) => {
      whenRead(request, (body) => response.writeHead(401).end(answer(body)));
    };
    const error: unknown = await get(open({ password })).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RejectedCredentials);
    expect(String(error)).toContain('******');
    expect(String(error)).not.toContain('hunter');
  });
});

describe('a TLS connection to a cloud', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'rackless-cloud-tls-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('verifies the cloud with the configured authority if `verify` is on, and presents the client certificate', async () => {
    const authority = createAuthority(folder);
    const server = authority.issue('127.0.0.1', { extensions: ['subjectAltName=IP:127.0.0.1'] });
    const client = authority.issue('client');
    const secure = await startCloudServer({
      tls: {
        cert: server.certificate,
        key: server.key,
        ca: authority.root,
        requestCert: true,
        rejectUnauthorized: true,
      },
    });
    try {
      secure.nova = (_request, response) => answerOk(response);
      const options = { url: secure.url, timeoutMs: 60_000 };
      const pair = { cert: client.certificate, key: client.key };
      const tls = { verify: true, ca: authority.root, ...pair };
      expect((await get(open({ tls }, options))).status).toBe(200);
      expect((await sendAction(open({ tls }, options))).status).toBe(200);
      expect((await get(open({ tls: { verify: false, ...pair } }, options))).status).toBe(200);
      await expect(get(open({ tls: { verify: true, ...pair } }, options))).rejects.toThrow(/self-signed/);
      await expect(get(open({ tls: { verify: true, ca: authority.root } }, options))).rejects.toBeInstanceOf(
        CloudFailure,
      );
    } finally {
      await secure.close();
    }
  });
});

describe('an operation that waits and sends no request itself', () => {
  /** Runs an operation of 500 ms while Nova does not answer a request. The limit for silence of Nova is 50 ms. */
  const runWaitingOperation = async (relayedTo?: 'network' | 'host'): Promise<string> => {
    cloud.nova = () => undefined;
    const session = open({}, { silenceTimes: { silentMs: 50, checkMs: 5 } });
    const asked = session.request({ method: 'GET', path: '/servers/1/os-interface', relayedTo }).catch(() => 'closed');
    try {
      return await session.silence.guard(() => delay(500, 'done'));
    } finally {
      session.close();
      expect(await asked).toBe('closed');
    }
  };

  it.each(['network', 'host'] as const)('continues while Nova waits for a silent %s', async (relayedTo) => {
    await expect(runWaitingOperation(relayedTo)).resolves.toBe('done');
  });

  it('ends if Nova itself is silent', async () => {
    await expect(runWaitingOperation()).rejects.toThrow('Nova has not answered any request for 0.05 s');
  });
});
