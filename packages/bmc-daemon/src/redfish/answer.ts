/** HTTP answers: how the service builds them and sends them. */
import type { ServerResponse } from 'node:http';
import type { JsonObject } from './json.js';
import { renderError, type RedfishError } from './messages/errors.js';
import type { StreamSource } from './stream.js';

/** Header values by header name. */
export type Headers = Readonly<Record<string, string>>;

/** An HTTP answer. It is immutable, so the service can cache an answer with a `body` and send it again. */
export interface Answer {
  readonly status: number;
  /**
   * Name, value, name, value: the form that `writeHead` takes without a conversion.
   * Contains Content-Length if the length of the body is known.
   */
  readonly headers: readonly string[];
  readonly body: string | undefined;
  /** Replaces `body`: writes to the response, at once, in parts, or until the client disconnects. */
  readonly stream?: StreamSource;
  /** The reason why the answer lacks a part, for the log only. Absent if the answer is complete. */
  readonly partFailure?: RedfishError;
  /** Replaces all other members: uses the connection of the response for another protocol. */
  readonly upgrade?: (response: ServerResponse, requestId: string) => void;
}

/**
 * Headers of every answer except the handshake of a WebSocket: the protocol version, and the rule that
 * a cache must ask the service before it uses an answer again (DSP0266, response headers).
 */
const commonHeaders = ['OData-Version', '4.0', 'Cache-Control', 'no-cache'];

const json = 'application/json; charset=utf-8';

/**
 * Length in characters. A longer `body` possibly does not fit into the socket's buffers. If a client reads nothing of
 * such a `body` for `stalledMs`, the service closes its connection. No `stream` has this limit, not even that of
 * {@link bytesAnswer}.
 */
const largeBody = 64 * 1024;
const stalledMs = 30_000;

const flatten = (headers: Headers): readonly string[] => Object.entries(headers).flat();

/** Returns an answer with a JSON text. */
export function jsonAnswer(status: number, text: string, headers: Headers = {}): Answer {
  return textAnswer(status, text, json, headers);
}

/** Returns an answer with a text of any type. */
export function textAnswer(status: number, text: string, contentType: string, headers: Headers = {}): Answer {
  const length = String(Buffer.byteLength(text));
  return {
    status,
    headers: [...commonHeaders, 'Content-Type', contentType, 'Content-Length', length, ...flatten(headers)],
    body: text,
  };
}

/** Returns a 200 whose body is streamed. It has a Content-Length only if `headers` contains one. */
export function streamAnswer(stream: StreamSource, contentType: string, headers: Headers = {}): Answer {
  return {
    status: 200,
    headers: [...commonHeaders, 'Content-Type', contentType, ...flatten(headers)],
    body: undefined,
    stream,
  };
}

/** Returns a 200 with the given bytes as its body. */
export function bytesAnswer(bytes: Buffer, contentType: string, headers: Headers = {}): Answer {
  return {
    status: 200,
    headers: [
      ...commonHeaders,
      'Content-Type',
      contentType,
      'Content-Length',
      String(bytes.length),
      ...flatten(headers),
    ],
    body: undefined,
    stream: (output) => void output.end(bytes),
  };
}

/** Returns an answer without a body, such as 204 or 304. */
export function emptyAnswer(status: number, headers: Headers = {}): Answer {
  return { status, headers: [...commonHeaders, ...flatten(headers)], body: undefined };
}

/** Returns the answer for an error: its status, headers and Redfish error body. */
export function errorAnswer(error: RedfishError): Answer {
  return jsonAnswer(error.status, stringify(renderError(error.messages)), error.headers);
}

/** Returns the JSON text to send. It has no indentation, which would double the size. */
export function stringify(value: JsonObject): string {
  return JSON.stringify(value);
}

/**
 * Sends an answer, or passes the connection to `upgrade`. A HEAD request receives the same headers as
 * a GET, and no body.
 * @param requestId the value of X-Request-Id.
 */
export function send(response: ServerResponse, answer: Answer, requestId: string): void {
  if (answer.upgrade !== undefined) {
    answer.upgrade(response, requestId);
    return;
  }
  response.writeHead(answer.status, [...answer.headers, 'X-Request-Id', requestId]);
  if (answer.stream !== undefined) {
    // The client must see that the stream is open before the first event.
    response.flushHeaders();
    answer.stream(response);
    return;
  }
  // While a client does not read a large body, the body stays in the daemon's memory. So the service
  // waits only for a limited time.
  if (answer.body !== undefined && answer.body.length > largeBody) {
    response.setTimeout(stalledMs, () => response.destroy());
  }
  // Node does not send a body in answer to HEAD.
  response.end(answer.body);
}
