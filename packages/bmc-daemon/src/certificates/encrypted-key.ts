/** Estimates the work to decrypt a private key before it is decrypted. */

/** 1.3.6.1.4.1.11591.4.11 in DER (RFC 7914 §7). */
const SCRYPT = Buffer.from('06092b06010401da47040b', 'hex');
/**
 * Maximum number of iterations. Usual keys have 2,048 to 1,000,000. Two million iterations block the only
 * thread for a second.
 */
const MAX_ITERATIONS = 2_000_000;
/**
 * Maximum product of the integers in the parameters of scrypt: N·r·p, times the key length if it is
 * present. OpenSSL's default parameters give 2^17, or 2^22 with the key length.
 */
const MAX_SCRYPT_WORK = 2 ** 22;

const INTEGER = 0x02;
const CONSTRUCTED = 0x20;

/**
 * Returns whether decrypting a key (`ENCRYPTED PRIVATE KEY`, RFC 5958 §3) takes about a second at
 * most. OpenSSL does as many iterations as the key requests, up to 2^31, and cannot be interrupted.
 * @param pem one block.
 * @returns false for an unreadable block.
 */
export function decryptsQuickly(pem: string): boolean {
  const der = Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64');
  const numbers = integersOf(der);
  if (numbers === undefined) return false;
  return der.includes(SCRYPT)
    ? numbers.reduce((product, number) => product * number, 1) <= MAX_SCRYPT_WORK
    : numbers.every((number) => number <= MAX_ITERATIONS);
}

/** Returns all INTEGERs in DER, including those in sequences; undefined for invalid DER. */
function integersOf(der: Buffer): readonly number[] | undefined {
  const integers: number[] = [];
  let at = 0;
  while (at < der.length) {
    const [tag = 0, first = 0x80] = der.subarray(at, at + 2);
    const lengthBytes = first > 0x80 ? first - 0x80 : 0;
    const start = at + 2 + lengthBytes;
    // 0x80 is BER's indefinite length, which keys do not use.
    if (first === 0x80 || lengthBytes > 4 || start > der.length) return undefined;
    const end = start + (lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes));
    if (end > der.length) return undefined;
    if (tag === INTEGER) integers.push(end === start ? 0 : Number(BigInt(`0x${der.toString('hex', start, end)}`)));
    // A sequence can contain integers, so the loop continues inside it.
    at = (tag & CONSTRUCTED) === 0 ? end : start;
  }
  return integers;
}
