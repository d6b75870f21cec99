import { afterEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageLimits } from '../../../../test/support/image-limits.js';
import type { ImageServerLimits } from '../../../media/image-client.js';
import { DriverError } from '../../driver-error.js';
import { ImageStreams, isStreamFault } from './image-stream.js';

const limits: ImageServerLimits = { ...imageLimits, maxBytes: 1_000_000 };
const never = new AbortController().signal;
const servers: Server[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
async function serve(handler: Handler, server: Server = createServer(handler)): Promise<URL> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a/image.iso?token=t`);
}
/** Creates a folder with empty files of these names, in the place of QEMU's modules. */
async function modules(...names: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rackless-modules-'));
  folders.push(folder);
  for (const name of names) await writeFile(join(folder, name), '');
  return folder;
}
const image = (url: URL) => ({ url, writeProtected: true, verifyCertificate: false, stream: true });
/** Returns the kind and the message of a rejection. Throws if the promise resolves, and for any other error. */
async function fault(promise: Promise<unknown>): Promise<readonly [string, string]> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw new Error(`expected a DriverError, got ${String(error)}`);
  return [error.kind, error.message];
}
/** Answers a request for a range: sends the first byte of an image of a thousand bytes. */
const inParts = (_request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(206, { 'content-length': 1, 'content-range': 'bytes 0-0/1000' }).end('x');
};

describe('streams of images', () => {
  it('are offered if QEMU has the driver module, or has no modules', async () => {
    const streams = new ImageStreams(limits);
    await streams.detectDriver([await modules('ui-gtk.so', 'block-curl.so')]);
    expect(streams.isOffered).toBe(true);
    await streams.detectDriver([await modules('ui-gtk.so', 'accel-tcg-x86_64.so'), '/nowhere']);
    expect(streams.isOffered).toBe(false);
    expect(await fault(streams.open(image(new URL('http://127.0.0.1/x')), never))).toEqual([
      'unsupported',
      "streaming the image: QEMU on the libvirt host has no driver for HTTP (Debian's package qemu-block-extra)",
    ]);
    await streams.detectDriver(['/nowhere']);
    expect(streams.isOffered).toBe(true);
  });

  it('are not offered if a list of hosts is configured, because QEMU does not check the list', async () => {
    const streams = new ImageStreams({ ...limits, hosts: { allowed: ['127.0.0.1'], ipFamily: null } });
    expect(streams.isOffered).toBe(false);
    await streams.detectDriver([await modules('block-curl.so')]);
    expect(streams.isOffered).toBe(false);
    expect(await fault(streams.open(image(new URL('http://127.0.0.1/x')), never))).toEqual([
      'unsupported',
      'streaming the image: the configuration restricts the image hosts, which QEMU does not check; ' +
        'use TransferMethod Upload',
    ]);
  });

  it('open the address to which redirects and the lookup of the name lead', async () => {
    const target = await serve(inParts);
    const named = new URL(target);
    named.hostname = 'localhost';
    const url = await serve((_request, response) => response.writeHead(302, { location: named.href }).end());
    const { source, name } = await new ImageStreams(limits).open(image(url), never);
    expect(source).toEqual({
      type: 'network',
      protocol: 'http',
      host: '127.0.0.1',
      port: Number(target.port),
      path: '/a/image.iso',
      query: 'token=t',
      verify: false,
    });
    expect(name).toBe(`http://127.0.0.1:${target.port}/a/image.iso`);
  });

  it('are rejected if the server needs a certificate authority of the drive or of the configuration', async () => {
    const folder = await modules();
    const [key, caFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', caFile],
    ]);
    const pem = await readFile(caFile, 'utf8');
    const url = await serve(inParts, createTlsServer({ key: await readFile(key), cert: pem }, inParts));
    url.protocol = 'https:';
    const refused = {
      kind: 'invalid',
      field: 'transferMethod',
      message: "streaming the image: QEMU trusts the host's certificate authorities only; use TransferMethod Upload",
    };
    const verified = { ...image(url), verifyCertificate: true };
    const streams = new ImageStreams(limits);
    await expect(streams.open({ ...verified, authorities: [pem] }, never)).rejects.toMatchObject(refused);
    await expect(new ImageStreams({ ...limits, caFile }).open(verified, never)).rejects.toMatchObject(refused);
    expect((await fault(streams.open(verified, never)))[0]).toBe('mediaTls');
    // Without verification, no authority is needed.
    const { source } = await streams.open({ ...image(url), authorities: [pem] }, never);
    expect(source).toMatchObject({ type: 'network', protocol: 'https', verify: false });
  });

  it('need an allowed server that has a small enough image, supports ranges, and answers at its address', async () => {
    const streams = new ImageStreams(limits);
    const whole = await serve((_request, response) => response.end('all of it'));
    expect(await fault(streams.open(image(whole), never))).toEqual([
      'mediaUnreachable',
      expect.stringContaining('the server does not send it in parts (Range)'),
    ]);
    const missing = await serve((_request, response) => response.writeHead(404).end());
    expect((await fault(streams.open(image(missing), never)))[0]).toBe('mediaNotFound');
    const large = await serve((_request, response) => {
      response.writeHead(206, { 'content-length': 1, 'content-range': 'bytes 0-0/1000001' }).end('x');
    });
    expect((await fault(streams.open(image(large), never)))[0]).toBe('mediaTooLarge');
    const virtual = await serve((request, response) => {
      if (request.headers.host?.startsWith('localhost') === true) inParts(request, response);
      else response.writeHead(404).end();
    });
    virtual.hostname = 'localhost';
    expect((await fault(streams.open(image(virtual), never)))[1]).toContain('answers only to its name');
    const forbidden = image(new URL('http://169.254.169.254/x'));
    expect((await fault(streams.open(forbidden, never)))[0]).toBe('mediaForbidden');
  });

  it('are not offered after QEMU reports a missing driver, but still after errors of a server', () => {
    const streams = new ImageStreams(limits);
    const qemuError = (message: string) => new DriverError('internal', message);
    const gone = qemuError(
      "changing the drive: internal error: unable to execute 'blockdev-add': CURL: Error opening file: 404",
    );
    expect([isStreamFault(gone), streams.translate(gone)]).toMatchObject([
      true,
      { kind: 'mediaUnreachable', field: 'image' },
    ]);
    expect(streams.isOffered).toBe(true);
    const other = qemuError('changing the drive: the tray is locked');
    expect([isStreamFault(other), streams.translate(other)]).toEqual([false, other]);
    const none = qemuError(
      "changing the drive: internal error: unable to execute 'blockdev-add': Unknown driver 'http'",
    );
    expect([isStreamFault(none), streams.translate(none)]).toMatchObject([
      true,
      { kind: 'unsupported', field: 'transferMethod' },
    ]);
    expect(streams.isOffered).toBe(false);
  });
});
