/**
 * Access tokens of Microsoft Entra ID and of Google, with token servers that behave as documented,
 * and with hostile token servers.
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 * @see https://developers.google.com/identity/protocols/oauth2/service-account#httprest
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { entry, events, GOOGLE_TOKEN_HOST, json, serviceAccount, Vendors, type VendorAnswer } from './vendors.js';

const LOGIN_HOST = 'login.microsoftonline.com';
const IAM_HOST = 'iamcredentials.googleapis.com';
const AZURE_HOST = 'res.openai.azure.com';
const VERTEX_HOST = 'europe-west4-aiplatform.googleapis.com';
const GLOBAL_VERTEX_HOST = 'aiplatform.googleapis.com';

const SECRET = 'client-secret-0123456789';
const application = { tenant_id: 'tenant-1', client_id: 'client-1', client_secret: SECRET };
const azureModel = { model: 'azure/gpt-4o', api_base: `https://${AZURE_HOST}`, api_version: '2024-10-21' };
const entra = entry('entra', { ...azureModel, ...application });
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] };

let vendors: Vendors;
let proxy: TestProxy | undefined;
beforeAll(async () => {
  vendors = await Vendors.start([LOGIN_HOST, IAM_HOST, AZURE_HOST, GOOGLE_TOKEN_HOST, VERTEX_HOST, GLOBAL_VERTEX_HOST]);
});
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
  vendors.take();
  vendors.answers.clear();
});
afterAll(() => vendors.close());

async function ask(model: string, more: object = {}) {
  const answer = await fetch(`${proxy?.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }], ...more }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text };
}

const at = (host: string) => vendors.requests.filter(({ line }) => new URL(line.split(' ')[1] ?? '').host === host);
/** Waits for a number of requests for tokens. */
const waitForLogins = (count: number) =>
  waitFor(
    () => at(LOGIN_HOST)[count - 1],
    () => `there are ${at(LOGIN_HOST).length} requests for tokens`,
  );
const logged = () => (proxy?.logged() ?? []).join('\n');

/** Makes an answer with numbered tokens. */
function tokens(more: object = {}): VendorAnswer {
  let count = 0;
  return (request, response) => {
    count += 1;
    json({ token_type: 'Bearer', expires_in: 3599, access_token: `ey.token-0123456789-${count}`, ...more })(
      request,
      response,
    );
  };
}

describe('tokens of Microsoft Entra ID', () => {
  it('are fetched once with the credentials, also for concurrent requests, and are sent as bearer tokens', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    vendors.answers.set(AZURE_HOST, json(completion));
    proxy = await vendors.proxy([entra, entry('other', { ...azureModel, ...application })]);
    const answers = await Promise.all(['entra', 'entra', 'other', 'entra'].map((model) => ask(model)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const [login, ...more] = at(LOGIN_HOST);
    expect(more).toEqual([]);
    expect(login?.line).toBe(`POST https://${LOGIN_HOST}/tenant-1/oauth2/v2.0/token`);
    expect(Object.fromEntries(new URLSearchParams(login?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client-1',
      client_secret: SECRET,
      scope: 'https://cognitiveservices.azure.com/.default',
    });
    for (const { headers } of at(AZURE_HOST)) {
      expect(headers.authorization).toBe('Bearer ey.token-0123456789-1');
      expect(headers).not.toHaveProperty('api-key');
    }
    expect(logged()).not.toMatch(/client-secret|ey\.token/);
  });

  it('are fetched before the first request, for the application that the environment names', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    const environment = {
      AZURE_TENANT_ID: 't',
      AZURE_CLIENT_ID: 'c',
      AZURE_CLIENT_SECRET: SECRET,
      AZURE_SCOPE: 'api://x',
    };
    proxy = await vendors.proxy([entry('entra', azureModel)], environment);
    await waitForLogins(1);
    expect(at(LOGIN_HOST)[0]?.body).toContain(`scope=${encodeURIComponent('api://x')}`);
  });

  it('are fetched with the token file of a Kubernetes pod', async () => {
    const file = join(vendors.folder, 'federated');
    writeFileSync(file, 'ey.pod-token\n');
    vendors.answers.set(LOGIN_HOST, tokens());
    const environment = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: file };
    proxy = await vendors.proxy([entry('entra', azureModel)], environment);
    await waitForLogins(1);
    expect(at(LOGIN_HOST)[0]?.body).toContain('client_assertion=ey.pod-token');
  });

  it('are fetched again without a request of a client, and later requests use the new token', async () => {
    vendors.answers.set(LOGIN_HOST, tokens({ expires_in: 2 }));
    vendors.answers.set(AZURE_HOST, json(completion));
    proxy = await vendors.proxy([entra]);
    expect((await ask('entra')).status).toBe(200);
    await waitForLogins(2);
    await waitFor(
      async () => {
        await ask('entra');
        return at(AZURE_HOST).at(-1)?.headers.authorization === 'Bearer ey.token-0123456789-1' ? undefined : true;
      },
      () => 'the former token is still in use',
    );
  });

  it.each([
    ['a redirect', json({}, 302, { location: `https://${AZURE_HOST}/` }), 503, 'answered 302'],
    ['another form', json({ token: 'x' }), 503, 'answered without a valid access_token'],
    ['a text', json('no JSON'), 503, 'answered without a valid access_token'],
    [
      'a token with a line feed',
      json({ access_token: 'a\r\nx: y', expires_in: 60 }),
      503,
      'without a valid access_token',
    ],
    ['expires_in 0', tokens({ expires_in: 0 }), 503, 'answered with an expired token'],
    ['expires_in -1', tokens({ expires_in: -1 }), 503, 'answered with an expired token'],
    ['expires_in as a word', tokens({ expires_in: 'soon' }), 503, 'without a valid access_token'],
    [
      'a large answer',
      json({ access_token: 'x', junk: 'y'.repeat(70_000) }),
      503,
      'the answer has more than 65536 bytes',
    ],
    ['half of an answer', closing, 503, 'Connection error'],
    ['503', json({}, 503), 503, 'answered 503'],
    [
      '401 with the secret',
      json({ error: 'invalid_client', error_description: `AADSTS7000215: ${SECRET}\r\nTrace ID: 1` }, 401),
      401,
      'answered 401 invalid_client: AADSTS7000215: ****',
    ],
    ['400', json({ error: 'invalid_scope' }, 400), 401, 'answered 400 invalid_scope'],
  ] as const)('cause an error without secrets if Entra ID answers with %s', async (_name, answer, status, text) => {
    vendors.answers.set(LOGIN_HOST, answer);
    proxy = await vendors.proxy([entra], {}, ['num_retries: 0']);
    const failure = await ask('entra');
    expect(failure.status).toBe(status);
    expect(failure.text).toContain(text);
    expect(failure.text).toContain('Microsoft Entra ID');
    expect(failure.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
    expect(failure.text + logged()).not.toContain(SECRET);
    expect(at(AZURE_HOST)).toEqual([]);
    // The next requests fail without another request to the login server.
    const loginsBefore = at(LOGIN_HOST).length;
    await Promise.all([ask('entra'), ask('entra')]);
    expect(at(LOGIN_HOST)).toHaveLength(loginsBefore);
  });

  it.each([{ expires_in: 1e12 }, { expires_in: '3599' }, { expires_in: undefined }])(
    'may come in an answer with %j',
    async (lifetime) => {
      vendors.answers.set(LOGIN_HOST, tokens(lifetime));
      vendors.answers.set(AZURE_HOST, json(completion));
      proxy = await vendors.proxy([entra]);
      expect((await ask('entra')).status).toBe(200);
      expect((await ask('entra')).status).toBe(200);
      expect(at(LOGIN_HOST)).toHaveLength(1);
    },
  );

  it('may never arrive: other models are served, and the waiting client can disconnect', async () => {
    // This server never answers.
    vendors.answers.set(LOGIN_HOST, () => undefined);
    vendors.answers.set(AZURE_HOST, json(completion));
    proxy = await vendors.proxy([entra, entry('key', { ...azureModel, api_key: 'k' })]);
    const aborted = new AbortController();
    const waiting = fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'entra', messages: [] }),
      signal: aborted.signal,
    });
    expect((await ask('key')).status).toBe(200);
    aborted.abort();
    await expect(waiting).rejects.toThrow();
    expect(at(AZURE_HOST)).toHaveLength(1);
  });

  it('may never arrive: the timeout of the request also limits the wait for the token', async () => {
    // This server never answers.
    vendors.answers.set(LOGIN_HOST, () => undefined);
    proxy = await vendors.proxy([entry('entra', { ...azureModel, ...application, timeout: '0.05' })]);
    const { status, text } = await ask('entra');
    expect(status).toBe(408);
    expect(text).toContain(
      'Request timed out. Microsoft Entra ID gave no access token within the timeout - timeout value=0.05 seconds. Received Model Group=entra',
    );
  });

  it.each([
    ['an answer', {}],
    ['the first byte of a stream', { stream: true }],
  ])('may come late: the wait counts for the timeout of %s', async (_what, more) => {
    vendors.answers.set(LOGIN_HOST, (request, response) => void setTimeout(() => tokens()(request, response), 2500));
    let arrivedAt = 0;
    // The upstream never answers.
    vendors.answers.set(AZURE_HOST, () => void (arrivedAt = performance.now()));
    proxy = await vendors.proxy([
      entry('entra', { ...azureModel, ...application, timeout: '3', stream_timeout: '3', num_retries: '0' }),
    ]);
    const { status, text } = await ask('entra', more);
    expect(status).toBe(408);
    expect(text).toContain('timeout value=3.0, time taken=');
    expect(at(AZURE_HOST)).toHaveLength(1);
    // If the wait for the token did not count, the upstream would have the whole 3 seconds for its answer.
    expect(performance.now() - arrivedAt).toBeLessThan(2500);
  });

  it('cause errors that name only the model group of the request, if they cannot be fetched', async () => {
    vendors.answers.set(LOGIN_HOST, closing);
    proxy = await vendors.proxy([
      entry('one', { ...azureModel, ...application }),
      entry('two', { ...azureModel, ...application }),
    ]);
    const { text } = await ask('two');
    expect([...text.matchAll(/Model Group=(\w+)/g)].map(([, group]) => group)).toEqual(['two']);
  });

  it.each([
    ['rejects the credentials', json({ error: 'invalid_client' }, 401)],
    ['is down', json({}, 503)],
    ['closes the connection', closing],
  ] as const)(
    'may be missing: another deployment of the group answers if the login server %s',
    async (_name, answer) => {
      vendors.answers.set(LOGIN_HOST, answer);
      vendors.answers.set(AZURE_HOST, json(completion));
      proxy = await vendors.proxy([entra, entry('entra', { ...azureModel, api_key: 'key-0123456789' })]);
      const statuses: number[] = [];
      for (let count = 0; count < 12; count += 1) statuses.push((await ask('entra')).status);
      expect(new Set(statuses)).toEqual(new Set([200]));
    },
  );

  it('stay in use after a reload with the same credentials', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    vendors.answers.set(AZURE_HOST, json(completion));
    proxy = await vendors.proxy([entra]);
    await ask('entra');
    proxy.configure(`${readFileSync(proxy.file, 'utf8')}  drop_params: true\n`);
    await proxy.reload();
    expect((await ask('entra', { logit_bias: null, verbosity: 'low' })).status).toBe(200);
    expect(at(LOGIN_HOST)).toHaveLength(1);
  });

  it('are masked if the upstream repeats them', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    vendors.answers.set(AZURE_HOST, (request, response) =>
      json({ error: { message: `wrong ${request.headers.authorization}` } }, 401)(request, response),
    );
    proxy = await vendors.proxy([entra]);
    const failure = await ask('entra');
    expect(failure.status).toBe(401);
    expect(failure.text).not.toContain('ey.token');
  });

  it('are in the handshakes of WebSockets', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    // The server rejects the handshake, because the test only needs the request.
    vendors.answers.set(AZURE_HOST, json({ error: { message: 'no' } }, 400));
    proxy = await vendors.proxy([entry('entra', { ...azureModel, ...application, api_version: 'v1' })]);
    await ask('entra');
    const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}/v1/realtime?model=entra`);
    const { message } = await new Promise<Error>((resolve) => void socket.once('error', resolve));
    expect(message).toContain('400');
    const handshake = at(AZURE_HOST).at(-1);
    expect(handshake?.line).toBe(`GET https://${AZURE_HOST}/openai/v1/realtime?model=gpt-4o`);
    expect(handshake?.headers.authorization).toBe('Bearer ey.token-0123456789-1');
  });

  it('are masked in the answer to a handshake, also if it is the first request', async () => {
    vendors.answers.set(LOGIN_HOST, tokens());
    vendors.answers.set(AZURE_HOST, (request, response) =>
      json({}, 400, { 'x-echo': request.headers.authorization ?? '' })(request, response),
    );
    proxy = await vendors.proxy([entry('entra', { ...azureModel, ...application, api_version: 'v1' })]);
    const url = `${proxy.url.replace('http', 'ws')}/v1/realtime?model=entra`;
    const echo = await waitFor(
      () =>
        new Promise<string | undefined>((resolve) => {
          const socket = new WebSocket(url);
          socket.on('error', () => undefined);
          socket.on('unexpected-response', (_request, answer: IncomingMessage) => {
            resolve(answer.rawHeaders.find((text) => text.startsWith('Bearer ')));
            answer.destroy();
          });
        }),
      () => 'the upstream has not got the token',
    );
    expect(echo).toBe('Bearer ****');
  });

  it('are not needed with an api_key', async () => {
    vendors.answers.set(AZURE_HOST, json(completion));
    proxy = await vendors.proxy([entry('key', { ...azureModel, ...application, api_key: 'key-0123456789' })]);
    await ask('key');
    expect(at(AZURE_HOST)[0]?.headers['api-key']).toBe('key-0123456789');
    expect(at(LOGIN_HOST)).toEqual([]);
  });
});

describe('tokens of Google', () => {
  const key = serviceAccount();
  const vertex = { vertex_project: 'project-1', vertex_location: 'europe-west4', vertex_credentials: key };
  const base = `https://${VERTEX_HOST}/v1beta1/projects/project-1/locations/europe-west4`;

  it.each([
    ['gemini-2.5-pro', `${base}/endpoints/openapi/chat/completions`, 'google/gemini-2.5-pro'],
    ['meta/llama-4-maas', `${base}/endpoints/openapi/chat/completions`, 'meta/llama-4-maas'],
    [
      'openai/5464397967697903616',
      `${base}/endpoints/5464397967697903616/chat/completions`,
      'openai/5464397967697903616',
    ],
    ['mistral-large@2411', `${base}/publishers/mistralai/models/mistral-large%402411:rawPredict`, 'mistral-large'],
  ])('serve %s at %s if they are from a service account', async (model, url, upstreamModel) => {
    vendors.answers.set(GOOGLE_TOKEN_HOST, tokens());
    vendors.answers.set(VERTEX_HOST, json(completion));
    proxy = await vendors.proxy([entry('vertex', { ...vertex, model: `vertex_ai/${model}` })]);
    expect((await ask('vertex')).status).toBe(200);
    const [login, second] = at(GOOGLE_TOKEN_HOST);
    expect(second).toBeUndefined();
    expect(login?.line).toBe(`POST https://${GOOGLE_TOKEN_HOST}/token`);
    expect(login?.body).toContain('jwt-bearer');
    const [request] = at(VERTEX_HOST);
    expect(request?.line).toBe(`POST ${url}`);
    expect(request?.headers.authorization).toBe('Bearer ey.token-0123456789-1');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ model: upstreamModel });
  });

  it('come in exchange for a subject token of another provider, also for an impersonated service account', async () => {
    const subject = join(vendors.folder, 'subject');
    writeFileSync(subject, 'subject-token');
    const federated = {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `https://${GOOGLE_TOKEN_HOST}/v1/token`,
      credential_source: { file: subject },
    };
    const account = `https://${IAM_HOST}/v1/projects/-/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken`;
    const impersonated = {
      type: 'impersonated_service_account',
      source_credentials: federated,
      service_account_impersonation_url: account,
    };
    vendors.answers.set(
      GOOGLE_TOKEN_HOST,
      tokens({ issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' }),
    );
    vendors.answers.set(VERTEX_HOST, json(completion));
    const model = 'vertex_ai/gemini-2.5-pro';
    proxy = await vendors.proxy([
      entry('federated', { ...vertex, model, vertex_credentials: JSON.stringify(federated) }),
      entry('impersonated', { ...vertex, model, vertex_credentials: JSON.stringify(impersonated) }),
    ]);
    expect((await ask('federated')).status).toBe(200);
    expect(at(VERTEX_HOST)[0]?.headers.authorization).toMatch(/^Bearer ey\.token-0123456789-[12]$/);
    expect(at(GOOGLE_TOKEN_HOST)[0]?.body).toContain('subject-token');
    vendors.answers.set(IAM_HOST, json({ accessToken: 'ey.impersonated', expireTime: '2100-01-01T00:00:00Z' }));
    expect((await ask('impersonated')).status).toBe(200);
    expect(at(VERTEX_HOST).at(-1)?.headers.authorization).toBe('Bearer ey.impersonated');
    // Each of the two entries exchanges the subject token.
    expect(at(GOOGLE_TOKEN_HOST).length).toBeGreaterThanOrEqual(2);
  });

  it('serve streams of a global model if they are from a key in a file', async () => {
    const file = join(vendors.folder, 'key.json');
    writeFileSync(file, key);
    vendors.answers.set(GOOGLE_TOKEN_HOST, tokens());
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'google/gemini-2.5-pro' };
    vendors.answers.set(GLOBAL_VERTEX_HOST, events(JSON.stringify({ ...chunk, choices: [] }), '[DONE]'));
    const environment = { VERTEXAI_PROJECT: 'p', VERTEXAI_LOCATION: 'global', GOOGLE_APPLICATION_CREDENTIALS: file };
    proxy = await vendors.proxy([entry('vertex', { model: 'vertex_ai/gemini-2.5-pro' })], environment);
    const { status, text } = await ask('vertex', { stream: true });
    expect([status, text.includes('[DONE]')]).toEqual([200, true]);
    expect(at(GLOBAL_VERTEX_HOST)[0]?.line).toContain('/v1beta1/projects/p/locations/global/endpoints/openapi/chat');
  });

  it.each([
    ['a rejection', json({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, 400), 401, '400'],
    ['a page', json('<html>', 503), 503, '503'],
    ['another form', json({ hello: 1 }), 503, 'Could not refresh access token'],
    ['an expired token', tokens({ expires_in: -5 }), 503, 'expired token'],
    ['half of an answer', closing, 503, 'Connection error'],
  ] as const)('cause an error without secrets if Google answers with %s', async (_name, answer, status, text) => {
    vendors.answers.set(GOOGLE_TOKEN_HOST, answer);
    proxy = await vendors.proxy([entry('vertex', { ...vertex, model: 'vertex_ai/gemini-2.5-pro' })], {}, [
      'num_retries: 0',
    ]);
    const failure = await ask('vertex');
    expect(failure.status).toBe(status);
    expect(failure.text).toContain(text);
    expect(failure.text + logged()).not.toMatch(/PRIVATE KEY|assertion=/);
    expect(at(VERTEX_HOST)).toEqual([]);
  });

  it.each([
    ['{"private_key": "sec', 'is not valid JSON'],
    ['/nowhere/key.json', '/nowhere/key.json'],
    ['{"type": "service_account"}', 'no usable credentials'],
  ])('cause 401 for the vertex_credentials %j, and the answer contains no private_key', async (credentials, text) => {
    const params = { ...vertex, vertex_credentials: credentials, model: 'vertex_ai/gemini-2.5-pro' };
    proxy = await vendors.proxy([entry('vertex', params)]);
    const failure = await ask('vertex');
    expect(failure.status).toBe(401);
    expect(failure.text).toContain(text);
    expect(failure.text).not.toContain('private_key');
  });
});

/** Closes the connection in the middle of the answer. */
function closing(...[, response]: Parameters<VendorAnswer>): void {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{', () => response.destroy());
}
