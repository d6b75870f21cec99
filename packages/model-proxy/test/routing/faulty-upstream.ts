/** An upstream that works, or fails in one way, until a test changes its behavior. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../support/app.js';

/** How an upstream answers each request. */
export type Behavior =
  | 'works'
  | 'reset' // resets the connection when it has the request
  | 'hang' // never answers
  | 'half' // announces a long answer, sends some bytes, and resets the connection
  | 'garbage' // answers 200 with a text that is not JSON
  | 'unlisted' // works, but has no list of models
  | 'broken list' // works, but fails to list its models
  | StreamBehavior
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Written as JSON; a text is sent as it is. */
      readonly body?: unknown;
    };

/** Answers with a stream. */
export interface StreamBehavior {
  readonly events: string;
  /** End of the HTTP message. */
  readonly end:
    | 'closed' // properly, also if the events are incomplete
    | 'reset' // with a reset of the connection
    | 'never';
}

/** A running upstream. */
export interface FaultyUpstream {
  /** `http://127.0.0.1:12345/v1` */
  readonly apiBase: string;
  /** Can be changed at any time. */
  behavior: Behavior;
  /** Number of requests so far. */
  readonly count: number;
  /** Paths, and bodies as text, of the requests so far. */
  readonly requests: readonly { readonly url: string; readonly body: string }[];
  /** Number of requests whose connection this upstream, or its client, closed before the end of the answer. */
  readonly aborted: number;
  /** Stops listening, and closes all connections: later requests are refused. */
  close(): Promise<void>;
}

/** The text of a working upstream's answer. */
export const ANSWER = 'It works.';
/** The first event of a working upstream's stream. */
export const FIRST_EVENT = `data: {"model":"m","choices":[{"delta":{"content":"${ANSWER}"}}]}\n\n`;
const USAGE = '{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}';

/** Starts an upstream. */
export async function startFaultyUpstream(behavior: Behavior = 'works'): Promise<FaultyUpstream> {
  const state = { behavior, aborted: 0 };
  const requests: { url: string; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    // In some tests, the proxy aborts its request.
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1');
      requests.push({ url: request.url ?? '', body });
      response.on('close', () => (state.aborted += response.writableFinished ? 0 : 1));
      behave(state.behavior, request, response, body);
    });
  });
  const port = await listen(server);
  return {
    apiBase: `http://127.0.0.1:${port}/v1`,
    get behavior() {
      return state.behavior;
    },
    set behavior(next) {
      state.behavior = next;
    },
    get count() {
      return requests.length;
    },
    get aborted() {
      return state.aborted;
    },
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function behave(behavior: Behavior, request: IncomingMessage, response: ServerResponse, body: string): void {
  if (behavior === 'hang') return;
  if (behavior === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  if (behavior === 'half') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
    response.write('{"choices":[', () => request.socket.resetAndDestroy());
    return;
  }
  if (behavior === 'garbage') {
    response.writeHead(200, { 'content-type': 'application/json' }).end('Please log in.');
    return;
  }
  if (behavior === 'unlisted' && request.method === 'GET') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not Found');
    return;
  }
  if (behavior === 'broken list' && request.method === 'GET') {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('Internal Server Error');
    return;
  }
  if (typeof behavior === 'object' && 'events' in behavior) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (behavior.end === 'closed') response.end(behavior.events);
    else response.write(behavior.events, () => behavior.end === 'reset' && request.socket.resetAndDestroy());
    return;
  }
  if (typeof behavior === 'object') {
    const {
      status,
      headers = {},
      body: answer = { error: { message: `a ${status}`, type: null, code: null } },
    } = behavior;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    return;
  }
  if (body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const usage = body.includes('"include_usage":true') ? `data: {"choices":[],"usage":${USAGE}}\n\n` : '';
    response.end(`${FIRST_EVENT}${usage}data: [DONE]\n\n`);
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"model":"m","choices":[{"message":{"content":"${ANSWER}"}}],"usage":${USAGE}}`);
}
