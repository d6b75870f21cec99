/** An endpoint is one literal: a path of OpenAI's API, and what the proxy has to know of its bodies. */
export interface Endpoint {
  /** Path below `/v1/` and below an upstream's `api_base`: `chat/completions`. */
  readonly path: string;
  /** Without it the request is refused: `messages`. null: nothing but `model` is asked for. */
  readonly requiredParameter: string | null;
  /** `model_info.mode` of its models, and the metrics' label. */
  readonly mode: string;
  /** Where answers carry the model's name; the first path that is there. Streamed events of `responses` nest it. */
  readonly answerModel: readonly (readonly string[])[];
  /** Shape that `fill_null_fields` completes; null: none. */
  readonly nullable: NullableFields | null;
}

/** Members that the specification always has, null where the upstream does not know them. Not for streamed chunks. */
export interface NullableFields {
  readonly answer: readonly string[];
  readonly choice: readonly string[];
  readonly message: readonly string[];
  readonly usage: readonly string[];
}
