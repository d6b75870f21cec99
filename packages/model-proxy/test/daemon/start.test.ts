import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call } from '../harness/call.js';
import { API_KEY, TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL, messages, NOWHERE } from './fixture.js';

const { at, run, start, write } = daemonFixture();

const models = (url: string, headers = {}) => call(`${url}/v1/models`, { method: 'GET', headers });

describe('model-proxy', () => {
  it('prints help and version, and exits with 64 for unknown options and arguments', async () => {
    const manifest = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    for (const flag of ['--version', '-v'])
      expect(await run([flag])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    for (const flag of [
      '-c, --config',
      '--host',
      '--port',
      '--ssl_keyfile_path',
      '--ssl_certfile_path',
      '--debug',
      '--detailed_debug',
      '--validate_config',
      '--drain_delay',
      '--drain_timeout',
    ])
      expect(help.stdout).toContain(flag);
    expect(await run(['--bogus'])).toEqual({ code: 64, stdout: '', stderr: "error: unknown option '--bogus'\n" });
    expect((await run(['bogus'])).code).toBe(64);
    expect((await run(['--port'])).code).toBe(64);
  });

  it.each<[string, readonly string[], string]>([
    ['no configuration', [], 'command line: --config FILE is required, or --model for a single model'],
    [
      'a file that is not there',
      ['--config', 'none.yaml'],
      'none.yaml: the configuration cannot be read: there is no such file',
    ],
    ['an empty name', ['--config='], 'command line: --config must be the path of a YAML file'],
    ['a wrong port', ['-c', 'config.yaml', '--port=x'], 'command line: --port must be a port from 0 to 65535, not "x"'],
    [
      'a certificate without a key',
      ['-c', 'config.yaml', '--host', '::1', '--ssl_certfile_path', 'cert.pem'],
      'command line: --ssl_certfile_path needs --ssl_keyfile_path as well: HTTPS needs both',
    ],
  ])('prints one line and exits with code 78 for %s', async (_what, args, line) => {
    write('config.yaml', NOWHERE);
    expect(await run(args)).toEqual({ code: 78, stdout: '', stderr: `${line}\n` });
  });

  it('starts with flags of LiteLLM that it does not need, and logs that each has no effect', async () => {
    const file = write('config.yaml', NOWHERE);
    const others = [
      '--temperature=0.1',
      '--max_tokens',
      '10',
      '--telemetry=False',
      '--run_gunicorn',
      '--use_queue',
      '--keepalive_timeout',
      '5',
    ];
    const proxy = start(['--config', file, ...LOCAL, ...others]);
    expect((await models(await proxy.address())).status).toBe(200);
    expect(messages(proxy.output, 'warn')).toEqual([
      'command line: --temperature does nothing here: set it in litellm_params of a model',
      'command line: --max_tokens does nothing here: set it in litellm_params of a model',
      'command line: --telemetry does nothing here: the proxy sends nothing to its authors',
      'command line: --use_queue does nothing here: general_settings configure the queue',
      'command line: --run_gunicorn does nothing here: Node has its own HTTP server',
      'command line: --keepalive_timeout does nothing here: idle client connections stay open for 65 seconds',
    ]);
  });

  it('exits with code 1 and a single line if the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const file = write('config.yaml', NOWHERE);
    expect(await run(['--config', file, '--host', '127.0.0.1', '--port', String(port)])).toEqual({
      code: 1,
      stdout: '',
      stderr: `listening at 127.0.0.1 port ${port}: the port is in use\n`,
    });
    other.close();
    await once(other, 'close');
  });

  it('serves a single model without a file, at the address in HOST and PORT', async () => {
    const upstream = await TestUpstream.start({ secure: false });
    try {
      const proxy = start(
        ['--model', `hosted_vllm/${SAMPLE_MODEL}`, '--alias', 'chat', '--api_base', upstream.apiBase],
        {
          env: { HOST: '127.0.0.1', PORT: '0', HOSTED_VLLM_API_KEY: API_KEY, LITELLM_LOG: 'INFO', JSON_LOGS: 'false' },
        },
      );
      const url = await proxy.address();
      for (const model of ['chat', 'whatever']) {
        const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
        const { status } = await call(`${url}/v1/chat/completions`, { body });
        expect([status, upstream.last.json?.['model']]).toEqual([200, SAMPLE_MODEL]);
      }
      expect((await models(url)).json()).toMatchObject({ data: [{ id: 'chat' }] });
      expect(proxy.output).toMatch(/^\d\d:\d\d:\d\d serving at http/m);
    } finally {
      await upstream.close();
    }
  });

  it('reads the file that CONFIG_FILE_PATH names', async () => {
    write('config.yaml', NOWHERE);
    const proxy = start(LOCAL, { env: { CONFIG_FILE_PATH: 'config.yaml' } });
    expect((await models(await proxy.address())).json()).toMatchObject({ data: [{ id: 'chat' }] });
  });
});

describe('a configuration that serves no model', () => {
  it('fails --validate_config and prevents the start if it has no model_list', async () => {
    const file = write('config.yaml', NOWHERE.replace('model_list', 'model_lits'));
    const fault = `${file}:1: model_lits: is ignored, and there is no model_list: rename it to model_list`;
    for (const [expected, more] of [
      [1, ['--validate_config']],
      [78, LOCAL],
    ] as const) {
      const { code, stdout, stderr } = await run(['--config', file, ...more]);
      expect([code, stdout]).toEqual([expected, '']);
      expect(stderr.split('\n')).toContain(fault);
    }
  });

  it('lets the proxy start, but not become ready, if the APIs of all its providers are unsupported', async () => {
    const file = write(
      'config.yaml',
      'model_list:\n  - {model_name: titan, litellm_params: {model: humanloop/titan}}\n',
    );
    const url = await start(['--config', file, ...LOCAL]).address();
    const readiness = await call(`${url}/health/readiness`, { method: 'GET' });
    expect([readiness.status, readiness.json()]).toEqual([503, expect.objectContaining({ status: 'no models' })]);
    expect((await call(`${url}/health/liveliness`, { method: 'GET' })).status).toBe(200);
  });
});

describe('--validate_config', () => {
  it('prints the effective configuration and warnings, and exits with 0', async () => {
    write('config.yaml', `${NOWHERE}litellm_settings: {drop_parms: true}\n`);
    const { code, stdout, stderr } = await run([
      '--config',
      'config.yaml',
      '--validate_config',
      '--port=5',
      '--host=::1',
    ]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'warning: config.yaml:4: litellm_settings.drop_parms: is not known; the nearest known name is drop_params\n',
    });
    expect(stdout).toMatch(/^# http, ::1 port 5; .*\nmodel_list:\n {2}- model_name: "chat"\n/);
  });

  it('ends at SIGHUP, which a closed terminal sends, even while it reads a pipe', async () => {
    const pipe = at('config.yaml');
    execFileSync('mkfifo', [pipe]);
    const writer = openSync(pipe, 'r+');
    try {
      const validation = start(['--config', pipe, '--validate_config']);
      const files = `/proc/${validation.pid}/fd`;
      const { ino } = statSync(pipe);
      const isReading = () =>
        readdirSync(files).some((name) => statSync(path.join(files, name), { throwIfNoEntry: false })?.ino === ino);
      await waitFor(
        () => (isReading() ? true : undefined),
        () => 'the command does not read the pipe',
      );
      validation.signal('SIGHUP');
      expect(await validation.waitForExit()).toBeNull();
    } finally {
      closeSync(writer);
    }
  });
});

describe('a faulty configuration', () => {
  it.each([
    ['--validate_config', ['--validate_config'], 1],
    ['the start', [], 78],
  ])('has all its faults reported together by %s', async (_what, more, expected) => {
    write(
      'config.yaml',
      `${NOWHERE}  - model_name: 5\n    litellm_params: {model: hosted_vllm/x, api_base: x, api_key: os.environ/NOT_SET}\nlitellm_settings: {ssl_verify: /none.pem}\ngeneral_setings: {}\n`,
    );
    const { code, stdout, stderr } = await run(['--config', 'config.yaml', ...LOCAL, ...more]);
    expect({ code, stdout, stderr: stderr.split('\n') }).toEqual({
      code: expected,
      stdout: '',
      stderr: [
        'warning: config.yaml:7: general_setings: is not known; the nearest known name is general_settings',
        'config.yaml:4: model_list[1].model_name: must be a string that is not empty, not the number 5',
        'config.yaml:5: model_list[1].litellm_params.api_key: the environment variable NOT_SET is not set',
        'config.yaml:5: model_list[1].litellm_params.api_base: must be a URL such as https://host/v1, without user and fragment, not the string "x"',
        'config.yaml:6: litellm_settings.ssl_verify: the CA bundle /none.pem cannot be used: there is no such file',
        '',
      ],
    });
  });
});

describe('access', () => {
  it('is open without a master key, with a warning if other hosts can connect', async () => {
    const file = write('config.yaml', NOWHERE);
    const proxy = start(['--config', file, '--host', '0.0.0.0', '--port', '0']);
    const url = await proxy.address();
    expect((await models(url, { authorization: 'Bearer anything' })).status).toBe(200);
    expect((await models(url)).status).toBe(200);
    expect(messages(proxy.output, 'warn')).toEqual([
      'no general_settings.master_key: every client that reaches 0.0.0.0 port 0 may use all models',
    ]);
  });

  it('needs the master key if the file or the environment has one, and the log does not contain the key', async () => {
    const file = write('config.yaml', `${NOWHERE}general_settings: {master_key: os.environ/KEY}\n`);
    const key = 'sk-3f7a90c2d45b816e';
    const plain = write('plain.yaml', NOWHERE);
    for (const [args, env] of [
      [['--config', file], { KEY: key }],
      [['--config', plain], { LITELLM_MASTER_KEY: key }],
    ] as const) {
      const proxy = start([...args, '--host', '0.0.0.0', '--port', '0'], { env });
      const url = await proxy.address();
      expect((await models(url)).status).toBe(401);
      expect((await models(url, { authorization: 'Bearer sk-2' })).status).toBe(401);
      expect((await models(url, { authorization: `Bearer ${key}` })).status).toBe(200);
      expect(messages(proxy.output, 'warn')).toEqual([]);
      expect(proxy.output).not.toContain('sk-');
    }
  });
});
