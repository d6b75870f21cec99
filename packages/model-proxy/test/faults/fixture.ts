/** What the suites of this folder have in common: one upstream, one proxy before it, and the ways to ask. */
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { call, open, type Answer, type OpenAnswer } from '../harness/call.js';
import {
  PUBLIC_MODEL,
  sampleConfig,
  startTestProxy,
  type SampleConfigOptions,
  type TestProxy,
} from '../harness/proxy.js';
import type { Step } from '../harness/script.js';
import { TestUpstream, type TestUpstreamOptions } from '../harness/upstream.js';

export const messages = [{ role: 'user', content: 'Hello' }];

export interface Fixture {
  readonly upstream: TestUpstream;
  readonly proxy: TestProxy;
  /** A chat whose answer the upstream reads from this script. */
  readonly ask: (...script: readonly Step[]) => Promise<Answer>;
  /** The same, streamed: resolves with the head of the answer. */
  readonly stream: (...script: readonly Step[]) => Promise<OpenAnswer>;
  /** A chat that must be answered as ever: nothing that went before has left a trace. */
  readonly works: () => Promise<void>;
}

/** Starts both for the suite that calls it, and ends them. */
export function useProxy(config: SampleConfigOptions = {}, options: TestUpstreamOptions = {}): () => Fixture {
  let fixture: Fixture;
  beforeAll(async () => {
    const upstream = await TestUpstream.start(options);
    const proxy = await startTestProxy(sampleConfig(upstream, config));
    const url = `${proxy.url}/v1/chat/completions`;
    fixture = {
      upstream,
      proxy,
      ask: (...script) => call(url, { body: { model: PUBLIC_MODEL, messages, script } }),
      stream: (...script) => open(url, { body: { model: PUBLIC_MODEL, messages, stream: true, script } }),
      works: async () => {
        const { status, text } = await call(url, { body: { model: PUBLIC_MODEL, messages } });
        if (status !== 200 || !text.includes('You said: Hello')) throw new Error(`asking as ever: ${status} ${text}`);
      },
    };
  });
  afterEach(() => fixture.upstream.forget());
  afterAll(async () => {
    await fixture.proxy.close();
    await fixture.upstream.close();
  });
  return () => fixture;
}

/** The error of a body in OpenAI's shape. @throws {Error} where it has another. */
export function errorOf(text: string): { message: string; type: string; param: string | null; code: string } {
  const { error, ...more } = JSON.parse(text) as { error: Readonly<Record<string, unknown>> }; // looked at below
  const { message, type, param, code, ...rest } = error;
  const shaped =
    typeof message === 'string' &&
    typeof type === 'string' &&
    typeof code === 'string' &&
    (param === null || typeof param === 'string') &&
    Object.keys({ ...more, ...rest }).length === 0;
  if (!shaped) throw new Error(`not an error of OpenAI's shape: ${text}`);
  return { message, type, param, code };
}
