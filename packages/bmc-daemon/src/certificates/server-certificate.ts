/**
 * Owns the server's certificate: makes signing requests, and replaces the certificate at run time.
 */
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { TlsFiles, TlsOptions } from '@rackless/daemon/network/tls.js';
import type { StateFile } from '../state-file.js';
import { readExtensions, type CertificateDetails } from './extensions.js';
import { keyPem, PemError, pemOf, readCertificates, readPem } from './pem.js';
import { chainFault, pairFault } from './server-chain.js';
import { createSigningRequest, generateKey, type SigningRequest } from './signing-request.js';
import { writeTlsFiles } from './tls-file-writer.js';

/**
 * The error for a rejected certificate or signing request; the current certificate stays in use.
 * The message gives the reason and quotes no key.
 */
export class ServerCertificateError extends Error {
  override readonly name = 'ServerCertificateError';
  /**
   * `format`: the certificate cannot be parsed; `value`: it is not usable; `busy`: too many signing
   * requests wait for a key, and the client can retry later.
   */
  readonly kind: 'format' | 'value' | 'busy';

  constructor(kind: ServerCertificateError['kind'], reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Schema of the state file. */
export const requestedKeysState = z.object({
  /** Private keys as PEM, the oldest first. */
  keys: z.array(z.string()).readonly(),
});
/** The private keys of signing requests whose certificates no client has sent yet. */
export type RequestedKeys = Readonly<z.infer<typeof requestedKeysState>>;
/** The state without keys. */
export const noRequestedKeys: RequestedKeys = { keys: [] };

/** Maximum number of stored keys. If there are more, a new signing request removes the oldest key. */
const MAX_STORED_KEYS = 8;
/**
 * Maximum number of signing requests that wait for their key. The value must not exceed
 * {@link MAX_STORED_KEYS}. Otherwise a new key could remove the key of a signing request that the
 * client has not received yet.
 */
const MAX_WAITING = 8;

/** The certificate and key of the HTTPS server. */
export interface ServerCertificate {
  /**
   * The current certificate first, then its issuers. The same array until the certificate changes.
   */
  readonly chain: readonly X509Certificate[];
  /**
   * Generates a key, and stores it until a client sends the certificate for it, or until newer requests
   * replace it. Generates one key at a time, because an RSA key occupies one of the few threads that also
   * verify passwords.
   * @returns the signing request as PEM.
   * @throws {ServerCertificateError} `busy`, if too many requests wait for their keys.
   * @throws {StateFileError} if the key cannot be stored.
   */
  generateSigningRequest(request: SigningRequest): Promise<string>;
  /**
   * Replaces the certificate for new connections, and writes it with its key to the configured files.
   * @param pem the certificate, its issuers in order, and its key. The key may be absent if it is the current
   *   key or the key of a signing request.
   * @throws {ServerCertificateError} `format` or `value`; {TlsFileWriteError}. The current certificate then
   *   stays in use.
   */
  replace(pem: string, options?: { readonly passphrase?: string | undefined }): Promise<void>;
  /** Updates `chain` after a reload. The listener already uses the new files. */
  adopt(tls: TlsOptions): void;
}

interface ServerCertificateOptions {
  /** The certificate and key in use. */
  readonly tls: TlsOptions;
  /** Returns the files of the certificate and the key. */
  readonly files: () => TlsFiles;
  /** Gives a new certificate and key to the listener. */
  readonly setTls: (tls: TlsOptions) => void;
  readonly state: StateFile<RequestedKeys>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly now: () => Date;
}

/**
 * Opens the server's certificate. Does not read or write a file before a method is called.
 * @throws {PemError} if the certificate in use is unreadable.
 */
export function openServerCertificate(options: ServerCertificateOptions): ServerCertificate {
  const { files, setTls, state, log, now } = options;
  let tls = options.tls;
  let chain = readCertificates(tls.cert);

  const adopt = (next: TlsOptions): void => {
    tls = next;
    chain = readCertificates(next.cert);
  };
  const updateKeys = (change: (keys: readonly string[]) => readonly string[]): void =>
    state.update(({ keys }) => ({ keys: change(keys) }));

  /** Removes the key of a completed request: the configured key file contains it now. */
  const forgetKey = (used: string): void => {
    if (!state.state.keys.includes(used)) return;
    try {
      updateKeys((keys) => keys.filter((key) => key !== used));
    } catch (error) {
      log.warn('removing the key of a completed signing request failed', { error });
    }
  };

  const generateKeyAndRequest = async (request: SigningRequest): Promise<string> => {
    const key = await generateKey(request.key);
    const pem = await createSigningRequest(request, key);
    updateKeys((keys) => [...keys, keyPem(key)].slice(-MAX_STORED_KEYS));
    return pem;
  };
  let waiting = 0;
  let lastRequest: Promise<unknown> = Promise.resolve();

  return {
    get chain() {
      return chain;
    },
    async generateSigningRequest(request) {
      if (waiting >= MAX_WAITING)
        throw new ServerCertificateError('busy', `${MAX_WAITING} signing requests already wait for their keys`);
      waiting += 1;
      const requested = lastRequest.then(() => generateKeyAndRequest(request));
      lastRequest = requested.catch(() => undefined);
      try {
        return await requested;
      } finally {
        waiting -= 1;
      }
    },
    async replace(pem, { passphrase } = {}) {
      const { certificates, keys } = parsePem(pem, passphrase);
      const [leaf] = certificates;
      const extensions = await Promise.all(certificates.map(extensionsOf));
      const fault = chainFault(certificates, extensions, now());
      if (fault !== undefined || leaf === undefined)
        throw new ServerCertificateError('value', fault ?? 'the text contains no certificate');
      const key = keyFor(leaf, keys, [...state.state.keys.toReversed(), tls.key]);
      const unusable = await pairFault(certificates, key);
      if (unusable !== undefined) throw new ServerCertificateError('value', unusable);
      // No await from here on, so that concurrent replacements run one after the other.
      const newTls: TlsOptions = { ...tls, cert: pemOf(certificates), key: keyPem(key) };
      writeTlsFiles(files(), newTls);
      setTls(newTls);
      adopt(newTls);
      log.info('certificate replaced', { certificate: files().sslCert, fingerprint: leaf.fingerprint256 });
      forgetKey(newTls.key);
    },
    adopt,
  };
}

function parsePem(pem: string, passphrase: string | undefined) {
  try {
    return readPem(pem, passphrase);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    throw new ServerCertificateError('format', error.message, error);
  }
}

/**
 * Reads the extensions; rejects a certificate that GET could not show.
 * @throws {ServerCertificateError}
 */
async function extensionsOf(certificate: X509Certificate): Promise<CertificateDetails> {
  try {
    return await readExtensions(certificate);
  } catch (error) {
    throw new ServerCertificateError('format', 'the extensions of a certificate cannot be read', error);
  }
}

/**
 * Returns the key that belongs to a certificate: the key that the client sent, or a stored one.
 * @param stored the keys of signing requests and the current key, as PEM.
 * @throws {ServerCertificateError} value, if there is no such key, or several were sent.
 */
function keyFor(leaf: X509Certificate, sent: readonly KeyObject[], stored: readonly string[]): KeyObject {
  const [key, ...others] = sent;
  if (others.length > 0) throw new ServerCertificateError('value', 'the text contains several private keys');
  if (key !== undefined) {
    if (leaf.checkPrivateKey(key)) return key;
    throw new ServerCertificateError('value', 'the private key does not belong to the first certificate');
  }
  const storedKey = stored.map((pem) => createPrivateKey(pem)).find((candidate) => leaf.checkPrivateKey(candidate));
  if (storedKey !== undefined) return storedKey;
  throw new ServerCertificateError(
    'value',
    'the text contains no private key, and the first certificate matches ' +
      'neither a signing request of this service nor the current key',
  );
}
