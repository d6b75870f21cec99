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
  '/v1/rerank': () => ({ id: 'r-1', results: [{ index: 0, relevance_score: 0.5 }] }),
};

/** Starts the upstream. @returns its port, `take()` for the requests since the last call, and `close()`. */
export async function startUpstream() {
  const requests = [];
  const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const { pathname } = new URL(request.url, 'http://upstream');
      const text = Buffer.concat(pieces).toString();
      const body = text.startsWith('{') ? JSON.parse(text) : {};
      requests.push({ path: request.url, headers: request.headers, body: text.startsWith('{') ? body : text });
      const { model = '' } = body;
      if (model.startsWith('status-')) fail(response, model);
      else if (model === 'reset') request.socket.destroy();
      else if (model === 'hang') return;
      else if (model === 'not-json') response.writeHead(200, { 'content-type': 'application/json' }).end('<html>');
      else if (body.stream === true) stream(response, body);
      else if (pathname === '/v1/audio/speech') response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound');
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
