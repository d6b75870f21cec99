/**
 * Enrollment files from a real bmc-daemon and from hostile services, read by programs that are not
 * ours.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PASSWORD, startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';
import { oneMachine, ScriptedService } from '../support/scripted-service.js';

let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc();
});
afterAll(() => bmc.close());
const { at, json, run, write } = commandFixture();
const services: ScriptedService[] = [];
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())));

/** Reads the documents of a YAML text with PyYAML, as Ironic's client and Ansible do. */
function documentsOf(text: string): readonly Record<string, unknown>[] {
  const program = `
import json, sys, yaml
class Loader(yaml.SafeLoader): pass
Loader.add_constructor('!unsafe', lambda loader, node: {'unsafe': loader.construct_scalar(node)})
print(json.dumps(list(yaml.load_all(sys.stdin, Loader=Loader))))`;
  return JSON.parse(execFileSync('/usr/bin/python3', ['-c', program], { input: text, encoding: 'utf8' })) as Record<
    string,
    unknown
  >[]; // the documents of our files are mappings
}

/** The UUID of a machine without the last digit, which is the number of the machine. */
const UUID_START = '5ac4fa6e-0000-4000-8000-00000000000';
const render = async (format: string, env = bmc.env): Promise<string> => {
  const { code, stdout, stderr } = await run(['inventory', '--format', format], env);
  // The modules of Ansible do not support http.
  const warning = format === 'ansible' ? expect.stringContaining('use only https') : '';
  expect({ code, stderr }).toEqual({ code: 0, stderr: warning });
  expect(stdout).not.toContain(PASSWORD);
  return stdout;
};

describe('racklessctl inventory', () => {
  it('prints a table, and the facts as JSON', async () => {
    const { stdout } = await run(['inventory', 'node-2'], bmc.env);
    expect(stdout.split('\n')[1]).toBe('node-2  x86_64  8     24 GiB  uefi  52:54:00:00:02:a0 52:54:00:00:02:a1');
    expect(await json(['inventory', 'node-2'], bmc.env)).toEqual([
      expect.objectContaining({
        name: 'node-2',
        virtualMedia: true,
        secureBoot: true,
        interfaces: [
          { name: '52:54:00:00:02:a0', mac: '52:54:00:00:02:a0', linkUp: true },
          { name: '52:54:00:00:02:a1', mac: '52:54:00:00:02:a1', linkUp: false },
        ],
      }),
    ]);
  });

  it('writes nodes for Ironic', async () => {
    expect(documentsOf(await render('ironic'))).toEqual([
      {
        nodes: expect.arrayContaining([
          {
            name: 'node-2',
            driver: 'redfish',
            boot_interface: 'redfish-virtual-media',
            driver_info: {
              redfish_address: bmc.url,
              redfish_system_id: `/redfish/v1/Systems/${UUID_START}2`,
              redfish_username: 'admin',
            },
            properties: {
              ...{ cpus: 8, memory_mb: 24576, cpu_arch: 'x86_64' },
              capabilities: 'boot_mode:uefi,secure_boot:true',
            },
            ports: [{ address: '52:54:00:00:02:a0' }, { address: '52:54:00:00:02:a1' }],
          },
        ]),
      },
    ]);
  });

  it('writes BareMetalHosts for Metal3', async () => {
    const hosts = documentsOf(await render('metal3'));
    expect(hosts).toHaveLength(3);
    expect(hosts[2]).toEqual({
      apiVersion: 'metal3.io/v1alpha1',
      kind: 'BareMetalHost',
      metadata: { name: 'node-3' },
      spec: {
        online: expect.any(Boolean),
        architecture: 'x86_64',
        bootMACAddress: '52:54:00:00:03:a0',
        bootMode: 'legacy',
        bmc: {
          address: `redfish-virtualmedia+${bmc.url}/redfish/v1/Systems/${UUID_START}3`,
          credentialsName: 'node-3-bmc',
        },
      },
    });
  });

  it('writes an inventory for Ansible, with a group for the context', async () => {
    const lab = `{url: '${bmc.url}', user: admin, password: '${PASSWORD}'}`;
    const text = await render('ansible', {
      RACKLESSCTL_CONFIG: write('contexts.yaml', `contexts: {rack-1: ${lab}}\n`),
    });
    expect(documentsOf(text)).toEqual([
      {
        all: {
          hosts: expect.objectContaining({
            'node-1': expect.objectContaining({
              redfish_baseuri: new URL(bmc.url).host,
              redfish_resource_id: `${UUID_START}1`,
              mac_addresses: ['52:54:00:00:01:a0'],
            }),
          }),
          children: { context_rack_1: { hosts: { 'node-1': {}, 'node-2': {}, 'node-3': {} } } },
        },
      },
    ]);
  });

  it('writes Hardware and Machines for Tinkerbell', async () => {
    const [machine, hardware] = documentsOf(await render('tinkerbell'));
    expect(machine).toMatchObject({
      kind: 'Machine',
      // The command in the file's comment creates the secret in the same namespace.
      metadata: { name: 'node-1', namespace: 'tinkerbell' },
      spec: {
        connection: {
          ...{
            host: 'http://127.0.0.1',
            insecureTLS: false,
            authSecretRef: { name: 'node-1-bmc', namespace: 'tinkerbell' },
          },
          providerOptions: { redfish: { port: Number(new URL(bmc.url).port), systemName: 'node-1' } },
        },
      },
    });
    expect(hardware).toMatchObject({
      kind: 'Hardware',
      metadata: { name: 'node-1', namespace: 'tinkerbell' },
      spec: {
        bmcRef: { kind: 'Machine', name: 'node-1' },
        interfaces: [{ dhcp: { mac: '52:54:00:00:01:a0', arch: 'x86_64', uefi: true } }],
        resources: { cpu: 2, memory: '2Gi' },
      },
    });
  });

  it('writes a file that only its owner may read', async () => {
    expect(await run(['inventory', '--format', 'ironic', '-o', 'nodes.yaml'], bmc.env)).toMatchObject({ stdout: '' });
    expect(documentsOf(readFileSync(at('nodes.yaml'), 'utf8'))).toHaveLength(1);
    expect(statSync(at('nodes.yaml')).mode & 0o777).toBe(0o600);
  });

  it.each([
    [['--format', 'csv'], '--format must be one of ironic, metal3, maas, ansible, tinkerbell'],
    [['--format', 'ironic', '--json'], '--format and --json exclude each other'],
    [['-o', 'x'], '--output needs --format'],
  ])('rejects %j', async (args, text) => {
    expect(await run(['inventory', ...args], bmc.env)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(text),
    });
  });
});

describe('texts of a hostile service', () => {
  const evil = `"'$(touch pwned)\`touch pwned\`\n- hosts: all\u001b[2J`;
  const serve = async (members: object): Promise<Record<string, string>> => {
    const service = await ScriptedService.start({
      ...oneMachine({ Name: evil, Id: evil, Model: `{{ lookup('pipe', 'touch pwned') }}`, ...members }),
      'GET /nics': { Members: [{ '@odata.id': '/nic' }] },
      'GET /nic': { '@odata.id': '/nic', MACAddress: '52-54-00-00-01-10' },
    });
    services.push(service);
    return { RACKLESSCTL_URL: service.url, RACKLESSCTL_USER: evil, RACKLESSCTL_PASSWORD: PASSWORD };
  };
  const nics = { EthernetInterfaces: { '@odata.id': '/nics' } };

  it('stay one word of a shell in the script for MAAS', async () => {
    const script = write('maas.sh', await render('maas', await serve(nics)));
    const maas = write('maas', '#!/bin/sh\nprintf "<%s>\\n" "$@"\n');
    chmodSync(maas, 0o700);
    const env = { PATH: `${at('.')}:/usr/bin:/bin`, PROFILE: 'admin', POWER_PASS: 'p w' };
    const words = execFileSync('/bin/sh', [script], { cwd: at('.'), env, encoding: 'utf8' });
    expect(words).toContain('<mac_addresses=52:54:00:00:01:10>\n');
    expect(words).toContain(`<power_parameters_node_id="'$(touch pwned)\`touch pwned\` - hosts: all\\x1b[2J>`);
    expect(words).toContain('<power_parameters_power_pass=p w>\n');
    expect(() => statSync(at('pwned'))).toThrow('ENOENT');
  });

  it.each<[string, readonly string[]]>([
    ['metal3', []],
    ['tinkerbell', ['-n', 'tinkerbell']],
  ])(
    'are not in the command for the secret of %s, which reads the password without the newline of its file',
    async (format, namespace) => {
      const text = await render(format, await serve(nics));
      const command = /^# +(kubectl .*)$/m.exec(text)?.[1] ?? '';
      write('FILE', 'secret\n');
      chmodSync(write('kubectl', '#!/bin/sh\nprintf "<%s>\\n" "$@"\n'), 0o700);
      const env = { PATH: `${at('.')}:/usr/bin:/bin` };
      const words = execFileSync('/bin/sh', ['-c', command], { cwd: at('.'), env, encoding: 'utf8' });
      const secret = ['create', 'secret', 'generic', 'NAME-bmc', '--from-literal=username=USER'];
      expect(words.trim().split('\n')).toEqual(
        [...namespace, ...secret, '--from-literal=password=secret'].map((word) => `<${word}>`),
      );
      expect(() => statSync(at('pwned'))).toThrow('ENOENT');
    },
  );

  it('are not executed as templates in the inventory for Ansible', async () => {
    const [inventory] = documentsOf(await render('ansible', await serve(nics)));
    const variables = expect.objectContaining({
      model: { unsafe: "{{ lookup('pipe', 'touch pwned') }}" },
      mac_addresses: ['52:54:00:00:01:10'],
    });
    expect(inventory).toEqual({ all: { hosts: { 'touch-pwned-touch-pwned-hosts-all-2j': variables } } });
  });

  it('become names that Kubernetes accepts', async () => {
    const [host] = documentsOf(await render('metal3', await serve(nics)));
    expect(host?.['metadata']).toEqual({ name: expect.stringMatching(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/) });
  });
});
