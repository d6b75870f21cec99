import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Environment } from '../settings.js';
import { ConfigError, loadConfig, type Flags } from './load.js';
import { configurationFixture, oneModel } from '../../test/support/configuration.js';

const { at, deployment, faults, load, makeCertificate, warnings, write } = configurationFixture();

beforeAll(() => {
  makeCertificate('one');
  makeCertificate('two');
});

const listen = (flags: Flags, environment: Environment = {}, blocks = '') =>
  load(oneModel([], blocks), { flags, environment }).listen;

describe('flags and environment', () => {
  it('set the address, the port and the drain times; flags override the environment', () => {
    const environment = { HOST: '::1', PORT: '5000', DRAIN_TIMEOUT: '1.5', DRAIN_DELAY: '5' };
    write('config.yaml', oneModel());
    const { host, port, drainDelayMs, drainMs } = loadConfig({ file: at('config.yaml'), environment }).listen;
    expect({ host, port, drainDelayMs, drainMs }).toEqual({
      host: '::1',
      port: 5000,
      drainDelayMs: 5000,
      drainMs: 1500,
    });
    expect(listen({ host: 'localhost', port: '0', drain_delay: '0.5', drain_timeout: '0' }, environment)).toEqual({
      host: 'localhost',
      port: 0,
      numWorkers: 1,
      webhooks: [],
      budgetAlerts: null,
      telemetry: null,
      tls: null,
      store: null,
      logLevel: 'info',
      detailedDebug: false,
      jsonLogs: null,
      drainDelayMs: 500,
      drainMs: 0,
    });
    expect(listen({}, { PORT: '' }).port).toBe(4000);
  });

  it.each<[Flags, Environment, string, 'debug' | 'info' | 'warn' | 'error', boolean]>([
    [{}, {}, '', 'info', false],
    [{ debug: true }, {}, '', 'debug', false],
    [{ detailed_debug: true }, {}, '', 'debug', true],
    [{}, { DEBUG: 'true' }, '', 'debug', false],
    [{}, { DEBUG: 'express:*' }, '', 'info', false],
    [{}, { DETAILED_DEBUG: '1' }, '', 'debug', true],
    [{}, { LITELLM_LOG: 'error' }, '', 'error', false],
    [{}, { LITELLM_LOG: 'WARNING' }, '', 'warn', false],
    [{}, {}, 'litellm_settings: {set_verbose: True}\n', 'debug', false],
  ])(
    '%j, %j and %j set the log level %s, and log bodies: %s',
    (flags, environment, blocks, logLevel, detailedDebug) => {
      const { logLevel: level, detailedDebug: detailed } = listen(flags, environment, blocks);
      expect([level, detailed]).toEqual([logLevel, detailedDebug]);
    },
  );

  it('set the format of the log, as does the file', () => {
    expect(listen({}, { JSON_LOGS: 'True' }).jsonLogs).toBe(true);
    expect(listen({}, {}, 'litellm_settings: {json_logs: false}\n').jsonLogs).toBe(false);
  });

  it('prevent the start with all faults at once if they are invalid; LITELLM_LOG only causes a warning', () => {
    expect(
      faults(oneModel(), {
        flags: { host: '', port: '70000', drain_delay: '-1', drain_timeout: 'long', ssl_keyfile_path: 'one.key' },
      }),
    ).toEqual([
      'command line: --host must be an address',
      'command line: --port must be a port from 0 to 65535, not "70000"',
      'command line: --ssl_keyfile_path needs --ssl_certfile_path as well: HTTPS needs both',
      'command line: --drain_delay must be a number of seconds from 0 to 86400, not "-1"',
      'command line: --drain_timeout must be a number of seconds from 0 to 86400, not "long"',
    ]);
    expect(faults(oneModel(), { environment: { PORT: 'tcp://10.0.0.1:4000' } })).toEqual([
      'environment: PORT must be a port from 0 to 65535, not "tcp://10.0.0.1:4000"',
    ]);
    expect(warnings(oneModel(), { environment: { LITELLM_LOG: 'LOUD' } })).toEqual([
      'environment: LITELLM_LOG is none of CRITICAL, ERROR, WARNING, WARN, INFO, DEBUG: INFO is used',
    ]);
  });

  it('name the certificate and the key, which are checked at the start', () => {
    const files = { ssl_certfile_path: 'one.pem', ssl_keyfile_path: 'one.key' };
    expect(listen(files).tls).toEqual({ certFile: at('one.pem'), keyFile: at('one.key') });
    expect(listen({}, { SSL_CERTFILE_PATH: 'one.pem', SSL_KEYFILE_PATH: 'one.key' }).tls).not.toBeNull();
    expect(faults(oneModel(), { flags: { ...files, ssl_keyfile_path: 'two.key' } })).toEqual([
      'command line: --ssl_keyfile_path cannot be used: using the key two.key: it is not the key of the certificate',
    ]);
    expect(faults(oneModel(), { flags: { ...files, ssl_certfile_path: 'none' } })).toEqual([
      'command line: --ssl_certfile_path cannot be used: reading the certificate none: there is no such file',
    ]);
  });
});

describe('a proxy', () => {
  const missing = 'no general_settings.master_key: every client that reaches 0.0.0.0 port 4000 may use all models';

  it('causes a warning without a key, unless it listens only at loopback', () => {
    const flags = { host: '0.0.0.0' };
    expect(warnings(oneModel(), { flags })).toEqual([missing]);
    expect(warnings(oneModel(), { flags: { host: 'localhost' } })).toEqual([]);
    const key = 'sk-3f7a90c2d45b816e';
    expect(warnings(oneModel([], `general_settings: {master_key: ${key}}\n`), { flags })).toEqual([]);
    expect(warnings(oneModel(), { flags, environment: { LITELLM_MASTER_KEY: key } })).toEqual([]);
  });

  const weak =
    'general_settings.master_key is easy to guess: use at least 16 random characters, for example the output of "openssl rand -hex 16"';

  it.each([
    ['sk-1234', [weak]],
    ['sk-123456789abcdef', [weak]],
    ['3f7a90c2d45b816e', []],
    ['sk-3f7a90c2d45b816e', []],
    ['sk-12341234123412341234', [weak]],
  ])('with a public address and a weak key causes a warning, which does not contain the key: %s', (key, expected) => {
    const environment = { LITELLM_MASTER_KEY: key };
    expect(warnings(oneModel(), { flags: { host: '0.0.0.0' }, environment })).toEqual(expected);
    expect(warnings(oneModel(), { flags: { host: '127.0.0.1' }, environment })).toEqual([]);
  });

  it('uses the key of the file, else that of the environment; an empty key in the environment is a fault', () => {
    const keys = (blocks: string, environment = {}) => load(oneModel([], blocks), { environment }).proxy.clientKeys;
    const environment = { LITELLM_MASTER_KEY: 'env' };
    expect(keys('general_settings: {master_key: file}\n', environment)).toEqual(new Set(['file']));
    expect(keys('general_settings: {master_key: }\n', environment)).toEqual(new Set(['env']));
    expect(keys('environment_variables: {LITELLM_MASTER_KEY: block}\n', environment)).toEqual(new Set(['block']));
    expect(faults(oneModel(), { environment: { LITELLM_MASTER_KEY: '' } })).toEqual([
      'environment: LITELLM_MASTER_KEY must be a string that is not empty and is valid in a header: unset it to run without a key',
    ]);
  });
});

describe('the flags about models', () => {
  const single = (flags: Flags, environment: Environment = {}) =>
    loadConfig({ flags: { host: '127.0.0.1', ...flags }, environment });

  it('specify the only model if there is no file; this model serves every requested name', () => {
    const { proxy } = single({
      model: 'hosted_vllm/oss',
      alias: 'chat',
      api_base: 'http://v/v1',
      headers: '{"X-A": "b"}',
      request_timeout: '7',
      drop_params: true,
    });
    const [first] = proxy.deployments;
    expect(proxy.deployments).toHaveLength(1);
    expect([
      first?.modelName,
      first?.upstreamModel,
      first?.apiBase,
      first?.timeouts.totalMs,
      first?.dropParams,
    ]).toEqual(['chat', 'oss', 'http://v/v1', 7000, true]);
    expect(first?.extraHeaders).toEqual({ 'x-a': 'b' });
    expect(proxy.modelGroupAlias).toEqual(new Map([['*', 'chat']]));
    expect(proxy.hiddenAliases).toEqual(new Set(['*']));
  });

  it('override the file', () => {
    const given = { flags: { request_timeout: '3', drop_params: true } };
    const { timeouts, dropParams } = deployment(
      oneModel([], 'litellm_settings: {request_timeout: 9, drop_params: false}\n'),
      given,
    );
    expect([timeouts.totalMs, dropParams]).toEqual([3000, true]);
  });

  it.each<[Flags, string]>([
    [{}, 'command line: --config FILE is required, or --model for a single model'],
    [
      { model: 'hosted_vllm/x' },
      'command line: model_list[0].litellm_params: api_base is missing: hosted_vllm has no default address, and HOSTED_VLLM_API_BASE is not set',
    ],
    [{ model: 'x', headers: '[1]' }, 'command line: --headers must be a JSON object'],
    [{ alias: 'x' }, 'command line: --alias needs --model as well'],
  ])('prevent the start without a file if they are %j', (flags, fault) => {
    try {
      single(flags);
      throw new Error('the configuration is valid');
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      if (error instanceof ConfigError) expect(error.faults).toContain(fault);
    }
  });
});
