/** Starts an upstream and a proxy for the suites of this folder, and sends requests. */
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

/** An upstream and the proxy in front of it. */
export interface Fixture {
  readonly upstream: TestUpstream;
  readonly proxy: TestProxy;
  /** Sends a chat request with a script for the upstream. Resolves with the whole answer. */
  readonly ask: (...script: readonly Step[]) => Promise<Answer>;
  /** Sends a streamed chat request with a script. Resolves with the head of the answer. */
  readonly stream: (...script: readonly Step[]) => Promise<OpenAnswer>;
  /** Sends a chat request without a script. @throws {Error} if the proxy does not answer as usual. */
  readonly works: () => Promise<void>;
}

/** Starts an upstream and a proxy before a suite, and closes them after it. @returns a function that returns both. */
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
        if (status !== 200 || !text.includes('You said: Hello'))
          throw new Error(`a normal request after the faults: ${status} ${text}`);
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

/** Returns the error in a body. @throws {Error} if the body does not have OpenAI's shape. */
export function errorOf(text: string): { message: string; type: string; param: string | null; code: string } {
  // The lines below check the members.
  const { error, ...more } = JSON.parse(text) as { error: Readonly<Record<string, unknown>> };
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
