import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadTls, type TlsOptions } from '@rackless/daemon/network/tls.js';
import { createAuthority, type Authority } from '../../test/support/authority.js';
import { openStateFile, type StateFile } from '../state-file.js';
import {
  noRequestedKeys,
  openServerCertificate,
  requestedKeysState,
  ServerCertificateError,
  type RequestedKeys,
  type ServerCertificate,
} from './server-certificate.js';
import type { SigningRequest } from './signing-request.js';

let folder: string;
let authority: Authority;
let server: Server;
let state: StateFile<RequestedKeys>;
let certificate: ServerCertificate;
const pathOf = (name: string) => path.join(folder, name);
const textOf = (name: string) => readFileSync(pathOf(name), 'utf8');
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const files = () => ({ sslCert: pathOf('server.pem'), sslKey: pathOf('server.key') });

const request: SigningRequest = {
  subject: { commonName: 'requested' },
  alternativeNames: ['localhost'],
  key: { kind: 'ec', curve: 'P-256' },
  usages: ['DigitalSignature', 'ServerAuthentication'],
  challengePassword: '',
  unstructuredName: '',
};

function open(now = () => new Date()): ServerCertificate {
  return openServerCertificate({
    tls: loadTls(files()),
    files,
    setTls: (tls: TlsOptions) => server.setSecureContext(tls),
    state,
    log: silent,
    now,
  });
}

/** Opens a connection to the server, and trusts only the CA of the tests. */
async function connection(): Promise<TLSSocket> {
  const { port } = server.address() as AddressInfo; // An object, because the server listens on TCP.
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: authority.root });
  await once(socket, 'secureConnect');
  return socket;
}

/** Returns the common name of the certificate that a new connection receives. */
async function servedName(): Promise<string | string[] | undefined> {
  const socket = await connection();
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

/** Replaces the certificate. Returns why the new one is rejected; undefined if it is accepted. */
async function faultOf(pem: string, options?: { readonly passphrase: string }): Promise<unknown> {
  try {
    await certificate.replace(pem, options);
    return undefined;
  } catch (error) {
    return error instanceof ServerCertificateError ? `${error.kind}: ${error.message}` : error;
  }
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-certificate-'));
  authority = createAuthority(folder);
  const first = authority.issue('first');
  writeFileSync(pathOf('server.pem'), first.certificate, { mode: 0o644 });
  writeFileSync(pathOf('server.key'), first.key, { mode: 0o640 });
  server = createServer(loadTls(files()), (_request, response) => void response.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state = openStateFile({
    folder: pathOf('state'),
    name: 'requests',
    schema: requestedKeysState,
    initial: noRequestedKeys,
    log: silent,
    broken: 'refuse',
  });
  certificate = open();
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

describe('a new certificate', () => {
  it('is used for new connections at once, while open connections continue with the old one', async () => {
    const old = await connection();
    const next = authority.issue('second');
    await certificate.replace(`${next.key}${next.certificate}`);
    expect(await servedName()).toBe('second');
    expect(certificate.chain.map(({ subject }) => subject)).toEqual(['CN=second']);
    old.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = (await once(old, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(old.getPeerCertificate().subject.CN).toBe('first');
    old.destroy();
  });

  it('is in the files with its key; the files keep their modes, and no other file remains', async () => {
    const before = readdirSync(folder).sort();
    const next = authority.issue('second');
    await certificate.replace(`${next.certificate}${next.key}`);
    expect(loadTls(files()).cert).toBe(next.certificate);
    expect(textOf('server.key').match(/BEGIN/g)).toHaveLength(1);
    expect([statSync(pathOf('server.pem')).mode & 0o777, statSync(pathOf('server.key')).mode & 0o777]).toEqual([
      0o644, 0o640,
    ]);
    expect(
      readdirSync(folder)
        .filter((name) => !name.startsWith('root.pem-'))
        .sort(),
    ).toEqual(before.filter((name) => !name.startsWith('root.pem-')));
  });

  it('uses the key of its signing request, also after a new openServerCertificate; the other keys stay stored', async () => {
    const pem = await certificate.generateSigningRequest(request);
    expect(statSync(state.path).mode & 0o777).toBe(0o600);
    expect(state.state.keys).toHaveLength(1);
    await certificate.generateSigningRequest(request);
    certificate = open();
    await certificate.replace(authority.sign(pem));
    expect(await servedName()).toBe('requested');
    // The key of the other request stays, because a client may still send the certificate for it.
    expect(state.state.keys).toHaveLength(1);
    expect(loadTls(files()).key).toContain('BEGIN PRIVATE KEY');
  });

  it('can be a renewal for the current key, and the file of the key then does not change', async () => {
    const key = textOf('server.key');
    const { mtimeNs } = statSync(pathOf('server.key'), { bigint: true });
    const { createSigningRequest } = await import('./signing-request.js');
    const { createPrivateKey } = await import('node:crypto');
    const pem = await createSigningRequest({ ...request, subject: { commonName: 'renewed' } }, createPrivateKey(key));
    await certificate.replace(authority.sign(pem));
    expect(await servedName()).toBe('renewed');
    expect(statSync(pathOf('server.key'), { bigint: true }).mtimeNs).toBe(mtimeNs);
  });

  it('may have a chain, in which each certificate has issued the previous one; another order is rejected', async () => {
    const subordinate = authority.subordinate('between');
    const next = subordinate.issue('below');
    await certificate.replace(`${next.certificate}${subordinate.root}${authority.root}${next.key}`);
    expect(await servedName()).toBe('below');
    expect(certificate.chain.map(({ subject }) => subject)).toEqual(['CN=below', 'CN=between', 'O=Example\nCN=root']);
    expect(await faultOf(`${next.certificate}${authority.root}${subordinate.root}`)).toBe(
      'value: the chain is out of order: certificate 2 has not issued certificate 1',
    );
    expect(await faultOf(`${subordinate.root}${next.certificate}`)).toBe(
      'value: the chain is out of order: certificate 2 has not issued certificate 1',
    );
  });

  it('may share one file with its key', async () => {
    const both = authority.issue('both');
    writeFileSync(pathOf('one.pem'), `${both.certificate}${both.key}`, { mode: 0o600 });
    const one = { sslCert: pathOf('one.pem'), sslKey: pathOf('one.pem') };
    const combined = openServerCertificate({
      tls: loadTls(one),
      files: () => one,
      setTls: (tls) => server.setSecureContext(tls),
      state,
      log: silent,
      now: () => new Date(),
    });
    const next = authority.issue('next');
    await combined.replace(`${next.certificate}${next.key}`);
    expect(await servedName()).toBe('next');
    expect(loadTls(one).cert).toContain(next.certificate);
  });
});

describe('an unusable certificate', () => {
  it('is rejected for its key usage, for an unreadable extension, and for an issuer that is not a CA', async () => {
    const name = 'subjectAltName=DNS:localhost';
    const signer = authority.issue('signer', { extensions: [name, 'keyUsage=critical,keyCertSign,cRLSign'] });
    const garbled = authority.issue('garbled', { extensions: [name, '2.5.29.15=DER:04:01:ff'] });
    const plain = authority.subordinate('plain', ['basicConstraints=critical,CA:FALSE']);
    const below = plain.issue('below');
    expect([
      await faultOf(`${signer.certificate}${signer.key}`),
      await faultOf(`${garbled.certificate}${garbled.key}`),
      await faultOf(`${below.certificate}${plain.root}${below.key}`),
    ]).toEqual([
      'value: the certificate is not for servers, according to its key usage',
      'format: the extensions of a certificate cannot be read',
      'value: certificate 2 of the chain is not a CA certificate',
    ]);
    expect(await servedName()).toBe('first');
  });

  it('is rejected if it or its chain has a critical extension that clients may not know', async () => {
    const unknown = '1.2.3.4=critical,ASN1:UTF8String:x';
    const leaf = authority.issue('critical', { extensions: ['subjectAltName=critical,DNS:localhost', unknown] });
    const above = authority.subordinate('above', ['basicConstraints=critical,CA:TRUE', unknown]);
    const below = above.issue('below');
    const known = authority.issue('known', {
      extensions: ['subjectAltName=critical,DNS:localhost', 'extendedKeyUsage=critical,serverAuth'],
    });
    const reason = 'has the critical extension 1.2.3.4, so clients that do not know this extension reject it';
    expect([
      await faultOf(`${leaf.certificate}${leaf.key}`),
      await faultOf(`${below.certificate}${above.root}${below.key}`),
      await faultOf(`${known.certificate}${known.key}`),
    ]).toEqual([`value: the certificate ${reason}`, `value: certificate 2 of the chain ${reason}`, undefined]);
  });

  it('is rejected if no handshake succeeds with its key; rare kinds of keys that work are accepted', async () => {
    const pss = (digest: string, salt: number) => [
      ...['rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048', '-pkeyopt', `rsa_pss_keygen_md:${digest}`],
      ...['-pkeyopt', `rsa_pss_keygen_mgf1_md:${digest}`, '-pkeyopt', `rsa_pss_keygen_saltlen:${salt}`],
    ];
    const faults: Record<string, unknown> = {};
    for (const [name, kind] of Object.entries({
      'RSA-PSS for SHA-1': pss('sha1', 20),
      'RSA-PSS for SHA-256': pss('sha256', 32),
      Ed448: ['ed448'],
    })) {
      const { certificate: pem, key } = authority.issue(name, { kind });
      faults[name] = await faultOf(`${pem}${key}`);
    }
    expect(faults).toEqual({
      'RSA-PSS for SHA-1': expect.stringMatching(/^value: OpenSSL rejects the certificate with this key/),
      'RSA-PSS for SHA-256': undefined,
      Ed448: undefined,
    });
    expect(await servedName()).toBe('Ed448');
  });

  it('is rejected in linear time, even if its text has many beginnings of PEM blocks', async () => {
    // A search to the end of the text for each beginning would take minutes.
    expect(await faultOf('-----BEGIN  -----END '.repeat(40_000))).toBe('format: the text is truncated, or not PEM');
  });

  it('is rejected with a reason, and the old certificate stays in use and in the files', async () => {
    const before = [textOf('server.pem'), textOf('server.key')];
    const good = authority.issue('good');
    const other = authority.issue('other');
    const weak = authority.issue('weak', { kind: ['rsa:1024'] });
    const curve = authority.issue('curve', { kind: ['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'] });
    const mail = authority.issue('mail', { extensions: ['extendedKeyUsage=emailProtection'] });
    const expired = authority.issue('expired', { expired: true });
    const cut = good.certificate.slice(0, -30);
    expect([
      await faultOf(''),
      await faultOf('no PEM'),
      await faultOf(cut),
      await faultOf(good.certificate.replace(/[A-Za-z0-9+/]{60}\n/, '')),
      await faultOf(`${good.certificate}${openCrl}`),
      await faultOf(good.key),
      await faultOf(good.certificate),
      await faultOf(`${good.certificate}${other.key}`),
      await faultOf(`${good.certificate}${good.key}${other.key}`),
      await faultOf(`${weak.certificate}${weak.key}`),
      await faultOf(`${curve.certificate}${curve.key}`),
      await faultOf(`${mail.certificate}${mail.key}`),
      String(await faultOf(`${expired.certificate}${expired.key}`)).replace(/, on .*/, ''),
    ]).toEqual([
      'value: the text contains no certificate',
      'value: the text contains no certificate',
      'format: the text is truncated, or not PEM',
      'format: the text contains an unreadable certificate',
      'format: the text contains a X509 CRL',
      'value: the text contains no certificate',
      'value: the text contains no private key, and the first certificate matches neither a signing request of ' +
        'this service nor the current key',
      'value: the private key does not belong to the first certificate',
      'value: the text contains several private keys',
      'value: the key is too weak: 1024 bits, the minimum is 2048',
      'value: the key is on a curve that TLS does not use: secp256k1',
      'value: the certificate is not for servers, according to its extended key usage',
      'value: the certificate has expired',
    ]);
    expect([textOf('server.pem'), textOf('server.key')]).toEqual(before);
    expect(await servedName()).toBe('first');
    certificate = open(() => new Date(0));
    expect(await faultOf(`${good.certificate}${good.key}`)).toMatch(/^value: the certificate is not valid before /);
  });

  it('is rejected without the passphrase of its key; with the passphrase, its key is stored decrypted', async () => {
    const { openssl } = await import('../../test/support/authority.js');
    const next = authority.issue('locked');
    const key = openssl(['pkey', '-aes256', '-passout', 'pass:open it'], next.key);
    expect(await faultOf(`${next.certificate}${key}`)).toBe('format: the private key has a passphrase');
    expect(await faultOf(`${next.certificate}${key}`, { passphrase: 'wrong' })).toBe(
      'format: the private key cannot be decrypted with this passphrase',
    );
    expect(await faultOf(`${next.certificate}${key}`, { passphrase: 'open it' })).toBeUndefined();
    expect(textOf('server.key')).toContain('BEGIN PRIVATE KEY');
  });

  it('is rejected if the decryption of its key would take minutes and so block all requests', async () => {
    const { openssl } = await import('../../test/support/authority.js');
    const next = authority.issue('locked');
    const lock = (...how: readonly string[]) => openssl(['pkcs8', '-topk8', '-passout', 'pass:x', ...how], next.key);
    const opens = (key: string) => faultOf(`${next.certificate}${key}`, { passphrase: 'x' });
    for (const how of [['-iter', '100000'], ['-scrypt'], ['-v1', 'PBE-SHA1-3DES']])
      expect(await opens(lock(...how))).toBeUndefined();
    const tooLong = 'format: the private key takes too long to decrypt: it has too many iterations';
    // Changes the cost parameters of ordinary keys in place, because creating expensive keys takes
    // as long as opening them.
    const withChangedBytes = (key: string, ...changes: readonly (readonly [from: string, to: string])[]) => {
      const der = Buffer.from(key.replace(/-----[^-]*-----/g, ''), 'base64');
      for (const [from, to] of changes) der.write(to, der.indexOf(from, 'hex'), 'hex');
      return pem(der);
    };
    const pem = (der: Buffer) =>
      `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${der.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----\n`;
    expect(await opens(withChangedBytes(lock('-iter', '70000'), ['0203011170', '02037fffff']))).toBe(tooLong);
    expect(
      await opens(
        withChangedBytes(
          lock('-scrypt'),
          ['020240000201080201', '0202400002017f0201'],
          ['02017f020101', '02017f02017f'],
        ),
      ),
    ).toBe(tooLong);
    // Invalid DER gets the same error, because its cost cannot be read.
    expect(await opens(pem(Buffer.from('3080', 'hex')))).toBe(tooLong);
  });
});

const openCrl = '-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n';

describe('signing requests', () => {
  it('are rejected while eight others wait for the generation of their keys', async () => {
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => certificate.generateSigningRequest(request)));
    expect(all.map((one) => (one.status === 'fulfilled' ? 'made' : String(one.reason)))).toEqual([
      ...Array.from({ length: 8 }, () => 'made'),
      ...Array.from({ length: 2 }, () => 'ServerCertificateError: 8 signing requests already wait for their keys'),
    ]);
    await expect(certificate.generateSigningRequest(request)).resolves.toContain('BEGIN CERTIFICATE REQUEST');
  });
});

describe('a certificate file', () => {
  it('may contain a PEM block that OpenSSL ignores', () => {
    const before = textOf('server.pem');
    writeFileSync(pathOf('server.pem'), `${before}-----BEGIN DH PARAMETERS-----\nMAY=\n-----END DH PARAMETERS-----\n`);
    certificate = open();
    expect(certificate.chain.map(({ subject }) => subject)).toEqual(['CN=first']);
    certificate.adopt(loadTls(files()));
    expect(certificate.chain.map(({ subject }) => subject)).toEqual(['CN=first']);
  });
});

describe('the files of the certificate and of its keys', () => {
  it('stay unchanged if one of them is not writable, and the error names it', async () => {
    const before = [textOf('server.pem'), textOf('server.key')];
    // Even root cannot create a file in /proc/self.
    const unwritable = { sslCert: '/proc/self/server.pem', sslKey: pathOf('server.key') };
    const stuck = openServerCertificate({
      tls: loadTls(files()),
      files: () => unwritable,
      setTls: (tls) => server.setSecureContext(tls),
      state,
      log: silent,
      now: () => new Date(),
    });
    const next = authority.issue('second');
    await expect(stuck.replace(`${next.certificate}${next.key}`)).rejects.toThrow(
      /^writing \/proc\/self\/server\.pem: /,
    );
    expect([textOf('server.pem'), textOf('server.key')]).toEqual(before);
    expect(await servedName()).toBe('first');
    expect(stuck.chain.map(({ subject }) => subject)).toEqual(['CN=first']);
  });

  it('give loadTls a matching pair between the writes of a replacement; the next replacement leaves one key', async () => {
    const old = loadTls(files());
    const next = authority.issue('second');
    // The contents of the files between the three writes of a replacement: both keys, the certificate, its key.
    writeFileSync(pathOf('server.key'), `${old.key}${next.key}`);
    expect(loadTls(files())).toEqual(old);
    writeFileSync(pathOf('server.pem'), next.certificate);
    expect(loadTls(files()).key).toBe(next.key);
    // The next replacement leaves only its own key in the file.
    certificate = open();
    const third = authority.issue('third');
    await certificate.replace(`${third.certificate}${third.key}`);
    expect(textOf('server.key').match(/BEGIN/g)).toHaveLength(1);
    chmodSync(pathOf('server.key'), 0o600);
    expect(loadTls(files()).cert).toBe(third.certificate);
  });
});

it('a signing request fails if its key cannot be stored in the state folder', async () => {
  writeFileSync(pathOf('state'), 'a file where a folder should be');
  await expect(certificate.generateSigningRequest(request)).rejects.toThrow(/requests\.json/);
});
