/**
 * Certificates that are invalid, missing or changed at run time, for plain and streamed requests.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call } from '../harness/call.js';
import { PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { TestUpstream, type TestUpstreamOptions } from '../harness/upstream.js';
import { errorOf, messages } from './fixture.js';

describe('TLS to an upstream', () => {
  let good: TestUpstream;
  const upstreams: TestUpstream[] = [];
  const proxies: TestProxy[] = [];
  beforeAll(async () => {
    good = await TestUpstream.start();
  });
  afterEach(async () => {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.close()));
    good.forget();
  });
  afterAll(() => good.close());

  const serve = async (options: TestUpstreamOptions = {}): Promise<TestUpstream> => {
    const upstream = await TestUpstream.start(options);
    upstreams.push(upstream);
    return upstream;
  };
  const start = async (yaml: string): Promise<TestProxy> => {
    const proxy = await startTestProxy(yaml);
    proxies.push(proxy);
    return proxy;
  };
  /** Sends a plain and a streamed request. @returns both statuses and error messages. */
  const ask = async (proxy: TestProxy): Promise<readonly (readonly [number, string])[]> =>
    Promise.all(
      [false, true].map(async (stream) => {
        const body = { model: PUBLIC_MODEL, messages, stream };
        const { status, text } = await call(`${proxy.url}/v1/chat/completions`, { body });
        return [status, status === 200 ? '' : errorOf(text).message] as const;
      }),
    );
  const served = [
    [200, ''],
    [200, ''],
  ];
  const refused = (message: RegExp) => [
    [500, expect.stringMatching(message)],
    [500, expect.stringMatching(message)],
  ];

  it('uses the CA bundle of the deployment if it has one, else the general bundle', async () => {
    const other = await serve();
    expect(await ask(await start(sampleConfig(other).replace(other.caFile, good.caFile)))).toEqual(
      refused(/certificate/),
    );
    const own = sampleConfig(other, { params: [`ssl_verify: ${other.caFile}`] }).replace(
      /(litellm_settings:\n\s+ssl_verify: ).*/,
      `$1${good.caFile}`,
    );
    expect(await ask(await start(own))).toEqual(served);
  });

  it('accepts an expired certificate with ssl_verify: false', async () => {
    const expired = await serve({ certificate: (_folder, authority) => authority.issue('old', { expired: true }) });
    expect(await ask(await start(sampleConfig(expired, { params: ['ssl_verify: false'] })))).toEqual(served);
    expect(await ask(await start(sampleConfig(expired, { params: ['ssl_verify: "False"'] })))).toEqual(served);
  });

  it('sends a client certificate if the upstream requires one; without a certificate, requests get 500', async () => {
    const strict = await serve({ clientCertificates: true });
    const { certFile, keyFile } = await strict.authority.issue('client', { hosts: ['proxy.test'] });
    const shown = [`ssl_certificate: ${certFile}`, `ssl_certificate_key: ${keyFile}`];
    expect(await ask(await start(sampleConfig(strict, { settings: shown })))).toEqual(served);
    const both = join(strict.folder, 'both.pem');
    writeFileSync(both, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'));
    expect(await ask(await start(sampleConfig(strict, { params: [`ssl_certificate: ${both}`] })))).toEqual(served);
    expect(await ask(await start(sampleConfig(strict)))).toEqual(refused(/certificate|Connection error/));
  });

  it('causes a 500 at a plain HTTP port; plain HTTP also causes a 500 at a TLS port', async () => {
    const plain = await serve({ secure: false });
    const encrypted = sampleConfig(plain).replace('http://', 'https://');
    expect(await ask(await start(encrypted))).toEqual(refused(/Connection error/));
    expect(await ask(await start(sampleConfig(good).replace('https://', 'http://')))).toEqual(
      refused(/Connection error/),
    );
    expect(plain.received).toEqual([]);
  });

  it('trusts a new CA bundle after a reload', async () => {
    const bundle = join(good.folder, 'bundle.pem');
    const other = await serve();
    writeFileSync(bundle, readFileSync(other.caFile));
    const proxy = await start(sampleConfig(good).replace(good.caFile, bundle));
    expect(await ask(proxy)).toEqual(refused(/bundle\.pem/));
    // The bundle now contains both authorities.
    writeFileSync(bundle, readFileSync(other.caFile, 'utf8') + readFileSync(good.caFile, 'utf8'));
    await proxy.reload();
    expect(await ask(proxy)).toEqual(served);
  });

  it('needs at most two connections for 20 pairs of requests', async () => {
    const upstream = await serve();
    const proxy = await start(sampleConfig(upstream));
    for (let round = 0; round < 20; round++) await ask(proxy);
    expect(upstream.received).toHaveLength(40);
    // Each round sends a plain and a streamed request at the same time, so it uses two connections.
    expect(upstream.connections).toBeLessThanOrEqual(2);
  });
});
