/**
 * A server process that answers each call with the same reply, except the calls of the handshake. A
 * reply has the serial number of its call. The benchmark uses the process to measure the client without
 * libvirtd. Arguments: socket path, reply as hex, and the replies of the handshake as `procedure:hex`.
 */
import { createServer } from 'node:net';

const [, , path = '', reply = '', ...handshake] = process.argv;
const PROCEDURE_AT = 12;
const SERIAL_AT = 20;

const answer = Buffer.from(reply, 'hex');
const handshakeReplies = new Map(
  handshake.map((entry) => {
    const [procedure = '', bytes = ''] = entry.split(':');
    return [Number(procedure), Buffer.from(bytes, 'hex')];
  }),
);

createServer((socket) => {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const replies: Buffer[] = [];
    let at = 0;
    while (bytes.length - at >= 4 && bytes.length - at >= bytes.readUInt32BE(at)) {
      const copy = Buffer.from(handshakeReplies.get(bytes.readUInt32BE(at + PROCEDURE_AT)) ?? answer);
      copy.writeUInt32BE(bytes.readUInt32BE(at + SERIAL_AT), SERIAL_AT);
      replies.push(copy);
      at += bytes.readUInt32BE(at);
    }
    rest = bytes.subarray(at);
    if (replies.length > 0) socket.write(Buffer.concat(replies));
  });
  socket.on('error', () => socket.destroy());
}).listen(path, () => process.send?.('listening'));
