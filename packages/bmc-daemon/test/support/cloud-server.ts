/**
 * A server that replaces a cloud: it has Keystone's tokens, and the test gives the answers of Nova.
 * Use it only for faults and numbers of servers that a real cloud cannot have on demand. Other
 * tests of test/nova use a real cloud.
 */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { CloudSettings } from '../../src/drivers/nova/cloud/cloud-settings.js';

/**
 * Answers one request to a service. `path` lacks the endpoint of the service: it is `/servers` for
 * `/compute/servers`. Only Keystone's paths are complete.
 */
export type NovaHandler = (request: IncomingMessage, response: ServerResponse, path: string) => void;

/** A running server. */
export interface CloudServer {
  readonly url: string;
  /** All requests: method and path. */
  readonly requests: string[];
  /** The largest number of connections that were open at the same time. */
  readonly mostConnections: () => number;
  /**
   * Answers requests to Keystone, by default with a token for {@link PASSWORD}. A test can replace
   * it.
   */
  keystone: NovaHandler;
  /** Answers requests to Nova, by default with {@link apiVersion}. A test can replace it. */
  nova: NovaHandler;
  /**
   * Other services of the catalog by type, for example `image`, with the answers below `/<type>`.
   * Default: none.
   */
  readonly others: Map<string, NovaHandler>;
  close(): Promise<void>;
}

/** The project of the server's tokens. */
export const PROJECT_ID = 'p';
/** The only password that the server accepts. */
export const PASSWORD = 'correct horse';

/** Answers a request with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Calls `use` with the whole body of a request. */
export function whenRead(request: IncomingMessage, use: (text: string) => void): void {
  let text = '';
  request.on('data', (piece: Buffer) => (text += piece.toString()));
  request.on('end', () => use(text));
}

/** Nova's description of its API, for the start of a driver. */
export const apiVersion = { version: { id: 'v2.1', version: '2.93' } };

/** Starts a server. @param options `tls` for HTTPS; `port`: default any free port. */
export async function startCloudServer({
  tls,
  port: wanted = 0,
}: { readonly tls?: ServerOptions; readonly port?: number } = {}): Promise<CloudServer> {
  let tokens = 0;
  const requests: string[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? '';
    requests.push(`${request.method ?? ''} ${path}`);
    const [, first = ''] = path.split('/');
    const other = cloud.others.get(first);
    if (path.startsWith('/compute')) cloud.nova(request, response, path.slice('/compute'.length));
    else if (other !== undefined) other(request, response, path.slice(`/${first}`.length));
    else cloud.keystone(request, response, path);
  };
  const server: Server = tls === undefined ? createHttpServer(handle) : createHttpsServer(tls, handle);
  let connections = 0;
  let most = 0;
  server.on('connection', (socket) => {
    connections += 1;
    most = Math.max(most, connections);
    socket.on('close', () => (connections -= 1));
  });
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const cloud: CloudServer = {
    url,
    requests,
    mostConnections: () => most,
    keystone: (request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        if (!body.includes(JSON.stringify(PASSWORD))) {
          sendJson(response, 401, { error: { code: 401, message: `no access with ${body}`, title: 'Unauthorized' } });
          return;
        }
        tokens += 1;
        const endpointsOf = (type: string) =>
          ['public', 'internal'].map((name) => ({
            interface: name,
            region_id: 'R1',
            url: `${url}/${type}/${name === 'public' ? '' : name}`,
          }));
        const catalog = ['compute', ...cloud.others.keys()].map((type) => ({ type, endpoints: endpointsOf(type) }));
        const token = { token: { catalog, project: { id: PROJECT_ID } } };
        sendJson(response, 201, token, { 'x-subject-token': `token-${tokens}` });
      });
    },
    nova: (_request, response) => sendJson(response, 200, apiVersion),
    others: new Map(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return cloud;
}

/** Returns settings for a driver of the cloud at a URL. */
export function settingsFor(
  url: string,
  parts: Partial<CloudSettings> & { readonly password?: string } = {},
): CloudSettings {
  const { password = PASSWORD, ...others } = parts;
  return {
    name: 'test',
    identityUrl: `${url}/v3`,
    credentials: {
      auth: {
        identity: { methods: ['password'], password: { user: { id: 'u', password } } },
        scope: { project: { id: PROJECT_ID } },
      },
      secrets: [password],
      place: 'clouds.yaml:7: auth.password',
    },
    region: 'R1',
    interface: 'public',
    tls: { verify: true },
    endpoints: {},
    place: (field) => `clouds.yaml:3: ${field}`,
    ...others,
  };
}

/** Settings of virtual media for a driver: limits that no test reaches, and no image for network boots. */
export const mediaSettings = {
  limits: {
    ...{ connectTimeoutMs: 60_000, answerTimeoutMs: 60_000, idleTimeoutMs: 60_000, downloadTimeoutMs: 600_000 },
    maxBytes: 1024 ** 3,
  },
  bus: 'sata',
  fetchedByGlance: false,
  networkImage: null as string | null,
  daemon: 'test',
};
