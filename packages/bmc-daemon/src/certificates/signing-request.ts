/** Makes certificate signing requests (PKCS #10, RFC 2986) and their keys. */
import { createPublicKey, generateKeyPair, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { encodeUsages, type KeyUsage } from './key-usage.js';

/** Lengths of RSA keys in bits. */
export const rsaLengths = [2048, 3072, 4096] as const;
/** Curves by their usual names. */
export const curves = ['P-256', 'P-384', 'P-521'] as const;

/** The type of a new key. `bits` is the length of the modulus. */
export type KeyKind =
  | { readonly kind: 'rsa'; readonly bits: (typeof rsaLengths)[number] }
  | { readonly kind: 'ec'; readonly curve: (typeof curves)[number] };

/**
 * Object identifiers of the parts of a name (RFC 5280 appendix A, RFC 2985), in their usual order.
 */
const nameParts = {
  country: '2.5.4.6',
  state: '2.5.4.8',
  city: '2.5.4.7',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  commonName: '2.5.4.3',
  name: '2.5.4.41',
  surname: '2.5.4.4',
  givenName: '2.5.4.42',
  initials: '2.5.4.43',
  email: '1.2.840.113549.1.9.1',
} as const;
/** A part of a distinguished name (RFC 5280 §4.1.2.4), by its key in `nameParts`. */
export type NamePart = keyof typeof nameParts;

/**
 * The contents of a certificate signing request.
 * @see RFC 2986
 */
export interface SigningRequest {
  /** The name in the certificate. Empty parts are omitted. */
  readonly subject: Readonly<Partial<Record<NamePart, string>>>;
  /** Host names and IP addresses. */
  readonly alternativeNames: readonly string[];
  readonly key: KeyKind;
  readonly usages: readonly KeyUsage[];
  /** RFC 2985 §5.4.1; empty: none. */
  readonly challengePassword: string;
  /** RFC 2985 §5.2.2; empty: none. */
  readonly unstructuredName: string;
}

const generate = promisify(generateKeyPair);

/** Creates a private key in a thread of libuv. The longest RSA key takes some seconds. */
export async function generateKey(kind: KeyKind): Promise<KeyObject> {
  const { privateKey } =
    kind.kind === 'rsa'
      ? await generate('rsa', { modulusLength: kind.bits })
      : await generate('ec', { namedCurve: kind.curve });
  return privateKey;
}

/**
 * Returns how a request is signed: the digest's name for node:crypto, and the signature algorithm.
 */
function signatureOf(kind: KeyKind): {
  readonly digest: string;
  readonly algorithm: string;
  readonly parameters?: null;
} {
  // RSA identifiers have NULL parameters (RFC 4055 §5), ECDSA identifiers have none (RFC 5758
  // §3.2).
  if (kind.kind === 'rsa') return { digest: 'sha256', algorithm: '1.2.840.113549.1.1.11', parameters: null };
  const ofCurve = {
    'P-256': { digest: 'sha256', algorithm: '1.2.840.10045.4.3.2' },
    'P-384': { digest: 'sha384', algorithm: '1.2.840.10045.4.3.3' },
    'P-521': { digest: 'sha512', algorithm: '1.2.840.10045.4.3.4' },
  } as const;
  return ofCurve[kind.curve];
}

/** Attributes of a request (RFC 2985 §5.2.2 and §5.4). */
const CHALLENGE_PASSWORD = '1.2.840.113549.1.9.7';
const UNSTRUCTURED_NAME = '1.2.840.113549.1.9.2';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

/** Returns the request as PEM, signed with the key. */
export async function createSigningRequest(request: SigningRequest, key: KeyObject): Promise<string> {
  const [{ AsnConvert, OctetString }, x509, csr] = await Promise.all([
    import('@peculiar/asn1-schema'),
    import('@peculiar/asn1-x509'),
    import('@peculiar/asn1-csr'),
  ]);
  const extension = (id: string, value: object, critical = false) =>
    new x509.Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
  const { flags, purposes } = encodeUsages(request.usages);
  const names = request.alternativeNames.map(
    (name) => new x509.GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name }),
  );
  const extensions = [
    ...(flags === 0 ? [] : [extension(x509.id_ce_keyUsage, new x509.KeyUsage(flags), true)]),
    ...(purposes.length === 0 ? [] : [extension(x509.id_ce_extKeyUsage, new x509.ExtendedKeyUsage([...purposes]))]),
    ...(names.length === 0 ? [] : [extension(x509.id_ce_subjectAltName, new x509.SubjectAlternativeName(names))]),
  ];
  const attribute = (type: string, value: object) =>
    new x509.Attribute({ type, values: [AsnConvert.serialize(value)] });
  const text = (value: string) => new x509.DirectoryString({ utf8String: value });
  const attributes = [
    ...(request.challengePassword === '' ? [] : [attribute(CHALLENGE_PASSWORD, text(request.challengePassword))]),
    ...(request.unstructuredName === '' ? [] : [attribute(UNSTRUCTURED_NAME, text(request.unstructuredName))]),
    ...(extensions.length === 0 ? [] : [attribute(EXTENSION_REQUEST, new x509.Extensions(extensions))]),
  ].map((value) => ({ value, der: Buffer.from(AsnConvert.serialize(value)) }));
  // DER orders a set by the bytes of its members (X.690 §11.6).
  attributes.sort((a, b) => Buffer.compare(a.der, b.der));

  const subject = Object.entries(nameParts).flatMap(([part, id]) => {
    const value = request.subject[part as NamePart]; // Object.entries returns the keys of `nameParts` as strings.
    if (value === undefined || value === '') return [];
    return [
      new x509.RelativeDistinguishedName([new x509.AttributeTypeAndValue({ type: id, value: valueOf(part, value) })]),
    ];
  });
  function valueOf(part: string, value: string) {
    // Country and email have their own string types (RFC 5280 appendix A).
    if (part === 'country') return new x509.AttributeValue({ printableString: value });
    if (part === 'email') return new x509.AttributeValue({ ia5String: value });
    return new x509.AttributeValue({ utf8String: value });
  }
  const info = new csr.CertificationRequestInfo({
    subject: new x509.Name(subject),
    subjectPKInfo: AsnConvert.parse(
      createPublicKey(key).export({ type: 'spki', format: 'der' }),
      x509.SubjectPublicKeyInfo,
    ),
    attributes: new csr.Attributes(attributes.map(({ value }) => value)),
  });
  const { digest, ...algorithm } = signatureOf(request.key);
  const signature = sign(digest, Buffer.from(AsnConvert.serialize(info)), key);
  const signed = new csr.CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: new x509.AlgorithmIdentifier(algorithm),
    signature: Uint8Array.from(signature).buffer,
  });
  return toPem('CERTIFICATE REQUEST', Buffer.from(AsnConvert.serialize(signed)));
}

/** Formats PEM with lines of 64 characters (RFC 7468 §2). */
function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
