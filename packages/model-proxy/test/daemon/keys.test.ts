/** Tests virtual keys with proxies in separate processes: the command `key`, restarts, and faulty configurations. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call } from '../harness/call.js';
import type { ProxyProcess } from '../harness/process.js';
import { sampleConfig } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL } from './fixture.js';

const MASTER = 'sk-master-0123456789';
let upstream: TestUpstream;
beforeAll(async () => {
  upstream = await TestUpstream.start({ models: [SAMPLE_MODEL] });
});
afterAll(() => upstream.close());

const { at, write, start, run } = daemonFixture();
const withStore = (more: readonly string[] = []) =>
  sampleConfig(upstream, { more: ['general_settings:', `  master_key: ${MASTER}`, '  store: state', ...more] });
const serve = (): ProxyProcess => start(['--config', write('config.yaml', withStore()), ...LOCAL]);
const chat = (url: string, key: string) =>
  call(`${url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${key}` },
    body: { model: 'public-model', messages: [{ role: 'user', content: 'Hello' }] },
  });
const command = (url: string, ...args: readonly string[]) =>
  run(['key', ...args], { LITELLM_PROXY_URL: url, LITELLM_MASTER_KEY: MASTER });

describe('model-proxy key', () => {
  it('MP-71 creates, lists and revokes keys, which survive SIGKILL and whose plain text is in no file', async () => {
    const first = serve();
    const url = await first.address();
    const options = [
      '--alias',
      'team \u001b[31ma',
      '--model',
      'public-model,other',
      '--rpm',
      '9',
      '--metadata',
      '{"a":1}',
    ];
    const hostile = await command(url, 'create', ...options);
    expect([hostile.code, hostile.stderr]).toEqual([1, expect.stringContaining("'key_alias' has an invalid value")]);
    const made = await command(url, 'create', '--alias', 'team-a', ...options.slice(2));
    expect([made.code, made.stderr]).toEqual([0, '']);
    const key = made.stdout.trim();
    expect(key).toMatch(/^sk-[\w-]{32}$/);
    expect((await chat(url, key)).status).toBe(200);
    first.signal('SIGKILL');
    await first.waitForExit();

    const second = serve();
    const next = await second.address();
    expect((await chat(next, key)).status).toBe(200);
    expect((await chat(next, `${key}x`)).status).toBe(401);
    const listed = await command(next, 'list');
    expect(listed.stdout).toMatch(
      /^token +key_name +key_alias +status +spend +max_budget +expires\n[0-9a-f]{64} +sk-\.\.\.[\w-]{4} +team-a +active +0 +- +-\n$/,
    );
    expect(JSON.parse((await command(next, '--json', 'list')).stdout)).toEqual([
      expect.objectContaining({
        key_alias: 'team-a',
        models: ['public-model', 'other'],
        rpm_limit: 9,
        metadata: { a: 1 },
      }),
    ]);
    expect((await command(next, 'revoke', 'team-a')).stdout).toBe('revoked team-a\n');
    expect((await chat(next, key)).status).toBe(401);
    const again = await command(next, 'revoke', 'team-a');
    expect([again.code, again.stderr]).toEqual([
      1,
      `model-proxy: POST ${next}/key/delete: status 404: Key not found in database\n`,
    ]);
    second.signal('SIGTERM');
    expect(await second.waitForExit()).toBe(0);
    for (const name of readdirSync(at('state'))) {
      expect(statSync(at(`state/${name}`)).mode & 0o077).toBe(0);
      expect(readFileSync(at(`state/${name}`), 'utf8')).not.toContain(key);
    }
  });

  it('exits with 64 for wrong options, and explains a missing master key and a proxy that does not run', async () => {
    expect((await command('http://127.0.0.1:1', 'create', '--rpm', '-5')).code).toBe(64);
    for (const metadata of ['[1]', 'null', '"a"', '{']) {
      const rejected = await command('http://127.0.0.1:1', 'create', '--metadata', metadata);
      expect([rejected.code, rejected.stderr]).toEqual([64, expect.stringContaining('must be a JSON object')]);
    }
    expect((await command('http://127.0.0.1:1', 'drop')).code).toBe(64);
    expect((await command('http://127.0.0.1:1', '--help')).code).toBe(0);
    const refused = await command('http://127.0.0.1:1', 'list');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/GET http:\/\/127\.0\.0\.1:1\/key\/list: .*(ECONNREFUSED|bad port)/),
    ]);
    const proxy = serve();
    const url = await proxy.address();
    const wrong = await run(['key', 'list'], { LITELLM_PROXY_URL: url });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('set LITELLM_MASTER_KEY')]);
  });
});

describe('a proxy with a store', () => {
  it('exits with code 1 if it cannot connect to Redis at the start, so that systemd starts it again', async () => {
    const file = write('config.yaml', withStore().replace('store: state', 'store: redis://127.0.0.1:1'));
    expect(await run(['--config', file, ...LOCAL])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/connecting to redis:\/\/127\.0\.0\.1:1: .*\n$/),
    });
  });

  it('MP-72 answers 429 with Retry-After to a key that has reached its rpm_limit', async () => {
    const url = await serve().address();
    const key = (await command(url, 'create', '--rpm', '1')).stdout.trim();
    expect((await chat(url, key)).status).toBe(200);
    const limited = await chat(url, key);
    expect([limited.status, Number(limited.headers['retry-after']) > 0]).toEqual([429, true]);
  });

  it('MP-73 counts requests and tokens by key and tag; the totals survive SIGKILL and a restart', async () => {
    const totals = async (url: string) =>
      (await call(`${url}/usage/export`, { method: 'GET', headers: { authorization: `Bearer ${MASTER}` } })).json() as {
        subject: string;
        total_tokens: number;
        requests: number;
      }[]; // the export has these rows
    const first = serve();
    const url = await first.address();
    const key = (await command(url, 'create', '--tag', 'blue')).stdout.trim();
    expect((await chat(url, key)).status).toBe(200);
    const before = await totals(url);
    expect(before.map(({ subject, requests }) => [subject, requests])).toEqual([
      ['key', 1],
      ['tag', 1],
    ]);
    expect(before[0]?.total_tokens).toBeGreaterThan(0);
    await waitFor(
      () =>
        readFileSync(
          at(`state/${readdirSync(at('state')).find((name) => name.startsWith('usage')) ?? ''}`),
          'utf8',
        ).includes('"tag"')
          ? true
          : undefined,
      () => 'the usage is not in the file',
    );
    first.signal('SIGKILL');
    await first.waitForExit();
    const second = serve();
    const next = await second.address();
    expect(await totals(next)).toEqual(before);
    expect((await chat(next, key)).status).toBe(200);
    second.signal('SIGTERM');
    await second.waitForExit();
    expect((await totals(await serve().address()))[0]?.requests).toBe(2);
  });

  it('does not start without a master key', async () => {
    const file = write('config.yaml', sampleConfig(upstream, { more: ['general_settings:', '  store: state'] }));
    const { code, stderr } = await run(['--config', file, ...LOCAL]);
    expect([code, stderr]).toEqual([
      78,
      expect.stringMatching(/general_settings\.store: needs general_settings\.master_key/),
    ]);
  });

  it('does not start if a newer version has written a file of the store', async () => {
    const proxy = serve();
    await proxy.address();
    proxy.signal('SIGTERM');
    await proxy.waitForExit();
    const { crc32 } = await import('node:zlib');
    const line = JSON.stringify(['format', 'rackless-model-proxy-store', { version: 2 }]);
    write('state/keys.journal', `${crc32(line).toString(16).padStart(8, '0')} ${line}\n`);
    const { code, stderr } = await run(['--config', at('config.yaml'), ...LOCAL]);
    expect([code, stderr]).toEqual([78, expect.stringMatching(/keys\.journal was written by another version/)]);
  });

  it('waits until no other proxy uses its folder, and exits with code 1 after a time limit', async () => {
    const first = serve();
    await first.address();
    const second = await run(['--config', at('config.yaml'), ...LOCAL]);
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining(`is in use by another daemon (process ${first.pid})`),
    ]);
    const third = serve();
    await third.waitForOutput(/waiting for another daemon/);
    first.signal('SIGTERM');
    expect(await first.waitForExit()).toBe(0);
    await third.address();
  });
});
