/** Sends one HTTP request to the service, and reads its answer or its error. */
import { redfishTexts } from '../../texts/index.js';

/** A message of a Redfish error. */
interface ErrorMessage {
  readonly text: string;
  readonly resolution: string;
  /** Properties at fault, as JSON pointers such as `#/Boot/BootOrder`. */
  readonly properties: readonly string[];
}

/** An error answer of the service, a failed connection (status 0), or a failed task (status 202). */
export class RedfishFailure extends Error {
  override readonly name = 'RedfishFailure';

  constructor(
    readonly status: number,
    readonly messages: readonly ErrorMessage[],
    options?: ErrorOptions,
  ) {
    super(messages.map(({ text, resolution }) => `${text} ${resolution}`.trim()).join('\n'), options);
  }
}

/** An HTTP request to the service. */
export interface WireRequest {
  readonly method: string;
  /** Path and query, such as `/redfish/v1/Systems?$top=1`. */
  readonly path: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a `FormData` or `Blob` is sent as it is. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Deadline of the whole answer, in milliseconds. Default: 60 s. {@link open} has no deadline. */
  readonly deadlineMs?: number;
}

/** A successful answer. */
export interface Reply<Body> {
  readonly status: number;
  readonly body: Body;
  readonly etag: string | null;
  readonly location: string | null;
  readonly headers: Headers;
}

const DEADLINE_MS = 60_000;

/**
 * Sends a request.
 * @throws {RedfishFailure} if the service answers with an error, or not at all.
 * @throws {DOMException} `AbortError` if the caller aborts.
 */
export async function exchange<Body>(request: WireRequest): Promise<Reply<Body>> {
  const { signal, deadlineMs = DEADLINE_MS } = request;
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    const response = await open({ ...request, signal: signal === undefined ? deadline : anyOf([signal, deadline]) });
    const text = await response.text();
    return {
      status: response.status,
      body: parse(text) as Body, // the caller names the type of the resource
      etag: response.headers.get('ETag'),
      location: response.headers.get('Location'),
      headers: response.headers,
    };
  } catch (error) {
    if (signal?.aborted === true) throw new DOMException('aborted', 'AbortError');
    if (error instanceof RedfishFailure) throw error;
    throw unreachable(error);
  }
}

/**
 * Sends a request, and returns the answer before its body has arrived, for streams.
 * @throws {RedfishFailure} if the service answers with an error.
 * @throws the error of `fetch`, if there is no answer or the signal aborts.
 */
export async function open({ method, path, token, headers, body, signal }: WireRequest): Promise<Response> {
  const isRaw = body instanceof FormData || body instanceof Blob;
  const response = await fetch(path, {
    method,
    // Without this, browsers ask for a password themselves when an answer is 401.
    credentials: 'omit',
    cache: 'no-store',
    headers: {
      Accept: 'application/json',
      ...(body === undefined || isRaw ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined || token === null ? {} : { 'X-Auth-Token': token }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const date = Date.parse(response.headers.get('Date') ?? '');
  if (!Number.isNaN(date)) serviceAheadMs = date - Date.now();
  if (!response.ok) throw failureOf(response, await response.text());
  return response;
}

let serviceAheadMs = 0;

/**
 * Returns the time of the service's clock by its last answer, in milliseconds since 1970. The browser's clock may be
 * wrong.
 */
export const serviceNow = (): number => Date.now() + serviceAheadMs;

/** Returns the failure for a request without an answer: the connection failed, or the deadline has passed. */
function unreachable(cause: unknown): RedfishFailure {
  return new RedfishFailure(0, [{ text: redfishTexts.unreachable, resolution: '', properties: [] }], { cause });
}

interface ExtendedInfo {
  readonly Message?: string;
  readonly Resolution?: string;
  readonly RelatedProperties?: readonly string[];
}

function failureOf({ status, statusText }: Response, text: string): RedfishFailure {
  const body = parse(text) as {
    readonly error?: { readonly '@Message.ExtendedInfo'?: readonly ExtendedInfo[] };
  } | null; // DSP0266 §8.6
  const infos = body?.error?.['@Message.ExtendedInfo'] ?? [];
  const messages = infos.map(({ Message = '', Resolution = '', RelatedProperties = [] }) => ({
    text: Message,
    resolution: Resolution === 'None.' ? '' : Resolution,
    properties: RelatedProperties,
  }));
  const fallback = { text: redfishTexts.status(status, statusText), resolution: '', properties: [] };
  return new RedfishFailure(status, messages.length === 0 ? [fallback] : messages);
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns a signal that aborts with the first of several. `AbortSignal.any` is too new for some browsers. */
export function anyOf(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else
      signal.addEventListener('abort', () => controller.abort(signal.reason), {
        once: true,
        signal: controller.signal,
      });
  }
  return controller.signal;
}
