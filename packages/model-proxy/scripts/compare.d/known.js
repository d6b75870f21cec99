/**
 * The differences from LiteLLM that we keep, with their reasons. `npm run generate` writes them to
 * docs/reference/litellm-differences.md.
 */

const always = /^/;
const failed = /status \d|an upstream that|an answer that|a timeout|breaks off|unknown model|no model|no messages/;

/**
 * Explained differences. `cases` matches the names of requests, `at` the paths of members. `onlyAddedNull`: only
 * members that LiteLLM adds with null.
 */
export const known = [
  {
    cases: always,
    at: /^body\.model$/,
    topic: '`model` of an answer',
    reason:
      'LiteLLM 1.106 returns the name of the request, and earlier versions `provider/model`. The proxy keeps the earlier form. `litellm_settings.model_name_in_response: requested` selects the newer one.',
  },
  {
    cases: always,
    at: /provider_specific_fields|message\.refusal$|logprobs$/,
    topic: 'Members of choices',
    reason:
      "LiteLLM moves members into `provider_specific_fields`. The proxy forwards the upstream's members unchanged.",
  },
  {
    cases: always,
    at: /^body\.usage/,
    topic: 'Usage',
    reason:
      'LiteLLM adds members with null, 0, or its own counts. The proxy adds nothing to the usage of the upstream.',
  },
  {
    cases: /picture|moderation|completion|ranking/,
    at: /^body\.(?:data|results|background|output_format|quality|size|meta|system_fingerprint|safety_identifier|svg_usage)/,
    topic: 'Members that the upstream did not send',
    reason:
      'LiteLLM adds them with null. The proxy does so only for chat and completions, with `litellm_settings.fill_null_fields`.',
  },
  {
    cases: always,
    at: /^headers\.(?:x-litellm-(?!key)|llm_provider-)/,
    topic: 'Headers `x-litellm-*` and `llm_provider-*`',
    reason:
      'The proxy sends them with each answer, also with errors. LiteLLM omits some of them for errors, images, speech and its own pages. `x-litellm-response-cost` is only in answers with a price.',
  },
  {
    cases: /stream/,
    at: /^upstream\.0\.body\.stream_options$/,
    topic: 'Usage in streams',
    reason:
      'LiteLLM always requests the usage from the upstream. The proxy does so with a store, webhooks, `tpm` or `always_include_stream_usage`.',
  },
  {
    cases: /hosted_vllm|adds|support|drop_params/,
    at: /^upstream\.0\.body\.stream$/,
    topic: '`stream: false`',
    reason:
      'LiteLLM adds it to requests for `hosted_vllm/`. The proxy adds nothing, because false is the default of the server.',
  },
  {
    cases: failed,
    at: /^body\.error\.message$/,
    topic: 'Texts of errors',
    reason:
      "The beginning is the same, with LiteLLM's name of the error and the text of the upstream. LiteLLM adds advice about fallbacks. The proxy adds the model group, and names the fault of the connection.",
  },
  {
    cases: failed,
    at: /^body\.error\.(?:type|code|param)$/,
    topic: '`type`, `code` and `param` of errors',
    reason:
      "The proxy keeps those of the upstream, such as `rate_limit_exceeded`, which OpenAI's SDKs show. LiteLLM replaces them by those of the status. The proxy's own error for a timeout has the type `timeout_error`.",
  },
  {
    cases: /retries/,
    at: /^body\.error/,
    topic: '`num_retries` of an entry',
    reason: 'Both gateways repeat the request. The proxy adds the number of retries to the text of the error.',
  },
  {
    cases: /429/,
    at: /^headers\.retry-after$/,
    topic: '`Retry-After` of the upstream',
    reason: 'The proxy forwards it, so that SDKs wait long enough. LiteLLM drops it.',
  },
  {
    cases: /not JSON$/,
    at: /^status$|error\.code$/,
    topic: 'An answer that is not JSON',
    reason: 'The proxy answers 502, because the upstream failed. LiteLLM answers 500.',
  },
  {
    cases: /a body that is not JSON/,
    at: /^body\.error\.(?:message|param)$/,
    topic: 'A request that is not JSON',
    reason: 'Status 400 and the beginning of the message are the same. The rest of the message differs.',
  },
  {
    cases: /resets/,
    at: /^upstream\.1$/,
    topic: 'A connection that breaks before the answer',
    reason:
      'If the proxy had used the connection before, it repeats the request once on a new connection. The upstream ' +
      'may have closed an idle connection.',
  },
  {
    cases: /(?:no|wrong) key/,
    at: /^status$|^headers\.content-type$|^body/,
    topic: 'Missing and wrong keys',
    reason:
      'The proxy answers 401 in the form that LiteLLM documents. LiteLLM without a database answers 500 with text to a missing key, and 400 to a wrong key.',
  },
  {
    cases: /limit$/,
    at: always,
    topic: '`rpm` of an entry',
    reason:
      'The proxy enforces it, and answers 429 with `Retry-After`. LiteLLM shows it in `x-ratelimit-limit-requests`, but enforces it only with `enforce_model_rate_limits`. Otherwise LiteLLM uses it as a weight.',
  },
  {
    cases: /readiness/,
    at: /^body/,
    topic: '`/health/readiness`',
    reason: 'The proxy has the members that older versions of LiteLLM had.',
  },
  {
    cases: /information about models/,
    at: /^body/,
    topic: '`/v1/model/info`',
    reason:
      'LiteLLM adds prices and abilities from its own list of models. The proxy shows the configured values, and none of the defaults of `litellm_params`.',
  },
  {
    cases: /list of models/,
    at: /^body\.data/,
    topic: '`/v1/models`',
    reason: 'The proxy lists all public names with a wildcard. LiteLLM omits some of them.',
  },
  {
    cases: /response|transcription|file|batch/,
    at: /^body\.|^upstream\.0\.body\.metadata$/,
    onlyAddedNull: true,
    topic: 'Members of responses, transcriptions, files and batches',
    reason: 'LiteLLM adds members with null. The proxy adds none, neither to the request nor to the answer.',
  },
  {
    cases: /response/,
    at: /^body\.id$/,
    topic: 'Ids of responses',
    reason:
      "In both gateways, the id for the client contains the deployment and the upstream's id. LiteLLM now encrypts this id. The proxy keeps LiteLLM's earlier form.",
  },
  {
    cases: /input of a stored response/,
    at: /^upstream\.0\.path$/,
    topic: 'The input of a stored response',
    reason:
      'LiteLLM adds the defaults of `limit` and `order` to the query. The proxy forwards the query of the client.',
  },
  {
    cases: /cancellation/,
    at: /^upstream\.0\.body$/,
    topic: 'The body of a cancellation',
    reason:
      'The upstream needs no body. The proxy sends none for a response, and the body of the client for a batch. LiteLLM sends `{}` for a response, and none for a batch.',
  },
  {
    cases: /unknown response/,
    at: /^status$|^body\.error/,
    topic: 'Unknown responses',
    reason: 'The proxy answers 404, as OpenAI does. LiteLLM answers 400.',
  },
  {
    cases: /transcription/,
    at: /^body\.(?:language|task|duration|segments)$|^upstream\.0\.body\.response_format$/,
    topic: 'The format of transcriptions',
    reason:
      'If the client names no format, LiteLLM requests `verbose_json` from the upstream, and forwards the members of this format. The proxy requests the format that the client wants.',
  },
  {
    cases: /transcription/,
    at: /^upstream\.0\.body\.file\.type$/,
    topic: 'The media type of audio',
    reason: "LiteLLM derives it from the name of the file. The proxy forwards the client's media type.",
  },
  {
    cases: /transcription as text/,
    at: /^headers\.content-type$|^body$/,
    topic: 'Transcriptions as text',
    reason: 'The proxy answers with text, as OpenAI does. LiteLLM answers with JSON.',
  },
  {
    cases: /transcription without a file/,
    at: /^status$|^body|^upstream/,
    topic: 'Transcriptions without a file',
    reason: 'The proxy leaves this check to the upstream. LiteLLM answers 422.',
  },
  {
    cases: /unknown (?:file|batch)/,
    at: /^status$|^headers\.content-type$|^body/,
    topic: 'Unknown files and batches',
    reason:
      "The proxy forwards the upstream's 404 unchanged. LiteLLM adds words and a code for files, and answers 500 with text for batches.",
  },
  {
    cases: /unknown path|wrong method/,
    at: /^body/,
    topic: 'Unknown paths and methods',
    reason: 'The errors of the proxy have OpenAI\'s form. LiteLLM answers `{"detail": …}`.',
  },
];

/** Returns why we keep a difference; undefined: nothing explains it. @param name of the request. */
export function reasonOf(name, { at, left, right }) {
  const isAdded = left === null && right === undefined;
  return known.find((row) => row.cases.test(name) && row.at.test(at) && (row.onlyAddedNull !== true || isAdded))
    ?.reason;
}
