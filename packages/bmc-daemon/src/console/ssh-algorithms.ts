/**
 * What is offered to SSH clients: what OpenSSH itself offers by default, as far as the library knows it, but for the large groups of
 * Diffie and Hellman. The library computes them in JavaScript's one thread, 12 ms (group 16) and 60 ms (group 18) for each stranger
 * who says hello, and Redfish stands still meanwhile; whoever speaks those speaks curve25519, too.
 */
import type { Algorithms } from 'ssh2';

/** No SHA-1, no CBC; no compression, which lets a few bytes become many before anybody has said who it is. */
export const sshAlgorithms: Algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group14-sha256',
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
};
