/**
 * Declares paths that answer with a stream, such as Server-Sent Events. The pipeline checks the
 * login, the privileges, the method and Accept, and then calls `open`.
 */
import type { Writable } from 'node:stream';
import type { Awaitable, Requester } from './resource.js';

/** The request that opens a stream. */
interface StreamRequest<Services> {
  readonly services: Services;
  readonly requester: Requester;
  /** The client's address and port, such as `192.0.2.1:40112`. */
  readonly peer: string;
  /** Header names in lower case, such as `last-event-id`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** All parameters of the query. A parameter with `$` is here only if {@link StreamDefinition.query} lists it. */
  readonly query: URLSearchParams;
}

/** Writes the body of an answer to the client. The output closes or fails when the client disconnects. */
export type StreamSource = (output: Writable) => void;

/** A stream, declared as a literal like a resource. */
export interface StreamDefinition<Services> {
  /** Entity of the PrivilegeRegistry, such as `EventService`. */
  readonly entity: string;
  /** The path, without parameters, such as `/redfish/v1/EventService/SSE`. */
  readonly uri: string;
  /**
   * The content type, `text/event-stream`; the service answers 406 to a client that does not accept
   * it.
   */
  readonly contentType: string;
  /**
   * Protocol parameters that the stream reads itself (`$filter`). Any other parameter of the protocol is
   * an error: 400 if resources support it, such as `$expand`, otherwise 501.
   */
  readonly query?: readonly string[];
  /**
   * Opens the stream before anything is sent, so that it can still reject the request.
   * @throws {RedfishError} if it rejects the request.
   */
  open(request: StreamRequest<Services>): Awaitable<StreamSource>;
}

/**
 * Returns a function that defines a stream for one type of services, like `resourceDefiner` for
 * resources.
 */
export function streamDefiner<Services>() {
  return (definition: StreamDefinition<Services>): StreamDefinition<Services> => definition;
}

/**
 * Returns whether a range of an Accept header allows this type (RFC 9110 §12.5.1). Ignores that a more specific range
 * has precedence. A request without the header accepts any type.
 */
export function accepts(header: string | undefined, contentType: string): boolean {
  if (header === undefined) return true;
  const [major = ''] = contentType.split('/');
  return header.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return ['*/*', `${major}/*`, contentType].includes(type) && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
}
