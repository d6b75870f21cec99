/**
 * The minimum for a proxy on Node: `node:http` on both sides, without parsing. `node http-pipe.js
 * PORT UPSTREAM_PORT`
 */
import { Agent, createServer, request as ask } from 'node:http';

const [port, upstreamPort] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

createServer((request, response) => {
  const { method, url: path, headers } = request;
  const upstream = ask({ host: '127.0.0.1', port: upstreamPort, method, path, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}).listen(port, '127.0.0.1');
