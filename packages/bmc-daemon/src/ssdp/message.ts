/**
 * Parses and builds the SSDP messages of Redfish (DSP0266, discovery; UPnP Device Architecture 1.1
 * §1). Sends nothing.
 */

/** The multicast group for searches and notifications. */
export const SSDP_GROUP = '239.255.255.250';
/** The UDP port for searches and notifications. */
export const SSDP_PORT = 1900;

/**
 * The search target with the major version of the protocol. A client may add `:` and the minor
 * version of the service.
 */
const REDFISH = 'urn:dmtf-org:service:redfish-rest:1';
const EVERYTHING = 'ssdp:all';
const ROOT_DEVICE = 'upnp:rootdevice';

/** Maximum length of a search; longer packets are ignored. */
const MAX_PACKET_BYTES = 2_048;
/** Maximum of MX, the wait of a search: more than five seconds count as five (UPnP §1.3.2). */
const MAX_WAIT_S = 5;

/** The service's data in SSDP messages. */
export interface Announced {
  /** UUID of the service root. */
  readonly uuid: string;
  /** Minor version of RedfishVersion, such as `20` for `1.20.0`. */
  readonly minor: number;
  /** Product and version, such as `Rackless-bmc-daemon/1.2.3`. */
  readonly product: string;
}

/** A received M-SEARCH (UPnP Device Architecture 1.1, section 1.3.2). */
export interface Search {
  /** The search target of the answer. */
  readonly target: string;
  /** The answer is sent at a random moment within this time, so that answers do not collide. */
  readonly withinMs: number;
}

/** Parses a search. Returns undefined for any other packet, and for a search that does not include this service. */
export function readSearch(packet: Buffer, { minor }: Pick<Announced, 'minor'>): Search | undefined {
  if (packet.length > MAX_PACKET_BYTES) return undefined;
  const [first = '', ...lines] = packet.toString('latin1').split('\r\n');
  if (first !== 'M-SEARCH * HTTP/1.1') return undefined;
  const headers = new Map(
    lines.flatMap((line): [string, string][] => {
      const [, name = '', value = ''] = /^([\w-]+)[ \t]*:(.*)$/.exec(line) ?? [];
      return name === '' ? [] : [[name.toLowerCase(), value.trim()]];
    }),
  );
  if (headers.get('man') !== '"ssdp:discover"') return undefined;
  // UPnP §1.3.2: a search without MX, the maximum wait in seconds, gets no answer.
  const wait = Number(headers.get('mx') ?? NaN);
  if (!Number.isInteger(wait) || wait < 1) return undefined;
  const target = answeredTarget(headers.get('st') ?? '', minor);
  return target === undefined ? undefined : { target, withinMs: Math.min(wait, MAX_WAIT_S) * 1_000 };
}

/**
 * Returns the target of the answer; undefined if the search does not include this service. There is one
 * service, so a search has one answer.
 */
function answeredTarget(target: string, minor: number): string | undefined {
  if (target === REDFISH || target === EVERYTHING) return REDFISH;
  if (target === ROOT_DEVICE) return target;
  return minor > 0 && target === `${REDFISH}:${minor}` ? target : undefined;
}

/**
 * Builds the answer to a search.
 * @param location the service root's URL, at an address that the client can reach.
 * @param maxAgeSeconds how long the answer is valid.
 */
export function searchAnswer(
  { uuid, product }: Announced,
  target: string,
  location: string,
  maxAgeSeconds: number,
): string {
  return lines(
    'HTTP/1.1 200 OK',
    `CACHE-CONTROL: max-age=${maxAgeSeconds}`,
    'EXT:',
    `SERVER: ${serverOf(product)}`,
    `ST: ${target}`,
    `USN: uuid:${uuid}::${target}`,
    `AL: ${location}`,
  );
}

/** Builds the notification that the service is available at the given URL. */
export function aliveMessage({ uuid, product }: Announced, location: string, maxAgeSeconds: number): string {
  return lines(
    'NOTIFY * HTTP/1.1',
    `HOST: ${SSDP_GROUP}:${SSDP_PORT}`,
    `CACHE-CONTROL: max-age=${maxAgeSeconds}`,
    `SERVER: ${serverOf(product)}`,
    `NT: ${REDFISH}`,
    'NTS: ssdp:alive',
    `USN: uuid:${uuid}::${REDFISH}`,
    `AL: ${location}`,
  );
}

/** Builds the notification that the service stops. */
export function byebyeMessage({ uuid }: Announced): string {
  return lines(
    'NOTIFY * HTTP/1.1',
    `HOST: ${SSDP_GROUP}:${SSDP_PORT}`,
    `NT: ${REDFISH}`,
    'NTS: ssdp:byebye',
    `USN: uuid:${uuid}::${REDFISH}`,
  );
}

/**
 * Returns operating system, UPnP version and product. All three are required, but the version of
 * the operating system is not revealed.
 */
function serverOf(product: string): string {
  return `Linux/0 UPnP/1.1 ${product}`;
}

function lines(...all: readonly string[]): string {
  return `${all.join('\r\n')}\r\n\r\n`;
}
