/** One request on its way through the pipeline. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Requester } from './resource.js';

export interface Exchange {
  readonly request: IncomingMessage;
  /** Without the query, as sent. */
  readonly path: string;
  readonly requester: Requester;
}

/** Who asks, with a signal that costs nothing until somebody wants it. */
export class RequestRequester implements Requester {
  readonly user: string | null;
  readonly address: string;
  readonly requestId: string;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(user: string | null, requestId: string, request: IncomingMessage, response: ServerResponse) {
    this.user = user;
    // Undefined once the socket is destroyed; the answer goes nowhere then.
    this.address = request.socket.remoteAddress ?? '';
    this.requestId = requestId;
    this.#response = response;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#response.destroyed) controller.abort();
      // `close` comes after a complete answer, too, when nobody listens to the signal any more.
      this.#response.once('close', () => controller.abort());
    }
    return this.#controller.signal;
  }
}
