/** The parameters of CertificateService.GenerateCSR, and the signing request that they describe. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { keyUsages, type KeyUsage } from '../key-usage.js';
import { curves, rsaLengths, type KeyKind, type SigningRequest } from '../signing-request.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';

const action = 'CertificateService.GenerateCSR';

/**
 * Names of the Trusted Computing Group, as the schema requires. The names of the curves are in the order of
 * `curves` in `signing-request.ts`.
 */
const algorithms = ['TPM_ALG_RSA', 'TPM_ALG_ECDSA'] as const;
const curveIds = ['TPM_ECC_NIST_P256', 'TPM_ECC_NIST_P384', 'TPM_ECC_NIST_P521'] as const;

/**
 * Returns the schema of an optional text with a maximum length of RFC 5280, appendix A. An empty
 * text means absent, because clients send empty form fields.
 */
const text = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u)
    .optional();

const HOST_NAME =
  /^(?=.{1,253}$)(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

/** Removes the prefixes of OpenSSL's configuration (`DNS:`, `IP:`), which some clients send. */
const alternativeName = z
  .string()
  .max(300)
  .transform((name) => name.replace(/^(DNS|IP|IP Address):/i, ''))
  .pipe(z.string().refine((name) => isIP(name) !== 0 || HOST_NAME.test(name), 'a host name or an IP address'));

/** Schema of the GenerateCSR parameters. */
export const signingRequestBody = z.strictObject({
  CertificateCollection: z.strictObject({ '@odata.id': z.string().max(500) }),
  CommonName: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u),
  AlternativeNames: z.array(alternativeName).max(100).optional(),
  Organization: text(64),
  OrganizationalUnit: text(64),
  City: text(128),
  State: text(128),
  Country: z
    .string()
    .regex(/^([A-Za-z]{2})?$/)
    .optional(),
  Email: z
    .string()
    .max(255)
    // The classes exclude `@`: otherwise a text of many `@` would need quadratic time.
    .regex(/^([!-?A-~]+@[!-?A-~]+)?$/)
    .optional(),
  ContactPerson: text(64),
  GivenName: text(64),
  Surname: text(64),
  Initials: text(64),
  KeyPairAlgorithm: z.enum(algorithms).optional(),
  KeyBitLength: z.literal(rsaLengths).optional(),
  KeyCurveId: z.enum(curveIds).optional(),
  KeyUsage: z.array(z.enum(keyUsages)).max(keyUsages.length).optional(),
  ChallengePassword: text(255),
  UnstructuredName: text(255),
});

type Body = z.infer<typeof signingRequestBody>;

/** Annotations with allowable values that cannot be derived from the schema. */
export const signingRequestAnnotations = {
  'KeyBitLength@Redfish.AllowableNumbers': rsaLengths.map(String),
  'KeyUsage@Redfish.AllowableValues': keyUsages,
};

/**
 * Returns the signing request.
 * @throws {RedfishError} 400 if two parameters contradict each other.
 */
export function signingRequestOf(body: Body): SigningRequest {
  const key = keyKindOf(body);
  // Clients check alternative names only (RFC 9525 §4.1). So a common name that is a host name or an IP
  // address becomes one of them.
  const fromCommonName = isIP(body.CommonName) !== 0 || HOST_NAME.test(body.CommonName) ? [body.CommonName] : [];
  return {
    subject: withoutUndefined({
      commonName: body.CommonName,
      organization: body.Organization,
      organizationalUnit: body.OrganizationalUnit,
      city: body.City,
      state: body.State,
      country: body.Country,
      email: body.Email,
      name: body.ContactPerson,
      givenName: body.GivenName,
      surname: body.Surname,
      initials: body.Initials,
    }),
    alternativeNames: [...new Set([...fromCommonName, ...(body.AlternativeNames ?? [])])],
    key,
    usages: body.KeyUsage ?? usualUsages(key),
    challengePassword: body.ChallengePassword ?? '',
    unstructuredName: body.UnstructuredName ?? '',
  };
}

/**
 * Returns the default usages of a server key. An RSA key gets KeyEncipherment, because old TLS clients encrypt
 * the session key with it.
 */
function usualUsages({ kind }: KeyKind): readonly KeyUsage[] {
  return kind === 'rsa'
    ? ['DigitalSignature', 'KeyEncipherment', 'ServerAuthentication']
    : ['DigitalSignature', 'ServerAuthentication'];
}

/**
 * Returns the kind of key. The default is an elliptic curve, because its keys are generated fast.
 */
function keyKindOf({ KeyPairAlgorithm, KeyBitLength, KeyCurveId }: Body): KeyKind {
  const algorithm = KeyPairAlgorithm ?? (KeyBitLength === undefined ? 'TPM_ALG_ECDSA' : 'TPM_ALG_RSA');
  if (algorithm === 'TPM_ALG_RSA') {
    if (KeyCurveId !== undefined) throw conflictError('KeyCurveId', KeyCurveId, 'An RSA key has no curve.');
    return { kind: 'rsa', bits: KeyBitLength ?? 2048 };
  }
  if (KeyBitLength !== undefined)
    throw conflictError(
      'KeyBitLength',
      String(KeyBitLength),
      'The curve in KeyCurveId defines the length of this key.',
    );
  return { kind: 'ec', curve: curves[KeyCurveId === undefined ? 0 : curveIds.indexOf(KeyCurveId)] ?? 'P-256' };
}

function conflictError(name: string, value: string, detail: string): RedfishError {
  const fault = withDetail(message('ActionParameterValueConflict', name, value), detail);
  return new RedfishError(400, [withPointers(fault, `#/${name}`)]);
}

function withoutUndefined<Key extends string>(
  object: Readonly<Record<Key, string | undefined>>,
): Partial<Record<Key, string>> {
  const known = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as Partial<Record<Key, string>>; // All keys of `known` are of the type Key.
}

/** Returns a 400 error for a collection that does not support signing requests. */
export function collectionError(uri: string): RedfishError {
  const name = 'CertificateCollection';
  const fault = message('ActionParameterValueFormatError', uri, name, action);
  const detail = 'It must be the NetworkProtocol/HTTPS/Certificates collection of a manager.';
  return new RedfishError(400, [withPointers(withDetail(fault, detail), `#/${name}`)]);
}
