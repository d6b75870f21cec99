/** HTTPS with a self-signed certificate. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';

let bmc: Bmc;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'racklessctl-tls-'));
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')],
  ]);
  bmc = await startBmc([
    `EMULATOR_SSL_CERT = '${join(folder, 'cert.pem')}'`,
    `EMULATOR_SSL_KEY = '${join(folder, 'key.pem')}'`,
  ]);
});
afterAll(async () => {
  await bmc.close();
  rmSync(folder, { recursive: true });
});
const { run, write } = commandFixture();

describe('a service with an unknown certificate', () => {
  it('is rejected with a message that names the options --ca and --insecure', async () => {
    const { code, stderr } = await run(['list'], bmc.env);
    expect({ code, stderr }).toEqual({
      code: 69,
      stderr: expect.stringContaining(
        'the certificate is self-signed. Trust it with --ca FILE, or accept any with --insecure',
      ),
    });
  });

  it('is accepted with --ca, with --insecure, and with one of them in a context', async () => {
    expect(await run(['list', '--ca', join(folder, 'cert.pem')], bmc.env)).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['list', '--insecure'], bmc.env)).toMatchObject({ code: 0, stderr: '' });
    const { RACKLESSCTL_USER = '', RACKLESSCTL_PASSWORD = '' } = bmc.env;
    const account = { RACKLESSCTL_USER, RACKLESSCTL_PASSWORD };
    const file = write(
      'contexts.yaml',
      `contexts:\n  ca: {url: '${bmc.url}', ca: ${folder}/cert.pem}\n  any: {url: '${bmc.url}', insecure: true}\n`,
    );
    expect(await run(['list', '-c', '*', '--config', file], account)).toMatchObject({ code: 0, stderr: '' });
  });

  it('causes a message if its certificate is for another host', async () => {
    const url = bmc.url.replace('127.0.0.1', 'localhost');
    const { code, stderr } = await run(['list', '--ca', join(folder, 'cert.pem'), '--url', url], bmc.env);
    expect({ code, stderr }).toEqual({
      code: 69,
      stderr: expect.stringContaining('the certificate is for other names'),
    });
  });

  it.each([
    ['missing.pem', 'there is no such file'],
    ['key.pem', 'contains no certificate in PEM form'],
  ])('with the unusable CA file %s makes the command end with exit code 78', async (name, text) => {
    const { code, stderr } = await run(['list', '--ca', join(folder, name)], bmc.env);
    expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining(text) });
  });

  it('causes an error with the word http if the client uses http', async () => {
    const { code, stderr } = await run(['list', '--url', bmc.url.replace('https:', 'http:')], bmc.env);
    expect([1, 69]).toContain(code);
    expect(stderr).toMatch(/racklessctl: .*http/i);
  });
});
