/** Examines clouds with faults, and one without. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { apiVersion, PASSWORD, sendJson, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { findingsAbout, doctor, makeUsers } from './doctor.js';

let cloud: CloudServer;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-cloud-'));
  cloud = await startCloudServer();
  cloud.nova = (_, response, where) => {
    if (where.startsWith('/servers')) sendJson(response, 200, { servers: [] });
    else if (where.startsWith('/limits')) sendJson(response, 200, { limits: { absolute: { maxServerMeta: 128 } } });
    else sendJson(response, 200, apiVersion);
  };
  cloud.others.set('image', (_, response) => sendJson(response, 200, { images: [] }));
  cloud.others.set('volumev3', (_, response) => sendJson(response, 200, {}));
});
afterEach(async () => {
  await cloud.close();
  rmSync(folder, { recursive: true });
});

interface Examination {
  readonly password?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Examines the cloud, with an entry in clouds.yaml. Omits findings about the clock and the state of this host. */
async function examine({ password = PASSWORD, args = [], env = {} }: Examination = {}) {
  const auth = `auth_url: ${cloud.url}/v3, user_id: u, password: ${password}, project_id: p`;
  writeFileSync(path.join(folder, 'clouds.yaml'), `clouds:\n  lab:\n    region_name: R1\n    auth: {${auth}}\n`);
  const report = await doctor(['--os-cloud', 'lab', ...args], { cwd: folder, env });
  const own = new Set(['clock', 'state', 'disk']);
  return { ...report, findings: report.findings.filter(({ subject }) => !own.has(subject)) };
}

describe('a cloud', () => {
  it('without problems has no finding', async () => {
    const { code, findings, cloud: name, hosts } = await examine();
    expect([code, findings, name, hosts]).toEqual([0, [], 'lab', []]);
  });

  it('is a problem if it rejects the password, with the line of the password', async () => {
    const { code, findings } = await examine({ password: 'secret mistake' });
    expect(code).toBe(1);
    expect(findings).toEqual([
      expect.objectContaining({
        severity: 'problem',
        subject: 'credentials',
        message: expect.stringMatching(/, so the daemon does not start\.$/),
        fix: expect.stringMatching(/^"\$\{EDITOR:-vi\}" \+4 \S*clouds\.yaml$/),
      }),
    ]);
    expect(JSON.stringify(findings)).not.toContain('secret mistake');
  });

  it('is a problem if its Nova is too old', async () => {
    cloud.nova = (_, response) => sendJson(response, 200, { version: { id: 'v2.1', version: '2.40' } });
    const { findings } = await examine();
    expect(findings).toEqual([
      expect.objectContaining({ subject: 'compute', message: expect.stringContaining("API version '2.40'") }),
    ]);
  });

  it('has a problem without metadata, a warning without Glance, and a note without Cinder', async () => {
    cloud.nova = (_, response, where) => {
      if (where.startsWith('/servers')) sendJson(response, 200, { servers: [] });
      else if (where.startsWith('/limits')) sendJson(response, 200, { limits: { absolute: { maxServerMeta: 0 } } });
      else sendJson(response, 200, apiVersion);
    };
    cloud.others.clear();
    const { findings } = await examine();
    expect(findings.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'problem: The quota allows no metadata of servers, so the daemon cannot store boot overrides and images.',
      'warning: The catalog of the cloud has no usable endpoint of Glance, so clients cannot insert images.',
      'note: The catalog of the cloud has no usable endpoint of Cinder, so machines show no volumes.',
    ]);
  });

  it('has a warning with the URL if the URL of Glance or Cinder in the catalog is invalid', async () => {
    cloud.keystone = (request, response) => {
      request.resume();
      const catalog = [
        ['compute', `${cloud.url}/compute`],
        ['image', 'ftp://glance'],
        ['volumev3', 'cinder'],
      ].map(([type, url]) => ({ type, endpoints: [{ interface: 'public', region_id: 'R1', url }] }));
      sendJson(response, 201, { token: { catalog } }, { 'x-subject-token': 'token' });
    };
    const { findings } = await examine();
    expect(findings.map(({ severity, message }) => [severity, message])).toEqual([
      ['warning', expect.stringMatching(/image_endpoint_override must .* 'ftp:\/\/glance' .*cannot insert images\.$/)],
      ['warning', expect.stringMatching(/block_storage_endpoint_override must .* 'cinder' .*show no volumes\.$/)],
    ]);
  });

  it('is a problem if the SSH port for the consoles of its servers is in use', async () => {
    makeUsers(path.join(folder, 'users'));
    const { port } = new URL(cloud.url);
    const report = await examine({
      env: { EMULATOR_AUTH_FILE: path.join(folder, 'users'), EMULATOR_CONSOLE_SSH_PORT: port },
    });
    expect(findingsAbout(report, 'port')).toEqual([
      expect.objectContaining({
        severity: 'problem',
        message: expect.stringContaining(`port ${port}`),
      }),
    ]);
  });

  it('is a problem if its account may not list servers', async () => {
    cloud.nova = (_, response, where) => {
      if (where.startsWith('/servers')) sendJson(response, 403, { forbidden: { message: 'Policy forbids it.' } });
      else sendJson(response, 200, apiVersion);
    };
    const { findings } = await examine();
    expect(findings).toEqual([
      expect.objectContaining({ subject: 'compute', message: expect.stringContaining('Policy forbids it') }),
    ]);
  });

  it('does not block the doctor if its Keystone hangs', async () => {
    cloud.keystone = () => undefined;
    const { findings } = await examine({ args: ['--timeout', '1'] });
    expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([
      expect.objectContaining({ severity: 'problem', message: expect.stringMatching(/503|did not answer/) }),
    ]);
  });
});
