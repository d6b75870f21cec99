/**
 * The interface of dialects: APIs whose requests, answers, events and errors differ from OpenAI's.
 * A provider without a dialect speaks OpenAI's API, and the proxy changes only single members of its
 * requests and answers.
 *
 * A dialect does no I/O. A call translates one request or one answer. Only a {@link DialectStream} has state.
 */
import type { RequestMembers } from './request-members.js';

/** The request that a dialect translates. */
export interface DialectCall {
  /** Path of OpenAI's API below `/v1/`: `chat/completions`. */
  readonly endpoint: string;
  /** The upstream's name for the model. */
  readonly model: string;
  /** Whether the client requests a stream. */
  readonly streams: boolean;
}

/** An error of an upstream, in the upstream's words. The proxy masks secrets and cuts long texts. */
export interface UpstreamError {
  /** 400 to 599; absent: the status of the answer. Required for errors with status 200. */
  readonly status?: number;
  readonly message: string;
  readonly type?: string | null;
  /** The faulty parameter of the request. */
  readonly param?: string | null;
  /** Such as `context_length_exceeded`. */
  readonly code?: string | null;
}

/** A translated answer. */
export type DialectAnswer =
  /**
   * The object for the client, in OpenAI's form (`messages`: Anthropic's). The proxy renames its model and reads
   * its `usage`.
   */
  | { readonly value: object }
  /** Audio, which the upstream sends inside of JSON. */
  | { readonly bytes: Buffer; readonly contentType: string }
  | { readonly error: UpstreamError };

/** The translation of a chunk, or of the end of a stream. */
export interface DialectEvents {
  /** The client's events, in order: OpenAI's without `[DONE]`; for `messages`, Anthropic's. */
  readonly events: readonly object[];
  /**
   * Whether the answer is complete. Then the proxy sends `[DONE]` to a client of OpenAI's API, and
   * ignores later bytes.
   */
  readonly isDone: boolean;
  /** An error that the upstream reports. The proxy ends the stream after `events`. */
  readonly error?: UpstreamError;
}

/** Translates one stream. Holds no resources. */
export interface DialectStream {
  /**
   * Reads the next bytes, which may begin and end anywhere (sse/event-reader.ts finds events).
   * @throws {Error} if the bytes are not what the dialect expects. The client gets a 502, or an error event if it has
   *   already got a part of the stream.
   */
  push(chunk: Buffer): DialectEvents;
  /**
   * Reads the end of the stream. A stream that is not done now is incomplete, and the client gets
   * an error.
   */
  finish(): DialectEvents;
}

/** An upstream's request whose path, headers or form depend on the members of the client's request. */
export class DialectRequest {
  /** Path below `api_base`, without a slash at its beginning; may have a query. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** Other headers; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    path: string,
    { contentType, body, headers = {} }: Pick<DialectRequest, 'contentType' | 'body'> & Partial<DialectRequest>,
  ) {
    this.path = path;
    this.contentType = contentType;
    this.body = body;
    this.headers = headers;
  }
}

/** The upstream's request: JSON members, or a whole request. */
type Translated = ReadonlyMap<string, Buffer> | DialectRequest;

/** One endpoint of OpenAI's API in a dialect. The client's requests are JSON. */
export interface DialectEndpoint<Request extends Translated = Translated> {
  /** Returns the path below `api_base`, without a slash at its beginning; may have a query. */
  path(call: DialectCall): string;
  /**
   * Translates a request.
   * @param members OpenAI's members, with the changes of the configuration. `model` is the
   *   upstream's name.
   * @returns all members of the upstream's request as JSON, in order. The proxy adds `extra_body`. A
   *   {@link DialectRequest} is sent as it is.
   * @throws {ProxyError} 400: the dialect cannot express the request.
   */
  request(members: RequestMembers, call: DialectCall): Request;
  /**
   * Translates an answer with a status of 2xx.
   * @param value the parsed body. Check its shape: an upstream may send anything.
   * @throws {Error} if the answer is not what the dialect expects. The client gets a 502.
   */
  answer(value: unknown, call: DialectCall): DialectAnswer;
  /** Whether successful answers, such as audio, pass unchanged. Then the proxy does not call `answer` for them. */
  readonly answersRaw?: boolean;
  /**
   * Returns whether a model understands Anthropic's `thinking` and `output_config`. Absent: no model does, and each
   * gets `reasoning_effort`.
   */
  understandsThinking?(model: string): boolean;
  /** Absent: the endpoint has no streams. */
  readonly events?: {
    /**
     * Media type of the upstream's streams: `text/event-stream`. If the upstream streams, but the
     * client has not requested a stream, the client gets the whole chat at the end.
     */
    readonly mediaType: string;
    /** Starts the translation of one stream. */
    open(call: DialectCall): DialectStream;
  };
}

/** The upstream's request, which {@link Dialect.sign} signs. */
interface SignedRequest {
  /** The deployment's key; null: it has none. */
  readonly apiKey: string | null;
  readonly method: string;
  /** Absolute URL. */
  readonly url: string;
  readonly body: readonly Buffer[];
}

/** An API that is not OpenAI's. */
export interface Dialect {
  /**
   * Endpoints by their path below `/v1/`. `unchanged`: the upstream serves this endpoint in the client's
   * form. The proxy rejects other endpoints with 400. Exception: it translates `messages` to chat.
   */
  readonly endpoints: ReadonlyMap<string, DialectEndpoint | 'unchanged'>;
  /**
   * Translates the body of an answer outside of 2xx.
   * @param body the parsed JSON; undefined: the body is not JSON.
   * @returns undefined if the body has another shape, such as OpenAI's or a page of a load balancer.
   */
  error(status: number, body: unknown): UpstreamError | undefined;
  /**
   * Returns headers that depend on the request, such as a signature; names in lower case. Absent:
   * the headers of the provider are enough.
   */
  sign?(request: SignedRequest): Readonly<Record<string, string>>;
}
