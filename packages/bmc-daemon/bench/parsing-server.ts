/** The yardstick of bodies: `node:http` that reads a body, parses it and answers with nothing. Prints its port. */
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
      // The daemon, too, has to find out that it is no JSON.
      response.writeHead(400);
    }
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`)); // Listening on TCP.
