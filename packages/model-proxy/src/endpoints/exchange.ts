/** One request of a client and everything that is known of it on its way; what the log, the metrics and the headers are made of. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Authenticate, Client } from '../auth/authenticate.js';
import type { Gate } from '../auth/gate.js';
import type { ProxyError } from '../errors.js';
import type { Limits } from '../routing/limits.js';
import type { Selection, Router } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';
import type { Trace } from '../trace.js';
import type { Upstream, UpstreamCall } from '../upstream/upstream.js';
import type { RequestBounds } from './request-bounds.js';
import type { Usage } from './usage.js';

/** What requests are served with. A reload makes a new one; requests under way keep theirs to their end. */
export interface Serving {
  readonly settings: ProxySettings;
  readonly router: Router;
  readonly authenticate: Authenticate;
  readonly limits: Limits;
  /** null: every address and every path is open. */
  readonly gate: Gate | null;
  readonly upstream: Upstream;
  /** null: nobody wants to see requests and answers (`--detailed_debug`). */
  readonly trace: Trace | null;
  /** Of the proxy: `x-litellm-version` and the upstream's `user-agent`. */
  readonly version: string;
  /** Whether the process is about to end: clients are told to look for another connection. */
  readonly isDraining: () => boolean;
}

/** Times are those of `performance.now()`, 0 while they have not come. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly serving: Serving;
  /** Ours for the log and the upstream (`x-request-id`): the client's own where it can stand in a header and in a log. */
  readonly id: string;
  /** `x-litellm-call-id`. */
  readonly callId: string;
  readonly startedAt = performance.now();
  /** The request is there, with its body. */
  receivedAt = 0;
  /** The upstream was asked. */
  sentAt = 0;
  /** The first byte of the upstream's answer was there. */
  firstByteAt = 0;
  /** The upstream's part was over, well or not. */
  answeredAt = 0;
  /** The client sends its body only when it is told to (`Expect: 100-continue`), which it has not been. */
  holdsBodyBack: boolean;
  /** For the metrics: the template of a path, never a path, of which there is no end. */
  routeLabel = 'unmatched';
  client: Client | null = null;
  selection: Selection | null = null;
  /** What the client wants to wait at most; null: it does not say. */
  bounds: RequestBounds | null = null;
  /** How long the upstream is waited for; in milliseconds, null: without a bound, or it is not asked. */
  timeoutMs: number | null = null;
  /** Under way; ended when the client goes away. */
  call: UpstreamCall | null = null;
  /** Whether the connection speaks another protocol now (WebSocket): nothing more can be answered. */
  upgraded = false;
  /** Headers of the upstream's that were left out because the head would be too large. */
  droppedHeaders = 0;
  /** Whether the answer came as events. */
  streamed = false;
  usage: Usage | null = null;
  /** What went wrong; also when the client could not be told any more. */
  error: ProxyError | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, serving: Serving, holdsBodyBack: boolean) {
    this.holdsBodyBack = holdsBodyBack;
    this.request = request;
    this.response = response;
    this.serving = serving;
    const { headers } = request;
    const called = acceptableId(headers['x-litellm-call-id']);
    this.id = acceptableId(headers['x-request-id']) ?? called ?? randomUUID();
    this.callId = called ?? this.id;
  }
}

/** A client's own id, if it can stand in a header and in a log. */
function acceptableId(id: string | readonly string[] | undefined): string | undefined {
  return typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
}
