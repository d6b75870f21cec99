/** `<source>` of a disk or a drive, as values and as markup. */
import type { Disk } from './device.js';
import { encodeAttribute } from '../escape.js';
import { attribute, child } from '../tree.js';
import { urlHost } from '../../../../host/ip-network.js';

/** The `<source>` of a new disk: where its content is on the host. */
export type NewDiskSource =
  | { readonly type: 'file' | 'block'; readonly path: string }
  | { readonly type: 'volume'; readonly pool: string; readonly volume: string };

/** An image on the host, by path or as a volume, or an image that QEMU streams. */
export type MediaSource =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'volume'; readonly pool: string; readonly volume: string }
  | NetworkSource;

/** An image that QEMU reads from its server. */
export interface NetworkSource {
  readonly type: 'network';
  readonly protocol: 'http' | 'https';
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The path on the server, such as `/image.iso`. */
  readonly path: string;
  /** Without the question mark; null if absent. */
  readonly query: string | null;
  /** For https: whether to verify the server's certificate with the certificate authorities of the host. */
  readonly verify: boolean;
}

/** Returns the `<source>` of a disk of the given type. */
export function sourceMarkup(source: NewDiskSource | NetworkSource): string {
  switch (source.type) {
    case 'file':
      return `<source file='${encodeAttribute(source.path)}'/>`;
    case 'block':
      return `<source dev='${encodeAttribute(source.path)}'/>`;
    case 'volume':
      return `<source pool='${encodeAttribute(source.pool)}' volume='${encodeAttribute(source.volume)}'/>`;
    case 'network':
      return networkMarkup(source);
  }
}

/** Returns the URL of an image without its query, which is the `DiskSource.name` of a drive with this image. */
export function networkName({ protocol, host, port, path }: NetworkSource): string {
  return `${protocol}://${urlHost(host)}:${port}/${path.replace(/^\//, '')}`;
}

/**
 * Returns the medium of a drive, for use in another drive; null for an empty drive, and for a source
 * that is no {@link MediaSource}, such as a block device.
 */
export function mediaSourceOf({ source, element }: Disk): MediaSource | null {
  const { type, name, pool, volume } = source;
  if (type === 'file' && name !== null) return { type, path: name };
  if (type === 'volume' && pool !== null && volume !== null) return { type, pool, volume };
  return type === 'network' ? networkSourceOf(child(element, 'source')) : null;
}

function networkSourceOf(source: ReturnType<typeof child>): NetworkSource | null {
  const protocol = attribute(source, 'protocol');
  const host = child(source, 'host');
  const [name, port, path] = [attribute(host, 'name'), attribute(host, 'port'), attribute(source, 'name')];
  if ((protocol !== 'http' && protocol !== 'https') || name === null || port === null || path === null) return null;
  const verify = attribute(child(source, 'ssl'), 'verify') !== 'no';
  return { type: 'network', protocol, host: name, port: Number(port), path, query: attribute(source, 'query'), verify };
}

function networkMarkup({ protocol, host, port, path, query, verify }: NetworkSource): string {
  const search = query === null ? '' : ` query='${encodeAttribute(query)}'`;
  const tls = protocol === 'https' ? `<ssl verify='${verify ? 'yes' : 'no'}'/>` : '';
  return (
    `<source protocol='${protocol}' name='${encodeAttribute(path)}'${search}>` +
    `<host name='${encodeAttribute(host)}' port='${port}'/>${tls}</source>`
  );
}
