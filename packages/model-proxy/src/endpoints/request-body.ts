/** A request's body while it is received and after; the same questions to JSON and to forms. */
import type { Route } from '../routing/router.js';
import type { ProxySettings } from '../settings.js';
import type { Endpoint } from './endpoint.js';

export interface RequestBody {
  /** The next piece. Not copied: it must not change any more. @throws {ProxyError} 400, as soon as it is sure. */
  push(chunk: Buffer): void;
  /** All of it has come. @throws {ProxyError} 400 where it is not whole. */
  finish(): void;
  /**
   * The public name asked for; undefined: there is none. Call it behind {@link RequestBody.finish}, as everything below.
   * @throws {ProxyError} 400 where it is no text, or where two readers could find two names.
   */
  model(endpoint: Endpoint): string | undefined;
  /** Whether the client wants events. */
  readonly streams: boolean;
  has(parameter: string): boolean;
  /** The body as the upstream gets it: views of what came, with the upstream's name for the model. @throws {ProxyError} 400 */
  forUpstream(route: Route, endpoint: Endpoint, settings: ProxySettings): readonly Buffer[];
}
