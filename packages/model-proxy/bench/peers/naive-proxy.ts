/**
 * A simple proxy: express, its JSON parser, http-proxy-middleware, and JSON.stringify. `node
 * naive-proxy.js PORT UPSTREAM_PORT`
 */
import { Agent } from 'node:http';
import express, { type ErrorRequestHandler } from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';

const [port = 0, upstreamPort] = process.argv.slice(2).map(Number);
const app = express();
app.use(express.json({ limit: '100mb' }));
app.use((request, _response, next) => {
  // The upstream knows the model by another name. A proxy must change nothing else.
  (request.body as { model?: string }).model = 'bench-model';
  next();
});
app.use(
  createProxyMiddleware({
    target: `http://127.0.0.1:${upstreamPort}`,
    agent: new Agent({ keepAlive: true, maxSockets: Infinity }),
    on: { proxyReq: fixRequestBody },
  }),
);
// Answers errors with 500, and ignores errors after the head, such as disconnected clients.
const onError: ErrorRequestHandler = (_error, _request, response, next) => {
  if (response.headersSent) next();
  else response.status(500).end();
};
app.use(onError);
app.listen(port, '127.0.0.1');
