/** What the console service shows clients to be known again by: made once, kept in EMULATOR_STATE_DIR. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { removeLeftovers, replaceFile } from '@rackless/daemon/replace-file.js';
import { fileReason } from '@rackless/daemon/text-file.js';
import ssh2 from 'ssh2';
import { StateFileError } from '../state-file.js';

export interface HostKey {
  /** OpenSSH's format, without a passphrase. */
  readonly privateKey: string;
  /** `ssh-ed25519`. */
  readonly type: string;
  /** As `ssh-keygen -l` and clients print it: `SHA256:…`. */
  readonly fingerprint: string;
}

/** Clients take the first that they know; every one of the last ten years knows both. */
const kinds = [
  { file: 'ssh_host_ed25519_key', make: () => ssh2.utils.generateKeyPairSync('ed25519') },
  { file: 'ssh_host_ecdsa_key', make: () => ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 }) },
] as const;

/**
 * Reads the keys, and makes those that are missing, readable by their owner alone.
 * @param folder EMULATOR_STATE_DIR.
 * @throws {StateFileError} where one can not be read or kept, or is none: a new one would make every client believe in an attack.
 */
export function openHostKeys(folder: string): readonly HostKey[] {
  return kinds.map(({ file, make }) => {
    const name = path.join(folder, file);
    removeLeftovers(name);
    const isThere = statSync(name, { throwIfNoEntry: false }) !== undefined;
    return readKey(name, isThere ? keptKey(name) : newKey(name, make));
  });
}

function keptKey(name: string): string {
  try {
    // Whoever can read it can pretend to be this service.
    chmodSync(name, 0o600);
    // Bytes that are no UTF-8 make it no key, which is reported as any other damage.
    return readFileSync(name, 'utf8');
  } catch (error) {
    throw new StateFileError(`reading ${name}: ${fileReason(error)}`, { cause: error });
  }
}

function newKey(name: string, make: () => { readonly private: string }): string {
  let { private: privateKey } = make();
  // One ed25519 key in 300 (ssh2 1.17.0, six of 2,000) comes out in a form that nobody can read.
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
  // Its text is not quoted: it is a secret, whatever is wrong with it.
  if (key instanceof Error || !key.isPrivateKey())
    throw new StateFileError(`${name} is damaged: correct it, or move it away to have a new key made`);
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64').replace(/=+$/, '');
  return { privateKey, type: key.type, fingerprint: `SHA256:${digest}` };
}
