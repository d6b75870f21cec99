/** How much work a key with a passphrase asks of whoever opens it, before it is opened. */

/** 1.3.6.1.4.1.11591.4.11 in DER (RFC 7914 §7). */
const SCRYPT = Buffer.from('06092b06010401da47040b', 'hex');
/** What people make has 2,048 to 1,000,000 iterations; two million are a second of the one thread that there is. */
const MOST_ITERATIONS = 2_000_000;
/** OpenSSL's own parameters make 2^17, times 32 where the length of the key stands with them. */
const MOST_SCRYPT_WORK = 2 ** 22;

const INTEGER = 0x02;
const CONSTRUCTED = 0x20;

/**
 * Whether a key (`ENCRYPTED PRIVATE KEY`, RFC 5958 §3) is opened within a second or so. OpenSSL does as many iterations as the key
 * says, up to 2^31, and nothing can stop it.
 * @param pem one block. Of one that can not be read it is not known, and false.
 */
export function opensSoon(pem: string): boolean {
  const der = Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64');
  const numbers = integersOf(der);
  if (numbers === undefined) return false;
  return der.includes(SCRYPT)
    ? numbers.reduce((product, number) => product * number, 1) <= MOST_SCRYPT_WORK
    : numbers.every((number) => number <= MOST_ITERATIONS);
}

/** All INTEGERs that stand in DER, also inside of sequences; undefined where it is no DER. */
function integersOf(der: Buffer): readonly number[] | undefined {
  const found: number[] = [];
  let at = 0;
  while (at < der.length) {
    const [tag = 0, first = 0x80] = der.subarray(at, at + 2);
    const lengthBytes = first > 0x80 ? first - 0x80 : 0;
    const start = at + 2 + lengthBytes;
    // 0x80 is a length that is not known yet: BER, which keys are not written in.
    if (first === 0x80 || lengthBytes > 4 || start > der.length) return undefined;
    const end = start + (lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes));
    if (end > der.length) return undefined;
    if (tag === INTEGER) found.push(end === start ? 0 : Number(BigInt(`0x${der.toString('hex', start, end)}`)));
    // A sequence is entered: what it holds follows its head.
    at = (tag & CONSTRUCTED) === 0 ? end : start;
  }
  return found;
}
