/** The file of `baremetal create FILE` (OpenStack Ironic). */
import { writeYaml } from '@rackless/daemon/yaml/write-yaml.js';
import { comment, withoutUndefined, type EnrollmentFormat, type EnrollmentNode } from './node.js';

const MIB_IN_GIB = 1024;

function nodeOf({ name, facts, user, ca, insecure, auth }: EnrollmentNode): object {
  return {
    name,
    driver: 'redfish',
    ...(facts.virtualMedia ? { boot_interface: 'redfish-virtual-media' } : {}),
    driver_info: withoutUndefined({
      redfish_address: facts.bmc,
      redfish_system_id: facts.uri,
      redfish_username: user,
      redfish_verify_ca: insecure ? false : ca,
      redfish_auth_type: auth === 'basic' ? 'basic' : undefined,
    }),
    properties: withoutUndefined({
      cpus: facts.cpus,
      memory_mb: facts.memoryGib === undefined ? undefined : Math.round(facts.memoryGib * MIB_IN_GIB),
      cpu_arch: facts.architecture,
      capabilities: capabilitiesOf(facts),
    }),
    ports: facts.interfaces.map(({ mac }) => ({ address: mac })),
  };
}

function capabilitiesOf({ bootMode, secureBoot }: EnrollmentNode['facts']): string | undefined {
  if (bootMode === undefined) return undefined;
  return `boot_mode:${bootMode === 'uefi' ? 'uefi' : 'bios'}${secureBoot === true ? ',secure_boot:true' : ''}`;
}

/** The format for Ironic. */
export const ironic: EnrollmentFormat = {
  summary: 'baremetal create FILE (OpenStack Ironic)',
  render: (nodes, notes) =>
    comment([
      'Enroll with: baremetal create FILE',
      'The passwords are not in this file. Set each before you manage the node, for example:',
      '  baremetal node set NAME --driver-info redfish_password="$(cat PASSWORD_FILE)"',
      ...notes,
    ]) + writeYaml({ nodes: nodes.map(nodeOf) }),
};
