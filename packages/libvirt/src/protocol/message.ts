/**
 * Format of a message: a length word, six header words, a body.
 * @see https://libvirt.org/kbase/internals/rpc.html
 */
import { ERROR_CODES, ERROR_DOMAINS, ERROR_LEVELS, nameOf } from '../enums.js';
import { LibvirtError } from '../errors.js';
import type { XdrReader, XdrWriter } from '../xdr.js';
import { int, optional, string, struct, type Value } from '../codec.js';
import { network, domain } from './object.js';
import { PROGRAM_VERSION } from './procedure.js';

/** Type of a message. @see virNetMessageType */
export const MessageType = { call: 0, reply: 1, event: 2, stream: 3 } as const;

/** Status of a message. Stream data has `continue`. @see virNetMessageStatus */
export const MessageStatus = { ok: 0, error: 1, continue: 2 } as const;

/**
 * Procedures of the keepalive program. Both have the type `event`, the serial number 0 and no body.
 */
export const KeepaliveProcedure = { ping: 1, pong: 2 } as const;

/** Size of the length word and the header in bytes. */
export const HEADER_BYTES = 28;

/** Maximum data size of a stream message in bytes. @see VIR_NET_MESSAGE_LEGACY_PAYLOAD_MAX */
export const STREAM_CHUNK_BYTES = 262_120;

/** Header of a message, without the version, which is always {@link PROGRAM_VERSION}. */
export interface Header {
  readonly program: number;
  readonly procedure: number;
  readonly type: number;
  /**
   * Serial number that the client assigns to a call. The reply and the stream have the same number;
   * events have 0.
   */
  readonly serial: number;
  readonly status: number;
}

/** Writes the header of a message. The caller writes the body and calls `closeFrame`. */
export function openMessage(writer: XdrWriter, header: Header): void {
  writer.openFrame();
  writer.uint32(header.program);
  writer.uint32(PROGRAM_VERSION);
  writer.uint32(header.procedure);
  writer.int32(header.type);
  writer.uint32(header.serial);
  writer.int32(header.status);
}

/** Reads the length word and the header of a message. */
export function readHeader(reader: XdrReader): Header {
  reader.uint32(); // length
  const program = reader.uint32();
  reader.uint32(); // version
  return {
    program,
    procedure: reader.uint32(),
    type: reader.int32(),
    serial: reader.uint32(),
    status: reader.int32(),
  };
}

/** Body of a message with status `error`: virError. */
export const remoteError = struct({
  code: int,
  domain: int,
  message: optional(string),
  level: int,
  dom: optional(domain),
  str1: optional(string),
  str2: optional(string),
  str3: optional(string),
  int1: int,
  int2: int,
  net: optional(network),
});

/** Values of virErrorNumber. */
const NO_SUPPORT = 3;
const RPC = 39;

/**
 * Creates the error for an error message of libvirtd. If libvirtd does not know a procedure, the
 * code is `NO_SUPPORT`, as in libvirt's own client.
 */
export function errorFromRemote(remote: Value<typeof remoteError>, procedure: string | null): LibvirtError {
  const message = remote.message ?? 'libvirtd sent no error message';
  const codeNumber = remote.code === RPC && message.startsWith('unknown procedure') ? NO_SUPPORT : remote.code;
  return new LibvirtError(message, {
    code: nameOf(ERROR_CODES, codeNumber),
    codeNumber,
    domain: nameOf(ERROR_DOMAINS, remote.domain),
    domainNumber: remote.domain,
    level: nameOf(ERROR_LEVELS, remote.level),
    procedure,
    mayHaveRun: true,
    str1: remote.str1,
    str2: remote.str2,
    str3: remote.str3,
    int1: remote.int1,
    int2: remote.int2,
  });
}
