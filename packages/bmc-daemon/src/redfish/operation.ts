/** The operation of one method at one path, and the functions of the pipeline that operations call. */
import type { AnnotateOptions } from './annotate.js';
import type { Answer } from './answer.js';
import type { ReadBody } from './body/body.js';
import type { ChangeListener, Exchange } from './exchange.js';
import type { View } from './rendering.js';
import type { Awaitable, Params } from './resource.js';
import type { Uploads } from './upload/uploads.js';
import type { WriteTurns } from './write/write-turns.js';

/** Answers the requests with one method at one path. */
export type Operation = (exchange: Exchange, params: Params) => Awaitable<Answer>;

/** The functions of the pipeline that operations call. */
export interface EndpointOptions<Services> extends AnnotateOptions {
  /** Returns the part of the service that a request sees. */
  readonly viewOf: (exchange: Exchange) => View<Services>;
  /** Answers a GET of another resource without conditions, for the body of a 200, 201 or 202. */
  readonly read: (uri: string, exchange: Exchange) => Awaitable<Answer>;
  readonly readBody: ReadBody;
  /** Decides when each write starts. */
  readonly writeTurns: WriteTurns;
  readonly uploads: Uploads;
  readonly onChange?: ChangeListener;
  /** Returns whether the service has a GET for a path. */
  readonly isServed: (path: string) => boolean;
}
