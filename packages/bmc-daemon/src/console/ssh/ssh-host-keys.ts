/** The SSH server's host keys, created once and stored in EMULATOR_STATE_DIR. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { removeLeftovers, replaceFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import ssh2 from 'ssh2';
import { StateFileError } from '../../state-file.js';

/** A key with which the SSH server identifies itself (RFC 4253 §7). */
export interface HostKey {
  /** In OpenSSH's format, without a passphrase. */
  readonly privateKey: string;
  /** The algorithm, such as `ssh-ed25519`. */
  readonly type: string;
  /** As `ssh-keygen -l` and clients print it: `SHA256:…`. */
  readonly fingerprint: string;
}

/** Clients use the first kind that they support; all clients of the last ten years support both. */
const kinds = [
  { file: 'ssh_host_ed25519_key', make: () => ssh2.utils.generateKeyPairSync('ed25519') },
  { file: 'ssh_host_ecdsa_key', make: () => ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 }) },
] as const;

/**
 * Reads the keys and creates missing ones. Makes all of them readable for their owner only.
 * @param folder EMULATOR_STATE_DIR.
 * @throws {StateFileError} if a key cannot be read or stored, or is damaged. A damaged key is
 *   not replaced, because clients would report an attack.
 */
export function openHostKeys(folder: string): readonly HostKey[] {
  return kinds.map(({ file, make }) => {
    const name = path.join(folder, file);
    removeLeftovers(name);
    return readKey(name, isThere(name) ? storedKey(name) : newKey(name, make));
  });
}

function isThere(name: string): boolean {
  try {
    return statSync(name, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new StateFileError(`reading ${name}: ${fileReason(error)}`, { cause: error });
  }
}

function storedKey(name: string): string {
  try {
    // Only the owner may read the key, because a reader of the key can impersonate this service.
    chmodSync(name, 0o600);
    // Invalid UTF-8 is an invalid key, which `readKey` reports.
    return readFileSync(name, 'utf8');
  } catch (error) {
    throw new StateFileError(`reading ${name}: ${fileReason(error)}`, { cause: error });
  }
}

function newKey(name: string, make: () => { readonly private: string }): string {
  let { private: privateKey } = make();
  // ssh2 cannot read one in 300 of its own ed25519 keys (ssh2 1.17.0, six of 2,000).
  while (ssh2.utils.parseKey(privateKey) instanceof Error) ({ private: privateKey } = make());
  try {
    mkdirSync(path.dirname(name), { recursive: true, mode: 0o700 });
    replaceFile(name, privateKey);
  } catch (error) {
    throw new StateFileError(`writing ${name}: ${fileReason(error)}`, { cause: error });
  }
  return privateKey;
}

function readKey(name: string, privateKey: string): HostKey {
  const key = ssh2.utils.parseKey(privateKey);
  // The error does not quote the text, which is secret even if it is damaged.
  if (key instanceof Error || !key.isPrivateKey())
    throw new StateFileError(`${name} is damaged: correct it, or move it away to have a new key made`);
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64').replace(/=+$/, '');
  return { privateKey, type: key.type, fingerprint: `SHA256:${digest}` };
}
