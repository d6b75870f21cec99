/**
 * The algorithms that the SSH server offers: OpenSSH's defaults, as far as the library has them,
 * without the large Diffie-Hellman groups. The library computes these on the main thread, 12 ms
 * (group 16) and 60 ms (group 18) for each unauthenticated client, which would block Redfish.
 * Clients with these groups also have curve25519.
 */
import type { Algorithms } from 'ssh2';

/**
 * No SHA-1 and no CBC. No compression, because a few bytes could expand to many before the login.
 */
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
