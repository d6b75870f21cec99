/**
 * Decides which hosts images may come from. It checks the addresses of a name in the lookup of the
 * connecting socket, so that a different answer later (DNS rebinding) has no effect.
 */
import { lookup as askHost, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { networkMatcher, readNetwork } from '@rackless/daemon/network/ip-networks.js';
import { embeddedIpv4, overlap } from '../host/ip-network.js';
import type { NameLookup } from '../host/name-lookup.js';
import { ImageError } from './image-error.js';

/** EMULATOR_VMEDIA_ALLOWED_HOSTS and EMULATOR_VIRTUAL_MEDIA_IP_FAMILY. */
export interface HostRules {
  /**
   * Names (`images.example.org`, or `*.example.org` for all names below it), addresses and networks
   * (`10.0.0.0/8`). Null: every host. In both cases, the {@link forbidden} addresses are excluded, except those of
   * an entry that covers only forbidden addresses.
   */
  readonly allowed: readonly string[] | null;
  /** The only IP version of the addresses; null: both. */
  readonly ipFamily: 4 | 6 | null;
  /** Looks up names. Default: the resolver of the host. */
  readonly lookup?: NameLookup;
}

/** The check of hosts for one configuration. */
export interface ImageHosts {
  /**
   * Checks a host that is an address. A name is checked in its lookup.
   * @throws {ImageError} mediaForbidden.
   */
  check(url: URL): void;
  /**
   * Returns the name lookup for the socket of a URL. It finds only allowed addresses. If a name has none, the lookup
   * fails with an {@link ImageError} mediaForbidden.
   */
  lookupFor(url: URL): LookupFunction;
}

/**
 * Addresses that serve no images but may serve secrets. Most clouds serve the credentials of their machines at a
 * link-local address; the list also has the addresses that other clouds use for this, and multicast and broadcast.
 * An IPv6 address that contains a forbidden IPv4 address ({@link embeddedIpv4}) is rejected too.
 * Loopback and private addresses are allowed, because the image servers of labs have such addresses.
 */
const forbidden = [
  '169.254.0.0/16',
  // Alibaba, Azure, Oracle Classic.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '255.255.255.255/32',
  'fe80::/10',
  'ff00::/8',
  // AWS, Google, Oracle, Scaleway, Akamai.
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
  'fd00:a9fe:a9fe::1/128',
] as const;
const isForbidden = networkMatcher(forbidden);

/** Allows every host except forbidden addresses. */
export const anyHost: HostRules = { allowed: null, ipFamily: null };

/** Returns whether an entry of {@link HostRules.allowed} is valid. */
export function isHostRule(rule: string): boolean {
  if (readNetwork(rule) !== null) return true;
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i.test(rule)) return false;
  // Rejects `010.0.0.1` and `0x7f.1`: in a URL they are addresses, so as names they would never
  // match.
  const url = `http://${rule.replace(/^\*\./, '')}`;
  return URL.canParse(url) && isIP(new URL(url).hostname) === 0;
}

/** Creates the check. @param rules each valid for {@link isHostRule}. */
export function imageHosts({ allowed, ipFamily, lookup = askHost }: HostRules): ImageHosts {
  const isInNetwork = networkMatcher(allowed ?? []);
  // A rule for everything (`0.0.0.0/0`) does not allow the forbidden addresses. Only a rule that
  // covers nothing else allows them.
  const isExplicitlyAllowed = networkMatcher((allowed ?? []).filter(isForbiddenOnly));
  const names = (allowed ?? []).filter((rule) => readNetwork(rule) === null).map((rule) => nameOf(rule));

  const isNamed = (host: string): boolean =>
    names.some((rule) => (rule.startsWith('*.') ? host.endsWith(rule.slice(1)) : host === rule));
  const isAllowed = (address: string, family: number, isNameAllowed: boolean): boolean => {
    if (ipFamily !== null && family !== ipFamily) return false;
    if ([address, ...embeddedIpv4(address)].some((each) => isForbidden(each) && !isExplicitlyAllowed(each)))
      return false;
    return allowed === null || isNameAllowed || isInNetwork(address);
  };

  return {
    check(url) {
      const host = hostOf(url);
      const family = isIP(host);
      if (family !== 0 && !isAllowed(host, family, isNamed(host))) throw forbiddenError(url);
    },
    lookupFor: (url) => (hostname, options, callback) => {
      const lookupOptions: LookupOptions & { all: true } = {
        ...options,
        all: true,
        ...(ipFamily === null ? {} : { family: ipFamily }),
      };
      lookup(hostname, lookupOptions, (error, addresses) => {
        if (error !== null) {
          callback(error, []);
          return;
        }
        const isNameAllowed = isNamed(nameOf(hostname));
        const permitted = addresses.filter(({ address, family }) => isAllowed(address, family, isNameAllowed));
        answerLookup(permitted, options, callback, url);
      });
    },
  };
}

/**
 * Answers a lookup with one of the allowed addresses or with all of them, as the socket requests; with an error if
 * there is none.
 */
function answerLookup(
  addresses: readonly LookupAddress[],
  { all = false }: LookupOptions,
  callback: Parameters<LookupFunction>[2],
  url: URL,
): void {
  const [first] = addresses;
  if (first === undefined) callback(forbiddenError(url), []);
  else if (all) callback(null, [...addresses]);
  else callback(null, first.address, first.family);
}

/**
 * Returns the host of a URL, without the brackets of IPv6. The URL parser has normalized every
 * notation of IPv4.
 */
export function hostOf({ hostname }: URL): string {
  return nameOf(hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Returns a name in lower case, without the dot at the end of a full name, which has no meaning here. */
function nameOf(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function forbiddenError(url: URL): ImageError {
  const host = hostOf(url);
  return new ImageError(
    'mediaForbidden',
    `reading an image from ${host}: the configuration allows no images from there`,
  );
}

/** Returns whether a rule covers only forbidden addresses. */
function isForbiddenOnly(rule: string): boolean {
  const network = readNetwork(rule);
  if (network === null) return false;
  return forbidden.some((each) => {
    const forbiddenNetwork = readNetwork(each);
    return forbiddenNetwork !== null && forbiddenNetwork.prefix <= network.prefix && overlap(forbiddenNetwork, network);
  });
}
