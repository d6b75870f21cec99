/** Commands of the MAAS command line. */
import { quoteWord } from '@rackless/daemon/text/shell-word.js';
import { comment, type EnrollmentFormat, type EnrollmentNode } from './node.js';

/** MAAS's names of architectures. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  i686: 'i386',
  aarch64: 'arm64',
  armv7l: 'armhf',
  ppc64le: 'ppc64el',
  riscv64: 'riscv64',
};

function commandOf({ name, facts, user }: EnrollmentNode): string {
  const architecture = architectures[facts.architecture ?? 'x86_64'] ?? 'amd64';
  const { protocol, host } = new URL(facts.bmc);
  const words = [
    `hostname=${name}`,
    `architecture=${architecture}/generic`,
    ...facts.interfaces.map(({ mac }) => `mac_addresses=${mac}`),
    'power_type=redfish',
    // MAAS uses https if the address has no scheme, so only an address with http needs its scheme.
    `power_parameters_power_address=${protocol === 'https:' ? host : facts.bmc}`,
    `power_parameters_power_user=${user ?? ''}`,
    `power_parameters_node_id=${facts.id}`,
  ].map(quoteWord);
  return [`maas "$PROFILE" machines create`, ...words, 'power_parameters_power_pass="$POWER_PASS"'].join(' \\\n  ');
}

/** The format for MAAS. */
export const maas: EnrollmentFormat = {
  summary: 'a shell script with commands of maas',
  rejects: ({ facts }) => (facts.interfaces.length === 0 ? 'MAAS needs a MAC address' : undefined),
  render: (nodes, notes) =>
    [
      '#!/bin/sh\n',
      comment([
        'PROFILE is your profile of the MAAS command line, POWER_PASS the password of the BMCs.',
        'If the service does not report an architecture that MAAS has, the architecture is amd64.',
        ...notes,
      ]),
      'set -eu\n: "${PROFILE:?}" "${POWER_PASS:?}"\n',
      ...nodes.map((node) => `${commandOf(node)}\n`),
    ].join(''),
};
