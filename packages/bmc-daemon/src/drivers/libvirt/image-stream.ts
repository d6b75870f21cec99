/**
 * Images that QEMU reads from their servers block by block (TransferMethod Stream): nothing is kept on the host, and the server has
 * to be there as long as the image is in a drive. QEMU's driver for it is in a package of its own on most distributions.
 */
import { readFile, readdir } from 'node:fs/promises';
import { ImageError } from '../../media/image-error.js';
import { hostOf } from '../../media/image-hosts.js';
import { withDeadline } from '../../media/image-deadline.js';
import { answerDeadline, locateImage, type ImageServerLimits } from '../../media/image-server.js';
import type { ImageRequest } from '../../media/image.js';
import { DriverError } from '../driver.js';
import { driverError } from './failure.js';
import type { ImageLease } from './image-store.js';
import { networkName, type NetworkSource } from './xml/disk-source.js';

/** Where distributions keep QEMU's modules. */
const MODULE_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu/qemu',
  '/usr/lib/aarch64-linux-gnu/qemu',
  '/usr/lib64/qemu-kvm',
  '/usr/lib64/qemu',
  '/usr/lib/qemu',
] as const;

/** Where distributions keep the authorities that QEMU's TLS goes by: Debian, Fedora and its kin, SUSE. */
const HOST_AUTHORITIES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
] as const;

/** In QEMU's words: there is no such driver. */
const NO_DRIVER = /Unknown (driver|protocol) '?https?|module 'block-curl'|block-curl\.so/i;
/** In those of its driver, libcurl's among them. */
const NO_ANSWER =
  /CURL: Error|Server does not support 'range'|certificate verification failed|Could not open '?(https?|json):/i;

/** Whether, and how, QEMU of a host reads images from their servers. */
export class ImageStreams {
  readonly #limits: ImageServerLimits;
  #isOffered: boolean;

  constructor(limits: ImageServerLimits) {
    this.#limits = limits;
    // QEMU follows redirections by itself, so that nobody could hold it to a list.
    this.#isOffered = !isRestricted(limits);
  }

  /** Whether images can be streamed, as far as is known. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /**
   * Looks for the driver where QEMU of this host has modules; one that has none, or runs elsewhere, says so itself when it is asked.
   * @param folders of QEMU's modules.
   */
  async look(folders: readonly string[] = MODULE_FOLDERS): Promise<void> {
    const lists = await Promise.all(folders.map((folder) => readdir(folder).catch((): string[] => [])));
    const modules = lists.flat().filter((name) => name.endsWith('.so'));
    const isMissing = modules.some((name) => !name.startsWith('block-')) && !modules.includes('block-curl.so');
    this.#isOffered = !isMissing && !isRestricted(this.#limits);
  }

  /**
   * What QEMU is to open, once it is certain that the server is there, sends parts of the image and may be asked.
   * @throws {DriverError} of the media kinds; unsupported.
   */
  async open(image: ImageRequest, signal: AbortSignal): Promise<ImageLease> {
    if (!this.#isOffered) throw noDriver(undefined);
    try {
      const final = await withDeadline(answerDeadline(image.url, this.#limits), signal, (within) =>
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

  /** What libvirt says of a stream that QEMU could not open; any other error as it is. */
  translate(error: unknown): unknown {
    if (!(error instanceof DriverError)) return error;
    if (NO_DRIVER.test(error.message)) {
      this.#isOffered = false;
      return noDriver(error);
    }
    if (!NO_ANSWER.test(error.message)) return error;
    return new DriverError('mediaUnreachable', error.message, { cause: error, field: 'image' });
  }

  /**
   * QEMU verifies a server by the authorities of its host, and knows neither those of the drive nor the configuration's.
   * @throws {DriverError} invalid, where one of these is needed.
   */
  async #assertKnownToHost(image: ImageRequest, signal: AbortSignal): Promise<void> {
    const { caFile, ...limits } = this.#limits;
    if (caFile === undefined && (image.authorities ?? []).length === 0) return;
    try {
      await locateImage({ ...image, authorities: await hostAuthorities() }, limits, signal);
    } catch (cause) {
      if (!(cause instanceof ImageError) || cause.kind !== 'mediaTls') throw cause;
      const message = "streaming the image: QEMU trusts the host's certificate authorities only; Upload needs no more";
      throw new DriverError('invalid', message, { cause, field: 'transferMethod' });
    }
  }

  /**
   * The address that was judged, in place of a name that QEMU would look up again. Where TLS proves the name there is no need.
   * @throws {ImageError} mediaUnreachable, where the server answers to its name only.
   */
  async #atAddress(url: URL, address: string, image: ImageRequest, signal: AbortSignal): Promise<URL> {
    const literal = new URL(url);
    literal.hostname = address.includes(':') ? `[${address}]` : address;
    if (literal.href === url.href) return url;
    try {
      return (await locateImage({ ...image, url: literal }, this.#limits, signal)).url;
    } catch (cause) {
      if (!(cause instanceof ImageError) || signal.aborted) throw cause;
      const message = `streaming the image: the server at ${address} answers to its name only; Upload needs no more`;
      throw new ImageError('mediaUnreachable', message, { cause });
    }
  }
}

/** Whether an error of plugging a stream in is one of the stream, and not one of the machine. */
export function isStreamFault(error: DriverError): boolean {
  return NO_DRIVER.test(error.message) || NO_ANSWER.test(error.message);
}

/** Of this host, which need not be QEMU's; none where they are kept elsewhere. PEM. */
async function hostAuthorities(): Promise<readonly string[]> {
  const files = await Promise.all(HOST_AUTHORITIES.map((file) => readFile(file, 'utf8').catch(() => null)));
  return files.filter((file) => file !== null);
}

function isRestricted({ hosts }: ImageServerLimits): boolean {
  return hosts !== undefined && hosts.allowed !== null;
}

function noDriver(cause: unknown): DriverError {
  const message = "streaming the image: QEMU of this host has no driver for HTTP (Debian's package qemu-block-extra)";
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
