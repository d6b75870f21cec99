/**
 * The error that a client sees, in OpenAI's format with LiteLLM's statuses. The files next to this
 * one have the factories for specific faults. upstream/classify.ts makes the errors of upstream
 * answers, upstream/connection-faults.ts those of upstream connections.
 * @see https://docs.litellm.ai/docs/exception_mapping
 */
import type { FailureKind } from './failure-kind.js';

/** The body of an error answer, in OpenAI's form. */
interface ErrorBody {
  readonly error: {
    readonly message: string;
    /** `invalid_request_error`, `authentication_error`, …; derived from the status by default. */
    readonly type: string;
    /** The faulty field of the request. */
    readonly param: string | null;
    /**
     * As in LiteLLM: the upstream's code (`context_length_exceeded`) or OpenAI's (`model_not_found`), otherwise the
     * status as a string.
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
  /**
   * How the upstream failed. `rateLimit` also stands for deployments that are at a limit or cool down. Absent: no
   * upstream failed, so no other attempt follows a request that was sent.
   */
  readonly failure?: FailureKind;
  readonly cause?: unknown;
}

/** The kind of an error: its origin. Also a label value of the metrics. */
export type ErrorKind =
  | 'request' // the client's request is faulty, or over a limit or budget
  | 'authentication' // the client's key is missing or wrong, or its address, path or model is not allowed
  | 'upstreamStatus' // the upstream answered with an error or a redirect, or rejected the credentials
  | 'connection' // refused, reset, host not found, or no access token
  | 'tls' // a fault of TLS, or a deployment whose files or variables cannot be used
  | 'timeout'
  | 'malformedAnswer' // not HTTP, not JSON, too large, or incomplete
  | 'unavailable' // this proxy shuts down or is overloaded, or all deployments cool down
  | 'internal'; // a bug of this proxy, a request that cannot be sent, or a store that is unavailable

/** An error that becomes an answer. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly kind: ErrorKind;
  /** As {@link ProxyErrorOptions.failure}; null: absent. */
  readonly failure: FailureKind | null;

  constructor(options: ProxyErrorOptions) {
    super(options.message, options.cause === undefined ? {} : { cause: options.cause });
    this.status = options.status;
    this.type = options.type ?? typeOfStatus(options.status);
    this.param = options.param ?? null;
    this.code = options.code ?? String(options.status);
    this.headers = options.headers ?? {};
    this.kind = options.kind;
    this.failure = options.failure ?? null;
  }

  /** Returns a copy of the error with a text after the message. */
  withNote(note: string): ProxyError {
    return this.withMessage(this.message + note);
  }

  /** Returns a copy of the error with another message. */
  withMessage(message: string): ProxyError {
    const { status, type, param, code, headers, kind, failure, cause } = this;
    return new ProxyError({
      ...{ status, message, type, param, code, headers, kind },
      ...(failure === null ? {} : { failure }),
      ...(cause === undefined ? {} : { cause }),
    });
  }

  get body(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

/** Returns the default of an error's type for a status, as in OpenAI's API. */
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

/** Makes an error of the kind `request`, with status 400 by default. */
export function requestFault(message: string, more: Partial<ProxyErrorOptions> = {}): ProxyError {
  return new ProxyError({ status: 400, kind: 'request', message, ...more });
}

/** Maximum length of a client's text in an error, in characters. */
const MAX_SHOWN = 200;

/** Cuts a text of the client to {@link MAX_SHOWN} characters, because an error repeats the text. */
export function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Reports that the proxy is shutting down and accepts no requests. */
export function shuttingDown(): ProxyError {
  return new ProxyError({ status: 503, message: 'the proxy is shutting down', kind: 'unavailable' });
}

/** Reports a bug of this proxy. Only the log shows the cause. */
function internalError(cause: unknown): ProxyError {
  return new ProxyError({ status: 500, kind: 'internal', message: 'Internal server error.', cause });
}

/**
 * Converts any thrown value to an error with an answer: values other than {@link ProxyError} become
 * internal errors.
 */
export function toProxyError(thrown: unknown): ProxyError {
  return thrown instanceof ProxyError ? thrown : internalError(thrown);
}
