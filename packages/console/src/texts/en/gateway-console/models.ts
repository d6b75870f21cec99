/** The English texts of the page of models. */
export const modelsTexts = {
  title: 'Models',
  table: 'Deployments',
  subtitle: 'Numbers since the proxy started, refreshed every two seconds',
  empty: 'There are no models',
  emptyHint: 'The configuration has none, or this key may not use any.',
  failed: 'The models cannot be read',
  working: 'Working deployments',
  of: (part: number, all: number) => `${part} of ${all}`,
  rate: 'Requests per second',
  lastMinutes: 'last two minutes',
  failures: 'Failed attempts',
  perRequests: (rate: string) => `${rate} per 100 requests`,
  inFlight: 'In progress',
  columns: {
    model: 'Model',
    state: 'State',
    requests: 'Requests',
    failed: 'Failed',
    median: 'Median',
    p95: '95 %',
    firstToken: 'First token',
    course: 'Recent latency',
    inFlight: 'In progress',
  },
  state: { healthy: 'Healthy', failing: 'Failing', cooling_down: 'Cooling down', unknown: 'Not used yet' },
  checkFailed: 'Check failed',
  coolingFor: (seconds: number) => `for ${seconds} s more`,
  courseOf: (name: string) => `Latency of ${name} in the last two minutes`,
  failure: (status: number, kind: string, count: number) => `${status} ${kindNames[kind] ?? kind} × ${count}`,
  tryIt: 'Try it',
  noValue: '–',
};

/**
 * The kinds of failed attempts in words. After the HTTP status, they complete a text such as `503 from the
 * upstream`.
 */
const kindNames: Readonly<Record<string, string>> = {
  upstreamStatus: 'from the upstream',
  connection: 'connection failed',
  tls: 'TLS failed',
  timeout: 'timeout',
  malformedAnswer: 'unreadable answer',
};
