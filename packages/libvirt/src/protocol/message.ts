/**
 * The envelope of every message: a length word, six header words, a body. All from libvirt's RPC documentation.
 * @see https://libvirt.org/kbase/internals/rpc.html
 */
import { ERROR_CODES, ERROR_DOMAINS, ERROR_LEVELS, nameOf } from '../enums.js';
import { LibvirtError } from '../errors.js';
import { int, optional, string, struct, type Value, type XdrReader, type XdrWriter } from '../xdr.js';
import { network, domain } from './object.js';
import { PROGRAM_VERSION } from './procedure.js';

/** What a message is. @see virNetMessageType */
export const MessageType = { call: 0, reply: 1, event: 2, stream: 3 } as const;

/** How it went; `continue` is for stream data. @see virNetMessageStatus */
export const MessageStatus = { ok: 0, error: 1, continue: 2 } as const;

/** Procedures of the keepalive program; both are of type `event` with serial 0 and no body. */
export const KeepaliveProcedure = { ping: 1, pong: 2 } as const;

/** Length word and header together. */
export const HEADER_BYTES = 28;

/** The most data that one stream message may carry. @see VIR_NET_MESSAGE_LEGACY_PAYLOAD_MAX */
export const STREAM_CHUNK_BYTES = 262_120;

/** The six words after the length; the version is always {@link PROGRAM_VERSION}. */
export interface Header {
  readonly program: number;
  readonly procedure: number;
  readonly type: number;
  /** Chosen by the client per call, the same in its reply and its stream; 0 for events. */
  readonly serial: number;
  readonly status: number;
}

/** Begins a message; the body follows, then `closeFrame`. */
export function openMessage(writer: XdrWriter, header: Header): void {
  writer.openFrame();
  writer.uint32(header.program);
  writer.uint32(PROGRAM_VERSION);
  writer.uint32(header.procedure);
  writer.int32(header.type);
  writer.uint32(header.serial);
  writer.int32(header.status);
}

/** Reads the header of a message that begins at `reader`'s place, its length word included. */
export function readHeader(reader: XdrReader): Header {
  reader.uint32();
  const program = reader.uint32();
  reader.uint32();
  return {
    program,
    procedure: reader.uint32(),
    type: reader.int32(),
    serial: reader.uint32(),
    status: reader.int32(),
  };
}

/** virError on the wire: the body of every message with status `error`. */
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

const NO_SUPPORT = 3;
const RPC = 39;

/**
 * What libvirtd answered, as the error that the caller sees. A procedure that libvirtd does not know becomes `NO_SUPPORT`, as
 * in libvirt's own client: the caller need not care whether the driver or the whole daemon lacks the call.
 */
export function errorFromRemote(remote: Value<typeof remoteError>, procedure: string | null): LibvirtError {
  const message = remote.message ?? 'libvirtd gave no message';
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
