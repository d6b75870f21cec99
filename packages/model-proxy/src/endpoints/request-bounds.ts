/** How long a client wants to wait at most for this one request, in LiteLLM's headers, and how long it will be waited for. */
import type { IncomingHttpHeaders } from 'node:http';
import { invalidHeader } from '../errors.js';
import type { Deployment, Timeouts } from '../providers/deployment.js';

/** In milliseconds; null: nothing was asked for. */
export interface RequestBounds {
  /** `x-litellm-timeout`: of the whole answer; of a stream, until its first byte. */
  readonly timeoutMs: number | null;
  /** `x-litellm-stream-timeout`: of a stream, until its first byte. */
  readonly streamTimeoutMs: number | null;
}

/** As of the configuration's time bounds: 23 days, what a timer of Node's can hold. */
const MAX_SECONDS = 2_000_000;

/** @returns null: the client leaves it to the deployment, as nearly all do. @throws {ProxyError} 400, naming the header. */
export function requestBounds(headers: IncomingHttpHeaders): RequestBounds | null {
  const timeout = headers['x-litellm-timeout'];
  const streamTimeout = headers['x-litellm-stream-timeout'];
  if (timeout === undefined && streamTimeout === undefined) return null;
  return {
    timeoutMs: milliseconds('x-litellm-timeout', timeout),
    streamTimeoutMs: milliseconds('x-litellm-stream-timeout', streamTimeout),
  };
}

/** The bounds that hold: what the client asks for takes the place of what the deployment has, longer or shorter, as with LiteLLM. */
export function boundsOf(bounds: RequestBounds | null, deployment: Deployment, streams: boolean): Timeouts {
  const configured = streams ? deployment.streamTimeouts : deployment.timeouts;
  if (bounds === null) return configured;
  const { timeoutMs, streamTimeoutMs } = bounds;
  return streams
    ? { ...configured, firstByteMs: streamTimeoutMs ?? timeoutMs ?? configured.firstByteMs }
    : { ...configured, totalMs: timeoutMs ?? configured.totalMs };
}

/** Of the bounds that hold, the one that LiteLLM calls the timeout; in milliseconds, null: there is none. */
export function shownTimeout({ firstByteMs, totalMs }: Timeouts, streams: boolean): number | null {
  return streams ? firstByteMs : totalMs;
}

/** Seconds as Python's `float` reads them. */
function milliseconds(name: string, value: string | string[] | undefined): number | null {
  if (value === undefined) return null;
  const text = String(value).trim();
  const seconds = /^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!(seconds > 0 && seconds <= MAX_SECONDS))
    throw invalidHeader(name, `expected a number of seconds, more than 0 and at most ${MAX_SECONDS}`);
  return Math.max(1, Math.round(seconds * 1000));
}
