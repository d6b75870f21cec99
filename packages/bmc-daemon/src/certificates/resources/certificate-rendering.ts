/** Renders certificates of any usage as DMTF's Certificate. */
import type { X509Certificate } from 'node:crypto';
import { readExtensions, type CertificateDetails } from '../extensions.js';
import { pemOf } from '../pem.js';
import type { JsonObject } from '../../redfish/resource.js';

/** Accepted certificate types: a single certificate, or a chain. */
export const certificateTypes = ['PEM', 'PEMchain'] as const;

/** The data that {@link renderCertificate} shows. */
interface CertificateView {
  /** Leaf certificate first; never empty. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]];
  readonly extensions: CertificateDetails;
}

/** Reads the extensions of the leaf certificate. Returns null for an empty chain. @throws as {@link readExtensions}. */
export async function viewCertificate([first, ...others]: readonly X509Certificate[]): Promise<CertificateView | null> {
  if (first === undefined) return null;
  return { chain: [first, ...others], extensions: await readExtensions(first) };
}

/** Renders a chain and the facts of its leaf certificate: the properties that do not depend on its usage. */
export function renderCertificate({ chain, extensions }: CertificateView): JsonObject {
  const [first, ...others] = chain;
  const { keyUsage, alternativeNames, signatureAlgorithm } = extensions;
  return {
    CertificateString: pemOf(chain),
    CertificateType: others.length === 0 ? 'PEM' : 'PEMchain',
    Issuer: identifier(first.issuer),
    Subject: {
      ...identifier(first.subject),
      ...(alternativeNames.length === 0 ? {} : { AlternativeNames: alternativeNames }),
    },
    ValidNotBefore: dateOf(first.validFrom),
    ValidNotAfter: dateOf(first.validTo),
    KeyUsage: keyUsage,
    SerialNumber: first.serialNumber.match(/../g)?.join(':') ?? '00',
    SignatureAlgorithm: signatureAlgorithm,
    Fingerprint: first.fingerprint256,
    FingerprintHashAlgorithm: 'TPM_ALG_SHA256',
  };
}

/**
 * DMTF's property for each attribute of a distinguished name; `more` is the list for further
 * values. Without `more`, only the first value is shown.
 */
const nameProperties: Readonly<Record<string, readonly [first: string, more?: string]>> = {
  CN: ['CommonName', 'AdditionalCommonNames'],
  O: ['Organization'],
  OU: ['OrganizationalUnit', 'AdditionalOrganizationalUnits'],
  L: ['City'],
  ST: ['State'],
  C: ['Country'],
  emailAddress: ['Email'],
};

/**
 * Parses a distinguished name as Node.js gives it: one line for each attribute, `CN=…`.
 * @param name undefined: the distinguished name is empty.
 */
function identifier(name: string | undefined): JsonObject {
  const firstValues: Record<string, string> = {};
  const furtherValues: Record<string, string[]> = {};
  for (const line of (name ?? '').split('\n')) {
    const [, key = '', value = ''] = /^([^=]+)=(.+)$/s.exec(line) ?? [];
    const [first, more] = nameProperties[key] ?? [];
    if (first === undefined) continue;
    if (!(first in firstValues)) firstValues[first] = value;
    else if (more !== undefined) (furtherValues[more] ??= []).push(value);
  }
  return { ...firstValues, ...furtherValues };
}

/** Converts OpenSSL's `Nov 20 17:00:00 2026 GMT` to DMTF's date-time. */
function dateOf(text: string): string {
  return new Date(text).toISOString().replace(/\.\d+Z$/, 'Z');
}
