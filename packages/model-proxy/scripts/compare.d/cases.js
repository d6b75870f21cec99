/** The requests that both gateways get. The model's name in a request selects the behavior of the upstream. */

const messages = [{ role: 'user', content: 'hello' }];
const chat = (model, more = {}) => ({ path: '/v1/chat/completions', body: { model, messages, ...more } });
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];

/** Names of models, the upstream's names for them, and further parameters. */
export const models = [
  ['chat', 'openai/ok', { use_in_pass_through: true }],
  ['vllm', 'hosted_vllm/ok'],
  ['dropping', 'hosted_vllm/ok', { drop_params: true }],
  ['limited', 'openai/ok', { rpm: 1 }],
  ['slow', 'openai/hang', { timeout: 1 }],
  ['*-any', 'openai/*'],
  ...['broken-stream', 'reset', 'not-json'].map((name) => [name, `openai/${name}`]),
  ...[400, 401, 403, 404, 422, 429, 500, 503].map((status) => [`status-${status}`, `openai/status-${status}`]),
  ['closed', 'openai/ok', { api_base: 'http://127.0.0.1:9/v1' }],
  ['with-fallback', 'openai/status-500'],
  ['retried', 'openai/status-500', { num_retries: 1 }],
];

const audio = { name: 'hello.wav', type: 'audio/wav', text: 'RIFF sound' };
const transcription = (more = {}) => ({
  path: '/v1/audio/transcriptions',
  form: { model: 'chat', ...more, file: audio },
});
const batchLine = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body: { model: 'ok', messages } };
const lines = { name: 'in.jsonl', type: 'application/jsonl', text: `${JSON.stringify(batchLine)}\n` };
const wantedBatch = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' };
/** Requests the response of the case before. */
const storedResponse =
  (method, rest = '') =>
  ({ id }) => ({ method, path: `/v1/responses/${id}${rest}` });

/**
 * The requests: name, path, and body, form or raw text. Some have a method, a key or headers of their own. A
 * function makes the request from the body of the answer before.
 * @type {readonly (readonly [string, object | ((before: object) => object)])[]}
 */
export const cases = [
  ['a chat', chat('chat')],
  ['a chat with parameters', chat('chat', { temperature: 0.5, top_p: 1, n: 1, stop: ['a'], seed: 3, max_tokens: 9 })],
  ['a chat with parameters that the server adds', chat('vllm', { top_k: 5, min_p: 0.1, guided_json: {} })],
  ['a chat with tools', chat('chat', { tools, tool_choice: 'auto' })],
  ['a stream', chat('chat', { stream: true })],
  ['a stream with usage', chat('chat', { stream: true, stream_options: { include_usage: true } })],
  ['a chat of hosted_vllm', chat('vllm')],
  ['a stream of hosted_vllm', chat('vllm', { stream: true })],
  ['a parameter that the server does not support', chat('vllm', { service_tier: 'auto' })],
  ['the same with drop_params', chat('dropping', { service_tier: 'auto' })],
  ['a completion', { path: '/v1/completions', body: { model: 'chat', prompt: 'hello' } }],
  ['embeddings', { path: '/v1/embeddings', body: { model: 'chat', input: ['hello'] } }],
  ['a moderation', { path: '/v1/moderations', body: { model: 'chat', input: 'hello' } }],
  ['a picture', { path: '/v1/images/generations', body: { model: 'chat', prompt: 'hello' } }],
  ['speech', { path: '/v1/audio/speech', body: { model: 'chat', input: 'hello', voice: 'alloy' } }],
  ['ranking', { path: '/v1/rerank', body: { model: 'vllm', query: 'q', documents: ['a'] } }],
  ['a chat without /v1', { path: '/chat/completions', body: { model: 'chat', messages } }],
  ["Azure's path", { path: '/openai/deployments/chat/chat/completions', body: { messages } }],
  ["the engine's path", { path: '/engines/chat/chat/completions', body: { messages } }],
  ['a model of a wildcard', chat('other-any')],
  ['the list of models', { method: 'GET', path: '/v1/models' }],
  ['one model', { method: 'GET', path: '/v1/models/chat' }],
  ['information about models', { method: 'GET', path: '/v1/model/info' }],
  ['liveliness', { method: 'GET', path: '/health/liveliness', key: null }],
  ['readiness', { method: 'GET', path: '/health/readiness', key: null }],
  ...[400, 401, 403, 404, 422, 429, 500, 503].map((status) => [
    `status ${status} of the upstream`,
    chat(`status-${status}`),
  ]),
  ['status 500 of the upstream, for a stream', chat('status-500', { stream: true })],
  ['an upstream that resets', chat('reset')],
  ['an upstream that does not listen', chat('closed')],
  ['an answer that is not JSON', chat('not-json')],
  ['a timeout', chat('slow')],
  ['a stream that breaks off', chat('broken-stream', { stream: true })],
  ['an unknown model', chat('nothing')],
  ['no model', { path: '/v1/chat/completions', body: { messages } }],
  ['no messages', { path: '/v1/chat/completions', body: { model: 'chat' } }],
  ['a body that is not JSON', { path: '/v1/chat/completions', text: '{"model": "chat", ' }],
  ['no key', { ...chat('chat'), key: null }],
  ['a wrong key', { ...chat('chat'), key: 'sk-wrong' }],
  ['a key in x-api-key', { ...chat('chat'), key: null, headers: { 'x-api-key': 'sk-master' } }],
  ['a key in api-key', { ...chat('chat'), key: null, headers: { 'api-key': 'sk-master' } }],
  ['no key for the list of models', { method: 'GET', path: '/v1/models', key: null }],
  ['a fallback', chat('with-fallback')],
  ['retries', chat('retried')],
  ['a fallback in the body', chat('status-500', { fallbacks: ['chat'] })],
  ['the first request of a limit', chat('limited')],
  ['a request above the limit', chat('limited')],
  ['a call id of the client', { ...chat('chat'), headers: { 'x-litellm-call-id': 'my-call' } }],
  ['a timeout in a header', { ...chat('slow'), headers: { 'x-litellm-timeout': '0.5' } }],
  ['metadata and tags', chat('chat', { metadata: { tags: ['a'] } })],
  ['an unknown path', { path: '/v1/nothing', body: {} }],
  ['a wrong method', { method: 'GET', path: '/v1/chat/completions' }],
  ['a response', { path: '/v1/responses', body: { model: 'chat', input: 'hello' } }],
  ['the stored response', storedResponse('GET')],
  ['the input of a stored response', storedResponse('GET', '/input_items')],
  ['a response to cancel', { path: '/v1/responses', body: { model: 'chat', input: 'hello', background: true } }],
  ['the cancellation of a response', storedResponse('POST', '/cancel')],
  ['a response to delete', { path: '/v1/responses', body: { model: 'chat', input: 'hello' } }],
  ['the deletion of a response', storedResponse('DELETE')],
  ['an unknown response', { method: 'GET', path: '/v1/responses/resp_nothing' }],
  ['a transcription', transcription()],
  [
    'a transcription with segments',
    transcription({ response_format: 'verbose_json', language: 'en', temperature: '0' }),
  ],
  ['a transcription as text', transcription({ response_format: 'text' })],
  ['a transcription without a file', { path: '/v1/audio/transcriptions', form: { model: 'chat' } }],
  ['a transcription, status 429 of the upstream', transcription({ model: 'status-429' })],
  ['a file', { path: '/v1/files', form: { purpose: 'batch', file: lines } }],
  ['a file of a provider', { path: '/openai/v1/files', form: { purpose: 'batch', file: lines } }],
  ['the list of files', { method: 'GET', path: '/v1/files' }],
  ['information about a file', { method: 'GET', path: '/v1/files/file-1' }],
  ['the content of a file', { method: 'GET', path: '/v1/files/file-1/content' }],
  ['the deletion of a file', { method: 'DELETE', path: '/v1/files/file-1' }],
  ['an unknown file', { method: 'GET', path: '/v1/files/file-nothing' }],
  ['a batch', { path: '/v1/batches', body: wantedBatch }],
  ['the list of batches', { method: 'GET', path: '/v1/batches?limit=2' }],
  ['information about a batch', { method: 'GET', path: '/v1/batches/batch_1' }],
  ['the cancellation of a batch', { path: '/v1/batches/batch_1/cancel', body: {} }],
  ['an unknown batch', { method: 'GET', path: '/v1/batches/batch_nothing' }],
];
