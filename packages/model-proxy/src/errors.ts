/**
 * What goes wrong on the way of a request, in OpenAI's shape with LiteLLM's statuses. Every error that a client sees is a
 * {@link ProxyError}: one that a client or this proxy has to answer for is made by a factory of this table, an upstream's by
 * upstream/classify.ts (what it answered) or upstream/connection-faults.ts (where it did not).
 * @see https://docs.litellm.ai/docs/exception_mapping
 */

/** The body of every error answer. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    /** `invalid_request_error`, `authentication_error`, …; by status where nothing better is known. */
    readonly type: string;
    /** The request's field that is at fault. */
    readonly param: string | null;
    /** LiteLLM: the status as a string, or the upstream's own code (`context_length_exceeded`). */
    readonly code: string;
  };
}

export interface ProxyErrorOptions {
  /** HTTP status of the answer. */
  readonly status: number;
  readonly message: string;
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string;
  /** Headers of the answer beside the usual ones, lower case: `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Metrics and logs group by it. */
  readonly kind: ErrorKind;
  readonly cause?: unknown;
}

/** Whose fault it was, and how: the value of the metrics' label. */
export type ErrorKind =
  | 'request' // the client's
  | 'authentication' // the client's key
  | 'upstreamStatus' // the upstream answered 4xx or 5xx
  | 'connection' // refused, reset, no such host
  | 'tls'
  | 'timeout'
  | 'malformedAnswer' // what came is no HTTP, no JSON, too large, or breaks off
  | 'unavailable' // this proxy is leaving
  | 'internal'; // ours

/** An error with an answer of its own. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly kind: ErrorKind;

  constructor(options: ProxyErrorOptions) {
    super(options.message, options.cause === undefined ? {} : { cause: options.cause });
    this.status = options.status;
    this.type = options.type ?? typeOfStatus(options.status);
    this.param = options.param ?? null;
    this.code = options.code ?? String(options.status);
    this.headers = options.headers ?? {};
    this.kind = options.kind;
  }

  get body(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

/** OpenAI's word for a status. */
export function typeOfStatus(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 408:
      return 'timeout_error';
    case 429:
      return 'rate_limit_error';
    default:
      return status >= 500 ? 'internal_server_error' : 'invalid_request_error';
  }
}

/** A client's fault: 400 unless it says otherwise. */
function requestFault(message: string, more: Partial<ProxyErrorOptions> = {}): ProxyError {
  return new ProxyError({ status: 400, kind: 'request', message, ...more });
}

/** How much of what a client sent is repeated to it. */
const MAX_QUOTED = 200;
/** How many model names an error lists; `/v1/models` has them all. */
const MAX_LISTED = 50;

function quote(text: string): string {
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

function megabytes(bytes: number): string {
  return String(Number((bytes / 1_048_576).toFixed(3)));
}

/** The body is no JSON object. @param fault what is wrong, and the byte where it shows. */
export function invalidJson(fault: { readonly message: string; readonly offset: number }): ProxyError {
  return requestFault(`Invalid JSON payload: ${fault.message} at byte ${fault.offset}.`, { cause: fault });
}

const ambiguities = {
  duplicate: 'stands there more than once',
  escaped: 'is spelled with escapes',
  capital: 'is spelled with capital letters',
};

/** Two members of one name, or a name in escapes or another case: this proxy and the upstream could read different things. */
export function ambiguousMember(name: string, why: keyof typeof ambiguities): ProxyError {
  return requestFault(`Invalid JSON payload: the key '${name}' ${ambiguities[why]}.`, { param: name });
}

/** @param name lower case. @param expected what it should have been: `expected a number of seconds`. */
export function invalidHeader(name: string, expected: string): ProxyError {
  return requestFault(`Invalid header '${name}': ${expected}.`, { param: name });
}

/** The body is no multipart/form-data. @param name of the field that is at fault. */
export function invalidMultipart(why: string, name: string | null = null): ProxyError {
  return requestFault(`Invalid multipart payload: ${why}.`, { param: name });
}

/** Two fields of one name: this proxy and the upstream could read different ones. */
export function repeatedField(name: string): ProxyError {
  return invalidMultipart(`the form field '${name}' is given more than once`, name);
}

/** What is called `model` has a file's name. */
export function modelIsFile(): ProxyError {
  return invalidMultipart("the form field 'model' must be text, not a file", 'model');
}

/** A body of another kind than the path takes. @param got the content type as sent. */
export function unsupportedContentType(got: string, wanted: string): ProxyError {
  return requestFault(`Unsupported content type '${quote(got)}': send ${wanted}.`, { status: 415 });
}

/** Compressed bodies would have to be undone before their model is known. RFC 9110 §12.5.3: says what is accepted. */
export function unsupportedContentEncoding(got: string): ProxyError {
  return requestFault(`Unsupported content encoding '${quote(got)}': send the body uncompressed.`, {
    status: 415,
    headers: { 'accept-encoding': 'identity' },
  });
}

/** @param bytes of the body where its length is known beforehand. */
export function requestTooLarge(limitBytes: number, bytes: number | undefined): ProxyError {
  const size = bytes === undefined ? '' : ` Request size is ${megabytes(bytes)} MB.`;
  return requestFault(`Request size is too large.${size} Max size is ${megabytes(limitBytes)} MB.`, { status: 413 });
}

/** An answer that would have to be kept whole. @param bytes that were announced, or have come already. */
export function responseTooLarge(limitBytes: number, bytes: number): ProxyError {
  return new ProxyError({
    status: 502,
    kind: 'malformedAnswer',
    message:
      `Response size is too large. Response size is ${megabytes(bytes)} MB or more. Max size is ${megabytes(limitBytes)} MB: ` +
      'general_settings.max_response_size_mb.',
  });
}

/** @param path below `/v1/`: `chat/completions`. */
export function missingModel(path: string, known: readonly string[]): ProxyError {
  return invalidModel(path, 'None', known);
}

/** @param model what the client asked for. */
export function unknownModel(path: string, model: string, known: readonly string[]): ProxyError {
  return invalidModel(path, quote(model), known);
}

/** A model that is configured, but not as anything that this proxy speaks. @param reason of `ProxySettings.unserved`. */
export function unservedModel(path: string, model: string, reason: string): ProxyError {
  return requestFault(
    `/${path}: Invalid model name passed in model=${quote(model)}. It is configured, but ${reason}.`,
    {
      param: 'model',
    },
  );
}

/** LiteLLM's sentence, which clients look for, and what it leaves them to find out. */
function invalidModel(path: string, shown: string, known: readonly string[]): ProxyError {
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : '';
  const names = known.length === 0 ? 'none' : `${known.slice(0, MAX_LISTED).join(', ')}${more}`;
  return requestFault(
    `/${path}: Invalid model name passed in model=${shown}. Call \`/v1/models\` to view available models for your key. ` +
      `Known models: ${names}.`,
    { param: 'model' },
  );
}

/** `model` is there and is no text. */
export function modelNotText(path: string): ProxyError {
  return requestFault(`/${path}: Invalid type for 'model': expected a string.`, { param: 'model' });
}

/** @param name `messages`. */
export function missingParameter(path: string, name: string): ProxyError {
  return requestFault(`/${path}: Missing required parameter: '${name}'.`, { param: name });
}

/** A parameter that speaks to this proxy and makes no sense. @param why `is too long`. */
export function invalidParameter(name: string, why: string): ProxyError {
  return requestFault(`Invalid request: '${name}' ${why}.`, { param: name });
}

/**
 * Parameters that the upstream does not understand, and nobody said to leave them out. LiteLLM's words: clients and their users
 * look for them.
 * @param names in the order of the request.
 */
export function unsupportedParameters(names: readonly string[], provider: string, upstreamModel: string): ProxyError {
  // As Python prints a list.
  const list = `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return requestFault(
    `litellm.UnsupportedParamsError: ${provider} does not support parameters: ${list}, for model=${upstreamModel}. ` +
      'To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. ' +
      `\n If you want to use these params dynamically send allowed_openai_params=${list} in your request.`,
    { param: names[0] ?? null },
  );
}

export function noSuchPath(method: string, path: string): ProxyError {
  return requestFault(`There is no ${quote(method)} ${quote(path)} here.`, { status: 404 });
}

/** A route of LiteLLM's that this proxy does not implement. @param page URL of its documentation. */
export function notImplemented(method: string, path: string, page: string): ProxyError {
  return requestFault(
    `${quote(method)} ${quote(path)} is not implemented here. It is a route of LiteLLM's proxy: ${page}. GET /routes lists the routes ` +
      'that this proxy serves.',
    { status: 501, type: 'not_implemented_error' },
  );
}

/** @param allow the methods that the path has: `GET, HEAD`. */
export function methodNotAllowed(method: string, path: string, allow: string): ProxyError {
  return requestFault(`${quote(path)} has no ${quote(method)}, it has ${allow}.`, { status: 405, headers: { allow } });
}

/** A path that only a WebSocket can be opened at. RFC 9110 §15.5.22: says what to upgrade to. */
export function webSocketOnly(path: string): ProxyError {
  return requestFault(`${quote(path)} is for WebSockets: ask with 'Upgrade: websocket'.`, {
    status: 426,
    headers: { upgrade: 'websocket' },
  });
}

/** RFC 6455 §4.4: says which version there is. */
export function webSocketVersion(): ProxyError {
  return requestFault("A WebSocket handshake must have 'Sec-WebSocket-Version: 13'.", {
    status: 426,
    headers: { upgrade: 'websocket', 'sec-websocket-version': '13' },
  });
}

/** @param required what is missing: `HTTP/1.1`. */
export function badHandshake(required: string): ProxyError {
  return requestFault(`A WebSocket handshake must have ${required}.`);
}

/** Raw pass-through has nowhere to go to. @param remedy what would give it a place. */
export function noDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${quote(path)}: no deployment is configured that it could be passed on to: ${remedy}.`);
}

/** Raw pass-through could go to several places. @param remedy how a client or the configuration chooses. */
export function unclearDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${quote(path)}: it is not clear which deployment is meant: ${remedy}.`);
}

/** A form names its deployment when most of it has gone to another one. */
export function lateChoice(name: string): ProxyError {
  return requestFault(
    `The field '${quote(name)}' stands behind the form's file, which is on its way by then: put it before the file, or name the ` +
      'deployment by ?model=<public name> or ?custom_llm_provider=<provider>.',
    { param: name },
  );
}

/** What `/v1/models/{id}` says of a model that there is not; OpenAI's words. */
export function modelNotFound(model: string): ProxyError {
  return requestFault(`The model '${quote(model)}' does not exist.`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}

/** RFC 9110 §11.6.1: a 401 names a scheme. */
const challenge = { 'www-authenticate': 'Bearer' };

export function noKeyPassed(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'auth_error',
    message: 'Authentication Error, No api key passed in.',
    headers: challenge,
  });
}

/** Says nothing of the key that was sent. */
export function wrongKeyPassed(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'token_not_found_in_db',
    param: 'key',
    message: 'Authentication Error, Invalid proxy server token passed.',
    headers: challenge,
  });
}

/** `general_settings.allowed_ips`; LiteLLM's words. */
export function addressNotAllowed(address: string): ProxyError {
  return forbidden(`Access forbidden: IP address ${quote(address)} not allowed.`);
}

/** `general_settings.allowed_routes`; LiteLLM's words. */
export function routeNotAllowed(path: string): ProxyError {
  return forbidden(`Access forbidden: Route ${quote(path)} not allowed`);
}

function forbidden(message: string): ProxyError {
  return new ProxyError({ status: 403, kind: 'authentication', message });
}

/** `general_settings.enforce_user_param`; LiteLLM's words. */
export function missingUser(): ProxyError {
  return requestFault("'user' param not passed in. 'enforce_user_param'=True", { param: 'user' });
}

/** The same for a raw request or a WebSocket, in which the proxy does not look for `user`. */
export function uncheckedUser(path: string): ProxyError {
  return requestFault(`${quote(path)} is not served: 'enforce_user_param' cannot be checked there.`, { status: 403 });
}

/** A deployment has had its requests of this minute (`rpm`), and so has every other of its group. */
export function deploymentLimited(rpm: number, retryAfterSeconds: number): ProxyError {
  return requestFault(
    `litellm.RateLimitError: Model rate limit exceeded. RPM limit=${rpm}. Try again in ${retryAfterSeconds} seconds.`,
    { status: 429, headers: { 'retry-after': String(retryAfterSeconds) } },
  );
}

/** The rest of a body has not come for a long time. */
export function stalledRequest(): ProxyError {
  return requestFault('The request did not arrive in time.', { status: 408 });
}

/** What could not even be read as HTTP. */
export function unreadableRequest(status: number, message: string): ProxyError {
  return requestFault(message, { status, type: typeOfStatus(400) });
}

/** RFC 9112 §3.2: HTTP/1.1 requires one, and nothing has two. */
export function wrongHost(): ProxyError {
  return requestFault('The request has to have one Host header.');
}

/** This proxy takes no more requests. */
export function shuttingDown(): ProxyError {
  return new ProxyError({ status: 503, message: 'the proxy is shutting down', kind: 'unavailable' });
}

/** The fault is ours: the client hears of it, its cause stays in the log. */
export function internalError(cause: unknown): ProxyError {
  return new ProxyError({ status: 500, kind: 'internal', message: 'Internal server error.', cause });
}

/** Any thrown value as an error with an answer: a {@link ProxyError} as it is, everything else is our fault. */
export function toProxyError(thrown: unknown): ProxyError {
  return thrown instanceof ProxyError ? thrown : internalError(thrown);
}
