import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { openSync, readFileSync, writeFileSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import OpenAI, { toFile } from 'openai';
import { errorOf } from '../faults/fixture.js';
import { call } from '../harness/call.js';
import { ProxyProcess } from '../harness/process.js';
import { startTestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { closingAfterEach } from '../upstream/closing.js';
import { bothProviders, closedEntry, configOf, useRawProxy } from './fixture.js';
import { RawUpstream } from './raw-upstream.js';

const run = promisify(execFile);
const fixture = useRawProxy();
const closing = closingAfterEach();

const client = (baseURL: string) => new OpenAI({ baseURL, apiKey: 'client-key', maxRetries: 0 });

describe('files and batches', () => {
  it.each(['/v1', '', '/openai/v1', '/openai', '/hosted_vllm/v1'])(
    'work with the openai SDK at %j, from upload to deletion',
    async (base) => {
      const openai = client(fixture().proxy.url + base);
      const content = '{"custom_id":"1","body":{"model":"gpt"}}\n';
      const file = await openai.files.create({
        file: await toFile(Buffer.from(content), 'in.jsonl'),
        purpose: 'batch',
      });
      expect([file.object, file.filename]).toEqual(['file', 'in.jsonl']);
      expect(fixture().upstream.last.body?.text).toContain(content);
      expect((await openai.files.list()).data.map(({ id }) => id)).toContain(file.id);
      expect((await openai.files.retrieve(file.id)).bytes).toBe(file.bytes);
      const batch = await openai.batches.create({
        input_file_id: file.id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      });
      expect([batch.id, batch.input_file_id]).toEqual(['batch_1', file.id]);
      expect((await openai.batches.retrieve('batch_1')).status).toBe('completed');
      expect((await openai.batches.list()).data).toEqual([]);
      expect(await openai.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
      await expect(openai.files.retrieve(file.id)).rejects.toMatchObject({ status: 404, param: 'id' });
    },
  );

  it('work with curl, which specifies the deployment in the form, in the query or in a header', async () => {
    const { proxy, upstream } = fixture();
    const other = closing(await RawUpstream.start({ apiKey: 'sk-raw-upstream-0123456789' }));
    const both = closing(
      await startTestProxy(
        configOf(upstream, [
          closedEntry('gpt', 'openai/x', upstream),
          closedEntry('oss', 'hosted_vllm/x', other, [`ssl_verify: ${other.caFile}`]),
        ]),
      ),
    );
    const path = join(upstream.folder, 'in.jsonl');
    writeFileSync(path, '{}\n');
    const upload = async (args: readonly string[], query = '') => {
      for (const one of [upstream, other]) one.forget();
      const form = [...args, '-F', 'purpose=batch', '-F', `file=@${path}`];
      await run('curl', ['-sS', '--fail', '--noproxy', '*', `${both.url}/v1/files${query}`, ...form]);
      const text = [upstream, other].map(({ seen }) => seen[0]?.body?.text);
      const urls = [upstream, other].map(({ seen }) => seen[0]?.url);
      return { at: urls[0] === undefined ? 'oss' : 'gpt', url: urls.join(''), text: text.join('') };
    };
    expect((await upload([])).at).toBe('gpt');
    for (const args of [
      ['-F', 'custom_llm_provider=hosted_vllm'],
      ['-F', 'target_model_names=oss'],
      ['-F', 'model=oss'],
      ['-H', 'custom-llm-provider: hosted_vllm'],
    ]) {
      const { at, text } = await upload(args);
      expect([args, at]).toEqual([args, 'oss']);
      // The upstream must not get parameters for the proxy.
      expect(text).not.toMatch(/custom_llm_provider|target_model_names|name="model"/);
      expect(text).toMatch(/name="purpose"[^]*name="file"; filename="in.jsonl"[^]*\{\}\n\r\n-+[\w-]+--\r\n$/);
    }
    for (const query of [
      '?provider=hosted_vllm',
      '?custom_llm_provider=hosted_vllm',
      '?model=oss',
      '?target_model_names=oss',
    ]) {
      expect(await upload([], `${query}&kept=1`)).toMatchObject({ at: 'oss', url: '/v1/files?kept=1' });
    }
    expect(proxy.url).not.toBe(both.url);
  });

  it('are rejected if they name their deployment after the file, and the upload upstream is aborted', async () => {
    const { upstream } = fixture();
    const oss = closedEntry('oss', 'hosted_vllm/x', upstream).replace('sk-raw', 'sk-other');
    const proxy = closing(await startTestProxy(configOf(upstream, [closedEntry('gpt', 'openai/x', upstream), oss])));
    const late = client(`${proxy.url}/v1`).files.create({
      file: await toFile(Buffer.alloc(300_000, 'x'), 'in.jsonl'),
      purpose: 'batch',
      custom_llm_provider: 'hosted_vllm',
    } as Parameters<OpenAI['files']['create']>[0]); // the SDK also sends members that it does not declare
    await expect(late).rejects.toMatchObject({ status: 400, param: 'custom_llm_provider' });
    const { last } = upstream;
    await waitFor(
      () => (last.outcome === 'aborted' ? true : undefined),
      () => 'the upload has not ended',
    );
    expect(last.body).toBeUndefined();
    const query = { query: { custom_llm_provider: 'hosted_vllm' } };
    const file = { file: await toFile(Buffer.from('{}'), 'in.jsonl'), purpose: 'batch' } as const;
    await expect(client(`${proxy.url}/v1`).files.create(file, query)).rejects.toMatchObject({ status: 401 });
    expect(upstream.last.headers.authorization).toBe('Bearer sk-other-upstream-0123456789');
  });

  it('can name their deployment in JSON, and the upstream does not get this member', async () => {
    const { proxy, upstream } = fixture();
    const body = { input_file_id: 'f', custom_llm_provider: 'hosted_vllm', endpoint: '/v1/chat/completions' };
    const answer = await call(`${proxy.url}/v1/batches`, { body });
    expect([answer.status, answer.headers['x-litellm-model-group']]).toEqual([200, 'oss']);
    expect(JSON.parse(upstream.last.body?.text ?? '')).toEqual({
      input_file_id: 'f',
      endpoint: '/v1/chat/completions',
    });
  });

  it('without a clear deployment get a 400 that explains how to choose', async () => {
    const { upstream } = fixture();
    const other = closing(await RawUpstream.start());
    const config = (more: readonly string[]) =>
      configOf(upstream, [
        closedEntry('a', 'openai/x', upstream),
        closedEntry('b', 'openai/y', other, [`ssl_verify: ${other.caFile}`, ...more]),
      ]);
    const proxy = closing(await startTestProxy(config([])));
    const refused = await call(`${proxy.url}/v1/files`, { method: 'GET' });
    expect([refused.status, errorOf(refused.text)]).toEqual([
      400,
      {
        message:
          "/v1/files: it is not clear which deployment is meant: add ?model=<public name> or ?custom_llm_provider=<provider>, or set 'use_in_pass_through: true' for a deployment.",
        type: 'invalid_request_error',
        param: null,
        code: '400',
      },
    ]);
    expect((await call(`${proxy.url}/v1/files?model=b`, { method: 'GET' })).headers['x-litellm-model-group']).toBe('b');
    proxy.configure(config(['use_in_pass_through: true']));
    await proxy.reload();
    expect((await call(`${proxy.url}/v1/files`, { method: 'GET' })).headers['x-litellm-model-group']).toBe('b');
  });
});

describe('a large upload', () => {
  const MEGABYTE = 1_048_576;

  it('reaches the upstream with all its 300 MB despite max_request_size_mb, and needs less than 128 MB', async () => {
    const { upstream } = fixture();
    const config = join(upstream.folder, 'config.yaml');
    writeFileSync(config, bothProviders(upstream, [], ['general_settings:', '  max_request_size_mb: 1']), {
      mode: 0o600,
    });
    const proxy = closing(
      ((started) => Object.assign(started, { close: () => started.dispose() }))(
        new ProxyProcess(['--config', config, '--host', '127.0.0.1', '--port', '0']),
      ),
    );
    const url = await proxy.address();
    const path = join(upstream.folder, 'large.bin');
    const digest = createHash('sha256');
    const piece = randomBytes(MEGABYTE);
    const file = openSync(path, 'w');
    for (let index = 0; index < 300; index += 1) {
      piece.writeUInt32LE(index);
      digest.update(piece);
      writeSync(file, piece);
    }
    closeSync(file);
    const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${proxy.pid ?? 0}/status`, 'utf8'))?.[1]);
    const curl = (...args: readonly string[]) => run('curl', ['-sS', '--fail', '--noproxy', '*', ...args]);
    const raw = ['-H', 'content-type: application/octet-stream', '-H', 'expect:'];
    await curl(`${url}/openai/v1/uploads`, ...raw, '--data-binary', 'small');
    const before = peakKb();
    await curl(`${url}/openai/v1/uploads`, ...raw, '-T', path);
    const seen = await waitFor(
      () => upstream.last.body,
      () => 'the upstream has not received the whole upload',
    );
    expect([seen.length, seen.digest]).toEqual([300 * MEGABYTE, digest.digest('hex')]);
    await curl(`${url}/v1/files`, '-F', 'custom_llm_provider=openai', '-F', 'purpose=batch', '-F', `file=@${path}`);
    expect(upstream.last.body?.length).toBeGreaterThan(300 * MEGABYTE);
    expect(Number(upstream.last.headers['content-length'])).toBe(upstream.last.body?.length);
    // 600 MB went through. V8 may still hold buffers that it has not collected.
    expect(peakKb() - before).toBeLessThan(128 * 1024);
  });
});
