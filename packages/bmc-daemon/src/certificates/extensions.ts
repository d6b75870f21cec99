/** What node:crypto does not tell of a certificate. The ASN.1 schemas are loaded by the first certificate that is looked at. */
import type { X509Certificate } from 'node:crypto';
import { decodeUsages, purposesOf, type KeyUsage } from './key-usage.js';

export interface CertificateExtensions {
  readonly keyUsage: readonly KeyUsage[];
  /** Host names and addresses of subjectAltName, in its order. */
  readonly alternativeNames: readonly string[];
  /** Object identifier, `1.2.840.10045.4.3.2`. */
  readonly signatureAlgorithm: string;
  /** Object identifiers of critical extensions that a verifier need not know: it rejects the certificate then (RFC 5280 §4.2). */
  readonly unknownCritical: readonly string[];
}

/** Extensions that RFC 5280 obliges every verifier to process, or that all common ones process: OpenSSL, Go, browsers. */
const processed: ReadonlySet<string> = new Set(
  [15, 17, 19, 30, 31, 32, 33, 36, 37, 54].map((number) => `2.5.29.${number}`),
);

/** Of a certificate that {@link X509Certificate} has read. */
export async function readExtensions(certificate: X509Certificate): Promise<CertificateExtensions> {
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
