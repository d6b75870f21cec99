import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { call } from '../harness/call.js';
import type { ProxyProcess } from '../harness/process.js';
import { PUBLIC_MODEL, sampleConfig } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL, messages, NOWHERE } from './fixture.js';

const { at, start, write } = daemonFixture();
let upstream: TestUpstream;
beforeAll(async () => {
  upstream = await TestUpstream.start();
});
afterAll(() => upstream.close());

/** Returns a configuration whose only model has this name. */
const named = (name: string) => NOWHERE.replace('chat', name);

async function models(url: string): Promise<readonly string[]> {
  const { data } = (await call(`${url}/v1/models`, { method: 'GET' })).json() as { data: readonly { id: string }[] };
  return data.map(({ id }) => id);
}

/** Waits until the proxy serves exactly these models, in this order. */
const serves = (url: string, ...names: readonly string[]) =>
  waitFor(
    async () => ((await models(url)).join() === names.join() ? true : undefined),
    () => `the proxy does not serve ${names.join()}`,
  );

/** Returns how many reloads have succeeded so far, from the log. */
const reloads = (proxy: ProxyProcess) =>
  messages(proxy.output, 'info').filter((text) => text === 'configuration reloaded').length;

const chat = (url: string) =>
  call(`${url}/v1/chat/completions`, { body: { model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'Hello' }] } });

describe('a proxy that gets no signal', () => {
  it('serves each new configuration when another file replaces the old one, three times in a row', async () => {
    const file = write('config.yaml', NOWHERE);
    const url = await start(['--config', file, ...LOCAL]).address();
    for (const name of ['one', 'two', 'three']) {
      write('next', named(name));
      renameSync(at('next'), file);
      await serves(url, name);
    }
  });

  it('serves the new configuration when Kubernetes swaps the link to a ConfigMap', async () => {
    for (const name of ['one', 'two']) {
      mkdirSync(at(`..${name}`));
      write(`..${name}/config.yaml`, named(name));
    }
    symlinkSync('..one', at('..data'));
    symlinkSync('..data/config.yaml', at('config.yaml'));
    const url = await start(['--config', 'config.yaml', ...LOCAL]).address();
    await serves(url, 'one');
    symlinkSync('..two', at('..data_tmp'));
    renameSync(at('..data_tmp'), at('..data'));
    await serves(url, 'two');
  });

  it('serves the models of a newly included file, and reads this file again when it changes', async () => {
    const file = write('config.yaml', NOWHERE);
    const url = await start(['--config', file, ...LOCAL]).address();
    write('more.yaml', named('one'));
    write('config.yaml', `include: more.yaml\n${NOWHERE}`);
    await serves(url, 'chat', 'one');
    write('more.yaml', named('two'));
    await serves(url, 'chat', 'two');
  });

  it('trusts the new authority when the CA bundle changes', async () => {
    const other = await TestUpstream.start();
    try {
      copyFileSync(other.caFile, at('ca.pem'));
      const file = write('config.yaml', sampleConfig(upstream).replace(upstream.caFile, 'ca.pem'));
      const proxy = start(['--config', file, ...LOCAL]);
      const url = await proxy.address();
      expect((await chat(url)).status).toBe(500);
      copyFileSync(upstream.caFile, at('ca.pem'));
      await waitFor(
        async () => ((await chat(url)).status === 200 ? true : undefined),
        () => `the new authority is not trusted: ${proxy.output}`,
      );
    } finally {
      await other.close();
    }
  });
});

describe('a broken configuration', () => {
  it('is reported with file, line and key; the old one stays in use until the missing CA bundle exists', async () => {
    const file = write('config.yaml', named('good'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    write('config.yaml', `${named('bad')}litellm_settings:\n  ssl_verify: later.pem\n`);
    proxy.signal('SIGHUP');
    await proxy.waitForOutput(/the old one stays/);
    expect(messages(proxy.output, 'error')).toEqual([
      `reloading: ${file}:5: litellm_settings.ssl_verify: the CA bundle ${at('later.pem')} cannot be used: there is no such file`,
      'reloading the configuration failed: the old one stays in use',
    ]);
    expect(await models(url)).toEqual(['good']);
    // The proxy also watches the missing file, so it now reloads, although config.yaml does not change.
    copyFileSync(upstream.caFile, at('later.pem'));
    await serves(url, 'bad');
  });

  it('is reported only once, whether it is invalid YAML or the file is missing', async () => {
    const file = write('config.yaml', named('good'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    write('config.yaml', 'model_list: [\n');
    await proxy.waitForOutput(/config\.yaml:\d+: this is not valid YAML/);
    renameSync(file, at('gone'));
    await proxy.waitForOutput(/config\.yaml: the configuration cannot be read: there is no such file/);
    write('config.yaml', named('mended'));
    await serves(url, 'mended');
    // The proxy serves the new configuration before it writes this log line.
    await proxy.waitForOutput(/configuration reloaded/);
    expect(messages(proxy.output, 'error').filter((text) => text.includes('the old one stays'))).toHaveLength(2);
    expect(reloads(proxy)).toBe(1);
  });
});

describe('a long file', () => {
  /**
   * Parsing this text takes seconds. The parser corrects the indentation of a thousand lines, and each correction
   * needs another pass over the text. Then it reports the next line as a fault.
   */
  const slow = `a: {\n${Array.from({ length: 30_000 }, (_, index) => `k${index}: 1,\n`).join('')}}\n`;

  it('is parsed while the proxy answers requests, and its fault is reported', async () => {
    const file = write('config.yaml', named('good'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    writeFileSync(file, slow);
    while (!proxy.output.includes('the old one stays')) expect(await models(url)).toEqual(['good']);
    const lines = proxy.output.split('\n');
    const begin = lines.findIndex((line) => line.includes('a file of the configuration has changed'));
    const end = lines.findIndex((line) => line.includes('config.yaml:1002: this is not valid YAML'));
    expect(begin).toBeGreaterThan(0);
    // If the proxy parsed on its event loop, it would log no request between these two lines.
    expect(lines.slice(begin, end).filter((line) => line.includes('/v1/models')).length).toBeGreaterThan(0);
  });

  it('is read completely, so the proxy serves all of its 2,000 models', async () => {
    const file = write('config.yaml', named('good'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    const entry = (index: number) =>
      `  - {model_name: m${index}, litellm_params: {model: hosted_vllm/oss, api_base: http://127.0.0.1:9/v1}}\n`;
    writeFileSync(file, `model_list:\n${Array.from({ length: 2000 }, (_, index) => entry(index)).join('')}`);
    await waitFor(
      async () => ((await models(url)).length === 2000 ? true : undefined),
      () => proxy.output.slice(-500),
    );
    expect((await models(url)).at(-1)).toBe('m1999');
  });
});

describe('a configuration that would remove every model', () => {
  it.each([
    ['a misspelled model_list', 'model_lits: is ignored, and there is no model_list: rename it to model_list'],
    ['an unsupported provider', 'no entry of model_list can be served'],
  ])('is rejected at a reload, and the proxy still serves the old models: %s', async (fault, reason) => {
    const file = write('config.yaml', named('good'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    const unsupported = 'model_list:\n  - {model_name: good, litellm_params: {model: humanloop/titan}}\n';
    write(
      'config.yaml',
      fault === 'an unsupported provider' ? unsupported : named('good').replace('model_list', 'model_lits'),
    );
    proxy.signal('SIGHUP');
    await proxy.waitForOutput(/the old one stays/);
    expect(messages(proxy.output, 'error').at(-2)).toContain(reason);
    expect(await models(url)).toEqual(['good']);
    expect((await call(`${url}/health/readiness`, { method: 'GET' })).status).toBe(200);
    write('config.yaml', named('mended'));
    await serves(url, 'mended');
  });
});

describe('a hundred signals', () => {
  it('cause at most one reload in half a second, and the proxy answers requests meanwhile', async () => {
    const proxy = start(['--config', write('config.yaml', named('good')), ...LOCAL]);
    const url = await proxy.address();
    const begun = performance.now();
    for (let count = 0; count < 100; count += 1) {
      proxy.signal('SIGHUP');
      expect(await models(url)).toEqual(['good']);
    }
    await proxy.waitForOutput(/configuration reloaded/);
    const total = reloads(proxy);
    // The pause between two reloads is at least 500 ms, so slower requests allow more reloads.
    expect(total).toBeLessThanOrEqual(1 + (performance.now() - begun) / 499);
  });
});

describe('a SIGHUP during the start', () => {
  it.each([[[]], [['--num_workers', '2']]])(
    'causes a reload as soon as the proxy serves clients (flags: %j)',
    async (flags) => {
      const withStore = (name: string) =>
        `${named(name)}general_settings: {master_key: sk-master-0123456789, store: ${at('store')}}\n`;
      const file = write('config.yaml', withStore('old'));
      const first = start(['--config', file, ...LOCAL]);
      await first.address();
      // The second proxy waits during its start, because the first one uses the store.
      const second = start(['--config', file, ...LOCAL, ...flags]);
      await second.waitForOutput(/waiting for another daemon/);
      write('config.yaml', withStore('new'));
      second.signal('SIGHUP');
      first.signal('SIGTERM');
      await second.waitForOutput(/configuration reloaded.*new/);
      expect(second.output).toMatch(/serving at.*old/);
    },
  );
});

describe('a reload', () => {
  it('logs only new warnings', async () => {
    const file = write('config.yaml', `${NOWHERE}unknown_one: 1\n`);
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    write('config.yaml', `${readFileSync(file, 'utf8')}unknown_two: 1\n`);
    proxy.signal('SIGHUP');
    await proxy.waitForOutput(/configuration reloaded/);
    expect(messages(proxy.output, 'warn')).toEqual([
      `${file}:4: unknown_one: is not known`,
      `${file}:5: unknown_two: is not known`,
    ]);
    expect(await models(url)).toEqual(['chat']);
  });

  it('applies a changed master key at once', async () => {
    const withKey = (key: string) => `${NOWHERE}general_settings: {master_key: ${key}}\n`;
    const file = write('config.yaml', withKey('sk-1'));
    const proxy = start(['--config', file, ...LOCAL]);
    const url = await proxy.address();
    const status = async (key: string) =>
      (await call(`${url}/v1/models`, { method: 'GET', headers: { authorization: `Bearer ${key}` } })).status;
    expect([await status('sk-1'), await status('sk-2')]).toEqual([200, 401]);
    writeFileSync(file, withKey('sk-2'));
    proxy.signal('SIGHUP');
    await proxy.waitForOutput(/configuration reloaded/);
    expect([await status('sk-1'), await status('sk-2')]).toEqual([401, 200]);
  });
});
