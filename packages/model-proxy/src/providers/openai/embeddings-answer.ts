/** Answers in OpenAI's shape for requests of embeddings. */
import type { DialectAnswer } from '../dialect.js';

/** The embeddings of a model's answer, in the order of the inputs. */
export interface Embeddings {
  readonly embeddings: readonly unknown[];
  /** Tokens of the inputs; 0 if the model does not report them. */
  readonly tokens: number;
}

/** Returns OpenAI's answer. @throws {Error} if there are no embeddings, or one of them is not a list. */
export function embeddingsAnswer({ embeddings, tokens }: Embeddings, model: string): DialectAnswer {
  if (embeddings.length === 0 || !embeddings.every(Array.isArray)) throw new Error('the answer has no embeddings');
  return {
    value: {
      object: 'list',
      data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    },
  };
}
