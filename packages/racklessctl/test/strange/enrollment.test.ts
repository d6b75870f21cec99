/**
 * Enrollment files of machines that a format cannot describe, that the service cannot reach, or whose names
 * are not unique, and of services with http.
 */
import { describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import {
  oneMachine,
  scriptedServices,
  type ScriptedAnswer,
  type ScriptedService,
} from '../support/scripted-service.js';

const { run, write } = commandFixture();
const serve = scriptedServices();

const systems = '/redfish/v1/Systems';

/** Serves machines with these ids and members. Each has a network interface. */
function machines(members: Readonly<Record<string, object>>): Promise<ScriptedService> {
  const entries = Object.entries(members).flatMap(([id, own], index): [string, ScriptedAnswer][] => {
    const uri = `${systems}/${id}`;
    const nics = { '@odata.id': `${uri}/EthernetInterfaces` };
    const nic = `${nics['@odata.id']}/1`;
    return [
      [`GET ${uri}`, { '@odata.id': uri, Id: id, Name: id, PowerState: 'Off', EthernetInterfaces: nics, ...own }],
      [`GET ${nics['@odata.id']}`, { Members: [{ '@odata.id': nic }] }],
      [`GET ${nic}`, { '@odata.id': nic, MACAddress: `52:54:00:00:00:0${index}` }],
    ];
  });
  return serve({
    ...oneMachine(),
    [`GET ${systems}`]: { Members: Object.keys(members).map((id) => ({ '@odata.id': `${systems}/${id}` })) },
    ...Object.fromEntries(entries),
  });
}

describe('machines with the same name', () => {
  const twins = { a: { Name: 'same' }, b: { Name: 'same' }, c: { Name: 'other' } };
  const reason = 'Tinkerbell selects a machine by its name, and other machines of the service have the same name';

  it('are not in the file for Tinkerbell, because Tinkerbell could switch the wrong machine', async () => {
    const service = await machines(twins);
    const { code, stdout, stderr } = await run(['inventory', '-f', 'tinkerbell', '--url', service.url]);
    expect({ code, names: stdout.match(/systemName: .*/g), stderr }).toEqual({
      code: 1,
      names: ['systemName: other'],
      stderr: `a: left out: ${reason}\nb: left out: ${reason}\n`,
    });
    expect(stdout).toContain(`# Left out: a: ${reason}\n# Left out: b: ${reason}\n`);
  });

  it('are not in the file for Tinkerbell even if the user selects only one of them', async () => {
    const service = await machines(twins);
    const { code, stdout } = await run(['inventory', 'b', '-f', 'tinkerbell', '--url', service.url]);
    expect({ code, names: stdout.match(/systemName/g) }).toEqual({ code: 1, names: null });
  });

  it('are in the file for Tinkerbell if they belong to two services', async () => {
    const [one, two] = [await machines({ a: { Name: 'same' } }), await machines({ a: { Name: 'same' } })];
    const file = write('contexts.yaml', `contexts: {one: {url: '${one.url}'}, two: {url: '${two.url}'}}\n`);
    const { stdout } = await run(['inventory', '-f', 'tinkerbell', '-c', '*', '--config', file]);
    expect(stdout.match(/systemName: .*/g)).toEqual(['systemName: same', 'systemName: same']);
  });

  it.each(['ironic', 'metal3', 'ansible', 'maas'])(
    'do not have their common name in a file for %s, even if it contains only one of them',
    async (format) => {
      const service = await machines(twins);
      const files = await Promise.all(
        ['a', 'b'].map((id) => run(['inventory', id, '-f', format, '--url', service.url])),
      );
      // A file for one machine must not replace the machine of the other file.
      for (const { stdout } of files) expect(stdout).not.toMatch(/\bsame\b/);
    },
  );
});

it('a machine without a MAC address is left out of the script for MAAS, with exit code 1', async () => {
  const service = await machines({ a: {}, b: { EthernetInterfaces: undefined } });
  const { code, stdout, stderr } = await run(['inventory', '-f', 'maas', '--url', service.url]);
  expect({ code, names: stdout.match(/hostname=\S+/g), stderr }).toEqual({
    code: 1,
    names: ['hostname=a'],
    stderr: 'b: left out: MAAS needs a MAC address\n',
  });
  expect(stdout).toContain('# Left out: b: MAAS needs a MAC address\n');
});

it('two contexts whose names differ only in a hyphen and an underscore share a group of Ansible', async () => {
  const [one, two] = [await machines({ a: {} }), await machines({ b: {} })];
  const file = write('contexts.yaml', `contexts: {rack-1: {url: '${one.url}'}, rack_1: {url: '${two.url}'}}\n`);
  const { stdout } = await run(['inventory', '-f', 'ansible', '-c', '*', '--config', file]);
  const group = stdout.slice(stdout.indexOf('context_rack_1'));
  expect(group).toMatch(/a: \{\}\s+b: \{\}/);
});

describe('a machine that the service cannot reach', () => {
  const lost = { Status: { State: 'UnavailableOffline', Health: 'Warning' } };
  const reason = 'the service cannot reach the machine (UnavailableOffline), so the data may be incomplete';

  it.each(['ironic', 'metal3', 'ansible', 'maas', 'tinkerbell'])(
    'is reported and not in the file for %s',
    async (format) => {
      const service = await machines({ good: {}, lost });
      const { code, stdout, stderr } = await run(['inventory', '-f', format, '--url', service.url]);
      expect({ code, stderr: stderr.match(/^lost: .*$/gm) }).toEqual({
        code: 1,
        stderr: [`lost: left out: ${reason}`],
      });
      expect(stdout).toContain(`# Left out: lost: ${reason}\n`);
      expect(stdout.replaceAll(/^#.*$/gm, '')).toMatch(/^(?![^]*\blost\b)[^]*\bgood\b/);
    },
  );

  it('is in the facts as JSON, because the facts describe machines and enroll none', async () => {
    const service = await machines({ good: {}, lost });
    const { code, stdout } = await run(['inventory', '--json', '--url', service.url]);
    expect({ code, facts: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      facts: [expect.objectContaining({ name: 'good' }), expect.objectContaining({ state: 'UnavailableOffline' })],
    });
  });
});

describe('a service with http', () => {
  it('is reported in the inventory of Ansible and on standard error, because the Redfish modules use https', async () => {
    const { url } = await machines({ a: {}, b: {} });
    const warning = `The Redfish modules of Ansible use only https, so they cannot connect to ${url}.`;
    const { code, stdout, stderr } = await run(['inventory', '-f', 'ansible', '--url', url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `racklessctl: warning: ${warning}\n` });
    expect(stdout).toContain(`# ${warning}\n`);
  });

  it('has its scheme in the host of the file for Tinkerbell', async () => {
    const { url } = await machines({ a: {} });
    const { stdout } = await run(['inventory', '-f', 'tinkerbell', '--url', url]);
    expect(stdout).toMatch(/host: '?http:\/\/127\.0\.0\.1'?$/m);
  });
});
