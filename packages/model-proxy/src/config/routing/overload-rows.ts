/** The settings of `general_settings` that limit parallel requests. */
import { defaults } from '../defaults.js';
import { number, wholeNumber } from '../setting-types.js';

/** The rows of `generalTable` about parallel requests. */
export const overloadRows = {
  maxParallelRequests: wholeNumber(1, 1_000_000, {
    name: 'max_parallel_requests',
    protects: true,
    doc: 'Default of `max_parallel_requests` for all deployments, if `default_max_parallel_requests` is missing.',
  }),
  globalMaxParallel: wholeNumber(1, 1_000_000, {
    name: 'global_max_parallel_requests',
    protects: true,
    doc: 'Maximum number of model requests and raw requests that run at the same time; more get 429. The proxy rejects such a request at once, with `Retry-After`. Use `max_in_flight_requests_per_worker` for a [queue](#overload).',
  }),
  maxInFlight: wholeNumber(1, 1_000_000, {
    name: 'max_in_flight_requests_per_worker',
    protects: true,
    doc: 'Maximum number of model requests and raw requests that run at the same time; more wait in a [queue](#overload).',
  }),
  maxQueued: wholeNumber(0, 1_000_000, {
    name: 'max_queued_requests_per_worker',
    protects: true,
    default: '`max_in_flight_requests_per_worker`',
    doc: 'Maximum number of requests in the queue. More requests get 503 with `Retry-After`.',
  }),
  queueTimeout: number(0.001, 3600, {
    name: 'admission_queue_timeout_seconds',
    default: `${defaults.queueSeconds}`,
    doc: 'Maximum seconds in the queue. Then the client gets 503 with `Retry-After`.',
  }),
};
