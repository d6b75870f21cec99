/**
 * Bedrock's Rerank API, at the host `bedrock-agent-runtime`.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Rerank.html
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { jsonMembers, memberValue } from '../request-members.js';
import type { ModelApi } from '../target.js';
import { bedrockError } from './bedrock-error.js';
import { unchecked } from '../parameters.js';

function sourceOf(document: unknown): object {
  const text = textOf(document);
  const inlineDocumentSource =
    text === undefined ? { type: 'JSON', jsonDocument: document } : { type: 'TEXT', textDocument: { text } };
  return { type: 'INLINE', inlineDocumentSource };
}

/** @param region the region of models without an ARN. */
const ranking = (region: string): DialectEndpoint => ({
  path: () => 'rerank',
  request: (members, { model }) => {
    const documents = memberValue(members, 'documents');
    if (!Array.isArray(documents)) throw invalidParameter('documents', 'must be a list');
    const modelArn = model.startsWith('arn:') ? model : `arn:aws:bedrock:${region}::foundation-model/${model}`;
    const numberOfResults = memberValue(members, 'top_n');
    return new Map(
      jsonMembers({
        queries: [{ type: 'TEXT', textQuery: { text: memberValue(members, 'query') } }],
        sources: documents.map(sourceOf),
        rerankingConfiguration: {
          type: 'BEDROCK_RERANKING_MODEL',
          bedrockRerankingConfiguration: { modelConfiguration: { modelArn }, numberOfResults },
        },
      }),
    );
  },
  answer: (value) => {
    const results = recordOf(value)?.['results'];
    if (!Array.isArray(results)) throw new Error('the answer has no results');
    return {
      value: {
        results: recordsOf(results).map(({ index, relevanceScore }) => ({ index, relevance_score: relevanceScore })),
        meta: { billed_units: { search_units: 1 } },
      },
    };
  },
});

/** Returns the API for ranking. */
export const rankingApi = (region: string): ModelApi => ({
  dialect: { endpoints: new Map([['rerank', ranking(region)]]), error: bedrockError },
  supportedParameters: () => unchecked,
});
