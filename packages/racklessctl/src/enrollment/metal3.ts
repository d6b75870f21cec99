/** BareMetalHosts of Metal3 (metal3.io/v1alpha1). */
import { writeYaml } from '@rackless/daemon/yaml/write-yaml.js';
import { comment, withoutUndefined, type EnrollmentFormat, type EnrollmentNode } from './node.js';

function hostOf({ name, facts, insecure }: EnrollmentNode): object {
  const { bmc, uri, virtualMedia, bootMode, secureBoot, architecture, interfaces, power } = facts;
  const isDell = /^dell\b/i.test(facts.manufacturer ?? '');
  const driver = `${isDell ? 'idrac' : 'redfish'}${virtualMedia ? '-virtualmedia' : ''}`;
  const uefi = secureBoot === true ? 'UEFISecureBoot' : 'UEFI';
  return {
    apiVersion: 'metal3.io/v1alpha1',
    kind: 'BareMetalHost',
    metadata: { name },
    spec: withoutUndefined({
      // Uses the current power state, because the enrollment must not switch off a running machine.
      online: power === 'On',
      architecture,
      bootMACAddress: interfaces[0]?.mac,
      bootMode: bootMode === undefined ? undefined : bootMode === 'uefi' ? uefi : 'legacy',
      bmc: withoutUndefined({
        address: `${driver}+${bmc}${uri}`,
        credentialsName: `${name}-bmc`,
        disableCertificateVerification: insecure ? true : undefined,
      }),
    }),
  };
}

/** The format for Metal3. */
export const metal3: EnrollmentFormat = {
  summary: 'BareMetalHosts for kubectl apply (Metal3)',
  render: (nodes, notes) =>
    comment([
      'Each host needs a secret with the login at its BMC, for example:',
      '  kubectl create secret generic NAME-bmc --from-literal=username=USER --from-literal=password="$(cat FILE)"',
      'bootMACAddress is that of the first network interface with a link, or of the first one if none has a link.',
      'Check it before you boot from the network.',
      ...notes,
    ]) + nodes.map((node) => writeYaml(hostOf(node))).join('---\n'),
};
