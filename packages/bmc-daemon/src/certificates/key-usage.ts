/** Translates key usages between DMTF's words and the bits and object identifiers of RFC 5280. */

/** Bits of the extension KeyUsage, by number (RFC 5280 §4.2.1.3). */
const bits = [
  'DigitalSignature',
  'NonRepudiation',
  'KeyEncipherment',
  'DataEncipherment',
  'KeyAgreement',
  'KeyCertSign',
  'CRLSigning',
  'EncipherOnly',
  'DecipherOnly',
] as const;

/** Purposes of the extension ExtendedKeyUsage (RFC 5280 §4.2.1.12). */
const purposes = {
  ServerAuthentication: '1.3.6.1.5.5.7.3.1',
  ClientAuthentication: '1.3.6.1.5.5.7.3.2',
  CodeSigning: '1.3.6.1.5.5.7.3.3',
  EmailProtection: '1.3.6.1.5.5.7.3.4',
  Timestamping: '1.3.6.1.5.5.7.3.8',
  OCSPSigning: '1.3.6.1.5.5.7.3.9',
} as const;

// Object.keys returns string[]; `purposes` has exactly these keys.
const purposeNames = Object.keys(purposes) as (keyof typeof purposes)[];
/** All words, in the order of the schema. */
export const keyUsages = [...bits, ...purposeNames] as const;
/** A key usage or extended key usage, as DMTF names it (DSP2046, Certificate). */
export type KeyUsage = (typeof keyUsages)[number];

/** Any purpose (RFC 5280 §4.2.1.12). */
const ANY_PURPOSE = '2.5.29.37.0';

/**
 * Encodes key usages for a certificate.
 * @returns `flags`: the bits of KeyUsage, with DigitalSignature as the lowest bit; `purposes`: the
 *   object identifiers of ExtendedKeyUsage.
 */
export function encodeUsages(usages: readonly KeyUsage[]): {
  readonly flags: number;
  readonly purposes: readonly string[];
} {
  return {
    flags: bits.reduce((flags, word, bit) => (usages.includes(word) ? flags | (1 << bit) : flags), 0),
    purposes: Object.entries(purposes).flatMap(([word, id]) => (usages.some((usage) => usage === word) ? [id] : [])),
  };
}

/** Decodes bits and purposes. Drops purposes without a DMTF word. */
export function decodeUsages(flags: number, purposeIds: readonly string[]): readonly KeyUsage[] {
  return [
    ...bits.filter((_word, bit) => (flags & (1 << bit)) !== 0),
    ...purposeNames.filter((name) => purposeIds.includes(purposes[name])),
  ];
}

/**
 * Returns the purposes as object identifiers. Node's `keyUsage` is the extended key usage. It may
 * be missing, although the types say that it exists.
 */
export function purposesOf({ keyUsage }: { readonly keyUsage?: readonly string[] }): readonly string[] {
  return keyUsage ?? [];
}

/**
 * Returns whether the extension KeyUsage lets a TLS server use the key (RFC 5280 §4.2.1.3, as
 * OpenSSL checks it). Without the extension there are no bits, and every use is allowed.
 */
export function keyUsageAllowsTlsServer(usages: readonly KeyUsage[]): boolean {
  const setBits = bits.filter((bit) => usages.includes(bit));
  return (
    setBits.length === 0 || setBits.some((bit) => ['DigitalSignature', 'KeyEncipherment', 'KeyAgreement'].includes(bit))
  );
}

/**
 * Returns whether the extension ExtendedKeyUsage lets a server use the certificate. Without the
 * extension there are no purposes, and every use is allowed.
 */
export function purposesAllowServer(purposeIds: readonly string[]): boolean {
  if (purposeIds.length === 0) return true;
  return purposeIds.includes(purposes.ServerAuthentication) || purposeIds.includes(ANY_PURPOSE);
}
