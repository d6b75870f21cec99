/** The type of the endpoint literals in this folder. */
import type { Api } from '../errors/error-body.js';
import type { NullableMembers } from '../json/rewrite-answer.js';

/** Describes a path for model requests, and the bodies of its requests and answers. */
export interface Endpoint {
  /** Path below `/v1/` and below an upstream's `api_base`: `chat/completions`. */
  readonly path: string;
  /**
   * The proxy rejects requests without this parameter, such as `messages`; null: only `model` is
   * required.
   */
  readonly requiredParameter: string | null;
  /** `model_info.mode` of the models that this endpoint serves. */
  readonly mode: string;
  /**
   * The body of requests: a JSON object with the member `model`, or a form with the field `model`
   * (recordings, and images that the model changes).
   */
  readonly requestBody: 'json' | 'multipart';
  /**
   * Whether all answers are JSON or events. Text and empty answers, also a 204, are then faults of the upstream.
   * False for all endpoints of audio, and for `forwarded_paths`.
   */
  readonly answersJson: boolean;
  /**
   * Paths of the member with the model's name in answers and events. The first path that exists is
   * used.
   */
  readonly answerModel: readonly (readonly string[])[];
  /** Whether upstreams serve the path next to `/v1`, not below it. */
  readonly besideVersion: boolean;
  /**
   * The vendor whose API has the endpoint. At an endpoint of Anthropic's API, clients get errors in
   * Anthropic's form, and upstreams get the client's query and the headers that select a version
   * and beta features.
   */
  readonly api: Api;
  /**
   * Whether upstreams may store the answers, such as those of `responses`. The ids of such answers
   * lead back to the deployment.
   */
  readonly storesAnswers: boolean;
  /**
   * The model of requests without `model`, if the configuration serves it. If a deployment has the mode of this
   * endpoint, such requests use that deployment's model instead. null: requests need `model`.
   */
  readonly defaultModel: string | null;
  /** Members that `fill_null_fields` adds to answers, but not to events; null: none. */
  readonly nullable: NullableMembers | null;
}

/**
 * Makes an endpoint. Defaults: JSON requests and answers in OpenAI's API, only `model` is required, the answer's
 * `model` at the top level, no fields that `fill_null_fields` adds.
 */
export function defineEndpoint(
  endpoint: Pick<Endpoint, 'path' | 'mode'> & Partial<Omit<Endpoint, 'path' | 'mode'>>,
): Endpoint {
  return {
    requiredParameter: null,
    requestBody: 'json',
    answersJson: true,
    answerModel: [['model']],
    besideVersion: false,
    api: 'openai',
    storesAnswers: false,
    defaultModel: null,
    nullable: null,
    ...endpoint,
  };
}
