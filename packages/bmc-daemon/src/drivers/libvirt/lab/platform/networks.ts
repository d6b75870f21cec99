/** Checks the networks and bridges to which new machines connect. Without this check, only their start fails. */
import { isLibvirtError } from '@rackless/libvirt';
import { virshCommand } from '../../connection-uri.js';
import { attempt } from '../../failure.js';
import { parseXml } from '../../xml/parse.js';
import { attribute, child } from '../../xml/tree.js';
import { LabError } from '../lab-error.js';
import type { LabHost } from '../lab-host.js';
import type { NetworkLink } from '../machine-spec.js';

/**
 * Checks that all networks and bridges exist.
 * @param onAdvice receives a sentence for each network that is not active: it can start before the machine.
 * @throws {LabError} with everything that is missing; DriverError unavailable.
 */
export async function checkNetworks(
  host: LabHost,
  links: readonly NetworkLink[],
  onAdvice: (sentence: string) => void,
): Promise<void> {
  const namesOf = (wanted: NetworkLink['type']): readonly string[] => [
    ...new Set(links.filter(({ type }) => type === wanted).map(({ name }) => name)),
  ];
  const [networks, bridges] = await Promise.all([
    networkProblems(host, namesOf('network'), onAdvice),
    Promise.all(namesOf('bridge').map((name) => bridgeProblem(host, name))),
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
  const problems = wanted
    .filter((name) => !names.includes(name))
    .map((name) => `the host has no network ${name}; it has ${names.join(', ') || 'none'}. Use --network or --bridge`);
  for (const network of networks.filter(({ name }) => wanted.includes(name))) {
    const { name } = network;
    const { root } = await attempt(`reading network ${name}`, async () =>
      parseXml(await network.getXmlDesc(0, { timeoutMs })),
    );
    // libvirt creates the bridges of all other networks when they start.
    const bridge =
      attribute(child(root, 'forward'), 'mode') === 'bridge' ? attribute(child(root, 'bridge'), 'name') : null;
    const problem = bridge === null ? null : await bridgeProblem(host, bridge);
    if (problem !== null) problems.push(`network ${name} cannot be used: ${problem}`);
    if (await attempt(`reading network ${name}`, () => network.isActive({ timeoutMs }))) continue;
    const start = virshCommand(uri, 'net-start', name);
    onAdvice(`network ${name} is not active: run "${start}" before a machine starts`);
  }
  return problems;
}

/** Returns why machines cannot use a bridge; null if they can, or if libvirt does not know the interfaces of its host. */
async function bridgeProblem({ hypervisor, timeoutMs }: LabHost, name: string): Promise<string | null> {
  try {
    const found = await hypervisor.interfaceLookupByName(name, { timeoutMs });
    const { root } = parseXml(await found.getXmlDesc(0, { timeoutMs }));
    const isBridge = attribute(root, 'type') === 'bridge';
    return isBridge ? null : `the interface ${name} of the host is not a bridge`;
  } catch (error) {
    // libvirt's driver for interfaces is optional.
    return isLibvirtError(error, 'NO_INTERFACE') ? `the host has no bridge ${name}` : null;
  }
}
