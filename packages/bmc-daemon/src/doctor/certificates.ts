/** Examines the certificate of the service, and the certificates for its connections to other servers. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { readTextFile } from '@rackless/daemon/files/text-file.js';
import { isWildcardAddress } from '@rackless/daemon/network/listener.js';
import { listInterfaces } from '@rackless/daemon/network/network-interfaces.js';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import { isIP } from 'node:net';
import { settingsTable, type SettingKey } from '../config/settings.js';
import { commandLine, copyCommand } from '../findings/commands.js';
import { problem, warning, type Finding } from '../findings/finding.js';
import type { Examined, Probe } from './probe.js';

const SUBJECT = 'certificate';
const DAY_MS = 86_400_000;
/** ACME clients renew a certificate 30 days before its end. If only 21 days are left, the renewal has failed. */
const SOON_MS = 21 * DAY_MS;

/** Examines validity and names of the certificate of HTTPS. The check of the configuration examines its key. */
export const serverCertificate: Probe = {
  subject: SUBJECT,
  settings: ['sslCert', 'sslKey', 'listenIp'],
  examine: async (examined) => {
    const { sslCert, sslKey, listenIp } = examined.loaded.settings;
    if (sslCert === null || sslKey === null) return [];
    let text: string;
    try {
      text = loadTls({ sslCert, sslKey }).cert;
    } catch (error) {
      // The check of the configuration reports unusable TLS files.
      if (error instanceof TlsFilesError) return [];
      throw error;
    }
    const [leaf, ...chain] = certificatesIn(text);
    if (leaf === undefined) return [];
    const renew = renewalCommand(examined);
    return oneCommand(renew, [
      ...validityFindings(leaf, `The certificate ${sslCert}`, 'so clients reject HTTPS connections', renew),
      ...chain.flatMap((each) =>
        validityFindings(each, `An issuer in ${sslCert}`, 'so clients reject HTTPS connections', renew),
      ),
      ...(await nameFindings(leaf, { sslCert, listenIp, renew })),
    ]);
  },
};

/** Joins findings that one command corrects, because a second run would replace the new certificate. */
function oneCommand(fix: string, findings: readonly Finding[]): readonly Finding[] {
  if (findings.length < 2) return findings;
  const message = findings.map((each) => each.message).join(' ');
  return [
    findings.some(({ severity }) => severity === 'problem')
      ? problem(SUBJECT, message, fix)
      : warning(SUBJECT, message, fix),
  ];
}

const otherFiles: readonly (readonly [
  SettingKey & ('vmediaCaFile' | 'notificationCaFile' | 'notificationCertFile'),
  string,
])[] = [
  ['vmediaCaFile', 'so inserts of images from servers that it certifies fail'],
  ['notificationCaFile', 'so notifications fail'],
  ['notificationCertFile', 'so notifications fail'],
];

/** Examines the certificates for the connections of the daemon to other servers. */
export const clientCertificates: Probe = {
  subject: SUBJECT,
  settings: otherFiles.map(([key]) => key),
  examine: ({ loaded: { settings } }) =>
    otherFiles.flatMap(([key, effect]) => {
      const file = settings[key];
      if (file === null) return [];
      const list = commandLine('openssl', 'storeutl', '-noout', '-text', '-certs', file);
      return certificatesIn(textOf(file)).flatMap((each) =>
        validityFindings(each, `A certificate in ${file} (${settingsTable[key].name})`, effect, list),
      );
    }),
};

/**
 * Returns the command that creates a self-signed certificate. The command uses the existing key if it
 * is usable, and first copies each file that it replaces.
 */
export function renewalCommand({ loaded: { settings } }: Examined): string {
  const { sslCert, sslKey, listenIp } = settings;
  const [certificate, key] = [sslCert ?? 'server.pem', sslKey ?? 'server.key'];
  const name = hostname();
  const address = isWildcardAddress(listenIp) || isIP(listenIp) === 0 ? [] : [`IP:${listenIp}`];
  const isUsable = isKey(textOf(key));
  const keyOptions = isUsable ? ['-key', key] : ['-newkey', 'rsa:3072', '-nodes', '-keyout', key];
  const create = commandLine(
    ...['openssl', 'req', '-x509', ...keyOptions, '-days', '365', '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=${[`DNS:${name}`, ...address].join(',')}`, '-out', certificate],
  );
  const replaced = [certificate, ...(isUsable ? [] : [key])].filter((file) => existsSync(file));
  return [...replaced.map(copyCommand), create].join(' && ');
}

/** Returns whether a file has a certificate and no usable key. Then a setting for a key has the wrong path. */
export function hasOnlyCertificates(file: string): boolean {
  const text = textOf(file);
  return certificatesIn(text).length > 0 && !isKey(text);
}

/** Returns whether openssl can use a private key without a passphrase. */
function isKey(text: string): boolean {
  try {
    createPrivateKey(text);
    return true;
  } catch {
    return false;
  }
}

function validityFindings(
  certificate: X509Certificate,
  title: string,
  effect: string,
  fix: string,
): readonly Finding[] {
  const now = Date.now();
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
  if (to < now) return [problem(SUBJECT, `${title} expired on ${day(to)}, ${effect}.`, fix)];
  if (from > now) {
    const message = `${title} is not valid before ${day(from)}, ${effect}. If the clock of this host is wrong, set it.`;
    return [problem(SUBJECT, message, fix)];
  }
  if (to - now > SOON_MS) return [];
  return [warning(SUBJECT, `${title} expires on ${day(to)}, ${effect} after this day.`, fix)];
}

interface NamesOptions {
  readonly sslCert: string;
  readonly listenIp: string;
  readonly renew: string;
}

/** Compares the names of a certificate with the names and addresses under which clients find this host. */
async function nameFindings(
  certificate: X509Certificate,
  { sslCert, listenIp, renew }: NamesOptions,
): Promise<readonly Finding[]> {
  const addresses = isWildcardAddress(listenIp) ? hostAddresses() : [listenIp];
  const fits = [hostname(), ...addresses].some((name) =>
    isIP(name) === 0 ? matchesHost(certificate, name) : certificate.checkIP(name) !== undefined,
  );
  if (fits || (await hasAliasOf(certificate, addresses))) return [];
  const offered = certificate.subjectAltName;
  const message =
    `The certificate ${sslCert} has ${offered === undefined ? 'no alternative names' : `only the names ${offered}`}, ` +
    `and not ${hostname()} or an address of this host, so clients that verify it may reject it.`;
  return [warning(SUBJECT, message, renew)];
}

/** Returns whether a name of the certificate resolves to one of the addresses, or to a loopback address. */
async function hasAliasOf(certificate: X509Certificate, addresses: readonly string[]): Promise<boolean> {
  const alternatives = certificate.subjectAltName?.split(', ') ?? [];
  const aliases = alternatives.flatMap((each) => (each.startsWith('DNS:') ? [each.slice('DNS:'.length)] : []));
  // On every host, `localhost` is the host itself, so the name is useless for other hosts.
  const isLocal = addresses.every(isLoopback);
  const usable = aliases.filter((alias) => !alias.includes('*') && (isLocal || alias !== 'localhost'));
  const found = await Promise.all(usable.map((alias) => lookup(alias, { all: true }).catch(() => [])));
  // Debian writes the names of a host to /etc/hosts with 127.0.1.1.
  return found.flat().some(({ address }) => addresses.includes(address) || isLoopback(address));
}

const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';

/** Returns whether the certificate has the host name, this name in any domain, or any wildcard. */
function matchesHost(certificate: X509Certificate, name: string): boolean {
  if (certificate.checkHost(name) !== undefined) return true;
  const alternatives = certificate.subjectAltName?.split(', ') ?? [];
  return alternatives.some((each) => {
    const [kind, value = ''] = each.split(':');
    return kind === 'DNS' && (value === name || value.startsWith(`${name}.`) || value.startsWith('*.'));
  });
}

const hostAddresses = (): readonly string[] =>
  Object.values(listInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function certificatesIn(text: string): readonly X509Certificate[] {
  return (text.match(CERTIFICATE) ?? []).flatMap((pem) => {
    try {
      return [new X509Certificate(pem)];
    } catch {
      return [];
    }
  });
}

/** Returns the text of a file; empty if it is unreadable, which the check of the configuration reports. */
function textOf(file: string): string {
  try {
    return readTextFile(file);
  } catch {
    return '';
  }
}
