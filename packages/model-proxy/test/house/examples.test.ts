import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority } from '../../sample-upstream/certificates.js';
import { call } from '../harness/call.js';
import { ProxyProcess } from '../harness/process.js';
import { PUBLIC_MODEL, ANSWERED_MODEL, sampleConfig, startTestProxy } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';

const run = promisify(execFile);
const examples = join(import.meta.dirname, '../../../../examples/model-proxy');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-examples-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Copies an example into the folder. @returns the path of the copy. */
function place(name: string): string {
  const file = join(folder, name);
  copyFileSync(join(examples, name), file);
  return file;
}

/**
 * Returns the exit code, the warnings (without the folder) and the complete output of
 * `--validate_config` for an example.
 */
async function validate(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly warnings: readonly string[]; readonly output: string }> {
  const proxy = new ProxyProcess(['--config', place(name), '--host', '127.0.0.1', '--validate_config'], { env });
  const code = await proxy.waitForExit();
  const { output } = proxy;
  const warnings = output.split('\n').filter((line) => line.startsWith('warning: '));
  return {
    code,
    warnings: warnings.map((line) => line.slice('warning: '.length).replaceAll(`${folder}/`, '')),
    output,
  };
}

describe('the example', () => {
  it('config.yaml passes --validate_config without a warning, and the output contains no key', async () => {
    await createAuthority(folder);
    const { code, warnings, output } = await validate('config.yaml', { UPSTREAM_API_KEY: 'sk-0123456789' });
    expect([code, warnings]).toEqual([0, []]);
    expect(output).not.toContain('sk-0123456789');
  });

  it('private-ca.yaml passes --validate_config without a warning if its certificates exist', async () => {
    const certificates = join(folder, 'certificates');
    mkdirSync(certificates);
    await createAuthority(certificates, 'gpu-1-ca');
    const company = await createAuthority(certificates, 'company-ca');
    await company.issue('client');
    const { code, warnings } = await validate('private-ca.yaml', { GPU_1_API_KEY: 'sk-1', GPU_2_API_KEY: 'sk-2' });
    expect([code, warnings]).toEqual([0, []]);
  });

  it("litellm.yaml, from LiteLLM's introduction, is valid, with one warning about unsupported settings", async () => {
    const { code, warnings, output } = await validate('litellm.yaml', {
      AZURE_API_KEY_EU: 'sk-1111111111',
      AZURE_API_KEY_CA: 'sk-2222222222',
      OPENAI_API_KEY: 'sk-3333333333',
    });
    expect([code, warnings]).toEqual([
      0,
      [
        expect.stringMatching(
          /^litellm\.yaml: not implemented, ignored: litellm_settings\.success_callback \(line 43\), general_settings\.alerting /,
        ),
      ],
    ]);
    expect(output).not.toMatch(/sk-1111111111|sk-2222222222|sk-3333333333|sk-1234/);
  });

  it('litellm.yaml serves a model with a key, and explains which credentials another model needs', async () => {
    const upstream = await TestUpstream.start({ secure: false, models: ['facebook/opt-125m'], apiKey: 'none' });
    // The test changes only the address of the upstream.
    const yaml = readFileSync(join(examples, 'litellm.yaml'), 'utf8').replace(
      'http://0.0.0.0:4000/v1',
      upstream.apiBase,
    );
    const proxy = await startTestProxy(yaml, {
      environment: {
        AZURE_API_KEY_EU: 'a',
        AZURE_API_KEY_CA: 'b',
        AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    });
    const ask = (model: string, headers = { authorization: 'Bearer sk-1234' }) =>
      call(`${proxy.url}/chat/completions`, { headers, body: { model, messages: [{ role: 'user', content: 'hi' }] } });
    const answer = await ask('vllm-models');
    expect(answer.json()).toMatchObject({ model: 'openai/facebook/opt-125m', object: 'chat.completion' });
    const refused = await ask('vllm-models', { authorization: 'Bearer sk-other' });
    expect(refused.status).toBe(401);
    const foreign = await ask('bedrock-claude-v1');
    expect(foreign.status).toBe(401);
    expect(foreign.text).toContain('set aws_access_key_id and aws_secret_access_key');
    await proxy.close();
    await upstream.close();
  });
});

describe("the example of OpenAI's client", () => {
  it('sends a request, streams an answer and lists the models', async () => {
    const upstream = await TestUpstream.start();
    const proxy = await startTestProxy(sampleConfig(upstream));
    // From this folder, Node finds the client's package, and git ignores the folder.
    const cache = join(import.meta.dirname, '../../.cache');
    mkdirSync(cache, { recursive: true });
    const beside = mkdtempSync(join(cache, 'client-'));
    try {
      copyFileSync(join(examples, 'client.mjs'), join(beside, 'client.mjs'));
      const { stdout } = await run(process.execPath, [join(beside, 'client.mjs'), `${proxy.url}/v1`, PUBLIC_MODEL]);
      expect(stdout).toBe(
        [
          `${ANSWERED_MODEL}: You said: Hello, is anybody there?`,
          'You said: Hello, is anybody there?',
          `models: ${PUBLIC_MODEL}`,
          '',
        ].join('\n'),
      );
    } finally {
      rmSync(beside, { recursive: true });
      await proxy.close();
      await upstream.close();
    }
  });
});
