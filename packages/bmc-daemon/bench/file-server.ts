/** A bare HTTP server, as a process. Sends the file that its argument names, at every path. Prints its port. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const [, , file = ''] = process.argv;
const { size, mtime } = await stat(file);
const server: Server = createServer((request, response) => {
  response.writeHead(200, { 'content-length': size, 'last-modified': mtime.toUTCString() });
  if (request.method === 'HEAD') response.end();
  else createReadStream(file, { highWaterMark: 1_048_576 }).pipe(response);
});
// The address of a TCP server is an object.
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
