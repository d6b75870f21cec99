/** Listening servers for the contract suites, and their image server. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A listening server. */
export interface Listening {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Listens at a free port of the loopback address. */
export async function listen(handler: RequestListener): Promise<Listening> {
  const server: Server = createServer(handler);
  // Node closes idle connections after 5 s. A test that computes for that long would send its next
  // request on a closing connection.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A running image server. */
export interface ImageServer {
  /** Returns the URL of an image, existing or not. */
  at(name: string): string;
  /** Returns whether a request for a slow image waits. */
  readonly isHeld: () => boolean;
  /** Answers all waiting requests: `slow.iso` with the image, `slow-gone.iso` with 404. */
  readonly release: () => void;
  readonly stop: () => Promise<void>;
}

/** Starts a server of images of 64 KiB: `disc.iso`, `other.iso`, `slow.iso`, and `secret.iso` with a password. */
export async function startImageServer(): Promise<ImageServer> {
  const image = Buffer.alloc(65_536, 'disc');
  const credentials = `Basic ${Buffer.from('user:pass word').toString('base64')}`;
  const held: (() => void)[] = [];
  const { url, stop } = await listen((incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://images.test').pathname;
    const serve = (): void => {
      response.writeHead(200, { 'Content-Length': image.length, ETag: `"${path}"` });
      response.end(incoming.method === 'HEAD' ? undefined : image);
    };
    const refuse = (): void => void response.writeHead(404).end();
    if (path === '/slow.iso') held.push(serve);
    else if (path === '/slow-gone.iso') held.push(refuse);
    else if (path === '/disc.iso' || path === '/other.iso') serve();
    else if (path !== '/secret.iso') refuse();
    else if (incoming.headers.authorization === credentials) serve();
    else response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="images"' }).end();
  });
  return {
    at: (name) => `${url}/${name}`,
    isHeld: () => held.length > 0,
    release: () => held.splice(0).forEach((answer) => answer()),
    stop,
  };
}
