/** Starts a raw upstream and a proxy for the suites of this folder. */
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { startTestProxy, type TestProxy, type TestProxyOptions } from '../harness/proxy.js';
import { RAW_KEY, RawUpstream, type RawUpstreamOptions } from './raw-upstream.js';

export interface RawFixture {
  readonly upstream: RawUpstream;
  readonly proxy: TestProxy;
}

/** Returns an entry of `model_list` with use_in_pass_through. */
export function entry(name: string, model: string, upstream: RawUpstream, more: readonly string[] = []): string {
  return closedEntry(name, model, upstream, ['use_in_pass_through: true', ...more]);
}

/** Returns an entry of `model_list` without use_in_pass_through. */
export function closedEntry(name: string, model: string, upstream: RawUpstream, more: readonly string[] = []): string {
  return [
    `  - model_name: ${name}`,
    '    litellm_params:',
    `      model: ${model}`,
    `      api_base: ${upstream.apiBase}`,
    `      api_key: ${RAW_KEY}`,
    ...more.map((line) => `      ${line}`),
  ].join('\n');
}

/** Returns a configuration with these entries, which trusts the authority of the upstream. */
export function configOf(upstream: RawUpstream, entries: readonly string[], more: readonly string[] = []): string {
  return ['model_list:', ...entries, 'litellm_settings:', `  ssl_verify: ${upstream.caFile}`, ...more, ''].join('\n');
}

/** Options of {@link useRawProxy}. */
export interface RawFixtureOptions extends RawUpstreamOptions {
  /** Default: {@link bothProviders}. */
  readonly config?: (upstream: RawUpstream) => string;
  readonly proxy?: TestProxyOptions;
}

/** Returns a configuration with a model of OpenAI and one of hosted_vllm, both at this upstream. */
export function bothProviders(
  upstream: RawUpstream,
  params: readonly string[] = [],
  more: readonly string[] = [],
): string {
  return configOf(
    upstream,
    [entry('gpt', 'openai/gpt-upstream', upstream, params), entry('oss', 'hosted_vllm/oss-upstream', upstream, params)],
    more,
  );
}

/** Starts an upstream and a proxy before a suite, and closes them after it. @returns a function that returns both. */
export function useRawProxy(options: RawFixtureOptions = {}): () => RawFixture {
  let fixture: RawFixture;
  beforeAll(async () => {
    const upstream = await RawUpstream.start(options);
    const proxy = await startTestProxy((options.config ?? bothProviders)(upstream), options.proxy);
    fixture = { upstream, proxy };
  });
  afterEach(() => fixture.upstream.forget());
  afterAll(async () => {
    await fixture.proxy.close();
    await fixture.upstream.close();
  });
  return () => fixture;
}
