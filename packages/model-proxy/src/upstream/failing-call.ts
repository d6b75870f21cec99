/** Reports the error of a request that cannot be sent. */
import type { ProxyError } from '../errors/proxy-error.js';
import type { SentCall, UpstreamHandler } from './upstream.js';

/** Returns a call that reports an error asynchronously, unless it is aborted first. */
export function failingCall(fault: ProxyError, handler: UpstreamHandler): SentCall {
  let aborted = false;
  queueMicrotask(() => {
    if (!aborted) handler.onError(fault);
  });
  return { abort: () => void (aborted = true), pause: () => undefined, resume: () => undefined, isBodyFree: false };
}
