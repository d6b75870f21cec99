/**
 * The upstream behind both gateways. The path and the model's name select its answer. It stores the requests that
 * it gets.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const completion = (model) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello 雪', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
});
const called = {
  index: 0,
  message: {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
  },
  finish_reason: 'tool_calls',
};
const chunk = (model, delta, more = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model,
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const chunks = (model, includesUsage) => [
  chunk(model, { role: 'assistant', content: '' }),
  chunk(model, { content: 'Hel' }),
  chunk(model, { content: 'lo 雪' }),
  chunk(model, {}, { finish_reason: 'stop' }),
  ...(includesUsage ? [{ ...chunk(model, {}), choices: [], usage }] : []),
];

const messageOf = new Map([
  [400, ["'temperature' must be at most 2", 'invalid_request_error', null]],
  [401, ['Incorrect API key provided', 'invalid_request_error', 'invalid_api_key']],
  [403, ['You are not allowed to use this model', 'invalid_request_error', null]],
  [404, ['The model does not exist', 'invalid_request_error', 'model_not_found']],
  [422, ['The input is not valid', 'invalid_request_error', null]],
  [429, ['Rate limit reached for requests', 'requests', 'rate_limit_exceeded']],
  [500, ['The server had an error', 'server_error', null]],
  [503, ['The server is overloaded', 'server_error', null]],
]);

function sendJson(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', 'x-upstream': 'yes', ...headers });
  response.end(JSON.stringify(value));
}

/** Answers with the status in the model's name: `status-429`. */
function fail(response, model) {
  const status = Number(model.slice('status-'.length));
  const [message, type, code] = messageOf.get(status);
  sendJson(
    response,
    status,
    { error: { message, type, param: null, code } },
    status === 429 ? { 'retry-after': '7' } : {},
  );
}

function stream(response, body) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-upstream': 'yes' });
  const events = chunks(body.model, body.stream_options?.include_usage === true);
  const sent = body.model === 'broken-stream' ? events.slice(0, 2) : events;
  for (const event of sent) response.write(`data: ${JSON.stringify(event)}\n\n`);
  if (body.model === 'broken-stream') setTimeout(() => response.destroy(), 50);
  else response.end('data: [DONE]\n\n');
}

const answers = {
  '/v1/chat/completions': (body) =>
    body.tools === undefined ? completion(body.model) : { ...completion(body.model), choices: [called] },
  '/v1/completions': ({ model }) => ({
    ...completion(model),
    id: 'cmpl-1',
    object: 'text_completion',
    choices: [{ text: 'Hello', index: 0, logprobs: null, finish_reason: 'stop' }],
  }),
  '/v1/embeddings': ({ model }) => ({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, -1] }],
    model,
    usage: { prompt_tokens: 2, total_tokens: 2 },
  }),
  '/v1/moderations': ({ model }) => ({
    id: 'modr-1',
    model,
    results: [{ flagged: false, categories: {}, category_scores: {} }],
  }),
  '/v1/images/generations': () => ({ created: 1_700_000_000, data: [{ b64_json: 'aGk=' }] }),
  '/v1/responses': ({ model }) => storedResponse(model),
  '/v1/rerank': () => ({ id: 'r-1', results: [{ index: 0, relevance_score: 0.5 }] }),
};

const storedResponse = (model) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model,
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello 雪', annotations: [] }],
    },
  ],
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
});
const list = (data) => ({ object: 'list', data, first_id: data[0].id, last_id: data.at(-1).id, has_more: false });
const file = {
  id: 'file-1',
  object: 'file',
  bytes: 3,
  created_at: 1_700_000_000,
  filename: 'in.jsonl',
  purpose: 'batch',
  status: 'processed',
};
const batch = (status) => ({
  id: 'batch_1',
  object: 'batch',
  endpoint: '/v1/chat/completions',
  errors: null,
  input_file_id: 'file-1',
  completion_window: '24h',
  status,
  output_file_id: null,
  error_file_id: null,
  created_at: 1_700_000_000,
  request_counts: { total: 1, completed: 0, failed: 0 },
  metadata: null,
});
const inputItem = { id: 'msg_0', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] };

/** Answers of stored objects: method and path → object. */
const storedAnswers = new Map([
  ['GET /v1/responses/resp_1', storedResponse('ok')],
  ['DELETE /v1/responses/resp_1', { id: 'resp_1', object: 'response', deleted: true }],
  ['POST /v1/responses/resp_1/cancel', { ...storedResponse('ok'), status: 'cancelled' }],
  ['GET /v1/responses/resp_1/input_items', list([inputItem])],
  ['POST /v1/files', file],
  ['GET /v1/files', list([file])],
  ['GET /v1/files/file-1', file],
  ['DELETE /v1/files/file-1', { id: 'file-1', object: 'file', deleted: true }],
  ['POST /v1/batches', batch('validating')],
  ['GET /v1/batches', list([batch('completed')])],
  ['GET /v1/batches/batch_1', batch('completed')],
  ['POST /v1/batches/batch_1/cancel', batch('cancelling')],
]);

/** Answers a transcription in the format that the form requests. */
function transcribe(answer, { response_format: format = 'json' }) {
  if (format === 'text') {
    answer.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'x-upstream': 'yes' }).end('Hello 雪\n');
    return;
  }
  const usageOfAudio = { type: 'duration', seconds: 2 };
  const verbose = { task: 'transcribe', language: 'english', duration: 2, segments: [] };
  sendJson(answer, 200, { text: 'Hello 雪', ...(format === 'verbose_json' ? verbose : {}), usage: usageOfAudio });
}

/** Returns the fields of a form. A file is an object with its name, its type and its text. */
async function fieldsOf(type, bytes) {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields = {};
  for (const [name, value] of form)
    fields[name] = typeof value === 'string' ? value : { name: value.name, type: value.type, text: await value.text() };
  return fields;
}

/** Returns the body of a request: the object of JSON, the fields of a form, or the text. */
async function bodyOf({ headers }, bytes) {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) return fieldsOf(type, bytes);
  const text = bytes.toString();
  return text.startsWith('{') ? JSON.parse(text) : text;
}

/** Starts the upstream. @returns its port, `take()` for the requests since the last call, and `close()`. */
export async function startUpstream() {
  const requests = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', async () => {
      const { pathname } = new URL(request.url, 'http://upstream');
      const body = await bodyOf(request, Buffer.concat(pieces));
      requests.push({ method: request.method, path: request.url, headers: request.headers, body });
      const stored = storedAnswers.get(`${request.method} ${pathname}`);
      const { model = '' } = body;
      if (model.startsWith('status-')) fail(response, model);
      else if (model === 'reset') request.socket.destroy();
      else if (model === 'hang') return;
      else if (model === 'not-json') response.writeHead(200, { 'content-type': 'application/json' }).end('<html>');
      else if (body.stream === true) stream(response, body);
      else if (pathname === '/v1/audio/speech') response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound');
      else if (pathname === '/v1/audio/transcriptions') transcribe(response, body);
      else if (pathname === '/v1/files/file-1/content')
        response.writeHead(200, { 'content-type': 'text/plain' }).end('{}\n');
      else if (stored !== undefined) sendJson(response, 200, stored);
      else if (answers[pathname] === undefined)
        sendJson(response, 404, { error: { message: 'no such path', type: 'x', param: null, code: null } });
      else sendJson(response, 200, answers[pathname](body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: server.address().port,
    take: () => requests.splice(0),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
