/**
 * Resolves `ssl_verify` and the client certificate from the places that may set them, and checks
 * the files.
 */
import { createHash, X509Certificate } from 'node:crypto';
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import type { UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';
import { ENVIRONMENT, type Findings } from './faults.js';
import type { KeyPath, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

type TlsKey = 'sslVerify' | 'sslCertificate' | 'sslCertificateKey';

/** A block with the three TLS settings. */
interface TlsBlock {
  readonly values: Readonly<Record<TlsKey, string | boolean | undefined>>;
  readonly places: { get(key: TlsKey): { readonly node: YamlNode; readonly path: KeyPath } | undefined };
}

/** A value with its origin. */
interface ValueWithOrigin<T> {
  readonly value: T;
  /** Base of a relative path in the value. */
  readonly directory: string;
  /** Adds a fault at the origin of the value. */
  fault(sentence: string): void;
}

/** Options of {@link TlsResolver}. */
interface TlsOptions {
  readonly environment: Environment;
  /** Base of relative paths in environment variables. Paths in a file are relative to the folder of the file. */
  readonly workingDirectory: string;
  readonly findings: Findings;
}

/** Resolves TLS settings. Checks each file once, even if many deployments name it. */
export class TlsResolver {
  readonly #options: TlsOptions;
  /** Maps the absolute path of a CA bundle to its fault; undefined if the bundle is valid. */
  readonly #bundles = new Map<string, string | undefined>();
  /** Maps the paths of a certificate and its key to their fault; undefined if the pair is valid. */
  readonly #pairs = new Map<string, string | undefined>();

  constructor(options: TlsOptions) {
    this.#options = options;
  }

  /**
   * Resolves the settings of a deployment: its own settings have precedence, then the environment,
   * then the general settings. The certificate and its key always come from the same place. A selected bundle or pair
   * that cannot be used is a fault where the bundle or the certificate is set. A key without a certificate is a fault,
   * unless a place with precedence has a certificate.
   */
  resolve(own: TlsBlock | undefined, general: TlsBlock): UpstreamTls {
    return { verify: this.#verify(own, general), clientCertificate: this.#clientCertificate(own, general) };
  }

  #verify(own: TlsBlock | undefined, general: TlsBlock): boolean | string {
    const given =
      this.#inBlock(own, 'sslVerify') ?? this.#inEnvironment('SSL_VERIFY') ?? this.#inBlock(general, 'sslVerify');
    const value = given === undefined ? true : verifyWord(given.value);
    if (given !== undefined && typeof value === 'string') return this.#bundleFile(value, given);
    if (value !== true) return value;
    // As in OpenSSL's programs, the file replaces the built-in CA certificates.
    const file = this.#inEnvironment('SSL_CERT_FILE');
    return file === undefined ? true : this.#bundleFile(file.value, file);
  }

  #bundleFile(name: string, given: ValueWithOrigin<unknown>): string {
    const file = path.resolve(given.directory, name);
    this.#options.findings.watchedFiles.add(file);
    if (!this.#bundles.has(file)) this.#bundles.set(file, bundleFault(file));
    const reason = this.#bundles.get(file);
    if (reason !== undefined) given.fault(`the CA bundle ${file} cannot be used: ${reason}`);
    return file;
  }

  #clientCertificate(own: TlsBlock | undefined, general: TlsBlock): UpstreamTls['clientCertificate'] {
    const sources: readonly (readonly [ValueWithOrigin<unknown> | undefined, ValueWithOrigin<unknown> | undefined])[] =
      [
        [this.#inBlock(own, 'sslCertificate'), this.#inBlock(own, 'sslCertificateKey')],
        [this.#inEnvironment('SSL_CERTIFICATE'), this.#inEnvironment('SSL_CERTIFICATE_KEY')],
        [this.#inBlock(general, 'sslCertificate'), this.#inBlock(general, 'sslCertificateKey')],
      ];
    for (const [certificate, key] of sources) {
      if (certificate === undefined) {
        key?.fault('needs ssl_certificate as well');
        continue;
      }
      const certFile = path.resolve(certificate.directory, String(certificate.value));
      const keyFile = key === undefined ? certFile : path.resolve(key.directory, String(key.value));
      const { watchedFiles } = this.#options.findings;
      watchedFiles.add(certFile).add(keyFile);
      const pair = `${certFile}\0${keyFile}`;
      if (!this.#pairs.has(pair)) this.#pairs.set(pair, pairFault(certFile, keyFile));
      const reason = this.#pairs.get(pair);
      if (reason !== undefined) certificate.fault(`cannot be used: ${reason}`);
      return { certFile, keyFile };
    }
    return null;
  }

  #inBlock(block: TlsBlock | undefined, key: TlsKey): ValueWithOrigin<string | boolean> | undefined {
    const value = block?.values[key];
    const place = block?.places.get(key);
    if (value === undefined || place === undefined) return undefined;
    const { node, path: at } = place;
    return {
      value,
      directory: path.dirname(path.resolve(this.#options.workingDirectory, node.file)),
      fault: (sentence) => this.#options.findings.fault(node, at, sentence),
    };
  }

  #inEnvironment(name: string): ValueWithOrigin<string> | undefined {
    const value = this.#options.environment[name];
    if (value === undefined || value === '') return undefined;
    const { workingDirectory: directory, findings } = this.#options;
    return {
      value,
      directory,
      fault: (sentence) => findings.faultAt(ENVIRONMENT, `environment: ${name}: ${sentence}`),
    };
  }
}

function verifyWord(value: string | boolean): string | boolean {
  if (typeof value === 'boolean') return value;
  const word = value.toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : value;
}

const CERTIFICATE = /-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]*-----END (TRUSTED )?CERTIFICATE-----/g;

/** The bundles that were valid, by file, with the digest of their contents. */
const validBundles = new Map<string, string>();

/**
 * Checks a CA bundle. Checking the bundle of a distribution takes about 10 ms, so a reload does not check
 * the same contents again.
 * @returns why it cannot be used; undefined if it is valid.
 */
function bundleFault(file: string): string | undefined {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    return fileReason(error);
  }
  const digest = createHash('sha256').update(text).digest('base64');
  if (validBundles.get(file) === digest) return undefined;
  const fault = certificatesFault(text);
  if (fault === undefined) validBundles.set(file, digest);
  return fault;
}

function certificatesFault(text: string): string | undefined {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return 'it contains no PEM certificate';
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      // OpenSSL's error does not say which certificate it means.
      return `certificate ${index + 1} of ${blocks.length} in it is damaged`;
    }
  }
  return undefined;
}

function pairFault(certFile: string, keyFile: string): string | undefined {
  try {
    loadTls({ sslCert: certFile, sslKey: keyFile });
    return undefined;
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    return error.message;
  }
}
