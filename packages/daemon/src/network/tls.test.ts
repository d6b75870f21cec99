import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTls, TlsFilesError } from './tls.js';

let folder: string;
const at = (name: string) => path.join(folder, name);

/** Writes NAME.pem, a new self-signed certificate, and NAME.key. `type`: the arguments after `-newkey`. */
function makePair(name: string, ...type: string[]): void {
  const subject = ['-subj', '/CN=localhost', '-days', '2'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', ...type, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`), ...subject],
    { stdio: 'pipe' },
  );
}

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-tls-'));
  makePair('one', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes');
  makePair('two', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes');
  makePair('rsa', 'rsa:2048', '-nodes');
  makePair('locked', 'rsa:2048', '-passout', 'pass:secret');
  writeFileSync(at('text'), 'no PEM');
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('a certificate and its key', () => {
  it('are loaded with TLS 1.2 as the minimum version', () => {
    const options = loadTls({ sslCert: at('one.pem'), sslKey: at('one.key') });
    expect(options.minVersion).toBe('TLSv1.2');
    expect(options.cert).toContain('BEGIN CERTIFICATE');
    expect(options.key).toContain('PRIVATE KEY');
  });

  it('are accepted if the key file also contains another key, first or last', () => {
    const [one, two] = [readFileSync(at('one.key'), 'utf8'), readFileSync(at('two.key'), 'utf8')];
    writeFileSync(at('both.key'), `${one}${two}`);
    for (const [name, key] of Object.entries({ one, two })) {
      expect(loadTls({ sslCert: at(`${name}.pem`), sslKey: at('both.key') }).key).toBe(key);
    }
    expect(() => loadTls({ sslCert: at('rsa.pem'), sslKey: at('both.key') })).toThrow(
      'it is not the key of the certificate',
    );
  });

  it('are accepted if other keys in the file are encrypted or damaged', () => {
    const [one, locked] = [readFileSync(at('one.key'), 'utf8'), readFileSync(at('locked.key'), 'utf8')];
    const broken = '-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n';
    for (const text of [`${one}${locked}`, `${locked}${one}`, `${broken}${one}`]) {
      writeFileSync(at('mixed.key'), text);
      expect(loadTls({ sslCert: at('one.pem'), sslKey: at('mixed.key') }).key).toBe(one);
    }
  });

  it.each([
    ['none', 'one.key', 'reading the certificate <folder>/none: there is no such file'],
    ['one.pem', 'none', 'reading the key <folder>/none: there is no such file'],
    ['text', 'one.key', 'reading the certificate <folder>/text: it is not a PEM certificate'],
    ['one.key', 'one.key', 'reading the certificate <folder>/one.key: it is not a PEM certificate'],
    ['one.pem', 'text', 'using the key <folder>/text: it is not a PEM key'],
    ['one.pem', 'one.pem', 'using the key <folder>/one.pem: it is not a PEM key'],
    ['one.pem', 'two.key', 'using the key <folder>/two.key: it is not the key of the certificate'],
    ['one.pem', 'rsa.key', 'using the key <folder>/rsa.key: it is not the key of the certificate'],
    ['locked.pem', 'locked.key', 'using the key <folder>/locked.key: it has a passphrase'],
  ])('are rejected with a reason: %s with %s', (cert, key, reason) => {
    let message: unknown;
    try {
      loadTls({ sslCert: at(cert), sslKey: at(key) });
    } catch (error) {
      message = error instanceof TlsFilesError ? error.message.replaceAll(folder, '<folder>') : error;
    }
    expect(message).toBe(reason);
  });
});
