import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const script = join(import.meta.dirname, '../../../../scripts/npm-registry.sh');

/** A registry that records its requests. */
class Registry {
  readonly requests: { readonly url: string; readonly authorization: string | undefined }[] = [];
  readonly #server: Server;

  private constructor(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#server = createServer((request, response) => {
      this.requests.push({ url: request.url ?? '', authorization: request.headers.authorization });
      answer(request, response);
    });
  }

  static async start(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Registry> {
    const registry = new Registry(answer);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  /** The address without a scheme: `//127.0.0.1:12345/`. */
  get address(): string {
    const address = this.#server.address();
    return `//127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

const tarball = (_: IncomingMessage, response: ServerResponse) => void response.end('bytes');

let home: string;
const registries: Registry[] = [];
const start = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const registry = await Registry.start(answer);
  registries.push(registry);
  return registry;
};

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'rackless-registry-'));
});
afterEach(async () => {
  await Promise.all(registries.splice(0).map((registry) => registry.close()));
  await rm(home, { recursive: true });
});

/**
 * Downloads version 1.0.0 of the package `package`. The only npm settings are this .npmrc of the user and these
 * variables. Returns the bytes as text.
 * @throws if the script fails. The error contains its `stderr`.
 */
async function download(npmrc: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  await writeFile(join(home, '.npmrc'), npmrc);
  const file = join(home, 'package.tgz');
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, npm_config_globalconfig: '/nonexistent', ...environment };
  await run('bash', ['-euo', 'pipefail', '-c', `. '${script}'; registry_tarball package 1.0.0 '${file}'`], {
    cwd: home,
    env,
  });
  return readFile(file, 'utf8');
}

describe('the download of a package', () => {
  it("comes from the registry of the user's .npmrc, without credentials if the file has none", async () => {
    const registry = await start(tarball);
    expect(await download(`; mine\nregistry = "http:${registry.address}npm"\n`)).toBe('bytes');
    expect(registry.requests).toEqual([{ url: '/npm/package/-/package-1.0.0.tgz', authorization: undefined }]);
  });

  it('comes from the registry in the environment, even if a file names another one', async () => {
    const [registry, other] = [await start(tarball), await start(tarball)];
    await download(`registry=http:${other.address}\n`, { NPM_CONFIG_REGISTRY: `http:${registry.address}` });
    expect([registry.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  it.each([
    ['a token', (place: string) => `${place}npm/:_authToken=a"b\\c`, 'Bearer a"b\\c'],
    ['a token from a variable', (place: string) => `${place}:_authToken=\${TOKEN}`, 'Bearer from-environment'],
    ['a token of a parent path', (place: string) => `${place}:_authToken=abc`, 'Bearer abc'],
    ['Basic credentials', (place: string) => `${place}:_auth="dXNlcjpwYXNz"`, 'Basic dXNlcjpwYXNz'],
    [
      'a user and a password',
      (place: string) => `${place}:username=user\n${place}:_password=cGFzcw==`,
      'Basic dXNlcjpwYXNz',
    ],
    ['no credentials of another registry', () => '//registry.example.net/:_authToken=abc', undefined],
  ])('sends %s', async (_, credentials, authorization) => {
    const registry = await start(tarball);
    await download(`registry=http:${registry.address}npm/\n${credentials(registry.address)}\n`, {
      TOKEN: 'from-environment',
    });
    expect(registry.requests.map((request) => request.authorization)).toEqual([authorization]);
  });

  it('follows the tarball URL of the manifest if the usual one fails, but sends another server no token', async () => {
    const files = await start(tarball);
    const registry = await start((request, response) => {
      if (request.url !== '/package/1.0.0') response.writeHead(404).end();
      else
        response.end(JSON.stringify({ name: 'package', dist: { tarball: `http:${files.address}files/package.tgz` } }));
    });
    await download(`registry=http:${registry.address}\n${registry.address}:_authToken=abc\n`);
    expect(files.requests).toEqual([{ url: '/files/package.tgz', authorization: undefined }]);
  });

  it('sends no credentials to another host after a redirect', async () => {
    const files = await start(tarball);
    const registry = await start((_, response) =>
      response.writeHead(302, { Location: `http:${files.address.replace('127.0.0.1', 'localhost')}package.tgz` }).end(),
    );
    await download(`registry=http:${registry.address}\n${registry.address}:_authToken=abc\n`);
    expect(files.requests).toEqual([{ url: '/package.tgz', authorization: undefined }]);
  });

  it('uses the proxy of the npm settings', async () => {
    const proxy = await start(tarball);
    expect(await download(`registry=http://registry.invalid/\nproxy=http:${proxy.address}\n`)).toBe('bytes');
    expect(proxy.requests.map(({ url }) => url)).toEqual(['http://registry.invalid/package/-/package-1.0.0.tgz']);
  });

  it('fails with the error message of curl if the registry answers 403', async () => {
    const registry = await start((_, response) => response.writeHead(403).end());
    await expect(download(`registry=http:${registry.address}\n`)).rejects.toMatchObject({
      stderr: expect.stringContaining('403') as unknown,
    });
  });
});
