/** The settings of an entry of `callback_settings`: an address that gets reports. */
import { defaults } from '../defaults.js';
import { httpUrl, number, oneOf, text, textMapping, texts, wholeNumber } from '../setting-types.js';

/** The table of an entry of `callback_settings`. */
export const callbackTable = {
  callbackType: text({ name: 'callback_type', doc: '`generic_api`. The proxy ignores entries with another value.' }),
  endpoint: httpUrl({ name: 'endpoint', secret: true, doc: 'Address that gets the [reports](#webhooks).' }),
  headers: textMapping({
    name: 'headers',
    secret: true,
    doc: 'Headers of the requests. Example: `{Authorization: os.environ/REPORT_KEY}`.',
  }),
  eventTypes: texts({
    name: 'event_types',
    default: 'both',
    doc: '`llm_api_success`, `llm_api_failure`: the requests to report.',
  }),
  logFormat: oneOf(['json_array', 'ndjson', 'single'], {
    name: 'log_format',
    default: 'json_array',
    doc: 'A list of reports, a line for each report, or a request for each report.',
  }),
  batchSize: wholeNumber(1, 5000, {
    name: 'batch_size',
    default: `${defaults.callbackBatchSize}`,
    doc: 'Maximum number of reports in a request.',
  }),
  flushInterval: number(0.01, 3600, {
    name: 'flush_interval',
    default: `${defaults.callbackFlushSeconds}`,
    doc: 'Maximum seconds that a report waits for others.',
  }),
  maxRetries: wholeNumber(0, 100, {
    name: 'max_retries',
    default: `${defaults.callbackRetries}`,
    doc: 'Number of further attempts after a failure. LiteLLM has 0.',
  }),
  retryDelay: number(0, 3600, {
    name: 'retry_delay',
    default: `${defaults.callbackRetrySeconds}`,
    doc: 'Seconds before the first further attempt. The time doubles with each attempt, up to a minute.',
  }),
  timeout: number(0.01, 3600, {
    name: 'timeout',
    default: `${defaults.callbackTimeoutSeconds}`,
    doc: 'Maximum seconds of an attempt.',
  }),
};
