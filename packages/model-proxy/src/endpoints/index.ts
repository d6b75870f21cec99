/** Lists the endpoints of model requests. The request's `model` selects the deployment. */
import { speech, transcriptions, translations } from './audio.js';
import { chatCompletions } from './chat-completions.js';
import { completions } from './completions.js';
import { embeddings } from './embeddings.js';
import type { Endpoint } from './endpoint.js';
import { imageEdits, imageGenerations, imageVariations } from './images.js';
import { countTokens, messages } from './messages.js';
import { moderations } from './moderations.js';
import { rerank } from './rerank.js';
import { compact, inputTokens, responses } from './responses.js';
import { classify, detokenize, pooling, score, tokenize } from './vllm.js';

/** All endpoints, without those that `general_settings.forwarded_paths` adds. */
export const endpoints: readonly Endpoint[] = [
  chatCompletions,
  completions,
  embeddings,
  responses,
  inputTokens,
  compact,
  rerank,
  moderations,
  transcriptions,
  translations,
  speech,
  imageGenerations,
  imageEdits,
  imageVariations,
  messages,
  countTokens,
  score,
  classify,
  pooling,
  tokenize,
  detokenize,
];
