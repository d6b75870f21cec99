import { isNativeError } from 'node:util/types';
import type { ErrorLevel, RemoteErrorCode, RemoteErrorDomain } from './enums.js';

/**
 * Failures that this client finds by itself, without an error from libvirtd:
 *
 * - `CALL_TIMEOUT`: no reply within the call's time-out. libvirtd may still carry the call out: read the state again
 *   before retrying (`mayHaveRun` tells whether it was sent).
 * - `CALL_ABORTED`: the caller's AbortSignal fired; the same warning holds.
 * - `NOT_CONNECTED`: there was no connection within the call's time-out; `cause` says why the last attempt failed.
 * - `CONNECTION_LOST`: the connection broke (closed by the peer, keepalive failed) while the call or stream was under way.
 * - `LINK_CLOSED`: `close()` was called here.
 * - `PROTOCOL`: the peer sent something that is not libvirt's protocol, or a message over the limit; or a message to be
 *   sent is over it.
 * - `INVALID_URI`: a connection URI that is malformed or of a kind that is not supported.
 * - `AUTH_UNSUPPORTED`: libvirtd offers only authentication kinds that this client does not speak.
 */
export type ClientErrorCode =
  | 'CALL_TIMEOUT'
  | 'CALL_ABORTED'
  | 'NOT_CONNECTED'
  | 'CONNECTION_LOST'
  | 'LINK_CLOSED'
  | 'PROTOCOL'
  | 'INVALID_URI'
  | 'AUTH_UNSUPPORTED';

/** Every value of {@link LibvirtError.code}. */
export type ErrorCode = RemoteErrorCode | ClientErrorCode | `UNKNOWN_${number}`;
/** Every value of {@link LibvirtError.domain}. */
export type ErrorDomain = RemoteErrorDomain | 'CLIENT' | `UNKNOWN_${number}`;

/** What a {@link LibvirtError} carries besides its message and cause. */
export type LibvirtErrorDetails = Omit<LibvirtError, keyof Error | 'isRemote'>;

/**
 * A call, stream or connection that failed, whoever found out. `code` and `domain` are libvirt's names without their
 * prefixes (`NO_DOMAIN`, `QEMU`), or one of {@link ClientErrorCode} with domain `CLIENT`.
 */
export class LibvirtError extends Error {
  override readonly name = 'LibvirtError';
  readonly code: ErrorCode;
  /** virErrorNumber; -1 for an error of this client. */
  readonly codeNumber: number;
  readonly domain: ErrorDomain;
  /** virErrorDomain; -1 for an error of this client. */
  readonly domainNumber: number;
  readonly level: ErrorLevel | `UNKNOWN_${number}`;
  /** The procedure that failed, e.g. `domainCreate`; null where none was under way. */
  readonly procedure: string | null;
  /** False only when it is certain that libvirtd never saw the call. */
  readonly mayHaveRun: boolean;
  /** The free-form fields of virError, as libvirtd sent them. */
  readonly str1: string | null;
  readonly str2: string | null;
  readonly str3: string | null;
  readonly int1: number;
  readonly int2: number;

  constructor(message: string, details: LibvirtErrorDetails, options?: ErrorOptions) {
    super(message, options);
    this.code = details.code;
    this.codeNumber = details.codeNumber;
    this.domain = details.domain;
    this.domainNumber = details.domainNumber;
    this.level = details.level;
    this.procedure = details.procedure;
    this.mayHaveRun = details.mayHaveRun;
    this.str1 = details.str1;
    this.str2 = details.str2;
    this.str3 = details.str3;
    this.int1 = details.int1;
    this.int2 = details.int2;
  }

  /** True when libvirtd itself answered with this error; false when this client raised it. */
  get isRemote(): boolean {
    return this.codeNumber >= 0;
  }
}

/** Optional parts of an error of this client. */
export interface ClientErrorOptions {
  readonly procedure?: string | null;
  /** Default false: libvirtd never saw the call. */
  readonly mayHaveRun?: boolean;
  readonly cause?: unknown;
}

/** An error that this client raises by itself (domain `CLIENT`). */
export function clientError(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}): LibvirtError {
  return new LibvirtError(
    message,
    {
      code,
      codeNumber: -1,
      domain: 'CLIENT',
      domainNumber: -1,
      level: 'ERROR',
      procedure: options.procedure ?? null,
      mayHaveRun: options.mayHaveRun ?? false,
      str1: null,
      str2: null,
      str3: null,
      int1: 0,
      int2: 0,
    },
    options.cause === undefined ? undefined : { cause: options.cause },
  );
}

/**
 * True for a {@link LibvirtError}, of one of the given codes when any are given:
 * `if (isLibvirtError(error, 'NO_DOMAIN')) return null;`
 */
export function isLibvirtError(error: unknown, ...codes: readonly ErrorCode[]): error is LibvirtError {
  return error instanceof LibvirtError && (codes.length === 0 || codes.includes(error.code));
}

/** What was thrown, as an Error: itself if it is one, of whichever realm, else its text. */
export function toError(thrown: unknown): Error {
  // `instanceof` alone is false for Node's own errors where code runs in a vm context, as under jest.
  return isNativeError(thrown) || thrown instanceof Error ? thrown : new Error(String(thrown));
}
