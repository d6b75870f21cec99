/** The interface of request bodies: JSON and forms. */
import type { DialectRequest } from '../../providers/dialect.js';
import type { TranslatedCall } from '../../providers/translation.js';
import type { Selection } from '../../routing/router.js';
import type { ProxySettings } from '../../settings.js';
import type { BodyStream } from '../../upstream/body-stream.js';
import type { Endpoint } from '../../endpoints/endpoint.js';

/** The body of a model request. */
export interface RequestBody {
  /**
   * Reads the next chunk. The body may store the chunk: the caller must not change it.
   * @throws {ProxyError} 400: the body is invalid.
   */
  push(chunk: Buffer): void;
  /**
   * Ends the body.
   * @throws {ProxyError} 400: the body is incomplete.
   */
  finish(): void;
  /**
   * Whether the body can be sent now, before it is complete. If so, the members below work now,
   * otherwise only after {@link RequestBody.finish}.
   */
  readonly canBeSent: boolean;
  /**
   * Whether {@link RequestBody.forUpstream} can be called again, for another attempt.
   */
  readonly canBeRepeated: boolean;
  /**
   * Returns the public model name in the body; undefined: the name is missing or null.
   * @throws {ProxyError} 400: the name is not a text, or another parser could find another name.
   */
  model(endpoint: Endpoint): string | undefined;
  /** Whether the client requests a stream of events. False until `stream` has arrived. */
  readonly streams: boolean;
  /** Whether the client requests the usage in a stream (`stream_options.include_usage`). False for a form. */
  readonly asksForUsage: boolean;
  /**
   * LiteLLM's tags of the request (`metadata.tags` and `litellm_metadata.tags`), without metadata above 16 KiB. Empty
   * for a form.
   */
  readonly tags: readonly string[];
  /** Returns whether the body has a parameter, also null. In an incomplete form: whether the parameter has arrived. */
  has(parameter: string): boolean;
  /**
   * Returns the first bytes of a parameter's JSON text; undefined: the parameter is missing, or the body is a form.
   * The bytes can be a view of the body, so they are valid until {@link RequestBody.release}.
   */
  beginning(name: string, maxBytes: number): Buffer | undefined;
  /** Returns the parsed value of a parameter; undefined: it is missing, longer than 16 KiB, or in a form. */
  parameter(name: string): unknown;
  /**
   * Returns the body for the upstream, with the upstream's model name. An incomplete body is a
   * stream, to which {@link RequestBody.push} adds the rest.
   * @param translated the translation to the API of the provider; null: the request needs none.
   * @returns views of the received chunks, a stream, or the request of a dialect.
   * @throws {ProxyError} 400: the deployment does not support a parameter, a parameter for the proxy is invalid, or the
   *   dialect cannot express the request.
   */
  forUpstream(
    selection: Selection,
    endpoint: Endpoint,
    settings: ProxySettings,
    translated: TranslatedCall | null,
  ): readonly Buffer[] | BodyStream | DialectRequest;
  /**
   * Frees the body's memory for reuse. Called only if the upstream's socket does not need the
   * memory anymore.
   */
  release?(): void;
}
