/**
 * What goes wrong on the way of a request, in OpenAI's shape with LiteLLM's statuses. Every error that a client sees is a
 * {@link ProxyError} made by a factory of this table.
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
  | 'malformedAnswer' // what came is no HTTP, no JSON, or breaks off
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
