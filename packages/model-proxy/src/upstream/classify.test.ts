import { describe, expect, it } from '@jest/globals';
import { deploymentAt } from '../../test/upstream/sent-request.js';
import { errorOfFailedAnswer, interruptionFault, notJsonFault } from './classify.js';

const KEY = 'sk-upstream-secret';
const selection = { deployment: deploymentAt('https://host/v1', { apiKey: KEY }), modelGroup: 'group' };
const SUFFIX = '. Received Model Group=group\nAvailable Model Group Fallbacks=None';

function error(status: number, body: unknown, headers: readonly string[] = []) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const { message, ...rest } = errorOfFailedAnswer(status, headers, bytes, selection).body.error;
  const made = errorOfFailedAnswer(status, headers, bytes, selection);
  return { status: made.status, kind: made.kind, message, ...rest };
}

/** Returns the status for the client, and the kind of failure. */
function classOf(status: number, body: object) {
  const made = errorOfFailedAnswer(status, [], Buffer.from(JSON.stringify({ error: body })), selection);
  return [made.status, made.failure];
}

describe('the error for a failed answer', () => {
  it.each([
    [400, 400, 'litellm.BadRequestError: Hosted_vllmException - ', 'invalid_request_error'],
    [401, 401, 'litellm.AuthenticationError: AuthenticationError: Hosted_vllmException - ', 'authentication_error'],
    [403, 403, 'litellm.PermissionDeniedError: PermissionDeniedError: Hosted_vllmException - ', 'permission_error'],
    [404, 404, 'litellm.NotFoundError: NotFoundError: Hosted_vllmException - ', 'invalid_request_error'],
    [408, 408, 'litellm.Timeout: Timeout Error: Hosted_vllmException - ', 'timeout_error'],
    [413, 413, 'litellm.APIError: APIError: Hosted_vllmException - ', 'invalid_request_error'],
    [
      422,
      422,
      'litellm.UnprocessableEntityError: UnprocessableEntityError: Hosted_vllmException - ',
      'invalid_request_error',
    ],
    [429, 429, 'litellm.RateLimitError: RateLimitError: Hosted_vllmException - ', 'rate_limit_error'],
    [500, 500, 'litellm.InternalServerError: InternalServerError: Hosted_vllmException - ', 'internal_server_error'],
    [502, 502, 'litellm.BadGatewayError: BadGatewayError: Hosted_vllmException - ', 'internal_server_error'],
    [
      503,
      503,
      'litellm.ServiceUnavailableError: ServiceUnavailableError: Hosted_vllmException - ',
      'internal_server_error',
    ],
    [504, 504, 'litellm.Timeout: Timeout Error: Hosted_vllmException - ', 'internal_server_error'],
    [529, 529, 'litellm.APIError: APIError: Hosted_vllmException - ', 'internal_server_error'],
    [302, 500, 'litellm.InternalServerError: InternalServerError: Hosted_vllmException - ', 'internal_server_error'],
    [999, 500, 'litellm.InternalServerError: InternalServerError: Hosted_vllmException - ', 'internal_server_error'],
  ])("with status %i is LiteLLM's error with status %i", (status, answered, head, type) => {
    expect(error(status, { error: { message: 'why' } })).toEqual({
      status: answered,
      kind: 'upstreamStatus',
      message: `${head}why${SUFFIX}`,
      type,
      param: null,
      code: String(answered),
    });
  });

  it('contains the message, the type, the parameter and the code of the upstream', () => {
    const result = { message: 'must be <= 2.', type: 'invalid_request', param: 'temperature', code: 'too_high' };
    expect(error(400, { error: result })).toEqual({
      status: 400,
      kind: 'upstreamStatus',
      message: `litellm.BadRequestError: Hosted_vllmException - must be <= 2${SUFFIX}`,
      type: 'invalid_request',
      param: 'temperature',
      code: 'too_high',
    });
  });

  it.each([
    [
      "vLLM's older shape",
      { object: 'error', message: 'no', type: 'NotFoundError', param: null, code: 404 },
      'no',
      'NotFoundError',
    ],
    ["Ollama's", { error: 'no' }, 'no', 'invalid_request_error'],
    ["FastAPI's", { detail: 'Not Found' }, 'Not Found', 'invalid_request_error'],
    [
      "FastAPI's list",
      { detail: [{ loc: ['body'], msg: 'no' }] },
      '[{"loc":["body"],"msg":"no"}]',
      'invalid_request_error',
    ],
    ['any other object', { status: 'bad' }, '{"status":"bad"}', 'invalid_request_error'],
    ['a JSON text', '"no"', 'no', 'invalid_request_error'],
    ['text', 'no\nway', 'no way', 'invalid_request_error'],
    ['nothing', '', 'the upstream answered 404 without a message', 'invalid_request_error'],
    ['null', 'null', 'the upstream answered 404 without a message', 'invalid_request_error'],
    [
      'an error of null',
      { error: { message: null } },
      'the upstream answered 404 without a message',
      'invalid_request_error',
    ],
  ])('has a message for the body: %s', (_name, body, message, type) => {
    const result = error(404, body);
    expect([result.message, result.type, result.code]).toEqual([
      `litellm.NotFoundError: NotFoundError: Hosted_vllmException - ${message}${SUFFIX}`,
      type,
      '404',
    ]);
  });

  it('contains the title or the text of an HTML page', () => {
    const nginx =
      '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>no</h1><hr>nginx/1.22</body></html>';
    expect(error(502, nginx).message).toContain('Hosted_vllmException - 502 Bad Gateway. Received');
    const page = `<html><style>p { x: y }</style><p>Sorry, </p>\n<b>down</b>${'<i>word</i> '.repeat(1000)}`;
    expect(error(503, page).message).toMatch(/ - Sorry, down word word .*… \(\d+ characters\)\. Received/s);
    expect(error(503, page).message.length).toBeLessThan(600);
  });

  it('has a limited size even if its body is large', () => {
    const result = error(400, { error: { message: 'x'.repeat(900_000) } });
    expect(result.message.length).toBeLessThan(4300);
    expect(error(400, `{"error":"${'x'.repeat(5_000_000)}"}`).message.length).toBeLessThan(600);
    expect(error(400, '['.repeat(900_000)).message.length).toBeLessThan(600);
    const long = 'x'.repeat(300_000);
    expect(JSON.stringify(error(400, { error: { type: long, code: long, param: long } })).length).toBeLessThan(6000);
    // A search to the end of the page for each of these tags would take minutes.
    for (const tag of ['<title', '<title>', '<script>', '<'])
      expect(error(502, tag.repeat(900_000 / tag.length)).message.length).toBeLessThan(600);
  });

  it('contains the target of a redirect, which the proxy does not follow', () => {
    expect(error(301, '', ['content-type', 'text/html', 'location', 'https://host/v2/']).message).toContain(
      'the upstream answered 301, a redirect to https://host/v2/: the proxy does not follow redirects; set api_base to the final address',
    );
  });

  it.each([
    ["This model's maximum context length is 32000 tokens. However, you requested 40000.", null],
    ['Input is too long', 'context_length_exceeded'],
    ['the request exceeds the available context size (4096 tokens)', null],
    ['`inputs` tokens + `max_new_tokens` must be <= 4096', null],
    ['The prompt is longer than the maximum model length of 8192', null],
  ])('is a context window error with the message %j', (message, code) => {
    const result = error(400, { error: { message, code } });
    expect(result.message).toBe(
      `litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: Hosted_vllmException - ${message.replace(/\.$/, '')}${SUFFIX}`,
    );
    expect([result.status, result.code]).toEqual([400, code ?? '400']);
  });

  it.each([
    [422, '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens'],
    [413, 'Input is too long for requested model.'],
    [400, 'input too long: 5000 input tokens, limit is 4096'],
    [400, 'Current length is 9000 while limit is 8192'],
    [400, 'Input tokens exceed the configured limit of 272000 tokens.'],
    [400, 'Too many input tokens: 210000'],
    [500, 'the request exceeds the available context size'],
  ])('is a context window error for status %d and the message %j', (status, message) => {
    expect(classOf(status, { message })).toEqual([400, 'contextWindow']);
  });

  it.each([401, 404, 429, 503])('is no context window error for status %d', (status) => {
    expect(classOf(status, { message: 'prompt is too long' })).not.toContain('contextWindow');
  });

  it('is a rate limit error if Groq rejects a request with more tokens than its limit per minute', () => {
    expect(classOf(413, { message: 'too large', code: 'rate_limit_exceeded' })).toEqual([429, 'rateLimit']);
  });

  it('has only the headers that tell a client when to retry', () => {
    const headers = [
      'retry-after',
      '7',
      'set-cookie',
      'a=b',
      'x-ratelimit-reset-tokens',
      '1s',
      'x-should-retry',
      'true',
    ];
    expect(
      errorOfFailedAnswer(429, [...headers, 'retry-after-ms', '7000'], Buffer.alloc(0), selection).headers,
    ).toEqual({
      'retry-after': '7',
      'retry-after-ms': '7000',
      'x-ratelimit-reset-tokens': '1s',
      'x-should-retry': 'true',
    });
  });

  it('masks the rejected key', () => {
    expect(error(401, { error: { message: `Incorrect API key provided: ${KEY}, ${KEY}` } }).message).toContain(
      'Incorrect API key provided: ****, ****',
    );
  });
});

describe('a key that the upstream repeats', () => {
  it.each(['code', 'type', 'param', 'message', 'detail'])('is masked in %s', (member) => {
    const made = errorOfFailedAnswer(
      401,
      [],
      Buffer.from(JSON.stringify({ error: { [member]: `no ${KEY}!` } })),
      selection,
    );
    expect(JSON.stringify(made.body)).toContain('no ****!');
    expect(JSON.stringify(made.body)).not.toContain(KEY);
  });

  it('is masked before a long message, a page or a redirect is cut', () => {
    for (let before = 3980; before < 4000; before += 1)
      expect(error(401, { error: { message: 'x'.repeat(before) + KEY } }).message).not.toContain('sk-');
    for (let before = 280; before < 300; before += 1) {
      expect(error(401, `<p>${'x'.repeat(before)}${KEY}</p>`).message).not.toContain('sk-');
      expect(error(302, '', ['location', `/${'x'.repeat(before)}${KEY}`]).message).not.toContain('sk-');
      expect(notJsonFault(200, Buffer.from('x'.repeat(before) + KEY), selection).message).not.toContain('sk-');
    }
  });

  it('is masked in the retry headers', () => {
    const headers = ['retry-after', KEY, 'x-ratelimit-key', `a ${KEY}`];
    expect(errorOfFailedAnswer(429, headers, Buffer.from(''), selection).headers).toEqual({
      'retry-after': '****',
      'x-ratelimit-key': 'a ****',
    });
  });
});

describe('configured secrets', () => {
  it('are masked if they are in headers', () => {
    const extraHeaders = { 'x-api-key': 'geheimnis', authorization: 'Bearer other-key', 'x-team': 'blue' };
    const deployment = deploymentAt('https://host/v1', { apiKey: null, extraHeaders });
    const body = Buffer.from('{"error":{"message":"wrong: geheimnis, other-key, of blue"}}');
    expect(errorOfFailedAnswer(401, [], body, { deployment, modelGroup: 'group' }).message).toContain(
      'wrong: ****, ****, of blue',
    );
  });

  it('are masked only as whole words if they are short, and placeholders are not masked', () => {
    const messageFor = (apiKey: string, message: string) => {
      const deployment = deploymentAt('https://host/v1', { apiKey });
      const body = Buffer.from(JSON.stringify({ error: { message } }));
      return errorOfFailedAnswer(400, [], body, { deployment, modelGroup: 'group' }).message;
    };
    expect(messageFor('1234567', 'no 1234567: 12345678 tokens')).toContain('no ****: 12345678 tokens');
    expect(messageFor('none', 'tool_choice is none')).toContain('tool_choice is none');
  });
});

describe('an answer that ends in order but too early', () => {
  it('is an error of the upstream', () => {
    const fault = interruptionFault('answer', selection);
    expect([fault.status, fault.kind, fault.message]).toEqual([
      500,
      'malformedAnswer',
      `litellm.InternalServerError: InternalServerError: Hosted_vllmException - the stream ended before the answer had finished${SUFFIX}`,
    ]);
    expect(interruptionFault('event', selection).message).toContain('the stream ended in the middle of an event');
  });
});
