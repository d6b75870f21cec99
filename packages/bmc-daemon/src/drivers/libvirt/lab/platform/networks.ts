/**
 * Checks the networks and bridges to which new machines connect. libvirt checks them only when a
 * machine starts.
 */
import { isLibvirtError } from '@rackless/libvirt';
import { virshCommand } from '../../connection-uri.js';
import { attempt } from '../../failure.js';
import { parseXml } from '../../xml/parse.js';
import { attribute, child } from '../../xml/tree.js';
import { LabError, missingOnHost } from '../lab-error.js';
import type { LabHost } from '../lab-host.js';
import type { NetworkLink } from '../machine-spec.js';

/** A network or a bridge to check. */
export interface CheckedLink extends NetworkLink {
  /** Whether a bridge may be one of Open vSwitch, which libvirt does not list as a bridge. */
  readonly mayBeSwitch?: boolean;
}

/**
 * Checks that all networks and bridges exist, also the bridges of networks in bridge mode.
 * @param onAdvice receives a sentence for each network that is not active: it can start before the machine.
 * @throws {LabError} with all networks and bridges that cannot be used; {DriverError} if libvirt fails.
 */
export async function checkNetworks(
  host: LabHost,
  links: readonly CheckedLink[],
  onAdvice: (sentence: string) => void,
): Promise<void> {
  const linksOf = (wanted: NetworkLink['type']): readonly CheckedLink[] => [
    ...new Map(links.filter(({ type }) => type === wanted).map((link) => [link.name, link])).values(),
  ];
  const [networks, bridges] = await Promise.all([
    networkProblems(
      host,
      linksOf('network').map(({ name }) => name),
      onAdvice,
    ),
    Promise.all(linksOf('bridge').map((link) => bridgeProblem(host, link))),
  ]);
  const problems = [...networks, ...bridges.filter((problem) => problem !== null)];
  if (problems.length > 0) throw new LabError(problems);
}

async function networkProblems(
  host: LabHost,
  wanted: readonly string[],
  onAdvice: (sentence: string) => void,
): Promise<readonly string[]> {
  if (wanted.length === 0) return [];
  const { hypervisor, timeoutMs, uri } = host;
  const networks = await attempt('listing the networks', () => hypervisor.listAllNetworks(0, { timeoutMs }));
  const names = networks.map(({ name }) => name);
  const problems = wanted.filter((name) => !names.includes(name)).map((name) => missingOnHost('network', name, names));
  for (const network of networks.filter(({ name }) => wanted.includes(name))) {
    const { name } = network;
    const { root } = await attempt(`reading network ${name}`, async () =>
      parseXml(await network.getXmlDesc(0, { timeoutMs })),
    );
    // Only a network in bridge mode needs an existing bridge. libvirt creates the bridges of all other
    // networks when they start.
    const bridge =
      attribute(child(root, 'forward'), 'mode') === 'bridge' ? attribute(child(root, 'bridge'), 'name') : null;
    const mayBeSwitch = child(root, 'virtualport') !== undefined;
    const problem = bridge === null ? null : await bridgeProblem(host, { name: bridge, mayBeSwitch });
    if (problem !== null) problems.push(`network ${name} cannot be used: ${problem}`);
    if (await attempt(`reading network ${name}`, () => network.isActive({ timeoutMs }))) continue;
    const start = virshCommand(uri, 'net-start', name);
    onAdvice(`network ${name} is not active: run "${start}" before a machine starts`);
  }
  return problems;
}

/**
 * Returns why machines cannot use a bridge; null if they can, or if libvirt cannot read the interfaces of its
 * host.
 */
async function bridgeProblem(
  { hypervisor, timeoutMs }: LabHost,
  { name, mayBeSwitch = false }: Pick<CheckedLink, 'name' | 'mayBeSwitch'>,
): Promise<string | null> {
  try {
    const found = await hypervisor.interfaceLookupByName(name, { timeoutMs });
    const { root } = parseXml(await found.getXmlDesc(0, { timeoutMs }));
    const isBridge = attribute(root, 'type') === 'bridge';
    return isBridge || mayBeSwitch ? null : `the interface ${name} of the host is not a bridge`;
  } catch (error) {
    // libvirt's driver for interfaces is optional, so another error says nothing about the bridge.
    return isLibvirtError(error, 'NO_INTERFACE') ? `the host has no bridge ${name}` : null;
  }
}
