/** Virtual keys over HTTP: LiteLLM's requests about keys, and what a key may do. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { digestOf } from '../../src/store/keys.js';
import { call, open } from '../harness/call.js';
import { deploymentAt, json } from '../support/app.js';
import { MASTER, serveKeys, type KeyedApp } from './fixture.js';

let app: KeyedApp;
beforeEach(async () => {
  app = await serveKeys();
});
afterEach(() => app.close());

// The tests call this function only for errors.
const errorOf = (answer: { json(): unknown }) => (answer.json() as { error: Record<string, unknown> }).error;

describe('POST /key/generate', () => {
  it("answers with LiteLLM's members, and stores only the digest of the key", async () => {
    const answer = await app.manage('POST', '/key/generate', {
      key_alias: 'team-a',
      models: ['public'],
      rpm_limit: 10,
      max_budget: 2.5,
      budget_duration: '30d',
      duration: '1h',
      metadata: { team: 'core', __proto__: { polluted: true } },
    });
    expect(answer.status).toBe(200);
    const { key, ...made } = answer.json() as Record<string, unknown>; // The proxy sends an object.
    expect(key).toMatch(/^sk-[\w-]{32}$/);
    const digest = digestOf(String(key));
    expect(made).toMatchObject({
      token: digest,
      token_id: digest,
      key_name: `sk-...${String(key).slice(-4)}`,
      key_alias: 'team-a',
      models: ['public'],
      rpm_limit: 10,
      tpm_limit: null,
      max_budget: 2.5,
      budget_duration: '30d',
      duration: '1h',
      spend: 0,
      user_id: null,
      metadata: { team: 'core' },
      aliases: {},
      config: {},
      permissions: {},
    });
    expect(Date.parse(String(made['expires'])) - Date.now()).toBeGreaterThan(3_500_000);
    expect(JSON.stringify([...app.store.keys])).not.toContain(String(key));
    expect((await app.chat(String(key))).status).toBe(200);
  });

  it.each([
    [{ key: 'not-a-key-but-long-enough' }, /must start with 'sk-'/],
    [{ key: 'sk-short' }, /16 to 256 characters/],
    [{ key_alias: 'a\nb' }, /key_alias/],
    [{ key_alias: 'x'.repeat(257) }, /key_alias/],
    [{ key: MASTER }, /is the master key/],
    [{ allowed_routes: ['v1'] }, /allowed_routes\.0' has an invalid value: an entry is a path such as/],
    [{ allowed_routes: ['/a/*/b'] }, /allowed_routes/],
    [{ rpm_limit: -1 }, /rpm_limit/],
    [{ rpm_limit: 1.5 }, /rpm_limit/],
    [{ max_budget: 'much' }, /max_budget/],
    [{ budget_duration: '30 days' }, /budget_duration/],
    [{ duration: 'x' }, /duration/],
    [{ rpm_limt: 5 }, /rpm_limt' is unknown: did you mean 'rpm_limit'/],
    [{ model_max_budget: { a: 1 } }, /'model_max_budget' is not implemented here/],
    [{ metadata: { text: 'x'.repeat(20_000) } }, /metadata' is too long/],
    [{ models: Array.from({ length: 1001 }, (_, n) => `m${n}`) }, /models/],
    [{ metadata: ['a'] }, /metadata/],
  ])('rejects %j', async (body, message) => {
    const answer = await app.manage('POST', '/key/generate', body);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)['message']).toMatch(message);
    expect(app.store.keys.size).toBe(0);
  });

  it('rejects too deeply nested values, and an update rejects values that are too long for the store', async () => {
    const deep = `{"metadata":{"list":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
    const nested = await call(`${app.url}/key/generate`, {
      headers: { authorization: `Bearer ${MASTER}` },
      body: deep,
    });
    expect([nested.status, errorOf(nested)['message']]).toEqual([400, expect.stringMatching(/nested too deeply/)]);
    const models = Array.from({ length: 1000 }, (_, n) => `${'名'.repeat(200)}${n}`);
    const key = await app.create({ models });
    const aliases = Object.fromEntries(models.slice(0, 600).map((name) => [name, name]));
    const long = await app.manage('POST', '/key/update', { key, aliases });
    expect([long.status, errorOf(long)['message']]).toEqual([400, expect.stringMatching(/at most 262144 characters/)]);
  });

  it('rejects a body that is not a JSON object', async () => {
    for (const body of ['{', '[]', '"x"', '5'])
      expect([body, (await app.manage('POST', '/key/generate', body as unknown as object)).status]).toEqual([
        body,
        400,
      ]);
  });

  it('rejects an alias and a key that exist', async () => {
    const key = await app.create({ key_alias: 'a' });
    const alias = await app.manage('POST', '/key/generate', { key_alias: 'a' });
    expect([alias.status, errorOf(alias)['message']]).toEqual([
      400,
      "Key with alias 'a' already exists. Unique key aliases across all keys are required.",
    ]);
    expect((await app.manage('POST', '/key/generate', { key })).status).toBe(400);
    expect(app.store.keys.size).toBe(1);
  });

  it('gives an alias to only one of ten concurrent requests for the same alias', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => app.manage('POST', '/key/generate', { key_alias: 'a' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 400)]);
  });

  it('answers 503 if the key cannot be stored', async () => {
    const changeKeys = () => Promise.reject(new StoreUnavailable('no room'));
    Object.assign(app.store, { changeKeys });
    const answer = await app.manage('POST', '/key/generate', {});
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.text).not.toContain('no room');
  });

  it('blocks a key with a spend until the spend is stored', async () => {
    // Without the block, a proxy that is killed before it stores the spend would leave a key with its whole budget.
    const key = `sk-${'k'.repeat(20)}`;
    const setSpend = app.store.setSpend.bind(app.store);
    const seen: unknown[] = [];
    Object.assign(app.store, {
      setSpend: async (digest: string, spend: number) => {
        seen.push(app.store.keys.get(digest)?.blocked, (await app.chat(key)).status);
        await setSpend(digest, spend);
      },
    });
    const made = await app.manage('POST', '/key/generate', { key, spend: 1, max_budget: 2 });
    expect(made.json()).toMatchObject({ key, spend: 1, max_budget: 2, blocked: false });
    expect(seen).toEqual([true, 401]);
    expect((await app.chat(key)).status).toBe(200);
    await app.manage('POST', '/key/generate', { key: `${key}-2`, spend: 1, blocked: true });
    expect((await app.chat(`${key}-2`)).status).toBe(401);
  });

  it('answers 503 if the spend of a key cannot be stored', async () => {
    const key = await app.create();
    Object.assign(app.store, { setSpend: () => Promise.reject(new StoreUnavailable('no room')) });
    const answers = [
      await app.manage('POST', '/key/update', { key, spend: 0 }),
      await app.manage('POST', '/key/generate', { spend: 1, key_alias: 'team' }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [503, '1'],
      [503, '1'],
    ]);
    // The failed request has stored no key with this alias, so the client can repeat the request.
    expect((await app.manage('POST', '/key/generate', { key_alias: 'team' })).status).toBe(200);
  });
});

describe('management requests', () => {
  it.each(['/key/generate', '/key/update', '/key/delete', '/key/block', '/key/unblock'])(
    'to %s need the master key',
    async (path) => {
      const key = await app.create();
      const answer = await app.manage('POST', path, { key, keys: [key] }, key);
      expect([answer.status, errorOf(answer)['message']]).toEqual([
        401,
        `Authentication Error, Only proxy admin can be used to generate, delete, update info for new keys/users/teams. Route=${path}. Your role=unknown. Your user_id=unknown`,
      ]);
      expect((await app.manage('POST', path, {}, 'sk-wrong-0123456789')).status).toBe(401);
      expect(app.store.keys.size).toBe(1);
    },
  );

  it('get 405 with other methods, and 501 without a store', async () => {
    const get = await app.manage('GET', '/key/generate');
    expect([get.status, get.headers.allow]).toEqual([405, 'POST']);
    const { serveApp } = await import('../support/app.js');
    const bare = await serveApp();
    const answer = await open(`${bare.url}/key/generate`, { body: {} });
    expect(answer.status).toBe(501);
    await answer.ended;
    expect(answer.text).toContain('general_settings.store');
    await bare.close();
  });

  it('change a key, and each change has an effect on the next request', async () => {
    const key = await app.create({ models: ['public'], rpm_limit: 5, metadata: { a: 1 }, tags: ['a'] });
    const update = (body: object) => app.manage('POST', '/key/update', { key, ...body });
    expect((await update({ models: ['other'] })).json()).toMatchObject({ key, models: ['other'], rpm_limit: 5 });
    expect((await app.chat(key)).status).toBe(403);
    await update({ models: [], rpm_limit: null, metadata: null, tags: null });
    expect((await app.chat(key)).status).toBe(200);
    expect([...app.store.keys.values()][0]).toMatchObject({ rpmLimit: null, metadata: {}, models: [], tags: [] });
    await app.manage('POST', '/key/block', { key });
    const blocked = await app.chat(key);
    expect([blocked.status, errorOf(blocked)['message']]).toEqual([
      401,
      "Authentication Error, Key is blocked. Update via `/key/unblock` if you're an admin.",
    ]);
    await app.manage('POST', '/key/unblock', { key: digestOf(key) });
    expect((await app.chat(key)).status).toBe(200);
    expect((await app.manage('POST', '/key/delete', { keys: [key] })).json()).toEqual({ deleted_keys: [key] });
    expect((await app.chat(key)).status).toBe(401);
    expect((await update({})).status).toBe(404);
    expect((await app.manage('POST', '/key/delete', { keys: [key] })).status).toBe(404);
  });

  it('keep all changes that they make to one key at the same time', async () => {
    const key = await app.create();
    await Promise.all([
      app.manage('POST', '/key/update', { key, rpm_limit: 7 }),
      app.manage('POST', '/key/update', { key, tpm_limit: 8 }),
      app.manage('POST', '/key/update', { key, max_budget: 9 }),
    ]);
    expect([...app.store.keys.values()][0]).toMatchObject({ rpmLimit: 7, tpmLimit: 8, maxBudget: 9 });
  });

  it('delete keys by alias, and ignore unknown aliases', async () => {
    await app.create({ key_alias: 'a' });
    await app.create({ key_alias: 'b' });
    expect((await app.manage('POST', '/key/delete', { key_aliases: ['a', 'x'] })).json()).toEqual({
      deleted_keys: ['a'],
    });
    expect(app.store.keys.size).toBe(1);
  });
});

describe('GET /key/info', () => {
  it('finds a key by the key or by its digest, and shows a virtual key its own information', async () => {
    const key = await app.create({ key_alias: 'a' });
    const digest = digestOf(key);
    for (const [query, by, name] of [
      [`?key=${key}`, MASTER, key],
      [`?key=${digest}`, MASTER, digest],
      ['', key, digest],
    ] as const) {
      const answer = await app.manage('GET', `/key/info${query}`, undefined, by);
      expect(answer.json()).toMatchObject({ key: name, info: { key_alias: 'a', spend: 0, blocked: false } });
      expect(answer.text.includes(`"token"`)).toBe(false);
    }
  });

  it('does not show other keys to a virtual key, and answers 404 for an unknown key', async () => {
    const [one, two] = [await app.create(), await app.create()];
    expect((await app.manage('GET', `/key/info?key=${two}`, undefined, one)).status).toBe(403);
    const unknown = await app.manage('GET', '/key/info?key=sk-unknown');
    expect([unknown.status, errorOf(unknown)['message']]).toEqual([404, 'Key not found in database']);
  });
});

describe('GET /key/list', () => {
  it('returns pages, filters keys, returns full objects, and rejects invalid pages', async () => {
    for (let n = 0; n < 12; n += 1) await app.create({ key_alias: `k${n}`, user_id: n < 3 ? 'u' : 'v' });
    const list = async (query: string) => (await app.manage('GET', `/key/list${query}`)).json();
    expect(await list('')).toMatchObject({ total_count: 12, current_page: 1, total_pages: 2 });
    expect(await list('?page=2&size=5&return_full_object=true')).toMatchObject({ current_page: 2, total_pages: 3 });
    const found = (await list('?user_id=u&return_full_object=true')) as {
      keys: { key_alias: string; token: string }[];
    };
    expect(found.keys.map(({ key_alias: alias }) => alias).sort()).toEqual(['k0', 'k1', 'k2']);
    expect(await list(`?key_hash=${found.keys[0]?.token ?? ''}`)).toMatchObject({ total_count: 1 });
    expect(await list('?status=revoked')).toMatchObject({ total_count: 0, keys: [] });
    // There are no organizations, so none has keys.
    expect(await list('?organization_id=o')).toMatchObject({ total_count: 0, keys: [] });
    expect((await app.manage('GET', '/key/list?size=101')).status).toBe(400);
    expect((await app.manage('GET', '/key/list?page=-1')).status).toBe(400);
  });

  it.each(['key_alias', 'key_hash', 'user_id', 'team_id', 'organization_id', 'status', 'search'])(
    'ignores an empty %s',
    async (filter) => {
      await app.create();
      const answer = await app.manage('GET', `/key/list?${filter}=`);
      expect(answer.json()).toMatchObject({ total_count: 1 });
    },
  );
});

describe('a virtual key', () => {
  it('is rejected when it has expired', async () => {
    const key = await app.create({ duration: '1s' });
    const digest = digestOf(key);
    const stored = app.store.keys.get(digest);
    if (stored === undefined) throw new Error('the key is not stored');
    await app.store.changeKeys(() => ({
      changes: new Map([[digest, { ...stored, expiresAt: Date.now() - 1 }]]),
      result: 0,
    }));
    const answer = await app.chat(key);
    expect([answer.status, errorOf(answer)['type'], errorOf(answer)['code']]).toEqual([401, 'expired_key', '401']);
    expect(errorOf(answer)['message']).toMatch(/^Authentication Error - Expired Key\. Key Expiry time \d{4}-/);
  });

  it('is not accepted as its digest, in capitals, with more characters or with fewer', async () => {
    const key = await app.create();
    for (const wrong of [digestOf(key), key.toUpperCase(), `${key} x`, key.slice(0, -1)])
      expect((await app.chat(wrong)).status).toBe(401);
  });

  it('may only use its models, and gets no names of other models', async () => {
    await app.close();
    app = await serveKeys({
      settings: { deployments: [] },
    });
    const at = (modelName: string) =>
      deploymentAt(`http://127.0.0.1:${app.upstreamPort}/v1`, { modelName, id: modelName });
    const { settingsOf } = await import('../support/app.js');
    app.replaceSettings(settingsOf([at('public'), at('secret'), at('open/*')], { clientKeys: new Set([MASTER]) }));
    const key = await app.create({ models: ['public', 'open/*'], aliases: { mine: 'secret' } });
    expect((await app.chat(key)).status).toBe(200);
    expect((await app.chat(key, { model: 'open/x' })).status).toBe(200);
    for (const model of ['secret', 'unknown', 'mine']) {
      const answer = await app.chat(key, { model });
      expect([model, answer.status, errorOf(answer)['type'], errorOf(answer)['param']]).toEqual([
        ...[model, 403],
        'key_model_access_denied',
        'model',
      ]);
      expect(errorOf(answer)['message']).toBe(
        `The requested model '${model}' is not available for this API key, or the model name is invalid. Check the models available to you and try again.`,
      );
    }
    const missing = await app.chat(key, { model: undefined });
    expect(missing.text).not.toContain('secret');
    const models = await app.manage('GET', '/v1/models', undefined, key);
    expect((models.json() as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['public', 'open/*']);
    expect((await app.manage('GET', '/v1/models/secret', undefined, key)).status).toBe(404);
    expect((await app.manage('GET', '/model/info', undefined, key)).text).not.toContain('secret');
    const other = await app.create({ models: ['mine', 'public'], aliases: { mine: 'secret' } });
    expect((await app.chat(other, { model: 'mine' })).status).toBe(200);
    expect(JSON.parse(app.requests.at(-1)?.body.toString() ?? '')).toMatchObject({ model: 'served/model' });
  });

  it('gets no names of fallbacks that it may not use', async () => {
    await app.close();
    const general = new Map([['public', ['internal', 'visible']]]);
    const none = new Map<string, readonly string[]>();
    app = await serveKeys({
      settings: { fallback: { general, contextWindow: none, contentPolicy: none, max: 5 } },
    });
    app.answering = json({ error: { message: 'no' } }, 401);
    const answer = await app.chat(await app.create({ models: ['public', 'visible'] }));
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("Fallbacks=['visible']")]);
  });

  it('may only request paths in its allowed_routes, and /health only if allowed_routes contain it', async () => {
    const key = await app.create({ allowed_routes: ['/v1/embeddings', '/health'] });
    const chat = await app.chat(key);
    expect([chat.status, errorOf(chat)['message']]).toEqual([
      403,
      "Virtual key is not allowed to call this route. Only allowed to call routes: ['/v1/embeddings', '/health']. Tried to call route: /v1/chat/completions",
    ]);
    expect((await app.manage('GET', '/v1/models', undefined, key)).status).toBe(403);
    expect((await app.manage('GET', '/health', undefined, key)).status).toBe(200);
    const plain = await app.create();
    const refused = await app.manage('GET', '/health', undefined, plain);
    expect([refused.status, errorOf(refused)['message']]).toEqual([
      403,
      'Virtual key is not allowed to call this route: /health. Use the master key, or a key whose allowed_routes contain the route.',
    ]);
    const reader = await app.create({ key_type: 'management' });
    expect((await app.chat(reader)).status).toBe(403);
  });

  it('may read information about models, but run none, with key_type read_only', async () => {
    const key = await app.create({ key_type: 'read_only' });
    const paths = ['/v1/models', '/v1/models/public', '/model/info', '/key/info'];
    for (const path of paths)
      expect([path, (await app.manage('GET', path, undefined, key)).status]).toEqual([path, 200]);
    for (const path of ['/v1/chat/completions', '/v1/embeddings'])
      expect([path, (await app.manage('POST', path, { model: 'public' }, key)).status]).toEqual([path, 403]);
    expect(app.requests).toEqual([]);
  });

  it('has a budget, which a new period resets', async () => {
    await app.close();
    app = await serveKeys({ deployment: { modelInfo: { input_cost_per_token: 0.01, output_cost_per_token: 0.02 } } });
    const key = await app.create({ max_budget: 0.3, budget_duration: '1d', key_alias: 'spender' });
    const first = await app.chat(key);
    expect([first.status, first.headers['x-litellm-key-spend'], first.headers['x-litellm-key-max-budget']]).toEqual([
      200,
      '0',
      '0.3',
    ]);
    expect((await app.chat(key)).headers['x-litellm-key-spend']).toBe('0.2');
    const refused = await app.chat(key);
    expect([refused.status, errorOf(refused)['type'], refused.headers['x-should-retry']]).toEqual([
      429,
      'budget_exceeded',
      'false',
    ]);
    expect(errorOf(refused)['message']).toBe(
      `Budget has been exceeded! Key=spender (sk-...${key.slice(-4)}) Current cost: 0.4, Max budget: 0.3`,
    );
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(86_400);
    expect(app.requests).toHaveLength(2);
    app.clock.ms += 86_400_000;
    expect((await app.chat(key)).status).toBe(200);
    // The clock of the store decides, not that of the host.
    app.clock.ms += 40 * 86_400_000;
    for (const status of [200, 200, 429]) expect((await app.chat(key)).status).toBe(status);
    expect(Number((await app.chat(key)).headers['retry-after'])).toBeLessThanOrEqual(86_400);
    await app.manage('POST', '/key/update', { key, spend: 5 });
    expect((await app.chat(key)).status).toBe(429);
  });

  it('reaches its rpm_limit also by requests for models that it may not use', async () => {
    // The proxy checks limits before it reads the body.
    const key = await app.create({ models: ['other'], rpm_limit: 1 });
    expect([(await app.chat(key)).status, (await app.chat(key)).status]).toEqual([403, 429]);
  });

  it('has limits for requests and tokens, and reports what is left', async () => {
    const key = await app.create({ rpm_limit: 2, tpm_limit: 20 });
    const [first, second, third] = [await app.chat(key), await app.chat(key), await app.chat(key)];
    expect([
      first.status,
      first.headers['x-ratelimit-api_key-remaining-requests'],
      first.headers['x-litellm-key-rpm-limit'],
    ]).toEqual([...[200, '1'], '2']);
    expect([second.status, second.headers['x-ratelimit-api_key-remaining-tokens']]).toEqual([200, '5']);
    expect(third.status).toBe(429);
    expect(errorOf(third)).toMatchObject({ type: 'rate_limit_error', code: '429' });
    expect(errorOf(third)['message']).toMatch(
      new RegExp(
        `^Rate limit exceeded for api_key: ${digestOf(key)}\\. Limit type: requests\\. Current limit: 2, Remaining: 0\\. Limit resets at: `,
      ),
    );
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(50);
    const tokens = await app.create({ tpm_limit: 15 });
    expect((await app.chat(tokens)).status).toBe(200);
    expect(errorOf(await app.chat(tokens))['message']).toContain('Limit type: tokens');
    expect(app.requests).toHaveLength(3);
  });

  it('has a limit for parallel requests; a client that disconnects frees its slot', async () => {
    const key = await app.create({ max_parallel_requests: 2 });
    const waiting: (() => void)[] = [];
    app.answering = (request, response) => void waiting.push(() => json({ model: 'x' })(request, response));
    const send = () =>
      open(`${app.url}/v1/chat/completions`, {
        headers: { authorization: `Bearer ${key}` },
        body: { model: 'public', messages: [] },
      });
    const leaving = connect(app.port, '127.0.0.1');
    const body = JSON.stringify({ model: 'public', messages: [] });
    leaving.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const first = send();
    const { waitFor } = await import('../harness/wait.js');
    await waitFor(
      () => (waiting.length === 2 ? true : undefined),
      () => 'the upstream did not get two requests',
    );
    const refused = await send();
    expect(refused.status).toBe(429);
    await refused.ended;
    expect(refused.text).toContain('Limit type: max_parallel_requests');
    leaving.destroy();
    await once(leaving, 'close');
    await waitFor(
      async () => {
        const next = send();
        const count = waiting.length;
        const answer = await Promise.race([
          next,
          waitFor(
            () => (waiting.length > count ? true : undefined),
            () => 'the upstream got no further request',
          ),
        ]);
        return answer === true ? true : undefined;
      },
      () => 'no slot is free',
    );
    for (const reply of waiting) reply();
    expect((await first).status).toBe(200);
  });

  it('cannot use raw requests if it has a list of models, because the proxy does not read their model', async () => {
    await app.close();
    app = await serveKeys({
      deployment: { useInPassThrough: true },
      app: {
        passThrough: {
          accepts: () => true,
          handle: ({ response }) => response.end('raw'),
          loadModules: () => Promise.resolve(),
          upgrade: () => undefined,
          closeWebSockets: () => undefined,
        },
      },
    });
    const restricted = await app.create({ models: ['public'] });
    expect((await app.manage('GET', '/openai/v1/files', undefined, restricted)).status).toBe(403);
    const unrestricted = await app.create();
    expect((await app.manage('GET', '/openai/v1/files', undefined, unrestricted)).text).toBe('raw');
  });
});
