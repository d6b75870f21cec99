/**
 * Floods a daemon with SSDP searches, in the daemon's network namespace, and prints the numbers of searches
 * and answers as JSON. The argument is the daemon's port. A search has about 100 bytes, and an attacker can
 * forge its sender address. So the answers must not have more bytes than the searches.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const [port] = process.argv.slice(2);
const GROUP = '239.255.255.250';
const search = (target, more = '') =>
  `M-SEARCH * HTTP/1.1\r\nHOST: ${GROUP}:1900\r\nMAN: "ssdp:discover"\r\nMX: 1\r\nST: ${target}\r\n${more}\r\n`;
/** `probed`: the answers to the first search. `worstMs`: the longest time until the head of an answer to a GET. */
const counts = { sent: 0, sentBytes: 0, answers: 0, answerBytes: 0, worstMs: 0, probed: 0 };

async function open() {
  const socket = createSocket('udp4');
  socket.on('message', (packet) => {
    counts.answers += 1;
    counts.answerBytes += packet.length;
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.setMulticastInterface('127.0.0.1');
  return socket;
}

const send = (socket, packet, address = GROUP) =>
  new Promise((resolve) => {
    counts.sent += 1;
    counts.sentBytes += packet.length;
    socket.send(packet, 1900, address, resolve);
  });

async function get() {
  const started = performance.now();
  const sent = request({ host: '127.0.0.1', port, path: '/redfish/v1', agent: false });
  sent.end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  counts.worstMs = Math.max(counts.worstMs, performance.now() - started);
}

const sockets = await Promise.all(Array.from({ length: 50 }, open));
// Sends an ordinary search before the flood. If it gets no answer, the flood proves nothing.
await send(sockets[0], search('ssdp:all'));
for (const end = Date.now() + 30_000; counts.answers === 0 && Date.now() < end;) await delay(50);
counts.probed = counts.answers;
const started = performance.now();
/** Valid, huge and malformed searches, and other packets. */
const packets = [
  search('ssdp:all'),
  search('upnp:rootdevice', `X: ${'x'.repeat(1500)}\r\n`),
  search('ssdp:all', `X: ${'x'.repeat(60_000)}\r\n`),
  search('ssdp:all').replace('MX: 1', 'MX: 1e9'),
  search('urn:dmtf-org:service:redfish-rest:1'),
  'M-SEARCH * HTTP/1.1\r\n',
  Buffer.alloc(1400, 0xff),
  `NOTIFY * HTTP/1.1\r\nNTS: ssdp:byebye\r\n\r\n`,
];
for (let round = 0; round < 100; round += 1) {
  await Promise.all(sockets.map((socket, index) => send(socket, packets[(round + index) % packets.length])));
  if (round % 10 === 0) await get();
}
// Waits longer than the 5 s within which a daemon must answer a search.
await delay(6_000);
const seconds = (performance.now() - started) / 1000;
const before = counts.answers;
// Sends unicast searches, which may come from the internet. The daemon must not answer them.
for (let index = 0; index < 20; index += 1) await send(sockets[0], search('ssdp:all'), '127.0.0.1');
await delay(1_500);
await get();
console.log(JSON.stringify({ ...counts, seconds, unicast: counts.answers - before }));
process.exit(0);
