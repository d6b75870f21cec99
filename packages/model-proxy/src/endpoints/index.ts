/** All endpoints that have a literal of their own. */
import { speech, transcriptions, translations } from './audio.js';
import { chatCompletions } from './chat-completions.js';
import { completions } from './completions.js';
import { embeddings } from './embeddings.js';
import type { Endpoint } from './endpoint.js';
import { imageEdits, imageGenerations, imageVariations } from './images.js';
import { moderations } from './moderations.js';
import { rerank } from './rerank.js';
import { responses } from './responses.js';

export const endpoints: readonly Endpoint[] = [
  chatCompletions,
  completions,
  embeddings,
  responses,
  rerank,
  moderations,
  transcriptions,
  translations,
  speech,
  imageGenerations,
  imageEdits,
  imageVariations,
];
