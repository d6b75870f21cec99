/**
 * Serves one file over HTTP on a free loopback port, until a signal:
 * `node scripts/start.d/serve-file.js FILE NAME` prints `http://127.0.0.1:PORT/NAME`. scripts/start
 * uses it for the image of the demo guests.
 */
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';

const [, , file, name] = process.argv;
const { size, mtime } = statSync(file);

const server = createServer((request, response) => {
  if (request.url !== `/${name}` || !['GET', 'HEAD'].includes(request.method)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': size,
    'Last-Modified': mtime.toUTCString(),
  });
  if (request.method === 'HEAD') response.end();
  // A client that disconnects is no error.
  else pipeline(createReadStream(file), response, () => undefined);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/${name}`));
