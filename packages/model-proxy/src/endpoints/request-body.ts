/** A request's body while it is received and after; the same questions to JSON and to forms. */
import type { Selection } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';
import type { BodyStream } from '../upstream/body-stream.js';
import type { Endpoint } from './endpoint.js';

export interface RequestBody {
  /** The next piece. It may be kept: it must not change any more. @throws {ProxyError} 400, as soon as it is sure. */
  push(chunk: Buffer): void;
  /** All of it has come. @throws {ProxyError} 400 where it is not whole. */
  finish(): void;
  /** Whether it can be sent before all of it has come: everything below may be called then. Otherwise behind {@link RequestBody.finish}. */
  readonly canBeSent: boolean;
  /**
   * The public name asked for; undefined: there is none.
   * @throws {ProxyError} 400 where it is no text, or where two readers could find two names.
   */
  model(endpoint: Endpoint): string | undefined;
  /** Whether the client wants events, as far as it is known. */
  readonly streams: boolean;
  has(parameter: string): boolean;
  /**
   * The body as the upstream gets it: views of what came, with the upstream's name for the model; before all of it has come a
   * stream, to which the rest is added by {@link RequestBody.push}.
   * @throws {ProxyError} 400
   */
  forUpstream(selection: Selection, endpoint: Endpoint, settings: ProxySettings): readonly Buffer[] | BodyStream;
  /** Its memory is needed no more: not by the upstream's socket, either. Never called where that is not sure; absent: there is no use in it. */
  release?(): void;
}
