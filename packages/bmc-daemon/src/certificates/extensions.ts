/**
 * Reads parts of certificates that node:crypto does not offer. The first call loads the ASN.1
 * schemas.
 */
import type { X509Certificate } from 'node:crypto';
import { decodeUsages, purposesOf, type KeyUsage } from './key-usage.js';

/** The parts of a certificate that {@link readExtensions} reads. */
export interface CertificateDetails {
  /** The key usages and extended key usages that have a DMTF word. */
  readonly keyUsage: readonly KeyUsage[];
  /** Host names and addresses of subjectAltName, in the certificate's order. */
  readonly alternativeNames: readonly string[];
  /** Object identifier, for example `1.2.840.10045.4.3.2`. */
  readonly signatureAlgorithm: string;
  /**
   * Object identifiers of critical extensions that are not in {@link processed}. A client that does
   * not know one of them rejects the certificate (RFC 5280 §4.2).
   */
  readonly unknownCritical: readonly string[];
}

/**
 * Extensions that clients process:
 *
 * - Required by RFC 5280 §4.2: key usage 15, subjectAltName 17, basic constraints 19, name
 *   constraints 30, certificate policies 32, policy constraints 36, extended key usage 37, inhibit
 *   anyPolicy 54.
 * - Recommended by RFC 5280 §4.2: policy mappings 33.
 * - Not required, but processed by OpenSSL, Go and browsers: CRL distribution points 31.
 */
const processed: ReadonlySet<string> = new Set(
  [15, 17, 19, 30, 31, 32, 33, 36, 37, 54].map((number) => `2.5.29.${number}`),
);

/**
 * Reads extensions and signature algorithm of a certificate.
 * @throws an error of the ASN.1 parser for an invalid extension.
 */
export async function readExtensions(certificate: X509Certificate): Promise<CertificateDetails> {
  const [{ AsnConvert }, schemas] = await Promise.all([import('@peculiar/asn1-schema'), import('@peculiar/asn1-x509')]);
  const { tbsCertificate, signatureAlgorithm } = AsnConvert.parse(certificate.raw, schemas.Certificate);
  const valueOf = (id: string) => tbsCertificate.extensions?.find(({ extnID }) => extnID === id)?.extnValue;
  const usage = valueOf(schemas.id_ce_keyUsage);
  const names = valueOf(schemas.id_ce_subjectAltName);
  return {
    keyUsage: decodeUsages(
      usage === undefined ? 0 : AsnConvert.parse(usage, schemas.KeyUsage).toNumber(),
      purposesOf(certificate),
    ),
    alternativeNames:
      names === undefined
        ? []
        : AsnConvert.parse(names, schemas.SubjectAlternativeName).flatMap(
            ({ dNSName, iPAddress }) => dNSName ?? iPAddress ?? [],
          ),
    signatureAlgorithm: signatureAlgorithm.algorithm,
    unknownCritical:
      tbsCertificate.extensions
        ?.filter(({ extnID, critical }) => critical && !processed.has(extnID))
        .map(({ extnID }) => extnID) ?? [],
  };
}
