import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { call, exchangeBytes } from '../test/harness/call.js';
import { passTime, stopTime } from '../test/harness/stopped-time.js';
import { waitFor } from '../test/harness/wait.js';
import { deploymentAt, json, serveApp, settingsOf, type ServedApp } from '../test/support/app.js';
import { endpoints } from './endpoints/index.js';
import { createPaths } from './endpoints/paths.js';
import { managementPaths } from './management/paths.js';
import { isConsolePath } from './pages/console.js';
import { pagePaths } from './pages/paths.js';
import { polledPage } from './pages/polled.js';
import { acceptsPath } from './pass-through/paths.js';
import type { Deployment } from './providers/deployment.js';
import type { ProxySettings } from './settings.js';

stopTime();
let served: ServedApp;
const answering = json({ model: 'served/model' });
beforeAll(async () => {
  served = await serveApp();
  served.answering = answering;
});
afterAll(() => served.close());
afterEach(() => {
  served.requests.length = 0;
  served.answering = answering;
});

const visit = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  call(`${served.url}${path}`, { method, headers });
const chat = (headers: Readonly<Record<string, string>> = {}) =>
  call(`${served.url}/v1/chat/completions`, { body: { model: 'public', messages: [] }, headers });
const error = (message: string, code: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code, ...more },
});
/** Runs a test with these deployments and settings, and then restores those of the other tests. */
async function configured(
  changed: { readonly deployments?: readonly Partial<Deployment>[]; readonly settings?: Partial<ProxySettings> },
  test: () => Promise<void>,
): Promise<void> {
  const apiBase = `http://127.0.0.1:${served.upstreamPort}/v1`;
  const deployments = (changed.deployments ?? [{}]).map((one) => deploymentAt(apiBase, one));
  served.replaceSettings(settingsOf(deployments, changed.settings));
  try {
    await test();
  } finally {
    served.replaceSettings(settingsOf([deploymentAt(apiBase)]));
  }
}

describe('paths', () => {
  it.each([
    ['GET', '/v1/chat/completions', 405, '/v1/chat/completions does not support GET. It supports POST.', 'POST'],
    ['DELETE', '/v1/chat/completions', 405, '/v1/chat/completions does not support DELETE. It supports POST.', 'POST'],
    ['POST', '/v1/models', 405, '/v1/models does not support POST. It supports GET, HEAD.', 'GET, HEAD'],
    ['PUT', '/health', 405, '/health does not support PUT. It supports GET, HEAD.', 'GET, HEAD'],
    ['GET', '/nowhere', 404, 'There is no GET /nowhere here.', undefined],
    ['POST', '/nowhere', 404, 'There is no POST /nowhere here.', undefined],
    ['POST', '/v1/a%2fb', 404, 'There is no POST /v1/a%2fb here.', undefined],
    ['POST', '/v1', 404, 'There is no POST /v1 here.', undefined],
  ])(
    "are rejected in OpenAI's format if unknown or with a wrong method: %s %s is %d",
    async (method, path, status, message, allow) => {
      const answer = await visit(path, {}, method);
      expect([answer.status, answer.json(), answer.headers.allow]).toEqual([
        status,
        error(message, String(status)),
        allow,
      ]);
      expect(served.requests).toEqual([]);
    },
  );

  it('answer OPTIONS with Allow, and without CORS headers if the request has no Origin', async () => {
    const { status, headers } = await visit('/v1/chat/completions', {}, 'OPTIONS');
    expect([status, headers.allow, headers['access-control-allow-methods']]).toEqual([204, 'POST, OPTIONS', undefined]);
  });

  it('answer HEAD like GET, without a body', async () => {
    const [head, whole] = [await visit('/v1/models', {}, 'HEAD'), await visit('/v1/models')];
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      String(whole.body.length),
    ]);
  });
});

describe('routes of LiteLLM that are not implemented', () => {
  it.each([
    ['POST', '/team/new', 'proxy/access_control'],
    ['GET', '/v1/fine_tuning/jobs', 'fine_tuning'],
    ['POST', '/v1beta/models/m:generateContent', 'generateContent'],
    ['DELETE', '/v1/responses/resp_1', 'response_api'],
    ['GET', '/health/services', 'proxy/health'],
    ['POST', '/v1/assistants', 'assistants'],
    ['POST', '/vector_store/new', 'vector_stores/create'],
    ['POST', '/v1/realtime/client_secrets', 'realtime'],
    ['GET', '/policy/list', 'proxy/guardrails/guardrail_policies'],
    ['POST', '/openrouter/v1/chat/completions', 'pass_through/intro'],
    ['GET', '/public/model_hub', 'proxy/ai_hub'],
  ])('answer 501 with a link to their documentation: %s %s', async (method, path, page) => {
    const answer = await call(`${served.url}${path}`, { method });
    const message = `${method} ${path} is not implemented here. It is a route of LiteLLM's proxy: https://docs.litellm.ai/docs/${page}. GET /routes lists the routes that this proxy serves.`;
    const error = { message, type: 'not_implemented_error', param: null, code: '501' };
    expect([answer.status, answer.json()]).toEqual([501, { error }]);
    expect(served.requests).toEqual([]);
  });

  it.each(['/keys', '/v1/sleep', '/v2/x', '/v1'])('do not include %s, which gets 404', async (path) => {
    expect((await call(`${served.url}${path}`, { method: 'POST' })).status).toBe(404);
  });
});

describe('pages in a browser', () => {
  const origin = { origin: 'https://app.example' };

  it("may send requests from any origin and read the proxy's headers", async () => {
    served.answering = json({ model: 'served/model' }, 200, { 'access-control-allow-origin': 'https://other' });
    const { headers } = await chat(origin);
    expect([headers['access-control-allow-origin'], headers['access-control-expose-headers']]).toEqual(['*', '*']);
    expect((await chat()).headers['access-control-allow-origin']).toBeUndefined();
    expect((await visit('/nowhere', origin)).headers['access-control-allow-origin']).toBe('*');
  });

  it.each(['/v1/chat/completions', '/v1/models', '/v1/messages'])(
    'may send a preflight request for %s',
    async (path) => {
      const preflight = {
        ...origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      };
      const { status, headers, body } = await visit(path, preflight, 'OPTIONS');
      expect([
        status,
        body.length,
        headers['access-control-allow-origin'],
        headers['access-control-allow-methods'],
        headers['access-control-allow-headers'],
        headers['access-control-max-age'],
      ]).toEqual([204, 0, '*', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS', 'authorization,content-type', '600']);
    },
  );
});

describe('probes', () => {
  it.each(['/health/liveliness', '/health/liveness', '/health/liveness/'])(
    'answer 200 with the text of LiteLLM: %s',
    async (path) => {
      const { status, text } = await visit(path);
      expect([status, text]).toEqual([200, `"I'm alive!"`]);
    },
  );

  it("have LiteLLM's members at /health/readiness", async () => {
    const answer = await visit('/health/readiness');
    expect([answer.status, answer.json()]).toEqual([
      200,
      { status: 'healthy', db: 'Not connected', cache: null, litellm_version: '9.9.9', success_callbacks: [] },
    ]);
  });

  it('answer 503 at /health/readiness during shutdown, and this answer closes the connection', async () => {
    const leaving = await serveApp();
    leaving.app.drain();
    const answer = await call(`${leaving.url}/health/readiness`, {
      method: 'GET',
      headers: { connection: 'keep-alive' },
    });
    expect([answer.status, answer.headers.connection, answer.json()]).toEqual([
      503,
      'close',
      expect.objectContaining({ status: 'draining' }),
    ]);
    // Requests that still arrive are served.
    const { status } = await call(`${leaving.url}/v1/chat/completions`, { body: { model: 'public', messages: [] } });
    expect(status).toBe(200);
    await leaving.close();
  });
});

describe('models', () => {
  const entry = (id: string) => ({ id, object: 'model', created: 1_677_610_602, owned_by: 'openai' });
  const deployments: Partial<Deployment>[] = [
    { modelName: 'org/with space', modelInfo: { max_input_tokens: 32_000, api_key: 'geheim' } },
    { modelName: 'plain', id: 'deployment-2', upstreamModel: 'plain' },
    { modelName: 'wild/*', id: 'deployment-3', upstreamModel: '*', modelInfo: { mode: 'chat' } },
  ];

  it.each(['/v1/models', '/models'])('are listed at %s', (path) =>
    configured({ deployments }, async () => {
      expect((await visit(path)).json()).toEqual({
        data: [entry('org/with space'), entry('plain'), entry('wild/*')],
        object: 'list',
      });
    }),
  );

  it.each([
    ['org/with%20space', { ...entry('org/with space'), model_info: { max_input_tokens: 32_000 } }],
    ['org%2Fwith%20space', { ...entry('org/with space'), model_info: { max_input_tokens: 32_000 } }],
    ['plain', entry('plain')],
    ['wild/thing', { ...entry('wild/thing'), model_info: { mode: 'chat' } }],
  ])('are shown by their id, with their context length or mode, if configured: %s', (id, shown) =>
    configured({ deployments }, async () => {
      expect((await visit(`/v1/models/${id}`)).json()).toEqual(shown);
    }),
  );

  it('cause 404 if they do not exist', async () => {
    const answer = await visit('/v1/models/nobody');
    expect([answer.status, answer.json()]).toEqual([
      404,
      error("The model 'nobody' does not exist.", 'model_not_found', { param: 'model' }),
    ]);
  });

  it.each(['/model/info', '/v1/model/info'])('are listed with their parameters at %s, without keys', (path) =>
    configured(
      {
        deployments: [
          {
            apiBase: 'https://user:geheim@host/v1',
            defaults: { temperature: 0.2, aws_secret_access_key: 'geheim' },
            modelInfo: {
              input_cost_per_token: 0.1,
              max_tokens: 5,
              nested: { api_key: 'geheim', mode: 'chat', list: [{ password: 'geheim' }, 1] },
            },
          },
        ],
      },
      async () => {
        const { text } = await visit(path);
        expect(text).not.toContain('geheim');
        expect(text).not.toContain('sk-upstream');
        expect(JSON.parse(text)).toEqual({
          data: [
            {
              model_name: 'public',
              litellm_params: {
                temperature: 0.2,
                model: 'hosted_vllm/served/model',
                api_base: 'https://host/v1',
                drop_params: false,
                weight: 1,
              },
              model_info: {
                input_cost_per_token: 0.1,
                max_tokens: 5,
                nested: { mode: 'chat', list: [{}, 1] },
                id: 'deployment-1',
                db_model: false,
              },
            },
          ],
        });
        expect((await visit(`${path}?litellm_model_id=other`)).json()).toEqual({ data: [] });
      },
    ),
  );

  it('cause 400 with the reason if the proxy cannot serve them', () =>
    configured({ settings: { unserved: new Map([['cloud', 'bedrock has its own API']]) } }, async () => {
      const answer = await call(`${served.url}/v1/chat/completions`, { body: { model: 'cloud', messages: [] } });
      expect([answer.status, answer.json()]).toEqual([
        400,
        error(
          '/chat/completions: Invalid model name passed in model=cloud. It is configured, but bedrock has its own API.',
          '400',
          { param: 'model' },
        ),
      ]);
    }));
});

describe('/health', () => {
  it('sends a short request to every model that can be checked, and reports which models answered', () =>
    configured(
      {
        deployments: [
          {},
          { modelName: 'e', id: 'deployment-2', upstreamModel: 'embedder', modelInfo: { mode: 'embedding' } },
          { modelName: 'ill', id: 'deployment-3', upstreamModel: 'ill' },
          { modelName: 'wild/*', id: 'deployment-4', upstreamModel: '*' },
          { modelName: 'ear', id: 'deployment-5', modelInfo: { mode: 'audio_transcription' } },
        ],
      },
      async () => {
        served.answering = (asked, response) => {
          const ill = asked.body.includes('ill');
          json(ill ? { error: { message: 'out of order' } } : { model: 'm' }, ill ? 503 : 200)(asked, response);
        };
        const api_base = `http://127.0.0.1:${served.upstreamPort}/v1`;
        const entry = (model: string, id: number) => ({
          model: `hosted_vllm/${model}`,
          api_base,
          model_id: `deployment-${id}`,
        });
        const answer = await visit('/health');
        expect([answer.status, answer.json()]).toEqual([
          200,
          {
            healthy_endpoints: [entry('served/model', 1), entry('embedder', 2)],
            unhealthy_endpoints: [
              { ...entry('ill', 3), error: expect.stringContaining('out of order') as unknown },
              { ...entry('*', 4), error: 'a wildcard needs model_info.health_check_model to name a model' },
              { ...entry('served/model', 5), error: 'models of mode audio_transcription cannot be checked' },
            ],
            healthy_count: 2,
            unhealthy_count: 3,
          },
        ]);
        const asked = served.requests.map(({ url, body }) => [url, JSON.parse(body.toString()) as unknown]);
        expect(asked).toEqual([
          [
            '/v1/chat/completions',
            { model: 'served/model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 },
          ],
          ['/v1/embeddings', { model: 'embedder', input: 'Hi' }],
          ['/v1/chat/completions', { model: 'ill', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 }],
        ]);
        const one = await visit('/health?model=public');
        expect(one.json()).toEqual({
          healthy_endpoints: [entry('served/model', 1)],
          unhealthy_endpoints: [],
          healthy_count: 1,
          unhealthy_count: 0,
        });
      },
    ));

  it('uses health_check_model and health_check_timeout of model_info', () => {
    const modelInfo = { health_check_model: 'hosted_vllm/small', health_check_timeout: 0.1 };
    return configured({ deployments: [{ upstreamModel: '*', modelInfo }] }, async () => {
      served.answering = () => undefined;
      const health = visit('/health');
      await waitFor(
        () => served.requests[0],
        () => 'the upstream was not asked',
      );
      await passTime(200);
      const { unhealthy_endpoints } = (await health).json() as { unhealthy_endpoints: { error: string }[] };
      expect(unhealthy_endpoints.map(({ error }) => error)).toEqual([
        expect.stringContaining('did not finish its answer within the total timeout - timeout value=0.1'),
      ]);
      expect(served.requests.map(({ body }) => (JSON.parse(body.toString()) as { model: unknown }).model)).toEqual([
        'small',
      ]);
    });
  });

  it('stops reading an endless answer of an upstream after 16 MB', () =>
    configured({ deployments: [{}] }, async () => {
      served.answering = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const piece = Buffer.alloc(1_048_576, ' ');
        const write = (): void => {
          while (!response.destroyed && response.write(piece));
        };
        response.on('drain', write);
        write();
      };
      const { unhealthy_endpoints } = (await visit('/health')).json() as { unhealthy_endpoints: { error: string }[] };
      expect(unhealthy_endpoints.map(({ error }) => error)).toEqual([
        'the upstream sent more than 16 MB in reply to a health check',
      ]);
    }));
});

describe('keys', () => {
  const settings = { clientKeys: new Set(['sk-1234']) };

  it.each(['/v1/models', '/v1/models/public', '/health', '/model/info', '/v1/model/info'])(
    'are required at %s',
    (path) =>
      configured({ settings }, async () => {
        const refused = await visit(path);
        expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
        expect((await visit(path, { authorization: 'Bearer sk-1234' })).status).toBe(200);
      }),
  );

  it.each(['/', '/health/liveliness', '/health/readiness', '/metrics', '/routes'])('are not required at %s', (path) =>
    configured({ settings }, async () => {
      const { status, text } = await visit(path);
      expect(status).toBe(200);
      // The page shows model names only if their list needs no key.
      if (path === '/') expect(text).not.toContain('public');
    }),
  );

  it('are checked, and neither go upstream nor into the log', () =>
    configured({ settings }, async () => {
      served.lines();
      expect((await chat({ authorization: 'Bearer sk-12345' })).status).toBe(401);
      expect((await chat({ authorization: 'Bearer sk-1234' })).status).toBe(200);
      expect(served.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-upstream-0123456789']);
      const lines = served.lines();
      expect(lines).toEqual([
        expect.objectContaining({ status: 401, refused: 'Authentication Error, Invalid proxy server token passed.' }),
        expect.objectContaining({ status: 200 }),
      ]);
      expect(JSON.stringify(lines)).not.toContain('sk-1234');
    }));
});

describe('a page', () => {
  it('at / lists the models, escaped, and allows no scripts', () =>
    configured({ deployments: [{ modelName: '<script>alert(1)</script>' }] }, async () => {
      const { status, headers, text } = await visit('/');
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(text).toContain('<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>');
      expect(text).not.toContain('<script>');
    }));

  it('is served for absolute URLs and repeated slashes', async () => {
    const answer = await exchangeBytes(
      served.port,
      Buffer.from('GET http://proxy//routes/ HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n'),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('{"path":"/v1/chat/completions","methods":["POST"]}');
  });
});

describe('settings that restrict access', () => {
  const closed = { clientKeys: new Set(['sk-1']) };
  const replace = (changed: Partial<ProxySettings>) =>
    served.replaceSettings(settingsOf([deploymentAt(`http://127.0.0.1:${served.upstreamPort}/v1`)], changed));
  afterEach(() => replace({}));

  it('can require the key for /metrics and other open pages', async () => {
    replace({ ...closed, masterKeyRoutes: new Set(['/metrics', '/routes']) });
    const statuses = async (headers = {}) =>
      Promise.all(
        ['/metrics', '//metrics/', '/routes', '/health/liveliness'].map(
          async (path) => (await visit(path, headers)).status,
        ),
      );
    expect(await statuses()).toEqual([401, 401, 401, 200]);
    expect(await statuses({ authorization: 'Bearer sk-1' })).toEqual([200, 200, 200, 200]);
  });

  it('can reject addresses, except for probes, and can reject paths', async () => {
    replace({ allowedIps: ['10.0.0.1'] });
    expect((await chat()).status).toBe(403);
    expect((await visit('/v1/models')).status).toBe(403);
    expect((await visit('/health/readiness')).status).toBe(200);
    replace({ allowedIps: ['127.0.0.0/8'], allowedRoutes: ['/v1/chat/completions'] });
    expect((await chat()).status).toBe(200);
    expect((await visit('/v1/models')).status).toBe(403);
    expect((await visit('//v1//models?a=b')).status).toBe(403);
  });

  it('can limit the requests of a deployment, across reloads', async () => {
    const limited = () => {
      const apiBase = `http://127.0.0.1:${served.upstreamPort}/v1`;
      served.replaceSettings(settingsOf([deploymentAt(apiBase, { id: 'limited', rpm: 1 })]));
    };
    const answers: Awaited<ReturnType<typeof chat>>[] = [];
    // If a new minute begins after the first request, the second and the third are in the same
    // minute.
    for (let request = 0; request < 3; request += 1) {
      limited();
      answers.push(await chat());
    }
    const refused = answers.find(({ status }) => status === 429);
    expect(answers[0]?.status).toBe(200);
    expect([refused?.headers['retry-after'], refused?.text]).toEqual([
      expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
      expect.stringContaining('litellm.RateLimitError: Model rate limit exceeded. RPM limit=1.'),
    ]);
  });

  it('can require `user` in requests for a model', async () => {
    replace({ enforceUserParam: true });
    const asked = served.requests.length;
    const refused = await chat();
    expect([refused.status, served.requests.length]).toEqual([400, asked]);
    expect(refused.text).toContain("'user' param not passed in. 'enforce_user_param'=True");
    const body = { model: 'public', messages: [], user: 'ann' };
    expect((await call(`${served.url}/v1/chat/completions`, { body })).status).toBe(200);
  });
});

describe('the list of routes', () => {
  it('contains model paths, pages and raw pass-through paths', async () => {
    const { routes } = JSON.parse((await visit('/routes')).text) as {
      routes: { path: string; methods: string[] }[];
    }; // the proxy wrote this list
    const methods = new Map(routes.map((route) => [route.path, route.methods]));
    expect(methods.size).toBe(routes.length);
    const raw = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
    expect(
      [
        '/v1/chat/completions',
        '/embeddings',
        '/engines/{model}/completions',
        '/openai/deployments/{model}/chat/completions',
        '/v2/rerank',
        '/v1/models/{id}',
        '/routes',
        '/openai/{path}',
        '/vllm/{path}',
        '/v1/files',
        '/batches/{path}',
        '/{provider}/v1/files/{path}',
        '/v1/realtime',
      ].map((path) => methods.get(path)),
    ).toEqual([
      ['POST'],
      ['POST'],
      ['POST'],
      ['POST'],
      ['POST'],
      ['GET', 'HEAD'],
      ['GET', 'HEAD'],
      raw,
      raw,
      raw,
      raw,
      raw,
      ['GET'],
    ]);
  });

  it('contains no path without a handler', async () => {
    const { routes } = JSON.parse((await visit('/routes')).text) as { routes: { path: string }[] };
    const paths = createPaths(endpoints);
    const unhandled = routes
      .map(({ path }) => path.replaceAll(/[{]\w+[}]/g, 'openai'))
      .filter(
        (path) =>
          !managementPaths.has(path) &&
          !pagePaths.has(path) &&
          !isConsolePath(path) &&
          !acceptsPath(path) &&
          (paths.match(path) ?? polledPage(path)) === undefined,
      );
    expect(unhandled).toEqual([]);
  });
});

describe('the log', () => {
  it('has a line for each request, with model and deployment, and without the query', async () => {
    served.lines();
    await call(`${served.url}/v1/chat/completions?key=geheim`, {
      body: { model: 'public', messages: [] },
      headers: { 'x-request-id': 'mine.1' },
    });
    await visit('/nowhere?key=geheim', { 'x-request-id': 'mine.2' });
    const [time, number] = [expect.any(String), expect.any(Number)] as unknown[];
    expect(served.lines()).toEqual([
      {
        time,
        level: 'info',
        message: 'request',
        id: 'mine.1',
        user: null,
        method: 'POST',
        path: '/v1/chat/completions',
        status: 200,
        ms: number,
        model: 'public',
        deployment: 'deployment-1',
        upstreamMs: number,
      },
      {
        time,
        level: 'info',
        message: 'request',
        id: 'mine.2',
        user: null,
        method: 'GET',
        path: '/nowhere',
        status: 404,
        ms: number,
      },
    ]);
  });

  it("explains why an upstream's answer is missing", () =>
    configured({ deployments: [{ apiBase: 'http://127.0.0.1:9/v1' }] }, async () => {
      served.lines();
      expect((await chat({ 'x-request-id': 'mine.3' })).status).toBe(500);
      expect(served.lines()).toEqual([
        expect.objectContaining({ message: 'request', id: 'mine.3', status: 500 }),
        expect.objectContaining({
          level: 'warn',
          message: 'a request could not be served',
          id: 'mine.3',
          error: expect.stringContaining('127.0.0.1:9') as unknown,
        }),
      ]);
    }));

  it('warns once about an api_base without /v1 if the upstream answers 404', () =>
    configured({ deployments: [{ apiBase: `http://127.0.0.1:${served.upstreamPort}` }] }, async () => {
      served.answering = json({ detail: 'Not Found' }, 404);
      served.lines();
      await chat();
      await chat();
      const warnings = served.lines().filter(({ apiBase }) => apiBase !== undefined);
      expect(warnings).toEqual([
        {
          time: expect.any(String) as unknown,
          level: 'warn',
          message: 'an upstream has no such path, and its api_base does not end with /v1: is /v1 missing?',
          deployment: 'deployment-1',
          apiBase: `http://127.0.0.1:${served.upstreamPort}`,
        },
      ]);
    }));

  it('shows requests and answers only with --detailed_debug', async () => {
    const debugged = await serveApp({ app: { detailedDebug: true } });
    await call(`${debugged.url}/v1/chat/completions`, { body: { model: 'public', messages: [] } });
    const messages = debugged.lines().map(({ message }) => message);
    expect(messages).toEqual([
      expect.stringMatching(
        /^POST Request Sent from LiteLLM: curl -X POST 'http:.*-H 'authorization: Bearer sk\*\*\*\*89'.* -d '\{"model":"served\/model","messages":\[\]\}'$/,
      ),
      expect.stringMatching(/^RAW RESPONSE: 200 \[.*\] \{"id":"x","model":"served\/model"\}$/),
      'request',
    ]);
    await debugged.close();
    served.lines();
    await chat();
    expect(served.lines().map(({ message }) => message)).toEqual(['request']);
  });
});

describe('metrics', () => {
  it('have no label with an unknown model or path that a client sent', async () => {
    await call(`${served.url}/v1/chat/completions`, { body: { model: 'chosen-by-client', messages: [] } });
    await call(`${served.url}/v1/chosen-by-client`, { body: { model: 'chosen-by-client' } });
    await visit('/chosen-by-client');
    const { text, headers } = await visit('/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain(
      'litellm_proxy_failed_requests_metric_total{route="/v1/chat/completions",requested_model="",model_id="",exception_status="400",exception_class="request"}',
    );
    expect(text).not.toContain('chosen-by-client');
  });
});

describe('an invalid request', () => {
  it.each([
    ['GARBAGE\r\n\r\n', 501],
    ['GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n', 400],
    ['GET /health/liveliness\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['GET /health/liveliness HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ])("gets an error in OpenAI's format, and a line in the log: %j", async (bytes, status) => {
    served.lines();
    const answer = await exchangeBytes(served.port, Buffer.from(bytes));
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(body)).toEqual(error(expect.any(String) as unknown as string, String(status)));
    expect(served.lines()).toEqual([expect.objectContaining({ message: 'request', status })]);
  });
});

describe('an upgrade', () => {
  it("to HTTP/2 gets an answer in HTTP/1.1 (Java's client tries this upgrade first)", async () => {
    const text = '{"model":"public","messages":[]}';
    const answer = await exchangeBytes(
      served.port,
      Buffer.from(
        'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n' +
          `HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nContent-Length: ${text.length}\r\n\r\n${text}` +
          'GET /health/liveliness HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"model":"hosted_vllm\/served\/model"\}HTTP\/1\.1 200 OK\r\n/);
  });

  it('to a WebSocket at an unknown path gets 404', async () => {
    const socket = connect(served.port, '127.0.0.1');
    socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[^]*There is no WebSocket \/nowhere here/);
  });
});

describe('Express and prom-client', () => {
  it('are loaded only with the first page that needs them, so that the proxy listens earlier', async () => {
    // The built app runs in a separate process, because this process has already loaded Express and prom-client.
    const script = `
      import { createRequire } from 'node:module';
      import { createServer } from 'node:http';
      const { createApp } = await import('${new URL('../dist/app.js', import.meta.url).href}');
      const silent = () => undefined;
      const log = { error: silent, warn: silent, info: silent, debug: silent, request: silent, flush: silent };
      const settings = { deployments: [], modelGroupAlias: new Map(), modelNameInResponse: 'provider', fillNullFields: false, forwardedPaths: new Set(), allowedRoutes: null, allowedIps: null, masterKeyRoutes: new Set(),
        alwaysIncludeStreamUsage: false, maxRequestBytes: 1000, maxResponseBytes: 1000000, forwardClientHeaders: false, clientKeys: null };
      const app = createApp({ settings, upstream: {}, log, version: '1', detailedDebug: false });
      const server = createServer(app.handler).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const url = 'http://127.0.0.1:' + server.address().port;
      const loaded = () => ['express', 'prom-client'].filter((name) =>
        Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/node_modules/' + name + '/')));
      const loads = [];
      for (const path of ['/health/liveliness', '/health/readiness', '/v1/models']) await (await fetch(url + path)).text();
      await (await fetch(url + '/v1/chat/completions', { method: 'POST', body: '{"model":"x"}' })).text();
      loads.push(loaded());
      await (await fetch(url + '/routes')).text();
      loads.push(loaded());
      await (await fetch(url + '/metrics')).text();
      loads.push(loaded());
      console.log(JSON.stringify(loads));
      server.close();
      server.closeAllConnections();
      app.close();
      process.exit();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    expect(JSON.parse(stdout)).toEqual([[], ['express'], ['express', 'prom-client']]);
  });
});
