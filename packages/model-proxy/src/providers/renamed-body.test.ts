import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { makeDeployment } from '../../test/support/deployment.js';
import { JsonObjectScanner } from '../json/scanner.js';
import { findProvider } from './index.js';
import { renamedBody } from './renamed-body.js';
import type { RequestBodyOptions } from './deployment-plan.js';
import { prepareRequestBody } from './request-body.js';

const providers = ['openai', 'hosted_vllm', 'mistral', 'groq', 'anything'];

function scan(text: string, at: number) {
  const bytes = Buffer.from(text);
  const cut = at % (bytes.length + 1);
  const scanner = new JsonObjectScanner();
  scanner.push(bytes.subarray(0, cut));
  scanner.push(bytes.subarray(cut));
  return scanner.finish();
}

function optionsFor(provider: string, additionalDropParams: readonly string[]): RequestBodyOptions {
  const deployment = makeDeployment({ provider: findProvider(provider), dropParams: true, additionalDropParams });
  return {
    endpoint: { path: 'chat/completions' },
    deployment,
    upstreamModel: 'served',
    alwaysIncludeStreamUsage: false,
    translated: null,
  };
}

const message = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string() }),
  fc.record({ role: fc.constant('user'), content: fc.constant([{ type: 'image_url', image_url: 'http://x/' }]) }),
  fc.record({ role: fc.constant('assistant'), thinking_blocks: fc.constant([{ type: 'thinking', thinking: 'x' }]) }),
);
const plain = fc.record(
  {
    model: fc.string(),
    messages: fc.array(message, { maxLength: 2 }),
    temperature: fc.double({ noNaN: true }),
    max_tokens: fc.nat(),
    max_completion_tokens: fc.nat(),
    seed: fc.nat(),
    stream: fc.boolean(),
    guided_json: fc.object(),
  },
  { requiredKeys: ['model', 'messages'] },
);
const special = fc.record(
  {
    tools: fc.constant([{ type: 'function', function: { name: 'f', strict: true, parameters: {} } }]),
    thinking: fc.constant({ type: 'enabled', budget_tokens: 3000 }),
    metadata: fc.constant({ a: 1 }),
    extra_body: fc.constant({ top_k: 2 }),
    api_key: fc.string(),
  },
  { requiredKeys: [] },
);
const request = fc
  .tuple(plain, fc.oneof(fc.constant({}), special), fc.boolean())
  .map(([first, second, isFirst]) => (isFirst ? { ...first, ...second } : { ...second, ...first }));

describe('a request in which only the model’s name changes', () => {
  it('gets the same body from renamedBody and from the full preparation', () => {
    let quick = 0;
    const property = fc.property(request, fc.constantFrom(...providers), fc.nat(), (body, provider, at) => {
      const object = scan(JSON.stringify(body), at);
      const renamed = renamedBody(object, optionsFor(provider, []));
      if (renamed === undefined) return;
      quick += 1;
      // An `additional_drop_params` entry that matches nothing forces the full preparation, and changes nothing.
      const prepared = prepareRequestBody(object, optionsFor(provider, ['no_such_parameter']));
      if (!Array.isArray(prepared)) throw new Error('prepareRequestBody returned the request of a dialect');
      expect(Buffer.concat(renamed).toString()).toBe(Buffer.concat(prepared).toString());
    });
    fc.assert(property, { numRuns: 1000 });
    expect(quick).toBeGreaterThan(50);
  });

  it('is recognized only if nothing else must be changed or rejected', () => {
    const isQuick = (body: object, provider: string) =>
      renamedBody(scan(JSON.stringify(body), 0), optionsFor(provider, [])) !== undefined;
    expect(isQuick({ model: 'a', messages: [{ role: 'user', content: 'x' }], temperature: 1 }, 'hosted_vllm')).toBe(
      true,
    );
    for (const more of [{ tools: [] }, { thinking: {} }, { metadata: {} }, { messages: [{ content: [{ file: {} }] }] }])
      expect(isQuick({ model: 'a', messages: [], ...more }, 'hosted_vllm')).toBe(false);
    expect(isQuick({ messages: [] }, 'openai')).toBe(false);
    for (const text of ['{"model":"a","model":"b","messages":[]}', String.raw`{"mod\u0065l":"a","messages":[]}`])
      expect(renamedBody(scan(text, 0), optionsFor('openai', []))).toBe(undefined);
  });
});
