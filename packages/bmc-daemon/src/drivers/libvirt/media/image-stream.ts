/**
 * Images that QEMU reads from their servers block by block (TransferMethod Stream). The host stores
 * nothing, and the server must answer while the image is in a drive. Most distributions have QEMU's
 * HTTP driver in a separate package.
 */
import { readFile, readdir } from 'node:fs/promises';
import { ImageError } from '../../../media/image-error.js';
import { hostOf } from '../../../media/image-hosts.js';
import { abortAtDeadline } from '../../../media/image-deadline.js';
import { headersTimeLimit, locateImage, type ImageServerLimits } from '../../../media/image-client.js';
import type { ImageRequest } from '../../../media/image.js';
import { DriverError } from '../../driver-error.js';
import { driverError } from '../failure.js';
import { localFiles, type HostFiles } from '../host-files.js';
import type { ImageLease } from './stored-images.js';
import { networkName, type NetworkSource } from '../xml/devices/disk-source.js';
import { urlHost } from '../../../host/ip-network.js';

/** Folders in which distributions install QEMU's modules. */
const MODULE_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu/qemu',
  '/usr/lib/aarch64-linux-gnu/qemu',
  '/usr/lib64/qemu-kvm',
  '/usr/lib64/qemu',
  '/usr/lib/qemu',
] as const;

/**
 * Certificate authorities that QEMU's TLS trusts, by distribution: Debian, Fedora and relatives,
 * SUSE.
 */
const HOST_AUTHORITIES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
] as const;

/** Messages of QEMU if its HTTP driver is missing. */
const NO_DRIVER = /Unknown (driver|protocol) '?https?|module 'block-curl'|block-curl\.so/i;
/** Messages of QEMU's driver and of libcurl for an unusable server. */
const NO_ANSWER =
  /CURL: Error|Server does not support 'range'|certificate verification failed|Could not open '?(https?|json):/i;

/** Streams of images for the QEMU of one host. */
export class ImageStreams {
  readonly #limits: ImageServerLimits;
  readonly #files: Pick<HostFiles, 'areLocal'>;
  #isOffered: boolean;

  constructor(limits: ImageServerLimits, files: Pick<HostFiles, 'areLocal'> = localFiles) {
    this.#limits = limits;
    this.#files = files;
    // QEMU follows redirects itself, so the daemon could not enforce a list of allowed hosts.
    this.#isOffered = !isRestricted(limits);
  }

  /** False if QEMU is known to lack its HTTP driver, or if the configuration restricts the hosts of images. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /**
   * Looks for the HTTP driver in QEMU's module folders. If there are no modules, or if QEMU is on another host,
   * only QEMU's error at the first insert shows that the driver is missing.
   * @param folders QEMU's module folders.
   */
  async detectDriver(folders: readonly string[] = MODULE_FOLDERS): Promise<void> {
    if (!this.#files.areLocal) return;
    const lists = await Promise.all(folders.map((folder) => readdir(folder).catch((): string[] => [])));
    const modules = lists.flat().filter((name) => name.endsWith('.so'));
    const isMissing = modules.some((name) => !name.startsWith('block-')) && !modules.includes('block-curl.so');
    this.#isOffered = !isMissing && !isRestricted(this.#limits);
  }

  /**
   * Returns the source for QEMU, after a check that the server answers, sends ranges and is
   * allowed.
   * @throws {DriverError} with a media kind; invalid, if QEMU would not trust the server's certificate;
   *   unsupported, unless {@link isOffered}; the signal's reason.
   */
  async open(image: ImageRequest, signal: AbortSignal): Promise<ImageLease> {
    if (isRestricted(this.#limits)) throw restrictedError();
    if (!this.#isOffered) throw noDriverError(undefined);
    try {
      const final = await abortAtDeadline(headersTimeLimit(image.url, this.#limits), signal, (within) =>
        this.#locate(image, within),
      );
      const source = sourceOf(final, image.verifyCertificate);
      return { source, name: networkName(source), release: () => undefined };
    } catch (error) {
      signal.throwIfAborted();
      throw driverError('streaming the image', error);
    }
  }

  async #locate(image: ImageRequest, signal: AbortSignal): Promise<URL> {
    const { url, address } = await locateImage(image, this.#limits, signal);
    if (url.protocol === 'http:') return await this.#atAddress(url, address, image, signal);
    if (image.verifyCertificate) await this.#assertKnownToHost(image, signal);
    return url;
  }

  /**
   * Translates the error of QEMU for a stream that it could not open. Returns any other error unchanged. If QEMU
   * lacks the driver, the host no longer offers streams.
   */
  translate(error: unknown): unknown {
    if (!(error instanceof DriverError)) return error;
    if (NO_DRIVER.test(error.message)) {
      this.#isOffered = false;
      return noDriverError(error);
    }
    if (!NO_ANSWER.test(error.message)) return error;
    return new DriverError('mediaUnreachable', error.message, { cause: error, field: 'image' });
  }

  /**
   * Checks that the certificate authorities of the host can verify the server. QEMU uses only these, and not the
   * authorities of the drive or of the configuration. If the drive and the configuration have no authorities, skips
   * the check: Node's own authorities have already verified the server.
   * @throws {DriverError} invalid, if they cannot verify it.
   * @throws {ImageError} if the server cannot be reached now.
   */
  async #assertKnownToHost(image: ImageRequest, signal: AbortSignal): Promise<void> {
    const { caFile, ...limits } = this.#limits;
    // The authorities of another host are unknown. There, QEMU reports a certificate that it does not trust.
    if (!this.#files.areLocal) return;
    if (caFile === undefined && (image.authorities ?? []).length === 0) return;
    try {
      await locateImage({ ...image, authorities: await hostAuthorities() }, limits, signal);
    } catch (cause) {
      if (!(cause instanceof ImageError) || cause.kind !== 'mediaTls') throw cause;
      const message =
        "streaming the image: QEMU trusts the host's certificate authorities only; use TransferMethod Upload";
      throw new DriverError('invalid', message, { cause, field: 'transferMethod' });
    }
  }

  /**
   * Replaces the host name of an HTTP URL with the checked address, because QEMU would resolve the
   * name again. An HTTPS URL keeps the name; there, only a verified certificate proves the server.
   * @throws {ImageError} mediaUnreachable, if the server answers only to its name.
   */
  async #atAddress(url: URL, address: string, image: ImageRequest, signal: AbortSignal): Promise<URL> {
    const addressUrl = new URL(url);
    addressUrl.hostname = urlHost(address);
    if (addressUrl.href === url.href) return url;
    try {
      return (await locateImage({ ...image, url: addressUrl }, this.#limits, signal)).url;
    } catch (cause) {
      if (!(cause instanceof ImageError) || signal.aborted) throw cause;
      const message =
        `streaming the image: the server at ${address} answers only to its name; ` + 'use TransferMethod Upload';
      throw new ImageError('mediaUnreachable', message, { cause });
    }
  }
}

/** Returns whether QEMU rejected a drive because of the stream, and not because of the machine. */
export function isStreamFault(error: DriverError): boolean {
  return NO_DRIVER.test(error.message) || NO_ANSWER.test(error.message);
}

/** Returns the certificate authorities of this host in PEM; empty if none of {@link HOST_AUTHORITIES} exists. */
async function hostAuthorities(): Promise<readonly string[]> {
  const files = await Promise.all(HOST_AUTHORITIES.map((file) => readFile(file, 'utf8').catch(() => null)));
  return files.filter((file) => file !== null);
}

function isRestricted({ hosts }: ImageServerLimits): boolean {
  return hosts !== undefined && hosts.allowed !== null;
}

function restrictedError(): DriverError {
  const message =
    'streaming the image: the configuration restricts the image hosts, which QEMU does not check; ' +
    'use TransferMethod Upload';
  return new DriverError('unsupported', message, { field: 'transferMethod' });
}

function noDriverError(cause: unknown): DriverError {
  const message =
    "streaming the image: QEMU on the libvirt host has no driver for HTTP (Debian's package qemu-block-extra)";
  return new DriverError('unsupported', message, { cause, field: 'transferMethod' });
}

function sourceOf(url: URL, verify: boolean): NetworkSource {
  const protocol = url.protocol === 'https:' ? 'https' : 'http';
  return {
    type: 'network',
    protocol,
    host: hostOf(url),
    port: Number(url.port === '' ? (protocol === 'https' ? 443 : 80) : url.port),
    path: url.pathname,
    query: url.search === '' ? null : url.search.slice(1),
    verify,
  };
}
