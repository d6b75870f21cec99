/**
 * Runs a whole proxy in this process, with a configuration file of the test, as `model-proxy
 * --config FILE` does.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import { loadConfigInBackground } from '../../src/config/load.js';
import { startProxy } from '../../src/proxy.js';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { API_KEY, type TestUpstream } from './upstream.js';

/** A running proxy. */
export interface TestProxy {
  /** `http://127.0.0.1:12345`. */
  readonly url: string;
  readonly port: number;
  /** Path of the configuration file. */
  readonly file: string;
  readonly warnings: readonly string[];
  /** Returns the lines of the log so far. */
  logged(): readonly string[];
  /** Writes another configuration. The proxy reads it with {@link reload}. */
  configure(yaml: string): void;
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Options of {@link startTestProxy}. */
export interface TestProxyOptions {
  readonly detailedDebug?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** Time between checks of the files. Default: no checks, so that only the test reloads. */
  readonly watchIntervalMs?: number;
}

/** Longer than any suite. */
const NEVER_MS = 3_600_000;
/** The public name of the model in {@link sampleConfig}. */
export const PUBLIC_MODEL = 'public-model';
/** The name of {@link SAMPLE_MODEL} in answers. */
export const ANSWERED_MODEL = `hosted_vllm/${SAMPLE_MODEL}`;

/** Options of {@link sampleConfig}. */
export interface SampleConfigOptions {
  /** Lines for the params block: `timeout: 5`. */
  readonly params?: readonly string[];
  /** Lines for the settings block, after `ssl_verify`. */
  readonly settings?: readonly string[];
  /** Lines with more blocks. */
  readonly more?: readonly string[];
}

/**
 * Returns a configuration with the settings of the contract (MP-1 to MP-8): a model, its upstream,
 * key and CA bundle.
 */
export function sampleConfig(
  upstream: TestUpstream,
  { params = [], settings = [], more = [] }: SampleConfigOptions = {},
): string {
  return [
    'model_list:',
    `  - model_name: ${PUBLIC_MODEL}`,
    '    litellm_params:',
    `      model: hosted_vllm/${SAMPLE_MODEL}`,
    `      api_base: ${upstream.apiBase}/`,
    `      api_key: ${API_KEY}`,
    ...params.map((line) => `      ${line}`),
    'litellm_settings:',
    `  ssl_verify: ${upstream.caFile}`,
    // Most suites test a single attempt, so there are no retries unless `settings` has num_retries.
    ...(settings.some((line) => line.startsWith('num_retries')) ? [] : ['  num_retries: 0']),
    ...settings.map((line) => `  ${line}`),
    ...more,
    '',
  ].join('\n');
}

/** Parses in this thread, because jest cannot start a thread with TypeScript. Tests of the built command start one. */
const parseHere = (text: string, file: string) => Promise.resolve(parseYaml(text, file));

/**
 * Starts a proxy on a free port of the loopback address.
 * @throws {Error} if the proxy does not start.
 */
export async function startTestProxy(yaml: string, options: TestProxyOptions = {}): Promise<TestProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-proxy-'));
  const file = join(folder, 'config.yaml');
  const configure = (text: string) => writeFileSync(file, text, { mode: 0o600 });
  configure(yaml);
  const { environment = {}, detailedDebug = false, watchIntervalMs = NEVER_MS } = options;
  const flags = { host: '127.0.0.1', port: '0', ...(detailedDebug ? { detailed_debug: true } : {}) };
  const load = () => loadConfigInBackground({ file, flags, environment }, parseHere);
  let logged = '';
  const log = createTestLog({ level: 'debug', format: 'text', write: (lines) => (logged += lines) });
  try {
    const config = await load();
    const proxy = await startProxy({ config, load, log, watchIntervalMs });
    const [url = ''] = proxy.addresses;
    return {
      url,
      port: Number(new URL(url).port),
      file,
      warnings: config.warnings,
      logged: () => {
        log.flush();
        return logged.split('\n').filter((line) => line !== '');
      },
      configure,
      reload: () => proxy.reload(),
      close: async () => {
        await proxy.close();
        log.flush();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}
