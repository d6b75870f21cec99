import { describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../../test/support/configuration.js';

const { deployment, faults, load, warnings } = configurationFixture();

/** Returns the members `names` of a deployment with the given params. */
function members(params: readonly string[], ...names: readonly (keyof ReturnType<typeof deployment>)[]) {
  const all = deployment(oneModel(params));
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

const entry = (name: string, params: string, more = '') =>
  `  - model_name: ${JSON.stringify(name)}\n    litellm_params: ${params}\n${more}`;

describe('model_info', () => {
  it("names the endpoints of Anthropic's API that the server of an entry has", () => {
    const list = (info: string) =>
      `model_list:\n${entry('m', '{model: hosted_vllm/m, api_base: http://x.test/v1}', info)}`;
    const native = (info: string) => deployment(list(info)).provider.anthropicEndpoints;
    expect(native('')).toBeUndefined();
    expect(native('    model_info: {supported_endpoints: [/v1/chat/completions]}\n')).toBeUndefined();
    expect(native('    model_info: {supported_endpoints: [/v1/messages]}\n')).toEqual(['messages']);
  });
});

describe('supported_environments of model_info', () => {
  const entryOf = (name: string, environments: string) =>
    entry(name, '{model: openai/m, api_key: k}', `    model_info: {supported_environments: ${environments}}\n`);
  const yaml = `model_list:\n${entryOf('dev', '[development]')}${entryOf('both', '[staging, production]')}`;
  const namesIn = (environment: string) =>
    load(yaml, { environment: { LITELLM_ENVIRONMENT: environment } }).proxy.deployments.map(
      ({ modelName }) => modelName,
    );

  it('selects the entries whose list contains the value of LITELLM_ENVIRONMENT', () => {
    expect([namesIn('development'), namesIn('production')]).toEqual([['dev'], ['both']]);
  });

  it('prevents the start if LITELLM_ENVIRONMENT is not set, or if the list has an unknown environment', () => {
    expect(faults(yaml)).toEqual([
      expect.stringContaining('supported_environments: needs the environment variable LITELLM_ENVIRONMENT'),
      expect.stringContaining('supported_environments: needs the environment variable LITELLM_ENVIRONMENT'),
    ]);
    expect(faults(`model_list:\n${entryOf('m', '[test]')}`)).toEqual([
      expect.stringContaining('supported_environments: must be a list of development, staging, production'),
    ]);
  });
});

describe('params', () => {
  it('become defaults if they are request parameters, including parameters that OpenAI lacks', () => {
    expect(
      members(
        [
          'temperature: 0.2',
          'max_tokens: 100',
          'stop: ["\\n"]',
          'top_k: 20',
          'chat_template_kwargs: {enable_thinking: false}',
          'seed:',
        ],
        'defaults',
      ),
    ).toEqual({
      defaults: {
        temperature: 0.2,
        max_tokens: 100,
        stop: ['\n'],
        top_k: 20,
        chat_template_kwargs: { enable_thinking: false },
      },
    });
    expect(warnings(oneModel(['temperature: 0.2', 'top_k: 20']))).toEqual([]);
  });

  it('cause a warning if unknown, and go upstream as with LiteLLM unless they look misspelled or misplaced', () => {
    const text = oneModel([
      'my_gateway_option: [1]',
      'temprature: 1',
      'api_bsae: x',
      'drop_param: true',
      'fill_null_fields: true',
    ]);
    expect(deployment(text).defaults).toEqual({ my_gateway_option: [1] });
    expect(warnings(text)).toEqual([
      'config.yaml:6: model_list[0].litellm_params.my_gateway_option: is not known: it goes upstream as a parameter of every request',
      'config.yaml:7: model_list[0].litellm_params.temprature: is not known; the nearest known name is temperature',
      'config.yaml:8: model_list[0].litellm_params.api_bsae: is not known; the nearest known name is api_base',
      'config.yaml:9: model_list[0].litellm_params.drop_param: is not known; the nearest known name is drop_params',
      'config.yaml:10: model_list[0].litellm_params.fill_null_fields: is not known here; it belongs to litellm_settings',
    ]);
  });

  it('may be settings with all types of values', () => {
    expect(
      members(
        [
          'api_key: " sk-1 \\n"',
          'organization: org-1',
          'timeout: 30',
          'stream_timeout: "2.5"',
          'connect_timeout: 0',
          'first_byte_timeout: 20',
          'idle_timeout: 60',
          'ssl_verify: "False"',
          'drop_params: "true"',
          'additional_drop_params: [response_format, "tools[*].x"]',
          'allowed_openai_params: [reasoning_effort]',
          'extra_headers: {X-A: 1, x-b: true}',
          'extra_body: {a: {b: null}}',
          'weight: 3',
          'use_in_pass_through: yes',
        ],
        'apiKey',
        'timeouts',
        'streamTimeouts',
        'tls',
        'dropParams',
        'additionalDropParams',
        'allowedOpenaiParams',
        'extraHeaders',
        'extraBody',
        'weight',
        'useInPassThrough',
      ),
    ).toEqual({
      apiKey: 'sk-1',
      timeouts: { connectMs: null, firstByteMs: 20_000, idleMs: 60_000, totalMs: 30_000 },
      streamTimeouts: { connectMs: null, firstByteMs: 2500, idleMs: 60_000, totalMs: null },
      tls: { verify: false, clientCertificate: null },
      dropParams: true,
      additionalDropParams: ['response_format', 'tools[*].x'],
      allowedOpenaiParams: ['reasoning_effort'],
      extraHeaders: { 'openai-organization': 'org-1', 'x-a': '1', 'x-b': 'true' },
      extraBody: { a: { b: null } },
      weight: 3,
      useInPassThrough: true,
    });
  });

  it.each([
    ['api_base: https://u:p@up/v1', 'the string "https://up/v1"'],
    ['api_base: https://up/v1?secret', 'the string "https://up/v1?******"'],
    ['api_base: 5', 'the number 5'],
  ])('with %s prevent the start, and the fault contains no secret', (line, found) => {
    const text = oneModel([line]).replace('      api_base: https://up/v1/\n', '');
    expect(faults(text)).toEqual([
      `config.yaml:5: model_list[0].litellm_params.api_base: must be a URL such as https://host/v1, without user and fragment, not ${found}`,
    ]);
  });

  it('may refer to a credential, whose values apply if the params do not set them', () => {
    const credentials =
      'credential_list:\n  - credential_name: team\n    credential_values: {api_key: k, organization: o, weight: 2}\n';
    for (const key of ['litellm_credential_name', 'credential_name']) {
      const text = oneModel([`${key}: team`, 'weight: 7'], credentials);
      const { apiKey, extraHeaders, weight } = deployment(text);
      expect({ apiKey, extraHeaders, weight }).toEqual({
        apiKey: 'k',
        extraHeaders: { 'openai-organization': 'o' },
        weight: 7,
      });
      expect(faults(text.replace('credential_name: team\n    cred', 'credential_name: other\n    cred'))).toEqual([
        `config.yaml:6: model_list[0].litellm_params.${key}: there is no "team" in credential_list`,
      ]);
    }
    expect(faults(oneModel([], 'credential_list: [{credential_name: a}, 5]\n'))).toEqual([
      'config.yaml:6: credential_list[0]: needs credential_name and credential_values',
      'config.yaml:6: credential_list[1]: must be a mapping with credential_name and credential_values',
    ]);
  });

  it('may contain the address as base_url, but not as api_base too', () => {
    expect(deployment(oneModel().replace('api_base', 'base_url')).apiBase).toBe('https://up/v1');
    expect(faults(oneModel(['base_url: https://b/v1']))).toEqual([
      'config.yaml:6: model_list[0].litellm_params.base_url: is the same setting as model_list[0].litellm_params.api_base on line 5: keep one',
    ]);
  });
});

describe('timeouts', () => {
  /** Returns the total timeout, the first-byte timeout of streams, and the idle timeout, in milliseconds. */
  const times = (params: readonly string[], blocks = '', environment = {}) => {
    const { timeouts, streamTimeouts } = deployment(oneModel(params, blocks), { environment });
    return [timeouts.totalMs, streamTimeouts.firstByteMs, timeouts.idleMs];
  };

  it('come from the deployment, else router_settings, else litellm_settings, else the environment', () => {
    const general = 'litellm_settings: {request_timeout: 40, idle_timeout: 5}\n';
    const router = `router_settings: {timeout: 30, stream_timeout: 3}\n${general}`;
    const environment = { REQUEST_TIMEOUT: '50' };
    expect(times(['timeout: 20', 'stream_timeout: 2'], router, environment)).toEqual([20_000, 2000, 5000]);
    expect(times([], router, environment)).toEqual([30_000, 3000, 5000]);
    expect(times([], general, environment)).toEqual([40_000, 40_000, 5000]);
    expect(times([], '', environment)).toEqual([50_000, 50_000, 1_800_000]);
    expect(times(['timeout: 0', 'idle_timeout: 0'], router)).toEqual([null, 3000, null]);
  });

  it('prevent the start if they are not numbers', () => {
    expect(faults(oneModel(), { environment: { REQUEST_TIMEOUT: '1m' } })).toEqual([
      'environment: REQUEST_TIMEOUT must be a number of seconds from 0 to 86400, not "1m"',
    ]);
  });
});

describe('a provider', () => {
  const target = (params: string, environment = {}) => {
    const { provider, upstreamModel, apiBase, apiKey } = deployment(`model_list:\n${entry('m', params)}`, {
      environment,
    });
    return [provider.name, upstreamModel, apiBase, apiKey];
  };

  it.each([
    ['{model: openai/a/b, api_base: "https://x/v1", api_key: k}', {}, ['openai', 'a/b', 'https://x/v1', 'k']],
    ['{model: gpt-4o, api_key: k}', {}, ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'k']],
    ['{model: gpt-4o}', { OPENAI_API_KEY: 'e\n' }, ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'e']],
    ['{model: gpt-4o, api_key: ""}', { OPENAI_API_KEY: 'e' }, ['openai', 'gpt-4o', 'https://api.openai.com/v1', null]],
    [
      '{model: hosted_vllm/a}',
      { HOSTED_VLLM_API_BASE: 'http://v:8000/v1/', HOSTED_VLLM_API_KEY: 'h' },
      ['hosted_vllm', 'a', 'http://v:8000/v1', 'h'],
    ],
    [
      '{model: org/a, custom_llm_provider: hosted_vllm, api_base: "http://v/v1"}',
      {},
      ['hosted_vllm', 'org/a', 'http://v/v1', null],
    ],
    [
      '{model: hosted_vllm/a, custom_llm_provider: hosted_vllm, api_base: "http://v/v1"}',
      {},
      ['hosted_vllm', 'a', 'http://v/v1', null],
    ],
    ['{model: my_llm/a, api_base: "http://v/v1"}', {}, ['my_llm', 'a', 'http://v/v1', null]],
    [
      '{model: davinci-002}',
      { OPENAI_API_KEY: 'e' },
      ['text-completion-openai', 'davinci-002', 'https://api.openai.com/v1', 'e'],
    ],
    [
      '{model: meta-llama/Llama-3, api_base: "https://api.groq.com/openai/v1/"}',
      { GROQ_API_KEY: 'g', OPENAI_API_KEY: 'e' },
      ['groq', 'meta-llama/Llama-3', 'https://api.groq.com/openai/v1', 'g'],
    ],
    [
      '{model: meta-llama/Llama-3, api_base: "https://api.together.xyz/v1"}',
      { TOGETHER_API_KEY: 't', OPENAI_API_KEY: 'e' },
      ['together_ai', 'meta-llama/Llama-3', 'https://api.together.xyz/v1', 't'],
    ],
    [
      '{model: my-model, api_base: "https://evil.example/api.groq.com/openai/v1"}',
      { GROQ_API_KEY: 'g', OPENAI_API_KEY: 'e' },
      ['openai', 'my-model', 'https://evil.example/api.groq.com/openai/v1', null],
    ],
    ['{model: claude-3, api_base: "http://v/v1", api_key: k}', {}, ['anthropic', 'claude-3', 'http://v/v1', 'k']],
    [
      '{model: titan, custom_llm_provider: openai, api_base: "http://v/v1", api_key: k}',
      {},
      ['openai', 'titan', 'http://v/v1', 'k'],
    ],
    [
      '{model: gpt-oss-20b, api_base: "http://v/v1"}',
      { OPENAI_API_KEY: 'e' },
      ['openai', 'gpt-oss-20b', 'http://v/v1', null],
    ],
    ['{model: gpt-4o, api_base: "http://v/v1"}', { OPENAI_API_KEY: 'e' }, ['openai', 'gpt-4o', 'http://v/v1', 'e']],
    [
      '{model: openai/a, api_base: "http://v/v1/chat/completions", api_key: k}',
      {},
      ['openai', 'a', 'http://v/v1', 'k'],
    ],
  ])('for %s with %j is found with its address and key', (params, environment, expected) => {
    expect(target(params, environment)).toEqual(expected);
  });

  it('without an address, or with an invalid one in the environment, prevents the start', () => {
    const text = `model_list:\n${entry('m', '{model: hosted_vllm/a}')}`;
    expect(faults(text)).toEqual([
      'config.yaml:3: model_list[0].litellm_params: api_base is missing: hosted_vllm has no default address, and HOSTED_VLLM_API_BASE is not set',
    ]);
    expect(faults(text, { environment: { HOSTED_VLLM_API_BASE: 'vllm:8000' } })).toEqual([
      'environment: HOSTED_VLLM_API_BASE must be a URL such as https://host/v1, without user and fragment',
    ]);
  });

  it('causes a warning if it is unknown, has no key, or its address ends in a route', () => {
    const text = `model_list:\n${entry('a', '{model: my_llm/a, api_base: "http://v/v1"}')}${entry('b', '{model: gpt-4o}')}${entry('c', '{model: openai/a, api_base: "http://v/v1/embeddings", api_key: k}')}`;
    expect(warnings(text)).toEqual([
      "config.yaml:3: model_list[0].litellm_params.model: my_llm is not a known provider: the proxy uses OpenAI's API with the model a",
      'config.yaml:5: model_list[1].litellm_params: there is no api_key, and OPENAI_API_KEY is not set: requests are sent without a key',
      'config.yaml:7: model_list[2].litellm_params.api_base: the route at its end is removed: the address is http://v/v1',
    ]);
  });

  it('is not guessed: a name without a known provider prevents the start, and the message shows a prefix', () => {
    const environment = { OPENAI_API_KEY: 'e', OPENAI_BASE_URL: 'http://gateway/v1' };
    const fault = (model: string) =>
      faults(`model_list:\n${entry('m', `{model: ${model}, api_key: k}`)}`, { environment });
    const sentence = (example: string) =>
      `config.yaml:3: model_list[0].litellm_params.model: the name does not identify the provider: write the provider before the name, ${example}, or set api_base`;
    expect(fault('mistral-large')).toEqual([sentence('mistral/mistral-large')]);
    expect(fault('my-model')).toEqual([sentence('such as hosted_vllm/my-model')]);
  });

  it('is not replaced by another vendor, which would get its key: the model is not served', () => {
    const text = `model_list:\n${entry('titan', '{model: humanloop/titan, api_key: k}')}${entry('flash', '{model: gemini-2.5-flash, api_key: k}')}`;
    const { proxy } = load(text);
    expect(proxy.deployments).toEqual([]);
    expect([...(proxy.unserved ?? [])]).toEqual([
      ['titan', 'humanloop has its own API, which is not implemented'],
      ['flash', 'vertex_ai needs vertex_project, or VERTEXAI_PROJECT'],
    ]);
  });

  it.each([
    ['vertex_ai/semantic-ranker-default@latest', 'https://ranking.example'],
    ['vertex_ai/imagen-4.0-generate-001', 'https://private.example'],
    ['vertex_ai/text-embedding-005', 'https://private.example/'],
  ])('needs vertex_project if the path upstream contains the project, also with api_base: %s', (model, base) => {
    const { proxy } = load(`model_list:\n${entry('m', `{model: "${model}", api_base: "${base}"}`)}`);
    expect([...(proxy.unserved ?? [])]).toEqual([['m', 'vertex_ai needs vertex_project, or VERTEXAI_PROJECT']]);
  });

  it('causes a warning if a key of the environment goes to another server, or is not sent', () => {
    const text = `model_list:\n${entry('a', '{model: openai/a, api_base: "http://v/v1"}')}${entry('b', '{model: b, api_base: "http://v/v1"}')}`;
    expect(warnings(text, { environment: { OPENAI_API_KEY: 'e' } })).toEqual([
      'config.yaml:3: model_list[0].litellm_params: OPENAI_API_KEY is sent to http://v/v1: set api_key if that server has another key',
      'config.yaml:5: model_list[1].litellm_params: OPENAI_API_KEY is not sent to http://v/v1, which may be another vendor: set api_key, or write openai/ before the name of the model',
    ]);
  });

  it('causes a warning with the name of the model, not a fault, if it is not implemented or unknown', () => {
    const text = `model_list:\n${entry('a', '{model: topaz/x}')}${entry('b', '{model: humanloop/y, api_base: "https://z"}')}${entry('b', '{model: gpt-4o, api_key: k}')}${entry('c', '{model: org/z}')}`;
    const { proxy } = load(text);
    expect(proxy.deployments.map(({ modelName }) => modelName)).toEqual(['b']);
    expect(proxy.unserved).toEqual(
      new Map([
        ['a', 'topaz has its own API, which is not implemented'],
        ['c', 'org is not a known provider, and there is no api_base'],
      ]),
    );
    expect(warnings(text)).toEqual([
      'config.yaml:3: model_list[0].litellm_params.model: topaz has its own API, which is not implemented: a is not served by this entry',
      'config.yaml:5: model_list[1].litellm_params.model: humanloop has its own API, which is not implemented: b is not served by this entry',
      'config.yaml:9: model_list[3].litellm_params.model: org is not a known provider, and there is no api_base: c is not served by this entry',
    ]);
  });
});

describe('rpm of a deployment', () => {
  it('comes from its params, else from its entry, and is at least 1', () => {
    const rpm = (text: string) => load(text).proxy.deployments.map((one) => one.rpm);
    expect(rpm(oneModel(['rpm: 6'], '    rpm: 7\n'))).toEqual([6]);
    expect(rpm(oneModel([], '    rpm: "7"\n'))).toEqual([7]);
    expect(rpm(oneModel())).toEqual([null]);
    expect(faults(oneModel(['rpm: 0']))).toEqual([
      expect.stringContaining('model_list[0].litellm_params.rpm: must be a number from 1 to 1000000000'),
    ]);
  });
});

describe('the id of a deployment', () => {
  const ids = (...entries: readonly string[]) =>
    load(`model_list:\n${entries.join('')}`).proxy.deployments.map(({ id }) => id);
  const vllm = (model: string, more = '') => `{model: hosted_vllm/${model}, api_base: "http://v/v1"${more}}`;

  it('comes from model_info; an id that two deployments have is a fault', () => {
    expect(
      ids(entry('a', vllm('x'), '    model_info: {id: mine}\n'), entry('b', vllm('x'), '    model_info: {id: 7}\n')),
    ).toEqual(['mine', '7']);
    const twice = `model_list:\n${entry('a', vllm('x'), '    model_info: {id: mine}\n').repeat(2)}`;
    expect(faults(twice)).toEqual(['config.yaml:5: model_list[1].model_info.id: is also the id on line 2']);
  });

  it('is otherwise a stable, unique digest that does not depend on the key', () => {
    const once = ids(
      entry('a', vllm('x', ', api_key: one')),
      entry('a', vllm('x', ', api_key: two')),
      entry('a', vllm('y')),
    );
    expect(new Set(once).size).toBe(3);
    for (const id of once) expect(id).toMatch(/^[0-9a-f]{64}$/);
    expect(ids(entry('a', vllm('x', ', api_key: three')), entry('a', vllm('x')), entry('a', vllm('y')))).toEqual(once);
  });
});
