/** The certificate that the service shows at HTTPS: what it is, requests for another one, and its replacement while it runs. */
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import type { TlsFiles, TlsOptions } from '@rackless/daemon/tls.js';
import type { StateFile } from '../state-file.js';
import { readExtensions, type CertificateExtensions } from './extensions.js';
import { keyPem, PemError, pemOf, readCertificates, readPem } from './pem.js';
import { chainFault, pairFault } from './server-chain.js';
import { createSigningRequest, generateKey, type SigningRequest } from './signing-request.js';
import { writeTlsFiles } from './tls-file-writer.js';

/** The certificate was not replaced, and the old one stays. The message says why, and quotes no key. */
export class ServerCertificateError extends Error {
  override readonly name = 'ServerCertificateError';
  /** `format`: it cannot be parsed; `value`: it is not usable; `busy`: later, perhaps. */
  readonly kind: 'format' | 'value' | 'busy';

  constructor(kind: ServerCertificateError['kind'], reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** What is kept of requests whose certificate has not come yet. */
export const requestedKeysState = z.object({
  /** Private keys as PEM, the oldest first. */
  keys: z.array(z.string()).readonly(),
});
export type RequestedKeys = Readonly<z.infer<typeof requestedKeysState>>;
/** Nobody has asked for a certificate. */
export const noRequestedKeys: RequestedKeys = { keys: [] };

/** Requests that are waited for; with one more the oldest is forgotten. */
const MOST_REQUESTS = 8;
/** Keys that are being made or wait for it: more would be forgotten before anybody has seen them. */
const MOST_AT_ONCE = 8;

export interface ServerCertificate {
  /** What new connections are shown, the server's own certificate first. The same array until there is another. */
  readonly chain: readonly X509Certificate[];
  /**
   * Makes a key and keeps it until its certificate comes. One after the other: an RSA key holds one of the few threads that passwords are
   * verified in, too.
   * @returns the request for it as PEM.
   * @throws {ServerCertificateError} `busy`. @throws {StateFileError}
   */
  request(request: SigningRequest): Promise<string>;
  /**
   * Shows another certificate to all connections from now on, and writes it, with its key, to the files that it was read from.
   * @param pem the certificate, those that lead from it to a root, and its key where that is neither the present one nor that of a request.
   * @throws {ServerCertificateError}, {TlsFileWriteError}
   */
  replace(pem: string, options?: { readonly passphrase?: string | undefined }): Promise<void>;
  /** The files were read again, and the listener has what was in them. */
  taken(tls: TlsOptions): void;
}

export interface ServerCertificateOptions {
  /** What the listener has. */
  readonly tls: TlsOptions;
  /** Where it was read from. */
  readonly files: () => TlsFiles;
  /** Gives it to the listener. */
  readonly setTls: (tls: TlsOptions) => void;
  readonly state: StateFile<RequestedKeys>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly now: () => Date;
}

/** Nothing is read nor written before it is asked for something. */
export function openServerCertificate(options: ServerCertificateOptions): ServerCertificate {
  const { files, setTls, state, log, now } = options;
  let tls = options.tls;
  let chain = readCertificates(tls.cert);

  const take = (next: TlsOptions): void => {
    tls = next;
    chain = readCertificates(next.cert);
  };
  const keepKeys = (change: (keys: readonly string[]) => readonly string[]): void =>
    state.update(({ keys }) => ({ keys: change(keys) }));

  /** What was asked for has come: its key is in its own file now. */
  const forget = (used: string): void => {
    if (!state.state.keys.includes(used)) return;
    try {
      keepKeys((keys) => keys.filter((key) => key !== used));
    } catch (error) {
      log.warn('forgetting the key of a signing request that has its certificate', { error });
    }
  };

  const make = async (request: SigningRequest): Promise<string> => {
    const key = await generateKey(request.key);
    const pem = await createSigningRequest(request, key);
    keepKeys((keys) => [...keys, keyPem(key)].slice(-MOST_REQUESTS));
    return pem;
  };
  let atOnce = 0;
  let turn: Promise<unknown> = Promise.resolve();

  return {
    get chain() {
      return chain;
    },
    async request(request) {
      if (atOnce >= MOST_AT_ONCE)
        throw new ServerCertificateError('busy', `${MOST_AT_ONCE} keys for signing requests are being made already`);
      atOnce += 1;
      const made = turn.then(() => make(request));
      turn = made.catch(() => undefined);
      try {
        return await made;
      } finally {
        atOnce -= 1;
      }
    },
    async replace(pem, { passphrase } = {}) {
      const { certificates, keys } = read(pem, passphrase);
      const [leaf] = certificates;
      const extensions = await Promise.all(certificates.map(extensionsOf));
      const fault = chainFault(certificates, extensions, now());
      if (fault !== undefined || leaf === undefined) throw new ServerCertificateError('value', fault ?? 'it is empty');
      const key = keyFor(leaf, keys, [...state.state.keys.toReversed(), tls.key]);
      const unusable = await pairFault(certificates, key);
      if (unusable !== undefined) throw new ServerCertificateError('value', unusable);
      // From here on nothing waits: of two replacements at once one is after the other.
      const next: TlsOptions = { ...tls, cert: pemOf(certificates), key: keyPem(key) };
      writeTlsFiles(files(), next);
      setTls(next);
      take(next);
      log.info('certificate replaced', { certificate: files().sslCert, fingerprint: leaf.fingerprint256 });
      forget(next.key);
    },
    taken: take,
  };
}

function read(pem: string, passphrase: string | undefined) {
  try {
    return readPem(pem, passphrase);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    throw new ServerCertificateError('format', error.message, error);
  }
}

/** @throws {ServerCertificateError} A certificate that GET could not show afterwards is rejected. */
async function extensionsOf(certificate: X509Certificate): Promise<CertificateExtensions> {
  try {
    return await readExtensions(certificate);
  } catch (error) {
    throw new ServerCertificateError('format', 'the extensions of a certificate in it cannot be read', error);
  }
}

/**
 * The key of a certificate: the one that came with it, else one that is known.
 * @param known as PEM.
 */
function keyFor(leaf: X509Certificate, sent: readonly KeyObject[], known: readonly string[]): KeyObject {
  const [key, ...others] = sent;
  if (others.length > 0) throw new ServerCertificateError('value', 'there are several private keys in it');
  if (key !== undefined) {
    if (leaf.checkPrivateKey(key)) return key;
    throw new ServerCertificateError('value', "its private key is not the first certificate's");
  }
  const found = known.map((one) => createPrivateKey(one)).find((one) => leaf.checkPrivateKey(one));
  if (found !== undefined) return found;
  throw new ServerCertificateError(
    'value',
    'there is no private key in it, and the first certificate is neither for the key of a signing request of this service nor for the present one',
  );
}
