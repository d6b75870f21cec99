/**
 * Tests the command with curl as the client. The command has `--config` and `--detailed_debug` (rows MP-11,
 * MP-12), and an upstream whose certificate is from a private CA.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { eventData } from '../harness/call.js';
import { ProxyProcess } from '../harness/process.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';

const run = promisify(execFile);
const JSON_TYPE = ['--header', 'Content-Type: application/json'];

describe('curl', () => {
  let upstream: TestUpstream;
  let folder: string;
  let proxy: ProxyProcess;
  let url: string;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
    folder = mkdtempSync(join(tmpdir(), 'rackless-curl-'));
    // The files are as in a container: all of them are in one folder, and the configuration has the absolute path of
    // the bundle.
    writeFileSync(join(folder, 'ca-bundle.crt'), readFileSync(upstream.caFile));
    writeFileSync(
      join(folder, 'config.yaml'),
      sampleConfig(upstream, { settings: ['drop_params: true'] }).replace(
        upstream.caFile,
        join(folder, 'ca-bundle.crt'),
      ),
    );
    proxy = new ProxyProcess([
      '--config',
      join(folder, 'config.yaml'),
      '--detailed_debug',
      '--host',
      '127.0.0.1',
      '--port',
      '0',
    ]);
    url = await proxy.address();
  });
  afterEach(() => upstream.forget());
  afterAll(async () => {
    await proxy.dispose();
    await upstream.close();
    rmSync(folder, { recursive: true });
  });

  const curl = async (...args: readonly string[]): Promise<{ status: number; text: string }> => {
    const { stdout } = await run('curl', ['-sS', '--max-time', '10', '-w', '\n%{http_code}', ...args], {
      env: { PATH: process.env['PATH'], HOME: folder, NO_PROXY: '*' },
      maxBuffer: 2 ** 26,
    });
    const end = stdout.lastIndexOf('\n');
    return { status: Number(stdout.slice(end + 1)), text: stdout.slice(0, end) };
  };
  const body = (more: object = {}) =>
    JSON.stringify({ model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'who are you' }], ...more });

  it('gets a chat completion', async () => {
    const { status, text } = await curl('--location', `${url}/chat/completions`, ...JSON_TYPE, '--data', body());
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      object: 'chat.completion',
      model: ANSWERED_MODEL,
      choices: [{ message: { content: 'You said: who are you' } }],
    });
  });

  it('streams with -N', async () => {
    const { status, text } = await curl('-N', `${url}/v1/chat/completions`, ...JSON_TYPE, '-d', body({ stream: true }));
    expect(status).toBe(200);
    const data = eventData(text);
    expect(data.at(-1)).toBe('[DONE]');
    expect(data.slice(0, -1).every((item) => item.includes(`"model":"${ANSWERED_MODEL}"`))).toBe(true);
  });

  it('uploads audio as multipart/form-data, with the model before or after the file', async () => {
    const file = join(folder, 'speech.wav');
    const bytes = Buffer.alloc(2_000_000, '\u0000\r\n--RIFF');
    writeFileSync(file, bytes);
    const forms = [
      ['-F', `model=${PUBLIC_MODEL}`, '-F', `file=@${file}`],
      ['-F', `file=@${file}`, '-F', `model=${PUBLIC_MODEL}`],
    ];
    for (const form of forms) {
      const { status, text } = await curl(`${url}/v1/audio/transcriptions`, ...form);
      expect([status, text]).toEqual([200, `{"text":"You sent ${upstream.last.body?.length ?? 0} bytes."}`]);
      expect(upstream.last.body?.includes(bytes)).toBe(true);
      expect(upstream.last.body?.includes('name="model"\r\n\r\nsample-model\r\n')).toBe(true);
    }
  });

  it('sends a body of megabytes with Expect: 100-continue', async () => {
    const file = join(folder, 'large.json');
    writeFileSync(file, body({ padding: 'x'.repeat(3_000_000) }));
    const { status } = await curl(
      `${url}/v1/chat/completions`,
      ...JSON_TYPE,
      '-H',
      'Expect: 100-continue',
      '-d',
      `@${file}`,
    );
    expect(status).toBe(200);
    expect(upstream.last.body?.length).toBeGreaterThan(3_000_000);
  });

  it('gets an answer if it accepts compression, which the proxy does not request from the upstream', async () => {
    const { text } = await curl('--compressed', `${url}/v1/chat/completions`, ...JSON_TYPE, '-d', body());
    expect(JSON.parse(text)).toMatchObject({ object: 'chat.completion' });
    expect(upstream.last.headers['accept-encoding']).toBe('identity');
  });

  it('gets 415 for a compressed body', async () => {
    const file = join(folder, 'body.gz');
    writeFileSync(file, gzipSync(body()));
    const args = ['-H', 'Content-Encoding: gzip', '--data-binary', `@${file}`];
    const { status, text } = await curl(`${url}/v1/chat/completions`, ...JSON_TYPE, ...args);
    expect(status).toBe(415);
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error', code: '415' } });
    expect(upstream.received).toEqual([]);
  });

  it('gets an answer even if it offers HTTP/2', async () => {
    const { status } = await curl('--http2', `${url}/v1/chat/completions`, ...JSON_TYPE, '-d', body());
    expect(status).toBe(200);
  });

  it('can send a chunked body, which goes upstream with its length', async () => {
    const { status } = await curl(
      `${url}/v1/chat/completions`,
      ...JSON_TYPE,
      '-H',
      'Transfer-Encoding: chunked',
      '-d',
      body(),
    );
    expect(status).toBe(200);
    expect(upstream.last.headers['content-length']).toBe(String(upstream.last.body?.length));
  });

  it('gets liveness, readiness and metrics of the proxy', async () => {
    expect(await curl(`${url}/health/liveliness`)).toEqual({ status: 200, text: `"I'm alive!"` });
    expect((await curl(`${url}/health/readiness`)).status).toBe(200);
    expect((await curl(`${url}/metrics`)).text).toContain('# TYPE');
  });
});
