/**
 * A path that answers with a stream in place of a resource: Server-Sent Events. The pipeline does for it what it does for all
 * (authentication, privileges, 405, Accept) and then hands the open answer over.
 */
import type { Writable } from 'node:stream';
import type { Awaitable, Requester } from './resource.js';

/** A request for a stream, as far as it concerns who opens it. */
export interface StreamRequest<Services> {
  readonly services: Services;
  readonly requester: Requester;
  /** `192.0.2.1:40112`. */
  readonly peer: string;
  /** Lower-case names, as Node has them: `last-event-id`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The query's parameters; `$…` ones only if `query` names them. */
  readonly query: URLSearchParams;
}

/** Writes to the client for as long as it stays; it ends or errors when the client goes away. */
export type StreamSource = (output: Writable) => void;

/** A stream as a literal, as resources are. */
export interface StreamDefinition<Services> {
  /** Entity of the PrivilegeRegistry: `EventService`. */
  readonly entity: string;
  /** Without parameters: `/redfish/v1/EventService/SSE`. */
  readonly uri: string;
  /** `text/event-stream`; whoever does not accept it gets 406. */
  readonly contentType: string;
  /** Parameters of the protocol that it reads itself (`$filter`); all other `$…` are 501. */
  readonly query?: readonly string[];
  /** Called before anything is sent, so that it can refuse. @throws {RedfishError} */
  open(request: StreamRequest<Services>): Awaitable<StreamSource>;
}

/** Gives `defineStream` for one type of services, as `resourceDefiner` does for resources. */
export function streamDefiner<Services>() {
  return (definition: StreamDefinition<Services>): StreamDefinition<Services> => definition;
}

/** Whether an Accept header lets this type through (RFC 9110 §12.5.1); without the header everything goes. */
export function accepts(header: string | undefined, contentType: string): boolean {
  if (header === undefined) return true;
  const [major = ''] = contentType.split('/');
  return header.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return ['*/*', `${major}/*`, contentType].includes(type) && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
}
