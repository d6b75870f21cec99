/** A small HTTP server that answers as a test says: with unusual URIs, and with wrong answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { afterEach } from '@jest/globals';

/** An answer: JSON, or a function that writes it. */
export type ScriptedAnswer = object | ((request: RecordedRequest, response: ServerResponse) => void);

/** A received request. `body` is parsed JSON; undefined: no body. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A running service. */
export class ScriptedService {
  readonly requests: RecordedRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Starts a service on a free port.
   * @param answers answers by method and path: `GET /redfish/v1/`; `?*` stands for any query. Without an
   *   answer: 404.
   */
  static async start(answers: Readonly<Record<string, ScriptedAnswer>>): Promise<ScriptedService> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const recorded = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: text === '' ? undefined : (JSON.parse(text) as unknown),
        };
        service.requests.push(recorded);
        const line = `${recorded.method} ${recorded.url}`;
        const answer = answers[line in answers ? line : line.replace(/\?.*/, '?*')];
        if (typeof answer === 'function') answer(recorded, response);
        else if (answer === undefined) sendJson(response, 404, { error: { message: 'there is no such resource' } });
        else sendJson(response, 200, answer);
      });
    });
    const service = new ScriptedService(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return service;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Method and URL of each request, such as `GET /redfish/v1/`. */
  get lines(): readonly string[] {
    return this.requests.map(({ method, url }) => `${method} ${url}`);
  }

  /** Closes the server. A second call has no effect. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

/**
 * Returns a function that starts services, which end after each test. Call this at the top of a
 * suite.
 */
export function scriptedServices(): (answers: Readonly<Record<string, ScriptedAnswer>>) => Promise<ScriptedService> {
  const services: ScriptedService[] = [];
  afterEach(() => Promise.all(services.splice(0).map((service) => service.close())));
  return async (answers) => {
    const service = await ScriptedService.start(answers);
    services.push(service);
    return service;
  };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Returns the answers of a service with one machine: root, collection and machine, with the URIs of an iDRAC. */
export function oneMachine(system: object = {}, root: object = {}): Record<string, ScriptedAnswer> {
  const uri = '/redfish/v1/Systems/System.Embedded.1';
  return {
    'GET /redfish/v1/': { RedfishVersion: '1.6.0', Systems: { '@odata.id': '/redfish/v1/Systems' }, ...root },
    'GET /redfish/v1/Systems': { Members: [{ '@odata.id': uri }] },
    [`GET ${uri}`]: { '@odata.id': uri, Id: 'System.Embedded.1', Name: 'System', PowerState: 'Off', ...system },
  };
}
