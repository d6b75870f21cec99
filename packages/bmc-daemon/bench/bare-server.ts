/**
 * The reference for comparisons: a bare `node:http` server that answers every request with 200 and
 * the same headers and body. The first argument names a JSON file with both. The server prints its
 * port.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const { headers, body } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as {
  readonly headers: readonly string[];
  readonly body: string;
}; // bare-process.ts wrote the file in this form.

const server = createServer((_request, response) => {
  response.writeHead(200, [...headers]);
  response.end(body);
});
// The address of a TCP server is an object.
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
