/** An inventory of Ansible, with variables for community.general's Redfish modules. */
import { writeYaml } from '@rackless/daemon/yaml/write-yaml.js';
import { groupByKeys } from '../machines/by-key.js';
import { comment, withoutUndefined, type EnrollmentFormat, type EnrollmentNode } from './node.js';

function variablesOf({ facts, user }: EnrollmentNode): object {
  return withoutUndefined({
    // The address is that of the BMC, not of the operating system. So tasks need `delegate_to:
    // localhost` or `connection: local`.
    redfish_baseuri: new URL(facts.bmc).host,
    redfish_username: user,
    redfish_resource_id: facts.id,
    redfish_system_uri: facts.uri,
    uuid: facts.uuid,
    manufacturer: facts.manufacturer,
    model: facts.model,
    serial_number: facts.serial,
    cpus: facts.cpus,
    memory_gib: facts.memoryGib,
    architecture: facts.architecture,
    boot_mode: facts.bootMode,
    mac_addresses: facts.interfaces.map(({ mac }) => mac),
  });
}

/** Returns the group of a context. In Ansible, the name of a group has only letters, digits and underscores. */
const groupName = (context: string): string => `context_${context.toLowerCase().replace(/\W/g, '_')}`;

/**
 * Adds the tag `!unsafe` to each value that contains a template, so that Ansible does not execute the
 * template. The values come from services, and a service may be hostile.
 */
const withoutTemplates = (yaml: string): string =>
  yaml.replace(/^( *(?:- |[\w]+: ))(?!!)(.*\{[{%#].*)$/gm, '$1!unsafe $2');

/** Returns a warning about services with http, because the modules prepend `https://` to `redfish_baseuri`. */
function schemeWarnings(nodes: readonly EnrollmentNode[]): readonly string[] {
  const services = new Set(nodes.map(({ facts }) => facts.bmc).filter((bmc) => bmc.startsWith('http:')));
  if (services.size === 0) return [];
  return [`The Redfish modules of Ansible use only https, so they cannot connect to ${[...services].join(', ')}.`];
}

/** The format for Ansible. */
export const ansible: EnrollmentFormat = {
  summary: 'an inventory in YAML (Ansible)',
  warnings: schemeWarnings,
  render: (nodes, notes) => {
    // Two contexts can have the same group, for example `rack-1` and `rack_1`.
    const groups = groupByKeys(nodes, ({ facts: { context } }) => (context === undefined ? [] : [groupName(context)]));
    const children = Object.fromEntries(
      [...groups].map(([group, members]) => [
        group,
        { hosts: Object.fromEntries(members.map(({ name }) => [name, {}])) },
      ]),
    );
    const hosts = Object.fromEntries(nodes.map((node) => [node.name, variablesOf(node)]));
    return (
      comment(['The passwords are not in this file. Set redfish_password in a vault.', ...notes]) +
      withoutTemplates(writeYaml({ all: { hosts, ...(groups.size === 0 ? {} : { children }) } }))
    );
  },
};
