/** Sends one HTTP request to model-proxy, and reads its answer or its error. */
import { apiTexts } from '../../texts/index.js';

/** An error answer of the proxy, or a failed connection (status 0). */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';

  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** An HTTP request to the proxy. */
interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, such as `/key/list?size=1`. */
  readonly path: string;
  /** The client's key; null: none. */
  readonly key: string | null;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEADLINE_MS = 60_000;

/**
 * Sends a request, and returns the answer before its body has arrived.
 * @throws {ApiFailure} if the proxy answers with an error, or not at all.
 * @throws {DOMException} `AbortError` if the caller aborts.
 */
export async function open({ method, path, key, body, signal }: ApiRequest): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      // Without this, browsers ask for a password themselves when an answer is 401.
      credentials: 'omit',
      cache: 'no-store',
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true && !isTimeout(signal)) throw error;
    throw new ApiFailure(0, apiTexts.unreachable, { cause: error });
  }
  if (!response.ok) throw new ApiFailure(response.status, messageIn(await response.text(), response));
  return response;
}

/**
 * Sends a request, and returns the value of its JSON answer.
 * @throws as {@link open}; {SyntaxError} if the answer is not JSON; {DOMException} `TimeoutError` if its body is late.
 */
export async function exchange<Body>(request: Omit<ApiRequest, 'signal'>): Promise<Body> {
  const response = await open({ ...request, signal: AbortSignal.timeout(DEADLINE_MS) });
  return (await response.json()) as Body; // the caller names the type of the answer
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

/** Returns the message of an error in OpenAI's shape. */
function messageIn(text: string, { status, statusText }: Response): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } };
    if (typeof error?.message === 'string') return error.message;
  } catch {
    // Another service, such as a load balancer, has answered without JSON.
  }
  return apiTexts.status(status, statusText);
}
