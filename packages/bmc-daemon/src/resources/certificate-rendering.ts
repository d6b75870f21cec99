/** How DMTF's Certificate shows a certificate and its chain, whatever it is for. */
import type { X509Certificate } from 'node:crypto';
import { readExtensions, type CertificateExtensions } from '../certificates/extensions.js';
import { pemOf } from '../certificates/pem.js';
import type { JsonObject } from '../redfish/resource.js';

/** The types of certificate that are taken: one, or one with those that it was issued by. */
export const certificateTypes = ['PEM', 'PEMchain'] as const;

/** What is shown. */
export interface CertificateView {
  /** The certificate that it is about first; never empty. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]];
  readonly extensions: CertificateExtensions;
}

/** Reads what there is to show; null for an empty chain. */
export async function viewCertificate([first, ...others]: readonly X509Certificate[]): Promise<CertificateView | null> {
  if (first === undefined) return null;
  return { chain: [first, ...others], extensions: await readExtensions(first) };
}

/** All of the resource but Id and Name. Of a chain it is about the first one. */
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

/** DMTF's names of what a distinguished name is made of, and where more than one goes. */
const parts: Readonly<Record<string, readonly [first: string, more?: string]>> = {
  CN: ['CommonName', 'AdditionalCommonNames'],
  O: ['Organization'],
  OU: ['OrganizationalUnit', 'AdditionalOrganizationalUnits'],
  L: ['City'],
  ST: ['State'],
  C: ['Country'],
  emailAddress: ['Email'],
};

/** Node gives a line for each part, `CN=…`; undefined for a name without parts. */
function identifier(name: string | undefined): JsonObject {
  const found: Record<string, string> = {};
  const further: Record<string, string[]> = {};
  for (const [, key = '', value = ''] of (name ?? '').matchAll(/^([^=\n]+)=(.+)$/gm)) {
    const [first, more] = parts[key] ?? [];
    if (first === undefined) continue;
    if (!(first in found)) found[first] = value;
    else if (more !== undefined) (further[more] ??= []).push(value);
  }
  return { ...found, ...further };
}

/** OpenSSL's `Nov 20 17:00:00 2026 GMT` as DMTF's date-time. */
function dateOf(text: string): string {
  return new Date(text).toISOString().replace(/\.\d+Z$/, 'Z');
}
