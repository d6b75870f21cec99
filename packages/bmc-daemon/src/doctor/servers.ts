/** Examines the servers to which the daemon connects: image servers and the shared store. */
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { errorCode } from '@rackless/daemon/error-code.js';
import { readNetwork } from '@rackless/daemon/network/ip-networks.js';
import { connectionReasons } from '../host/connection-reasons.js';
import { commandLine } from '../findings/commands.js';
import { problem, warning, type Finding } from '../findings/finding.js';
import type { Probe } from './probe.js';
import { urlHost } from '../host/ip-network.js';

/** Resolves the names in EMULATOR_VMEDIA_ALLOWED_HOSTS. */
export const imageServers: Probe = {
  subject: 'name',
  settings: ['vmediaAllowedHosts', 'virtualMediaIpFamily'],
  examine: async ({ loaded: { settings } }) => {
    const { vmediaAllowedHosts: rules, virtualMediaIpFamily: family } = settings;
    const names = (rules ?? []).filter((rule) => readNetwork(rule) === null && !rule.startsWith('*.'));
    const findings = await Promise.all(names.map((name) => nameFindings(name, family)));
    return findings.flat();
  },
};

async function nameFindings(name: string, family: '4' | '6' | null): Promise<readonly Finding[]> {
  try {
    await lookup(name, family === null ? {} : { family: family === '4' ? 4 : 6 });
    return [];
  } catch {
    const kind = family === null ? 'address' : `IPv${family} address`;
    const message = `The image server ${name} has no ${kind}, so inserts of its images fail.`;
    return [warning('name', message, commandLine('getent', family === null ? 'ahosts' : `ahostsv${family}`, name))];
  }
}

/** Connects to the server of EMULATOR_SHARED_STORE. */
export const sharedStore: Probe = {
  subject: 'store',
  settings: ['sharedStore'],
  examine: async ({ loaded: { settings }, timeoutMs }) => {
    const { sharedStore: url } = settings;
    if (url === null || !URL.canParse(url)) return [];
    const { hostname, port } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const reason = await connectionFault(host, port === '' ? 6379 : Number(port), timeoutMs);
    if (reason === null) return [];
    const shown = urlHost(host);
    const message = `The shared store at ${shown} is not reachable (${reason}), so requests that need a login get 503.`;
    return [problem('store', message, commandLine('redis-cli', '-h', host, '-p', port === '' ? '6379' : port, 'ping'))];
  },
};

/** Returns why there is no connection; null if there is one. */
function connectionFault(host: string, port: number, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (reason: string | null): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.once('connect', () => end(null));
    socket.once('timeout', () => end(`no answer within ${timeoutMs / 1000} s`));
    socket.once('error', (error) => end(connectionReasons[errorCode(error) ?? ''] ?? error.message));
  });
}
