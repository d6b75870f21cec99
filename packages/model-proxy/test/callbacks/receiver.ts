/** A receiver of reports, which can fail. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listen } from '../support/app.js';

/** A received request. */
interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A running receiver. */
export interface ReportReceiver {
  readonly url: string;
  readonly requests: readonly Received[];
  /** The status of the next answers; null: no answer. */
  status: number | null;
  close(): Promise<void>;
}

/** Starts a receiver on a free port. */
export async function startReportReceiver(): Promise<ReportReceiver> {
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      if (receiver.status !== null) response.writeHead(receiver.status, { location: '/elsewhere' }).end('{}');
    });
  });
  const port = await listen(server);
  const receiver: ReportReceiver = {
    url: `http://127.0.0.1:${port}/reports`,
    requests,
    status: 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
