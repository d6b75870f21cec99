/** Calls about the host itself, which libvirt calls a node. */
import { array, type Codec, int, nothing, string, struct, uhyper } from '../codec.js';
import { XdrError } from '../xdr.js';
import { flags, uhyperNumber } from './integer.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Text in `char name[length]`: one 32-bit integer for each byte, and a zero at the end. */
const characters = (length: number): Codec<string> => ({
  encode: (writer, value) => {
    const bytes = Buffer.alloc(length);
    if (bytes.write(value) === length)
      throw new XdrError(`text of ${Buffer.byteLength(value)} bytes, expected fewer than ${length}`);
    for (const byte of bytes) writer.int32(byte);
  },
  decode: (reader) => {
    const bytes = Buffer.from(Array.from({ length }, () => reader.int32()));
    const end = bytes.indexOf(0);
    return bytes.toString('utf8', 0, end < 0 ? length : end);
  },
});

const fields = array(struct({ field: string, value: uhyper }));

/** Calls about the host, as in libvirt's remote_protocol.x. */
export const nodeProcedures = procedures(PROGRAM.remote, 'node', {
  getInfo: {
    number: 6,
    args: nothing,
    result: struct({
      model: characters(32),
      memory: uhyperNumber,
      cpus: int,
      mhz: int,
      nodes: int,
      sockets: int,
      cores: int,
      threads: int,
    }),
  },
  // The arguments of the two calls have different orders. With `nparams` 0, both return only the
  // number of fields.
  getCpuStats: {
    number: 227,
    args: struct({ cpuNum: int, nparams: int, flags }),
    result: struct({ params: fields, nparams: int }),
  },
  getMemoryStats: {
    number: 228,
    args: struct({ nparams: int, cellNum: int, flags }),
    result: struct({ params: fields, nparams: int }),
  },
});
