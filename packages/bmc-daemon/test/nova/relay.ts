/** A relay between the daemon and the lab's Keystone, Nova and Glance, which injects faults. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CloudSettings } from '../../src/drivers/nova/cloud/cloud-settings.js';

/** Answers a request instead of the lab. */
type Answer = (response: ServerResponse) => void;
/** Returns the answer to a request; undefined: the lab answers. */
export type Fault = (request: IncomingMessage) => Answer | undefined;

/** Returns an answer of the given status. */
export function answerWith(status: number, headers: Readonly<Record<string, string>> = {}, text = ''): Answer {
  return (response) => void response.writeHead(status, headers).end(text);
}

/** A running relay. */
export interface Relay {
  /** The text of a clouds.yaml with the cloud `lab` behind the relay. */
  readonly clouds: string;
  /** Decides about each request. Default: the lab answers all. */
  fault: Fault;
  /** Requests to Nova so far, such as `GET /servers`. */
  readonly seen: string[];
  /** Closes all connections and refuses new ones. */
  down(): Promise<void>;
  /** Listens again at the same port. */
  up(): Promise<void>;
}

/** URLs of services, without a slash at the end. */
interface Services {
  readonly nova: string;
  /** Default: the daemon finds Glance in the catalog, and uses it without the relay. */
  readonly glance?: string;
}

/** Starts a relay between the daemon and a cloud. */
export async function startRelay(cloud: CloudSettings, { nova: novaUrl, glance }: Services): Promise<Relay> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const { url = '', method = '' } = request;
    const isNova = url.startsWith('/nova/');
    if (isNova) seen.push(`${method} ${url.slice('/nova'.length)}`);
    const answer = relay.fault(request);
    if (answer !== undefined) {
      answer(response);
      return;
    }
    const isGlance = glance !== undefined && url.startsWith('/glance/');
    const target = isNova
      ? novaUrl + url.slice('/nova'.length)
      : isGlance
        ? glance + url.slice('/glance'.length)
        : cloud.identityUrl + url.slice('/v3'.length);
    const { host: _host, ...headers } = request.headers;
    const onwards = httpRequest(target, { method, headers, agent: false }, (passed) => {
      response.writeHead(passed.statusCode ?? 502, passed.headers);
      passed.pipe(response);
    });
    onwards.on('error', () => response.destroy());
    request.pipe(onwards);
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  const url = `http://127.0.0.1:${port}`;
  const { auth } = cloud.credentials;
  const user = (auth.identity['password'] as { readonly user: Record<string, unknown> }).user; // the lab uses a password
  const project = auth.scope?.project ?? {};
  const names = {
    username: user['name'],
    password: user['password'],
    user_domain_id: 'default',
    project_name: 'name' in project ? project.name : undefined,
    project_domain_id: 'default',
  };
  const endpoints = {
    compute_endpoint_override: `${url}/nova`,
    ...(glance === undefined ? {} : { image_endpoint_override: `${url}/glance` }),
  };
  const relay: Relay = {
    clouds: JSON.stringify({
      clouds: { lab: { auth: { auth_url: `${url}/v3`, ...names }, ...endpoints } },
    }),
    fault: () => undefined,
    seen,
    down: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    up: () => listen(port),
  };
  return relay;
}
