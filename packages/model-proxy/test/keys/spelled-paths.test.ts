/** Requests a route of `admin_only_routes` by many spellings of its path: with a virtual key, and without a key. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { call, exchangeBytes } from '../harness/call.js';
import { configOf, entry, useRawProxy } from '../pass-through/fixture.js';

const MASTER = 'sk-master-0123456789';

/** Paths of all kinds of routes. */
const closedPaths = [
  ...['/', '/routes', '/metrics', '/health', '/health/liveliness', '/health/readiness'],
  ...['/v1/models', '/models/gpt', '/v1/models/oss', '/model/info', '/model/status', '/key/info', '/key/list'],
  ...['/v1/chat/completions', '/v1/embeddings', '/v1/responses', '/v1/fim/completions', '/v1/batches', '/files/file-1'],
  ...['/openai/v1/fine_tuning/jobs', '/openai/models', '/vllm/tokenize', '/v1/responses/resp_1', '/v1/realtime'],
];

const fixture = useRawProxy({
  config: (upstream) =>
    configOf(
      upstream,
      [entry('gpt', 'openai/gpt-upstream', upstream), entry('oss', 'hosted_vllm/oss-upstream', upstream)],
      [
        'general_settings:',
        `  master_key: ${MASTER}`,
        `  store: ${upstream.folder}/store`,
        '  forwarded_paths: [fim/completions]',
        `  admin_only_routes: ${JSON.stringify(closedPaths)}`,
      ],
    ),
});

const escaped = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');

/** Matches the beginning of these paths that a spelling replaces, for example by `/vllm/v1`: `/v1`, or no character. */
const versionPrefix = /^(?:\/v1)?(?=\/(?:chat|embeddings|responses|fim|batches|files|realtime)\b)/;

/** A body that is valid at each endpoint. */
const BODY = JSON.stringify({ model: 'gpt', messages: [{ role: 'user', content: 'Hello' }], input: 'Hello' });

/** Returns a spelling of a path. */
type Spelling = (path: string) => string;
const spellings: readonly (readonly [string, Spelling])[] = [
  ['as it is', (path) => path],
  ['first letter escaped', (path) => path.replace(/\w/, escaped)],
  ['last letter escaped', (path) => path.replace(/\w$/, escaped)],
  ['last letter escaped in capitals', (path) => path.replace(/\w$/, (letter) => escaped(letter).toUpperCase())],
  ['last letter escaped twice', (path) => path.replace(/\w$/, (letter) => escaped(escaped(letter)))],
  ['last name escaped', (path) => path.replace(/[^/]+$/, escaped)],
  ['escaped last slash', (path) => path.replace(/\/(?=[^/]*$)/, '%2F')],
  ['two slashes', (path) => `/${path}`],
  ['slashes everywhere', (path) => `${path.replaceAll('/', '///')}//`],
  ['slash at the end', (path) => `${path}/`],
  ['dot first', (path) => `/.${path}`],
  ['dot last', (path) => `${path}/.`],
  ['escaped dot', (path) => `/%2e${path}`],
  ['dots', (path) => `/v1/..${path}`],
  ['dots after a provider', (path) => `/vllm/..${path}`],
  ['escaped dots after a provider', (path) => `/vllm/%2e%2e${path}`],
  ['dots after files', (path) => `/files/..${path}`],
  ['dots after the console', (path) => `/ui/..${path}`],
  ['dots after a model', (path) => `/models/gpt/..${path}`],
  ['parameter', (path) => `${path};x`],
  ['parameter before', (path) => path.replace(/(?=\/[^/]*$)/, ';x=1')],
  ['capitals', (path) => path.toUpperCase()],
  ['one capital', (path) => path.replace(/\w$/, (letter) => letter.toUpperCase())],
  ['query', (path) => `${path}?x=/health/liveness`],
  ['fragment', (path) => `${path}#/health/liveness`],
  ['escaped query', (path) => `${path}%3fx`],
  ['whole URL', (path) => `http://x${path}`],
  ['whole URL in capitals', (path) => `HTTP://user@x/${path}/?x`],
  ['whole URL of TLS', (path) => `https://x${path}`],
  ['URL without host', (path) => `http:${path}`],
  ['backslash', (path) => path.replaceAll('/', '\\')],
  ['overlong slash', (path) => path.replace(/\/(?=[^/]*$)/, '%c0%af')],
  ['overlong letter', (path) => path.replace(/\w$/, (letter) => `%c1%${(letter.charCodeAt(0) - 64).toString(16)}`)],
  ['percent sign at the end', (path) => `${path}%`],
  ['half an escape at the end', (path) => `${path}%2`],
  ['zero byte', (path) => `${path}%00`],
  ['other version', (path) => (path.startsWith('/v1') ? path.slice('/v1'.length) : `/v1${path}`)],
  ['model in the path', (path) => path.replace(/^\/v1/, '/engines/gpt')],
  ['Azure’s form', (path) => path.replace(/^\/v1(?=\/(?:chat|embeddings))/, '/openai/deployments/gpt')],
  ['other name of the provider', (path) => path.replace(/^\/openai\//, '/openai_passthrough/')],
  ['without the version of the provider', (path) => path.replace(/^\/openai\/v1/, '/openai')],
  ['below openai', (path) => path.replace(versionPrefix, '/openai/v1')],
  ['below openai without the version', (path) => path.replace(versionPrefix, '/openai')],
  [
    'below openai with V1 and an escaped letter',
    (path) => path.replace(versionPrefix, '/openai/V1').replace(/\w$/, escaped),
  ],
  ['below openai_passthrough', (path) => path.replace(versionPrefix, '/openai_passthrough/v1')],
  [
    'below openai with the model',
    (path) => path.replace(/^\/v1(?=\/(?:chat|embeddings))/, '/openai/engines/a%252525b'),
  ],
  ['below vllm', (path) => path.replace(versionPrefix, '/vllm/v1')],
  ['below vllm without the version', (path) => path.replace(versionPrefix, '/vllm')],
  ['below hosted_vllm', (path) => path.replace(versionPrefix, '/hosted_vllm/v1')],
  ['below OpenAI in capitals', (path) => path.replace(versionPrefix, '/OpenAI/v1')],
];

/**
 * Sends each spelling of a path, with GET and POST.
 * @returns the requests that got neither 4xx nor 501, or reached the upstream.
 */
async function accepted(path: string, authorization: string | null): Promise<readonly string[]> {
  const { proxy, upstream } = fixture();
  const found: string[] = [];
  for (const [name, spelling] of spellings) {
    const target = spelling(path);
    for (const method of ['GET', 'POST']) {
      const head = [
        `${method} ${target} HTTP/1.1`,
        'Host: x',
        'Connection: close',
        'Content-Type: application/json',
        `Content-Length: ${BODY.length}`,
        ...(authorization === null ? [] : [`Authorization: Bearer ${authorization}`]),
      ];
      const answer = await exchangeBytes(proxy.port, Buffer.from(`${head.join('\r\n')}\r\n\r\n${BODY}`));
      const isRefused = /^HTTP\/1\.1 (?:4\d\d|501) /.test(answer);
      if (!isRefused || upstream.seen.length > 0) found.push(`${method} ${target} (${name}): ${answer.slice(0, 15)}`);
      upstream.forget();
    }
  }
  return found;
}

describe('a route of admin_only_routes', () => {
  let key: string;
  beforeAll(async () => {
    const answer = await call(`${fixture().proxy.url}/key/generate`, {
      headers: { authorization: `Bearer ${MASTER}` },
      body: {},
    });
    ({ key } = answer.json() as { key: string }); // The proxy sends this object.
  });

  it.each(closedPaths)('rejects a virtual key for each spelling of %s', async (path) => {
    expect(await accepted(path, key)).toEqual([]);
  });

  it.each(closedPaths)('rejects a client without a key for each spelling of %s', async (path) => {
    expect(await accepted(path, null)).toEqual([]);
  });

  it('serves the master key, and virtual keys at other routes', async () => {
    const { proxy, upstream } = fixture();
    const status = async (path: string, authorization: string) =>
      (await call(proxy.url + path, { method: 'GET', headers: { authorization: `Bearer ${authorization}` } })).status;
    for (const path of ['/metrics', '/models/gpt', '/key/list', '/v1/batches', '/vllm/tokenize'])
      expect([path, await status(path, MASTER)]).toEqual([path, 200]);
    expect(upstream.seen).toHaveLength(2);
    expect(await status('/vllm/version', key)).toBe(200);
    expect(await status('/v1/batches/batch-1', key)).toBe(200);
  });
});
