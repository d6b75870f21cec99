/** Answers the challenge of VNC authentication (RFC 6143 §7.2.2). */
import { createCipheriv } from 'node:crypto';

const KEY_BYTES = 8;

/**
 * Encrypts a challenge of 16 bytes with the password. The protocol uses single DES with the bits of
 * each byte of the key in reverse order, and the first 8 bytes of the password.
 */
export function answerChallenge(challenge: Buffer, password: string): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  Buffer.from(password).copy(key, 0, 0, KEY_BYTES);
  const reversed = key.map(reverseBits);
  // OpenSSL 3 has no single DES. Triple DES with three equal keys is the same.
  const cipher = createCipheriv('des-ede3', Buffer.concat([reversed, reversed, reversed]), null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(challenge), cipher.final()]);
}

function reverseBits(byte: number): number {
  let reversed = 0;
  for (let bit = 0; bit < 8; bit += 1) reversed |= ((byte >> bit) & 1) << (7 - bit);
  return reversed;
}
