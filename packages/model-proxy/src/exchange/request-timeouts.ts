/** Timeouts of a single request, from LiteLLM's headers in it and from the configuration. */
import type { IncomingHttpHeaders } from 'node:http';
import { invalidHeader } from '../errors/path.js';
import { MAX_TIMEOUT_SECONDS, type Deployment, type Timeouts } from '../providers/deployment.js';

/** Timeouts that a client sets, in milliseconds; null: the header is missing. */
export interface ClientTimeouts {
  /** `x-litellm-timeout`: for the whole answer. For a stream without {@link streamTimeoutMs}: until its first byte. */
  readonly timeoutMs: number | null;
  /** `x-litellm-stream-timeout`: for a stream, until its first byte. */
  readonly streamTimeoutMs: number | null;
}

/**
 * Reads the timeout headers of a request.
 * @returns null if the request has no timeout header, like most requests.
 * @throws {ProxyError} 400: a header is invalid.
 */
export function clientTimeoutsOf(headers: IncomingHttpHeaders): ClientTimeouts | null {
  const timeout = headers['x-litellm-timeout'];
  const streamTimeout = headers['x-litellm-stream-timeout'];
  if (timeout === undefined && streamTimeout === undefined) return null;
  return {
    timeoutMs: milliseconds('x-litellm-timeout', timeout),
    streamTimeoutMs: milliseconds('x-litellm-stream-timeout', streamTimeout),
  };
}

/**
 * Returns the timeouts of a request. A client's timeout, even a longer one, replaces the deployment's total timeout, or
 * for a stream the timeout until the first byte, as in LiteLLM. The deployment's other timeouts stay.
 */
export function requestTimeouts(
  clientTimeouts: ClientTimeouts | null,
  deployment: Deployment,
  streams: boolean,
): Timeouts {
  const configured = streams ? deployment.streamTimeouts : deployment.timeouts;
  if (clientTimeouts === null) return configured;
  const { timeoutMs, streamTimeoutMs } = clientTimeouts;
  return streams
    ? { ...configured, firstByteMs: streamTimeoutMs ?? timeoutMs ?? configured.firstByteMs }
    : { ...configured, totalMs: timeoutMs ?? configured.totalMs };
}

/** Returns the timeout that answers show in LiteLLM's header `x-litellm-timeout`, in ms; null: no timeout. */
export function shownTimeout({ firstByteMs, totalMs }: Timeouts, streams: boolean): number | null {
  return streams ? firstByteMs : totalMs;
}

/**
 * Parses seconds in decimal notation, with or without an exponent.
 * @returns milliseconds; null: the header is missing.
 * @throws {ProxyError} 400: the value is not a number, is 0, or is more than {@link MAX_TIMEOUT_SECONDS}.
 */
function milliseconds(name: string, value: string | string[] | undefined): number | null {
  if (value === undefined) return null;
  const text = String(value).trim();
  const seconds = /^\+?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!(seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS))
    throw invalidHeader(name, `expected a number of seconds, more than 0 and at most ${MAX_TIMEOUT_SECONDS}`);
  return Math.max(1, Math.round(seconds * 1000));
}
