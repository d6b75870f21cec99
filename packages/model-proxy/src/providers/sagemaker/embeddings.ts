/**
 * Embeddings of SageMaker JumpStart's models.
 * @see https://docs.aws.amazon.com/sagemaker/latest/dg/jumpstart-foundation-models.html
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { embeddingsAnswer } from '../openai/embeddings-answer.js';
import { jsonMembers, memberValue } from '../request-members.js';
import { invocations } from './invocations.js';

/** Sends all texts, and gets a list of embeddings in their order. */
export const embeddings: DialectEndpoint = {
  path: invocations,
  request: (members) => {
    const input = memberValue(members, 'input');
    const texts: readonly unknown[] = Array.isArray(input) ? input : [input];
    if (texts.some((text) => typeof text !== 'string'))
      throw invalidParameter('input', 'must have texts, because this endpoint accepts no tokens');
    return new Map(jsonMembers({ text_inputs: texts }));
  },
  answer: (value, { model }) => {
    const { embedding } = recordOf(value) ?? {};
    return embeddingsAnswer({ embeddings: Array.isArray(embedding) ? embedding : [], tokens: 0 }, model);
  },
};
