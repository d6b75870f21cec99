/** Hardware and Machines of Tinkerbell. */
import { writeYaml } from '@rackless/daemon/yaml/write-yaml.js';
import { comment, withoutUndefined, type EnrollmentFormat, type EnrollmentNode } from './node.js';

/** The namespace of Tinkerbell's Helm chart. A Machine must be in the namespace of the Hardware that refers to it. */
const NAMESPACE = 'tinkerbell';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function machineOf({ name, facts, insecure, auth }: EnrollmentNode): object {
  const { hostname, port, protocol } = new URL(facts.bmc);
  // bmclib joins host and port with a colon, so an IPv6 address needs its brackets. It uses https if the host has no
  // scheme.
  const host = protocol === 'http:' ? `http://${hostname}` : hostname;
  const portNumber = port === '' ? (DEFAULT_PORTS[protocol] ?? 443) : Number(port);
  return {
    apiVersion: 'bmc.tinkerbell.org/v1alpha1',
    kind: 'Machine',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      connection: {
        host,
        insecureTLS: insecure,
        authSecretRef: { name: `${name}-bmc`, namespace: NAMESPACE },
        providerOptions: {
          preferredOrder: ['gofish'],
          redfish: { port: portNumber, systemName: facts.name, ...(auth === 'basic' ? { useBasicAuth: true } : {}) },
        },
      },
    },
  };
}

function hardwareOf({ name, facts }: EnrollmentNode): object {
  const { architecture, bootMode, cpus, memoryGib } = facts;
  return {
    apiVersion: 'tinkerbell.org/v1alpha1',
    kind: 'Hardware',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      bmcRef: { apiGroup: 'bmc.tinkerbell.org', kind: 'Machine', name },
      interfaces: facts.interfaces.map(({ mac }) => ({
        dhcp: withoutUndefined({
          mac,
          hostname: name,
          arch: architecture,
          uefi: bootMode === undefined ? undefined : bootMode === 'uefi',
        }),
        netboot: { allowPXE: true, allowWorkflow: true },
      })),
      resources: withoutUndefined({ cpu: cpus, memory: memoryGib === undefined ? undefined : `${memoryGib}Gi` }),
    },
  };
}

/** The format for Tinkerbell. */
export const tinkerbell: EnrollmentFormat = {
  summary: 'Hardware and Machines for kubectl apply (Tinkerbell)',
  // bmclib operates on the first system with the name, which may be another machine.
  rejects: ({ sharesName }) => {
    if (sharesName === false) return undefined;
    const others =
      sharesName === 'unknown'
        ? 'a machine of the service that could not be read may have the same name'
        : 'other machines of the service have the same name';
    return `Tinkerbell selects a machine by its name, and ${others}`;
  },
  render: (nodes, notes) =>
    comment([
      'Each machine needs a secret with the login at its BMC, for example:',
      `  kubectl -n ${NAMESPACE} create secret generic NAME-bmc --from-literal=username=USER --from-literal=password="$(cat FILE)"`,
      'Add IP addresses to the interfaces: Tinkerbell assigns them by DHCP, and this file has none.',
      ...notes,
    ]) +
    nodes
      .flatMap((node) => [machineOf(node), hardwareOf(node)])
      .map((object) => writeYaml(object))
      .join('---\n'),
};
