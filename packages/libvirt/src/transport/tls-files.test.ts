import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failureOf } from '../../test/fake/until.js';
import { readTlsFiles } from './tls-files.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-tls-files-'));
});
afterEach(() => rm(dir, { recursive: true }));

const system = ['pki/CA/cacert.pem', 'pki/libvirt/clientcert.pem', 'pki/libvirt/private/clientkey.pem'];
const ofUser = ['home/.pki/libvirt/cacert.pem', 'home/.pki/libvirt/clientcert.pem', 'home/.pki/libvirt/clientkey.pem'];

/**
 * Writes files that contain their own path. Reads the certificate files, and returns the contents of
 * the authority, the revocation list, the certificate and the key.
 */
async function read(paths: readonly string[], { uid = 1000, pkipath = null as string | null, verify = true } = {}) {
  for (const path of paths) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), path);
  }
  const folder = pkipath === null ? null : join(dir, pkipath);
  const environment = { uid, home: join(dir, 'home'), system: join(dir, 'pki') };
  const files = await readTlsFiles({ pkipath: folder, verify }, environment);
  return [files.ca, files.crl, files.cert, files.key].map((contents) => contents?.toString() ?? null);
}

describe('the certificate files of a client', () => {
  it('are those of the host for root', async () => {
    expect(await read([...system, ...ofUser, 'pki/CA/cacrl.pem'], { uid: 0 })).toEqual([
      system[0],
      'pki/CA/cacrl.pem',
      ...system.slice(1),
    ]);
  });

  it('are those of the user, if the user has a certificate, its key and a certificate authority', async () => {
    expect(await read([...system, ...ofUser])).toEqual([ofUser[0], null, ofUser[1], ofUser[2]]);
  });

  it('are those of the host, with the certificate authority of the user, if the user has no key', async () => {
    expect(await read([...system, ...ofUser.slice(0, 2)])).toEqual([ofUser[0], null, system[1], system[2]]);
  });

  it('may lack the certificate and the key of the client', async () => {
    expect(await read(system.slice(0, 1))).toEqual([system[0], null, null, null]);
  });

  it('must have a certificate authority, except without verification', async () => {
    const why = `no certificate authority: there is neither ${dir}/home/.pki/libvirt/cacert.pem nor ${dir}/pki/CA/cacert.pem`;
    expect(await failureOf(read([]))).toHaveProperty('message', why);
    expect(await read([], { verify: false })).toEqual([null, null, null, null]);
  });

  it('come from the folder that pkipath names; a missing certificate authority there is an error', async () => {
    const files = ['p/cacert.pem', 'p/clientcert.pem', 'p/clientkey.pem'];
    expect(await read(files, { pkipath: 'p' })).toEqual([files[0], null, files[1], files[2]]);
    expect(await failureOf(read([], { pkipath: 'none' }))).toHaveProperty(
      'message',
      `parameter "pkipath": there is no ${dir}/none/cacert.pem`,
    );
  });

  it('cause an error with the path of a file that cannot be read', async () => {
    await mkdir(join(dir, 'pki/CA/cacert.pem'), { recursive: true });
    expect(String(await failureOf(read([])))).toContain(`reading ${dir}/pki/CA/cacert.pem: EISDIR`);
  });
});
