/**
 * All errors that a client can see, in OpenAI's format with LiteLLM's statuses. Each is a
 * {@link ProxyError}. The factories in this file make the errors of clients and of this proxy.
 * upstream/classify.ts makes those of upstream answers, upstream/connection-faults.ts those of
 * upstream connections.
 * @see https://docs.litellm.ai/docs/exception_mapping
 */

/** The body of every error answer. */
interface ErrorBody {
  readonly error: {
    readonly message: string;
    /** `invalid_request_error`, `authentication_error`, …; derived from the status by default. */
    readonly type: string;
    /** The faulty field of the request. */
    readonly param: string | null;
    /**
     * As in LiteLLM: the status as a string, or the upstream's code (`context_length_exceeded`).
     */
    readonly code: string;
  };
}

/** Options of {@link ProxyError}. */
interface ProxyErrorOptions {
  /** HTTP status of the answer. */
  readonly status: number;
  readonly message: string;
  readonly type?: string;
  readonly param?: string | null;
  readonly code?: string;
  /** Additional headers of the answer, in lower case: `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Groups errors in metrics and logs. */
  readonly kind: ErrorKind;
  readonly cause?: unknown;
}

/** The kind of an error, which tells its origin; also a label value of the metrics. */
export type ErrorKind =
  | 'request' // the client's request is faulty
  | 'authentication' // the client's key is missing or wrong
  | 'upstreamStatus' // the upstream answered 4xx or 5xx
  | 'connection' // refused, reset, host not found
  | 'tls'
  | 'timeout'
  | 'malformedAnswer' // not HTTP, not JSON, too large, or incomplete
  | 'unavailable' // this proxy is shutting down
  | 'internal'; // a fault of this proxy

/** An error that becomes an answer. */
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

/** Returns OpenAI's error type for a status. */
function typeOfStatus(status: number): string {
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

/** Makes an error for a fault of the client, with status 400 by default. */
function requestFault(message: string, more: Partial<ProxyErrorOptions> = {}): ProxyError {
  return new ProxyError({ status: 400, kind: 'request', message, ...more });
}

/** Longest part of a client's text that an error repeats, in characters. */
const MAX_QUOTED = 200;
/** Number of model names that an error lists. `/v1/models` lists all. */
const MAX_LISTED = 50;

function quote(text: string): string {
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}

function megabytes(bytes: number): string {
  return String(Number((bytes / 1_048_576).toFixed(3)));
}

/** The body is not a JSON object. @param fault describes the fault and its position in bytes. */
export function invalidJson(fault: { readonly message: string; readonly offset: number }): ProxyError {
  return requestFault(`Invalid JSON payload: ${fault.message} at byte ${fault.offset}.`, { cause: fault });
}

const ambiguities = {
  duplicate: 'occurs more than once',
  escaped: 'is spelled with escapes',
  capital: 'is spelled with capital letters',
};

/**
 * A member occurs twice, or its name is escaped or in another case: proxy and upstream could read
 * different values.
 */
export function ambiguousMember(name: string, why: keyof typeof ambiguities): ProxyError {
  return requestFault(`Invalid JSON payload: the key '${name}' ${ambiguities[why]}.`, { param: name });
}

/**
 * A header has an invalid value.
 * @param name lower case.
 * @param expected for example `expected a number of seconds`.
 */
export function invalidHeader(name: string, expected: string): ProxyError {
  return requestFault(`Invalid header '${name}': ${expected}.`, { param: name });
}

/** The body is not valid multipart/form-data. @param name the faulty field. */
export function invalidMultipart(why: string, name: string | null = null): ProxyError {
  return requestFault(`Invalid multipart payload: ${why}.`, { param: name });
}

/** A form field occurs twice: proxy and upstream could read different values. */
export function repeatedField(name: string): ProxyError {
  return invalidMultipart(`the form field '${name}' is given more than once`, name);
}

/** The form field `model` has a file name. */
export function modelIsFile(): ProxyError {
  return invalidMultipart("the form field 'model' must be text, not a file", 'model');
}

/** The path does not accept this type of body. @param got the content type as sent. */
export function unsupportedContentType(got: string, wanted: string): ProxyError {
  return requestFault(`Unsupported content type '${quote(got)}': send ${wanted}.`, { status: 415 });
}

/**
 * The body is compressed: the proxy cannot read the model's name in it. RFC 9110 §12.5.3 requires
 * `accept-encoding`.
 */
export function unsupportedContentEncoding(got: string): ProxyError {
  return requestFault(`Unsupported content encoding '${quote(got)}': send the body uncompressed.`, {
    status: 415,
    headers: { 'accept-encoding': 'identity' },
  });
}

/** The body has a transfer coding that Node does not undo (RFC 9112 §6.1). */
export function unsupportedTransferCoding(got: string): ProxyError {
  return requestFault(`Unsupported transfer coding '${quote(got)}': send the body in chunks, or with its length.`, {
    status: 501,
  });
}

/** The body is too large. @param bytes its length, if it is known. */
export function requestTooLarge(limitBytes: number, bytes: number | undefined): ProxyError {
  const size = bytes === undefined ? '' : ` Request size is ${megabytes(bytes)} MB.`;
  return requestFault(`Request size is too large.${size} Max size is ${megabytes(limitBytes)} MB.`, { status: 413 });
}

/** The body has more chunks than the proxy reads. */
export function tooManyChunks(): ProxyError {
  return requestFault('The request body has too many small chunks: send larger chunks, or a Content-Length header.');
}

/** The answer is too large to be held in memory. @param bytes announced or received so far. */
export function responseTooLarge(limitBytes: number, bytes: number): ProxyError {
  return new ProxyError({
    status: 502,
    kind: 'malformedAnswer',
    message:
      `Response size is too large. Response size is ${megabytes(bytes)} MB or more. Max size is ${megabytes(limitBytes)} MB: ` +
      'general_settings.max_response_size_mb.',
  });
}

/** The request names no model. @param path below `/v1/`: `chat/completions`. */
export function missingModel(path: string, known: readonly string[]): ProxyError {
  return invalidModel(path, 'None', known);
}

/** There is no such model. @param model the requested name. */
export function unknownModel(path: string, model: string, known: readonly string[]): ProxyError {
  return invalidModel(path, quote(model), known);
}

/** The model is configured but cannot be served. @param reason from `ProxySettings.unserved`. */
export function unservedModel(path: string, model: string, reason: string): ProxyError {
  return requestFault(
    `/${path}: Invalid model name passed in model=${quote(model)}. It is configured, but ${reason}.`,
    {
      param: 'model',
    },
  );
}

/** Makes LiteLLM's sentence, which clients search for, and adds the list of models. */
function invalidModel(path: string, shown: string, known: readonly string[]): ProxyError {
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : '';
  const names = known.length === 0 ? 'none' : `${known.slice(0, MAX_LISTED).join(', ')}${more}`;
  return requestFault(
    `/${path}: Invalid model name passed in model=${shown}. Call \`/v1/models\` to view available models for your key. ` +
      `Known models: ${names}.`,
    { param: 'model' },
  );
}

/** `model` is not a string. */
export function modelNotText(path: string): ProxyError {
  return requestFault(`/${path}: Invalid type for 'model': expected a string.`, { param: 'model' });
}

/** A required parameter is missing. @param name for example `messages`. */
export function missingParameter(path: string, name: string): ProxyError {
  return requestFault(`/${path}: Missing required parameter: '${name}'.`, { param: name });
}

/** A parameter that this proxy evaluates is invalid. @param why for example `is too long`. */
export function invalidParameter(name: string, why: string): ProxyError {
  return requestFault(`Invalid request: '${name}' ${why}.`, { param: name });
}

/**
 * The provider does not support parameters, and `drop_params` is off. The text is LiteLLM's,
 * because clients and users search for it.
 * @param names in the order of the request.
 */
export function unsupportedParameters(names: readonly string[], provider: string, upstreamModel: string): ProxyError {
  // Formatted as Python prints a list.
  const list = `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return requestFault(
    `litellm.UnsupportedParamsError: ${provider} does not support parameters: ${list}, for model=${upstreamModel}. ` +
      'To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. ' +
      `\n If you want to use these params dynamically send allowed_openai_params=${list} in your request.`,
    { param: names[0] ?? null },
  );
}

/** The provider's API has no such endpoint. @param path below `/v1/`: `embeddings`. */
export function unsupportedEndpoint(path: string, provider: string): ProxyError {
  return requestFault(`/${path}: the provider '${provider}' does not have this endpoint.`, { param: 'model' });
}

/** There is no such path. */
export function noSuchPath(method: string, path: string): ProxyError {
  return requestFault(`There is no ${quote(method)} ${quote(path)} here.`, { status: 404 });
}

/** LiteLLM has this route, but this proxy does not. @param page URL of LiteLLM's documentation. */
export function notImplemented(method: string, path: string, page: string): ProxyError {
  return requestFault(
    `${quote(method)} ${quote(path)} is not implemented here. It is a route of LiteLLM's proxy: ${page}. GET /routes lists the routes ` +
      'that this proxy serves.',
    { status: 501, type: 'not_implemented_error' },
  );
}

/** The path does not support the method. @param allow the methods that it supports: `GET, HEAD`. */
export function methodNotAllowed(method: string, path: string, allow: string): ProxyError {
  return requestFault(`${quote(path)} does not support ${quote(method)}. It supports ${allow}.`, {
    status: 405,
    headers: { allow },
  });
}

/** The path only accepts WebSockets. RFC 9110 §15.5.22 requires the header `upgrade`. */
export function webSocketOnly(path: string): ProxyError {
  return requestFault(`${quote(path)} only accepts WebSockets: send 'Upgrade: websocket'.`, {
    status: 426,
    headers: { upgrade: 'websocket' },
  });
}

/**
 * The WebSocket version is not supported. RFC 6455 §4.4 requires the header
 * `sec-websocket-version`.
 */
export function webSocketVersion(): ProxyError {
  return requestFault("A WebSocket handshake must have 'Sec-WebSocket-Version: 13'.", {
    status: 426,
    headers: { upgrade: 'websocket', 'sec-websocket-version': '13' },
  });
}

/** The WebSocket handshake is invalid. @param required what is missing: `HTTP/1.1`. */
export function badHandshake(required: string): ProxyError {
  return requestFault(`A WebSocket handshake must have ${required}.`);
}

/** Raw pass-through has no deployment for the path. @param remedy how to configure one. */
export function noDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${quote(path)}: no deployment is configured that it could be passed on to: ${remedy}.`);
}

/**
 * Raw pass-through has several deployments for the path.
 * @param remedy how the client or the configuration selects one.
 */
export function unclearDeployment(path: string, remedy: string): ProxyError {
  return requestFault(`${quote(path)}: it is not clear which deployment is meant: ${remedy}.`);
}

/**
 * The form names its deployment too late: most of the form has already been sent to another one.
 */
export function lateChoice(name: string): ProxyError {
  return requestFault(
    `The field '${quote(name)}' follows the form's file, which the proxy is already forwarding: put it before the file, or name the ` +
      'deployment by ?model=<public name> or ?custom_llm_provider=<provider>.',
    { param: name },
  );
}

/** `/v1/models/{id}` has no such model; OpenAI's wording. */
export function modelNotFound(model: string): ProxyError {
  return requestFault(`The model '${quote(model)}' does not exist.`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}

/** RFC 9110 §11.6.1: a 401 must name a scheme. */
const challenge = { 'www-authenticate': 'Bearer' };

/** The request has no key; LiteLLM's wording. */
export function noKeyPassed(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'auth_error',
    message: 'Authentication Error, No api key passed in.',
    headers: challenge,
  });
}

/** The key is wrong; LiteLLM's wording. The text does not show the key. */
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

/** `general_settings.allowed_ips` excludes the client; LiteLLM's wording. */
export function addressNotAllowed(address: string): ProxyError {
  return forbidden(`Access forbidden: IP address ${quote(address)} not allowed.`);
}

/** `general_settings.allowed_routes` excludes the path; LiteLLM's wording. */
export function routeNotAllowed(path: string): ProxyError {
  return forbidden(`Access forbidden: Route ${quote(path)} not allowed`);
}

function forbidden(message: string): ProxyError {
  return new ProxyError({ status: 403, kind: 'authentication', message });
}

/** `general_settings.enforce_user_param` requires `user`; LiteLLM's wording. */
export function missingUser(): ProxyError {
  return requestFault("'user' param not passed in. 'enforce_user_param'=True", { param: 'user' });
}

/**
 * `enforce_user_param` is on, but the proxy does not look for `user` in raw requests and
 * WebSockets.
 */
export function uncheckedUser(path: string): ProxyError {
  return requestFault(`${quote(path)} is not served: 'enforce_user_param' cannot be checked there.`, { status: 403 });
}

/** All deployments of the group have reached their `rpm` in this minute. */
export function deploymentLimited(rpm: number, retryAfterSeconds: number): ProxyError {
  return requestFault(
    `litellm.RateLimitError: Model rate limit exceeded. RPM limit=${rpm}. Try again in ${retryAfterSeconds} seconds.`,
    { status: 429, headers: { 'retry-after': String(retryAfterSeconds) } },
  );
}

/** The rest of the body did not arrive in time. */
export function stalledRequest(): ProxyError {
  return requestFault('The request did not arrive in time.', { status: 408 });
}

/** The request is not valid HTTP. */
export function unreadableRequest(status: number, message: string): ProxyError {
  return requestFault(message, { status, type: typeOfStatus(400) });
}

/** The Host header is missing or repeated. RFC 9112 §3.2 requires exactly one in HTTP/1.1. */
export function wrongHost(): ProxyError {
  return requestFault('The request must have exactly one Host header.');
}

/** The proxy is shutting down and accepts no requests. */
export function shuttingDown(): ProxyError {
  return new ProxyError({ status: 503, message: 'the proxy is shutting down', kind: 'unavailable' });
}

/** An internal fault. The client does not see its cause; the log does. */
export function internalError(cause: unknown): ProxyError {
  return new ProxyError({ status: 500, kind: 'internal', message: 'Internal server error.', cause });
}

/**
 * Converts any thrown value to an error with an answer: values other than {@link ProxyError} become
 * internal errors.
 */
export function toProxyError(thrown: unknown): ProxyError {
  return thrown instanceof ProxyError ? thrown : internalError(thrown);
}
