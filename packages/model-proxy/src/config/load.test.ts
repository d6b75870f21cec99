import { beforeAll, describe, expect, it } from '@jest/globals';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { at, deployment, faults, load, makeCertificate, warnings, write } = configurationFixture();

beforeAll(() => {
  makeCertificate('ca');
  write('text', 'no PEM');
});

describe('a configuration', () => {
  it('becomes deployments, settings of the proxy and settings of the listener, with all defaults', () => {
    const config = load(
      [
        'model_list:',
        '  - model_name: gpt-oss',
        '    litellm_params:',
        '      model: hosted_vllm/openai/gpt-oss-120b',
        '      api_base: https://models.example/v1/',
        '      api_key: sk-1',
        '    model_info: {max_input_tokens: 32000}',
        'litellm_settings:',
        '  ssl_verify: ca.pem',
        '  drop_params: true',
        '',
      ].join('\n'),
    );
    const [{ provider, ...rest } = { provider: undefined }] = config.proxy.deployments;
    expect(provider?.name).toBe('hosted_vllm');
    expect(rest).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      modelName: 'gpt-oss',
      upstreamModel: 'openai/gpt-oss-120b',
      apiBase: 'https://models.example/v1',
      apiKey: 'sk-1',
      retries: null,
      cooldownMs: null,
      tls: { verify: at('ca.pem'), clientCertificate: null },
      timeouts: { connectMs: 10_000, firstByteMs: null, idleMs: 1_800_000, totalMs: 6_000_000 },
      streamTimeouts: { connectMs: 10_000, firstByteMs: 6_000_000, idleMs: 1_800_000, totalMs: null },
      dropParams: true,
      additionalDropParams: [],
      allowedOpenaiParams: [],
      defaults: {},
      extraBody: {},
      extraHeaders: {},
      modelInfo: { max_input_tokens: 32_000 },
      rpm: null,
      tpm: null,
      maxParallelRequests: null,
      order: null,
      useInPassThrough: false,
      weight: null,
    });
    const { deployments, ...settings } = config.proxy;
    expect(deployments).toHaveLength(1);
    expect(settings).toEqual({
      countsUsage: false,
      hidesBodies: false,
      rejectClientTags: false,
      modelGroupAlias: new Map(),
      hiddenAliases: new Set(),
      unserved: new Map(),
      environmentDeployment: null,
      retry: { retries: 2, policy: new Map(), groupPolicies: new Map(), minWaitMs: 0, budget: 0.2 },
      cooldown: { isDisabled: false, cooldownMs: 5000, allowedFails: null, policy: new Map() },
      fallback: { general: new Map(), contextWindow: new Map(), contentPolicy: new Map(), max: 5 },
      overload: null,
      healthChecks: { showsDetails: true, concurrency: 16, skipsDisabled: false, background: null },
      strategy: { name: 'simple-shuffle', ttlMs: 3_600_000, latencyBuffer: 0, affinity: new Set() },
      modelNameInResponse: 'provider',
      fillNullFields: false,
      alwaysIncludeStreamUsage: false,
      maxRequestBytes: 104_857_600,
      maxResponseBytes: 1_073_741_824,
      forwardedPaths: new Set(),
      allowedRoutes: null,
      allowedIps: null,
      useXForwardedFor: false,
      masterKeyRoutes: new Set(),
      adminOnlyRoutes: [],
      enforceUserParam: false,
      forwardClientHeaders: false,
      clientKeys: null,
    });
    expect(config.listen).toEqual({
      host: '127.0.0.1',
      port: 4000,
      numWorkers: 1,
      webhooks: [],
      budgetAlerts: null,
      telemetry: null,
      tls: null,
      store: null,
      logLevel: 'info',
      detailedDebug: false,
      jsonLogs: null,
      drainDelayMs: 0,
      drainMs: 30_000,
    });
    expect(config.warnings).toEqual([]);
    expect(config.watchedFiles).toEqual([at('config.yaml'), at('ca.pem')]);
  });

  it('is the same with the short names of the blocks', () => {
    const long = oneModel(
      ['drop_params: false'],
      'litellm_settings: {ssl_verify: false}\ngeneral_settings: {master_key: k}\nrouter_settings: {timeout: 5}\n',
    );
    const short = long
      .replace('litellm_params', 'params')
      .replace('litellm_settings', 'settings')
      .replace('general_settings', 'general')
      .replace('router_settings', 'router');
    const shortDeployment = deployment(short);
    expect(JSON.stringify(shortDeployment)).toBe(JSON.stringify(deployment(long)));
    expect(shortDeployment.tls.verify).toBe(false);
    expect(shortDeployment.timeouts.totalMs).toBe(5000);
    expect(load(short).proxy.clientKeys).toEqual(new Set(['k']));
    expect(warnings(short)).toEqual([]);
  });

  it("may use other names for params and settings: the content identifies the block, and a warning shows LiteLLM's name", () => {
    const text = oneModel([], 'my_settings: {drop_params: true}\n').replace('litellm_params', 'upstream');
    expect(deployment(text).dropParams).toBe(true);
    expect(deployment(text).apiBase).toBe('https://up/v1');
    expect(warnings(text)).toEqual([
      'config.yaml:3: model_list[0].upstream: is used as litellm_params: rename it to litellm_params',
      'config.yaml:6: my_settings: is used as litellm_settings: rename it to litellm_settings',
    ]);
  });

  it('may define anchors in blocks whose names begin with "x-" or "."; these blocks have no other effect', () => {
    const text = oneModel([], 'x-one: &one {ssl_verify: false}\n.two: {drop_params: true}\n');
    expect(warnings(text)).toEqual([]);
    expect(deployment(text).tls.verify).toBe(true);
  });

  it('has a fault if two blocks could be the params', () => {
    const text = oneModel([], '')
      .replace('litellm_params', 'a')
      .concat('    b: {model: x/y, api_base: https://b/v1}\n');
    expect(faults(text)).toEqual([
      'config.yaml:3: model_list[0].a: could be litellm_params, and so could b: rename the right block to litellm_params',
    ]);
  });
});

describe('os.environ/NAME', () => {
  it('is resolved, also in nested values, and converted to the type of the setting', () => {
    const text = oneModel([
      'api_key: os.environ/KEY',
      'timeout: os.environ/SECONDS',
      'drop_params: os.environ/DROP',
      'extra_headers: {X-Team: os.environ/TEAM}',
      'extra_body: {deep: [{er: os.environ/TEAM}]}',
      'ssl_verify: os.environ/CA',
    ]);
    const environment = { KEY: 'k', SECONDS: '2.5', DROP: 'True', TEAM: 'blue', CA: 'ca.pem' };
    const { apiKey, timeouts, dropParams, extraHeaders, extraBody, tls } = deployment(text, { environment });
    expect({ apiKey, total: timeouts.totalMs, dropParams, extraHeaders, extraBody, verify: tls.verify }).toEqual({
      apiKey: 'k',
      total: 2500,
      dropParams: true,
      extraHeaders: { 'x-team': 'blue' },
      extraBody: { deep: [{ er: 'blue' }] },
      verify: at('ca.pem'),
    });
  });

  it('prevents the start if the variable is not set, and the fault names file, line and key', () => {
    expect(
      faults(oneModel(['api_key: os.environ/KEY', 'extra_body: {a: [os.environ/B, 1]}', 'seed: os.environ/'])),
    ).toEqual([
      'config.yaml:6: model_list[0].litellm_params.api_key: the environment variable KEY is not set',
      'config.yaml:7: model_list[0].litellm_params.extra_body.a[0]: the environment variable B is not set',
      'config.yaml:8: model_list[0].litellm_params.seed: os.environ/ must be followed by the name of an environment variable',
    ]);
  });

  it('may refer to a variable of environment_variables, which override the environment of the process', () => {
    const text = oneModel(
      ['api_key: os.environ/KEY'],
      'environment_variables: {KEY: os.environ/OTHER, NUMBER: 6379, HOST: "::1", OPENAI_API_KEY: x}\n',
    );
    const environment = { KEY: 'process', OTHER: 'file' };
    expect(deployment(text, { environment }).apiKey).toBe('file');
    expect(load(text, { environment }).environment).toEqual({
      KEY: 'file',
      OTHER: 'file',
      NUMBER: '6379',
      HOST: '::1',
      OPENAI_API_KEY: 'x',
    });
  });

  it('keeps the value of the variable out of faults', () => {
    const text = oneModel(['timeout: os.environ/SECRET', 'weight: os.environ/SECRET']);
    expect(faults(text, { environment: { SECRET: 'sk-secret' } })).toEqual([
      'config.yaml:6: model_list[0].litellm_params.timeout: must be a number of seconds from 0 (no limit) to 2000000, not the value of the environment variable SECRET',
      'config.yaml:7: model_list[0].litellm_params.weight: must be a number from 0 to 1000000, not the value of the environment variable SECRET',
    ]);
  });
});

describe('faults', () => {
  it('are reported together, with one line each', () => {
    const text = [
      'model_list:',
      '  - model_name: 4',
      '    litellm_params: {model: hosted_vllm/x, api_base: host/v1, api_key: 1234}',
      '  - litellm_params: [a]',
      '  - model_name: m',
      '    litellm_params:',
      '      api_base: ftp://x',
      '      extra_headers: {a b: c, Host: d, Expect: e}',
      '      stream_timeout: -1',
      '      additional_drop_params: [a, 2]',
      '      ssl_verify: none.pem',
      '  - text',
      '  - model_name: n',
      'litellm_settings: {drop_params: maybe, model_name_in_response: full, ssl_certificate: text}',
      'general_settings: {master_key: "", max_request_size_mb: 0}',
      'router_settings: []',
      '',
    ].join('\n');
    expect(faults(text)).toEqual([
      'config.yaml:2: model_list[0].model_name: must be a string that is not empty, not the number 4',
      'config.yaml:3: model_list[0].litellm_params.api_base: must be a URL such as https://host/v1, without user and fragment, not the string "host/v1"',
      'config.yaml:3: model_list[0].litellm_params.api_key: must be a string that is valid in a header, not a number',
      'config.yaml:4: model_list[1]: model_name is missing: the name that clients send',
      'config.yaml:4: model_list[1].litellm_params: must be a mapping',
      'config.yaml:6: model_list[2].litellm_params: model is missing: the provider and the name of the model, such as hosted_vllm/gpt-oss-120b',
      'config.yaml:7: model_list[2].litellm_params.api_base: must be a URL such as https://host/v1, without user and fragment, not the string "ftp://x"',
      'config.yaml:8: model_list[2].litellm_params.extra_headers["a b"]: is not a valid header name',
      'config.yaml:8: model_list[2].litellm_params.extra_headers.Host: is set by the proxy itself',
      'config.yaml:8: model_list[2].litellm_params.extra_headers.Expect: is set by the proxy itself',
      'config.yaml:9: model_list[2].litellm_params.stream_timeout: must be a number of seconds from 0 (no limit) to 2000000, not the number -1',
      'config.yaml:10: model_list[2].litellm_params.additional_drop_params[1]: must be a string that is not empty, not the number 2',
      'config.yaml:11: model_list[2].litellm_params.ssl_verify: the CA bundle none.pem cannot be used: there is no such file',
      'config.yaml:12: model_list[3]: must be a mapping with model_name and litellm_params',
      'config.yaml:13: model_list[4]: litellm_params is missing: the mapping with the model and its address',
      'config.yaml:14: litellm_settings.drop_params: must be true or false, not the string "maybe"',
      'config.yaml:14: litellm_settings.model_name_in_response: must be one of provider, upstream, requested, not the string "full"',
      'config.yaml:14: litellm_settings.ssl_certificate: cannot be used: reading the certificate text: it is not a PEM certificate',
      'config.yaml:15: general_settings.master_key: must be a string that is not empty and is valid in a header, not an empty string',
      'config.yaml:15: general_settings.max_request_size_mb: must be a number from 1e-9 to 4096, not the number 0',
      'config.yaml:16: router_settings: must be a mapping',
    ]);
  });
});
