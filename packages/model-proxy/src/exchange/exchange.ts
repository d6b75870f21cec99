/** The state of one client request. The log, the metrics and the answer's headers read it. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { acceptableId } from '@rackless/daemon/http/request-head.js';
import type { Authenticate, Client } from '../auth/authenticate.js';
import type { Gate } from '../auth/gate.js';
import type { KeyServices } from '../auth/key-limits.js';
import type { VirtualKey } from '../auth/virtual-key.js';
import type { Api } from '../errors/error-body.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { FailedAttempt } from '../series.js';
import type { RoutingState } from '../routing/routing-state.js';
import type { Selection, Router } from '../routing/router.js';
import type { Siblings } from '../routing/siblings.js';
import type { UncountedResponses } from '../routing/uncounted-responses.js';
import type { ProxySettings } from '../settings.js';
import type { RequestReports } from '../request-report.js';
import type { RequestSpan, Telemetry } from '../request-span.js';
import type { Trace } from '../trace.js';
import type { Upstream, UpstreamCall } from '../upstream/upstream.js';
import type { Overload } from './overload.js';
import type { ClientTimeouts } from './request-timeouts.js';
import type { Usage } from './answer/usage.js';

/**
 * The state that all requests use: the settings, the router, the keys, the upstream. A reload makes a new
 * object; requests in flight keep the object that they started with.
 */
export interface ProxyState extends RoutingState {
  readonly overload: Overload;
  /** The upstream's ids of responses whose usage is not counted yet. */
  readonly uncountedResponses: UncountedResponses;
  /** The other workers of the group; null: there are none. */
  readonly siblings: Siblings | null;
  readonly settings: ProxySettings;
  readonly router: Router;
  readonly authenticate: Authenticate;
  /** The store and the limits of virtual keys; null: there is no store. */
  readonly keys: KeyServices | null;
  /** Limits client addresses and paths; null: all are allowed. */
  readonly gate: Gate | null;
  readonly upstream: Upstream;
  /** Logs requests and answers; null: without `--detailed_debug`. */
  readonly trace: Trace | null;
  /** null: no OpenTelemetry. */
  readonly telemetry: Telemetry | null;
  /** null: no callback gets reports about requests. */
  readonly reports: RequestReports | null;
  /** Version of the proxy, for `x-litellm-version` and for the `user-agent` that upstreams get. */
  readonly version: string;
  /**
   * Returns whether the process is about to end. Answers then ask clients to close the connection.
   */
  readonly isDraining: () => boolean;
}

/** Most requests have no failed attempts. */
const NO_ATTEMPTS: readonly FailedAttempt[] = [];
const NOTHING_SETTLED = { inputTokens: 0, outputTokens: 0, totalTokens: 0, cost: 0 };
const NO_PARTS: readonly Exchange[] = [];

/** Maximum length of a client's request id, in characters. */
const MAX_ID_LENGTH = 128;

/** One client request. Times (`…At`) are results of `performance.now()`; 0: not yet. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The state of the proxy at the start of the request. */
  readonly proxy: ProxyState;
  /**
   * Id for the log and for the upstream (`x-request-id`): the client's `x-request-id`, its `x-litellm-call-id`, or a
   * random id. An id of the client must be safe in a header and in a log.
   */
  readonly id: string;
  /** The value of the answer's header `x-litellm-call-id`: the client's value if it is safe, otherwise {@link id}. */
  readonly callId: string;
  readonly startedAt = performance.now();
  /**
   * When the request had arrived, usually with its body. The time that the proxy itself needs begins here. If the
   * body goes upstream while it arrives, this value increases by the time of the upload: the client needs that time,
   * not the proxy.
   */
  receivedAt = 0;
  /**
   * When the first attempt began; if the body goes upstream while it arrives: when the body had arrived,
   * unless the answer has begun earlier. The time of the upstream begins here.
   */
  sentAt = 0;
  /** When the last attempt began. */
  attemptAt = 0;
  /** When the first byte of the last attempt's answer arrived, without its head. */
  firstByteAt = 0;
  /** When the upstream's answer ended or failed. */
  answeredAt = 0;
  /**
   * Whether the client sends nothing more until the proxy answers: it waits for `100 Continue`, or for
   * the answer to its WebSocket handshake.
   */
  awaitsContinue: boolean;
  /**
   * Label for the metrics: the template of the path, not the path, because clients can send any
   * number of paths.
   */
  routeLabel = 'unmatched';
  /** The vendor whose API the client uses. Errors have this vendor's form. */
  api: Api = 'openai';
  client: Client | null = null;
  /** The virtual key whose limits count this request; null: none does. */
  admittedKey: VirtualKey | null = null;
  /** Whether the request has a place in {@link ProxyState.overload}. The end of the request frees the place. */
  hasPlace = false;
  selection: Selection | null = null;
  /** Timeouts that the client sets; null: the request has no such header. */
  clientTimeouts: ClientTimeouts | null = null;
  /** Timeout for the upstream in milliseconds; null: no timeout, or no request to an upstream. */
  timeoutMs: number | null = null;
  /** The request to the upstream. The proxy aborts it when the client closes the connection. */
  call: Pick<UpstreamCall, 'abort'> | null = null;
  /** The spans for OpenTelemetry; null: not begun, or no telemetry. */
  span: RequestSpan | null = null;
  /** `x-litellm-num-retries`; null: the request has no such header. */
  requestedRetries: number | null = null;
  /** Number of attempts after the first one, without the first attempt at each fallback. */
  retries = 0;
  /**
   * The maximum number of retries in a model group, as of the last failure; also 0 if no attempt has failed. Attempts
   * at untried deployments may exceed it.
   */
  maxRetries = 0;
  /** Attempts that failed, for the metrics. */
  failedAttempts: readonly FailedAttempt[] = NO_ATTEMPTS;
  /** Number of fallbacks that got the request: model groups after the first one. */
  fallbacks = 0;
  /** The setting `max_fallbacks`, copied when the first fallback gets the request; 0 before. */
  maxFallbacks = 0;
  /**
   * Whether the connection has changed to another protocol (WebSocket). An HTTP answer is no longer
   * possible.
   */
  upgraded = false;
  /** Number of the upstream's headers that were dropped because they, or the whole head, would be too large. */
  droppedHeaders = 0;
  /** Whether the answer is a stream of events. */
  streamed = false;
  /** Whether the request only reads or changes a stored answer whose usage is counted already. */
  usesStoredAnswer = false;
  /** The upstream's id of the response that `/v1/responses` made or reads; null: there is none. */
  responseId: string | null = null;
  /** The usage that the upstream reported; null: none. */
  usage: Usage | null = null;
  /**
   * Estimates the usage of a raw answer that is incomplete, or of a WebSocket with its complete answers. The estimate
   * counts for limits and budgets instead of {@link usage}. null: there is no estimate.
   */
  estimateUsage: (() => Usage) | null = null;
  /** The usage that is already counted for the key. Only a WebSocket has it before its end. */
  settled: Readonly<Record<'inputTokens' | 'outputTokens' | 'totalTokens' | 'cost', number>> = NOTHING_SETTLED;
  /** Whether the answer omits the event with the usage, because only the proxy has requested it. */
  hidesUsage = false;
  /** Whether the client wants the embeddings of a translated answer in base64. */
  encodesEmbeddings = false;
  /** `user` of the request, for reports to callbacks; null: none. */
  endUser: string | null = null;
  /** LiteLLM's tags of the request, for reports. */
  tags: readonly string[] = [];
  /** Size of the request's body so far, in bytes. */
  requestBytes = 0;
  /** Number of complete events of the answer; for a raw request, of lines with data. */
  eventCount = 0;
  /** One request for each model of a list; empty: the request is for a single model. */
  parts: readonly Exchange[] = NO_PARTS;
  /** The error of the request, also if the client did not get it. */
  error: ProxyError | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, proxy: ProxyState, awaitsContinue: boolean) {
    this.awaitsContinue = awaitsContinue;
    this.request = request;
    this.response = response;
    this.proxy = proxy;
    const { headers } = request;
    const clientCallId = acceptableId(headers['x-litellm-call-id'], MAX_ID_LENGTH);
    this.id = acceptableId(headers['x-request-id'], MAX_ID_LENGTH) ?? clientCallId ?? randomUUID();
    this.callId = clientCallId ?? this.id;
  }

  /** Begins the next attempt, and forgets the answer to the previous attempt. */
  beginAttempt(selection: Selection, timeoutMs: number | null): void {
    this.selection = selection;
    this.timeoutMs = timeoutMs;
    this.firstByteAt = 0;
    this.answeredAt = 0;
    this.streamed = false;
    this.usage = null;
    this.eventCount = 0;
    this.attemptAt = performance.now();
    if (this.sentAt === 0) this.sentAt = this.attemptAt;
  }

  /**
   * The latency of the last attempt in milliseconds: for a stream, the time to its first byte; for another answer,
   * the time until now, divided by the number of output tokens if it is known.
   */
  get latencyMs(): number {
    if (this.streamed) return this.firstByteAt - this.attemptAt;
    return (performance.now() - this.attemptAt) / Math.max(1, this.usage?.outputTokens ?? 1);
  }
}
