import { describe, expect, it } from '@jest/globals';
import { openssl } from '../../test/support/authority.js';
import { keyUsages } from './key-usage.js';
import { createSigningRequest, generateKey, type KeyKind, type SigningRequest } from './signing-request.js';

const request: SigningRequest = {
  subject: { commonName: 'bmc.example.org' },
  alternativeNames: [],
  key: { kind: 'ec', curve: 'P-256' },
  usages: [],
  challengePassword: '',
  unstructuredName: '',
};

/** Creates a request. Returns openssl's text of the request; throws if openssl cannot verify the signature. */
async function readByOpenssl(change: Partial<SigningRequest>): Promise<string> {
  const asked = { ...request, ...change };
  const pem = await createSigningRequest(asked, await generateKey(asked.key));
  const options = ['-nameopt', 'RFC2253,-esc_msb,utf8,sep_comma_plus_space', '-noout', '-text', '-verify'];
  return openssl(['req', ...options], pem);
}

describe('a signing request', () => {
  it.each([
    [{ kind: 'rsa', bits: 2048 }, /Public-Key: \(2048 bit\)/, /Signature Algorithm: sha256WithRSAEncryption/],
    [{ kind: 'ec', curve: 'P-256' }, /NIST CURVE: P-256/, /Signature Algorithm: ecdsa-with-SHA256/],
    [{ kind: 'ec', curve: 'P-384' }, /NIST CURVE: P-384/, /Signature Algorithm: ecdsa-with-SHA384/],
    [{ kind: 'ec', curve: 'P-521' }, /NIST CURVE: P-521/, /Signature Algorithm: ecdsa-with-SHA512/],
  ] satisfies [KeyKind, RegExp, RegExp][])(
    'is valid for openssl with a key %o, and has the signature algorithm of this key',
    async (key, kind, signature) => {
      const text = await readByOpenssl({ key });
      expect(text).toMatch(kind);
      expect(text).toMatch(signature);
    },
  );

  it('has all parts of the name in the usual order, without empty ones', async () => {
    const text = await readByOpenssl({
      subject: {
        commonName: 'bmc.example.org',
        organization: 'Beispiel & Söhne',
        organizationalUnit: '',
        city: 'Köln',
        state: 'NRW',
        country: 'DE',
        email: 'admin@example.org',
        name: 'A. Person',
        surname: 'Person',
        givenName: 'Ada',
        initials: 'AP',
      },
    });
    expect(/Subject: (.*)/.exec(text)?.[1]?.split(', ').reverse()).toEqual([
      'C=DE',
      'ST=NRW',
      'L=Köln',
      'O=Beispiel & Söhne',
      'CN=bmc.example.org',
      'name=A. Person',
      'SN=Person',
      'GN=Ada',
      'initials=AP',
      'emailAddress=admin@example.org',
    ]);
  });

  it('contains alternative names, addresses and all key usages', async () => {
    const text = await readByOpenssl({
      alternativeNames: ['bmc.example.org', '192.0.2.7', '2001:db8::7'],
      usages: keyUsages,
    });
    const lineAfter = (title: string) => new RegExp(`${title}[^\\n]*\\n *(.*)`).exec(text)?.[1];
    expect(lineAfter('Subject Alternative Name')).toBe(
      'DNS:bmc.example.org, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7',
    );
    expect(lineAfter('X509v3 Key Usage: critical')).toBe(
      'Digital Signature, Non Repudiation, Key Encipherment, Data Encipherment, Key Agreement, Certificate ' +
        'Sign, CRL Sign, Encipher Only, Decipher Only',
    );
    expect(lineAfter('Extended Key Usage')).toBe(
      'TLS Web Server Authentication, TLS Web Client Authentication, Code Signing, E-mail Protection, Time ' +
        'Stamping, OCSP Signing',
    );
  });

  it('contains a challenge password and an unstructured name', async () => {
    const text = await readByOpenssl({
      challengePassword: 'revoke it',
      unstructuredName: 'rack 7',
      usages: ['DigitalSignature'],
    });
    expect(text).toMatch(/challengePassword +: ?revoke it/);
    expect(text).toMatch(/unstructuredName +: ?rack 7/);
    expect(text).toMatch(/X509v3 Key Usage: critical\n +Digital Signature\n/);
  });
});
