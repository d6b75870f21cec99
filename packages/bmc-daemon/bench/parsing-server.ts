/**
 * The server that the benchmark of request bodies compares the daemon with. It parses each JSON
 * body and sends an empty answer. Prints its port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    try {
      JSON.parse(Buffer.concat(pieces).toString());
      response.writeHead(204);
    } catch {
      // The daemon also parses the body before it rejects it.
      response.writeHead(400);
    }
    response.end();
  });
});
// The address of a TCP server is an object.
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
