/** Authentication calls, which precede `connect.open`. */
import { array, type Codec, int, nothing, string, struct, type Value } from '../codec.js';
import { XdrError } from '../xdr.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Types of authentication. @see remote_auth_type */
export const AuthType = { NONE: 0, SASL: 1, POLKIT: 2 } as const;

/** Maximum size of SASL data. @see REMOTE_AUTH_SASL_DATA_MAX */
const MAX_DATA_BYTES = 65_536;

/** `char data<>`: XDR encodes each character as a 32-bit integer. */
const characters: Codec<Uint8Array> = {
  encode: (writer, bytes) => {
    writer.uint32(bytes.length);
    for (const byte of bytes) writer.int32((byte << 24) >> 24);
  },
  decode: (reader) => {
    const count = reader.uint32();
    if (count > MAX_DATA_BYTES || count * 4 > reader.remaining) throw new XdrError(`SASL data of ${count} bytes`);
    return Uint8Array.from({ length: count }, () => reader.int32() & 0xff);
  },
};

const saslReply = struct({ complete: int, nil: int, data: characters });

/** Reply of a SASL call. `complete` is 0 until the exchange has ended. */
export type SaslReply = Value<typeof saslReply>;

/** Returns the data of a SASL call. Empty data is a message too, not an absent one (`nil`). */
export function saslData(text: string): { readonly nil: number; readonly data: Uint8Array } {
  return { nil: 0, data: Buffer.from(text, 'utf8') };
}

/** Calls for the list of authentication types, for SASL and for polkit. */
export const authProcedures = procedures(PROGRAM.remote, 'auth', {
  list: { number: 66, args: nothing, result: array(int) },
  saslInit: { number: 67, args: nothing, result: string },
  saslStart: { number: 68, args: struct({ mech: string, nil: int, data: characters }), result: saslReply },
  saslStep: { number: 69, args: struct({ nil: int, data: characters }), result: saslReply },
  polkit: { number: 70, args: nothing, result: int },
});
