/**
 * A WebSocket bridge without any check: `/0` is the first unix socket of the command line, `/1` the second. Prints
 * its port. The benchmark of screens compares the daemon with it.
 */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const paths = process.argv.slice(2);
const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (client, { url = '' }) => {
  const display = connect(paths[Number(url.slice(1))] ?? '');
  display.on('data', (bytes) => client.send(bytes));
  display.on('error', () => client.terminate());
  display.on('close', () => client.terminate());
  client.on('message', (bytes: Buffer) => display.write(bytes)); // ws delivers Buffers by default
  client.on('close', () => display.destroy());
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port)); // The address of a TCP server is an object.
