import type { NullableMembers } from '../json/rewrite-answer.js';

/** An endpoint is one literal: a path of OpenAI's API, and what the proxy has to know of its bodies. */
export interface Endpoint {
  /** Path below `/v1/` and below an upstream's `api_base`: `chat/completions`. */
  readonly path: string;
  /** Without it the request is refused: `messages`. null: nothing but `model` is asked for. */
  readonly requiredParameter: string | null;
  /** `model_info.mode` of its models. */
  readonly mode: string;
  /** How requests carry `model`: as a member of a JSON object, or as a field of a form (audio, pictures). */
  readonly requestBody: 'json' | 'multipart';
  /** Whether answers are JSON or events: text and empty answers are faults of the upstream then. Not for sound and transcriptions. */
  readonly answersJson: boolean;
  /** Where answers carry the model's name; the first path that is there. Streamed events of `responses` nest it. */
  readonly answerModel: readonly (readonly string[])[];
  /** Whether upstreams serve it beside `/v1`, not below it. */
  readonly besideVersion: boolean;
  /** Shape that `fill_null_fields` completes; null: none. Not for streamed chunks. */
  readonly nullable: NullableMembers | null;
}

/** An endpoint with what most have: JSON, the answer's `model` at its top, nothing to fill. */
export function defineEndpoint(
  endpoint: Pick<Endpoint, 'path' | 'mode'> & Partial<Omit<Endpoint, 'path' | 'mode'>>,
): Endpoint {
  return {
    requiredParameter: null,
    requestBody: 'json',
    answersJson: true,
    answerModel: [['model']],
    besideVersion: false,
    nullable: null,
    ...endpoint,
  };
}
