import { isNativeError } from 'node:util/types';
import type { ErrorLevel, RemoteErrorCode, RemoteErrorDomain } from './enums.js';

/**
 * Codes of errors that this client detects itself:
 *
 * - `CALL_TIMEOUT`: no reply before the timeout. libvirtd may still execute the call: read the
 *   state again before you retry. `mayHaveRun` is true if the call was sent.
 * - `CALL_ABORTED`: the caller aborted its AbortSignal. libvirtd may still execute the call if it
 *   was sent: see `mayHaveRun`.
 * - `NOT_CONNECTED`: there was no connection before the timeout, or the only attempt failed. With `retry: false`, and
 *   for the connection of a stream, the client makes a single attempt. `cause` is the error of the last attempt.
 * - `CONNECTION_LOST`: the connection ended during the call or stream: libvirtd closed it, keepalive failed, or too
 *   many calls had no reply. Also: the caller wrote to a stream that libvirtd has ended.
 * - `LINK_CLOSED`: the caller called `close()`.
 * - `PROTOCOL`: libvirtd sent an invalid message, or this client cannot encode the arguments of a
 *   call, for example because the message exceeds the size limit.
 * - `INVALID_URI`: the connection URI is malformed or not supported.
 * - `AUTH_UNSUPPORTED`: this client supports none of libvirtd's authentication types, or none that is safe
 *   with this transport, for example because a password would need TLS.
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

/** Value of {@link LibvirtError.code}. */
export type ErrorCode = RemoteErrorCode | ClientErrorCode | `UNKNOWN_${number}`;
/** Value of {@link LibvirtError.domain}. */
export type ErrorDomain = RemoteErrorDomain | 'CLIENT' | `UNKNOWN_${number}`;

/** Properties of a {@link LibvirtError} in addition to those of `Error`. */
export type LibvirtErrorDetails = Omit<LibvirtError, keyof Error | 'isRemote'>;

/**
 * Error of a call, stream or connection, from libvirtd or from this client. `code` and `domain` are
 * libvirt's names without prefixes (`NO_DOMAIN`, `QEMU`), or a {@link ClientErrorCode} and
 * `CLIENT`.
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
  /** Procedure that failed, such as `domainCreate`; null if the error is not about a call. */
  readonly procedure: string | null;
  /** False only if libvirtd certainly did not receive the call. */
  readonly mayHaveRun: boolean;
  /** Fields of virError without a fixed meaning, as libvirtd sent them. */
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

  /** True if libvirtd sent this error; false if this client created it. */
  get isRemote(): boolean {
    return this.codeNumber >= 0;
  }
}

/** Options of {@link clientError}. */
interface ClientErrorOptions {
  readonly procedure?: string | null;
  /** Default: false. */
  readonly mayHaveRun?: boolean;
  readonly cause?: unknown;
}

/** Creates an error of this client (domain `CLIENT`). */
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
 * Returns true for a {@link LibvirtError}. If codes are given, its code must be one of them: `if
 * (isLibvirtError(error, 'NO_DOMAIN')) return null;`
 */
export function isLibvirtError(error: unknown, ...codes: readonly ErrorCode[]): error is LibvirtError {
  return error instanceof LibvirtError && (codes.length === 0 || codes.includes(error.code));
}

/**
 * Returns a thrown value as an Error: the same object if it is an error of any realm, else a new
 * Error with its text.
 */
export function toError(thrown: unknown): Error {
  // In a vm context (jest), `instanceof` is false for Node's own errors.
  return isNativeError(thrown) || thrown instanceof Error ? thrown : new Error(String(thrown));
}
