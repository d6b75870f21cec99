import { describe, expect, it } from '@jest/globals';
import { decodeResponseId, encodeResponseId } from './response-id.js';

describe('the id of a response', () => {
  it.each([
    'resp_0123456789abcdef',
    `resp_${Buffer.from('litellm:custom_llm_provider:openai;model_id:x;response_id:resp_1').toString('base64')}`,
    'a+b/c==',
    'répondre;model_id:y',
    'x'.repeat(1500),
  ])("leads back to the upstream's id %s", (upstreamId) => {
    const stored = { deploymentId: 'd-1', upstreamId };
    expect(decodeResponseId(encodeResponseId('openai', stored))).toEqual(stored);
  });

  it.each(['.', '..', ''])("is not decoded if the upstream's id is '%s'", (upstreamId) => {
    expect(decodeResponseId(encodeResponseId('openai', { deploymentId: 'd-1', upstreamId }))).toBeUndefined();
  });
});
