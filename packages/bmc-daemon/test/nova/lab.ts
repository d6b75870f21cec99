/**
 * The OpenStack of `scripts/openstack-lab`, for tests. Its cloud `lab` has the server `lab-1` with a network
 * interface, and `lab-2` without one. RACKLESS_OPENSTACK_LAB is the path of a running lab's clouds.yaml, which
 * `up` prints. Without this variable, the tests start a lab whose guests run in a private libvirtd.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from '@jest/globals';
import { describeUnless, requiresAll } from '../../../libvirt/test/harness/installed.js';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { readCloud, type CloudSettings } from '../../src/drivers/nova/cloud/cloud-settings.js';
import { createSession, type CloudSession } from '../../src/drivers/nova/http/session.js';
import { waitFor } from '../daemon/process.js';

let file = process.env['RACKLESS_OPENSTACK_LAB'] ?? '';

/** Returns the path of the lab's clouds.yaml; '' before {@link withLab} has started the lab. */
export const labFile = (): string => file;

/** Returns why this host cannot run the lab; undefined if it can, or if RACKLESS_REQUIRE_ALL forbids skips. */
function reasonToSkip(): string | undefined {
  if (file !== '' || requiresAll) return undefined;
  if (process.getuid?.() !== 0) return 'only root can start scripts/openstack-lab';
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return release.includes('VERSION_CODENAME=bookworm') ? undefined : 'scripts/openstack-lab needs Debian 12';
}

const reason = reasonToSkip();

/** Declares a suite that needs the lab. It is skipped where no lab can run. */
export function describeLab(title: string, suite: () => void): void {
  describeUnless(reason, title, suite);
}

/**
 * Starts a lab before the tests of a file, and stops it afterwards. Does nothing if RACKLESS_OPENSTACK_LAB is
 * set, or if the host cannot run a lab.
 * @param more options of `scripts/openstack-lab`.
 */
export function withLab(...more: readonly string[]): void {
  if (reason !== undefined || file !== '') return;
  let libvirtd: PrivateLibvirtd | undefined;
  let options: readonly string[] = [];
  let folder = '';
  const lab = async (command: 'up' | 'down'): Promise<string> => {
    const script = join(import.meta.dirname, '../../../../scripts/openstack-lab');
    return (await promisify(execFile)(script, [command, ...options])).stdout.trim();
  };
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'qemu' });
    folder = mkdtempSync(join(tmpdir(), 'rackless-lab-'));
    // A random port, because other tests may run a lab at the same time. It is below the ports of outgoing
    // connections.
    const port = 20_000 + 10 * Math.floor(1000 * Math.random());
    const place = ['--dir', folder, '--port', String(port), '--libvirt-uri', libvirtd.uri];
    options = [...place, '--shutdown-seconds', '2', ...more];
    file = await lab('up');
  });
  afterAll(async () => {
    if (folder !== '') {
      await lab('down');
      rmSync(folder, { recursive: true, force: true });
    }
    await libvirtd?.stop();
  });
}

/** Returns the settings of the cloud `lab` in {@link labFile}. */
export function labCloud(): CloudSettings {
  return readCloud('lab', { environment: { OS_CLIENT_CONFIG_FILE: file }, directory: '/' });
}

/** The view of a server by its owner, who does not use the daemon. */
export interface LabServer {
  readonly id: string;
  readonly name: string;
  readonly image: { readonly id: string };
  readonly vmState: string;
  readonly task: string | null;
}

/** Uses the lab directly as its owner, without the daemon. */
export interface LabOwner {
  readonly session: CloudSession;
  servers(): Promise<readonly LabServer[]>;
  /** Returns the server with this name or id. @throws {Error} if there is none. */
  server(name: string): Promise<LabServer>;
  /** Sends an action, if any, and waits until the server has this state and no task. */
  act(name: string, action: object | undefined, vmState: string): Promise<void>;
  /**
   * Creates a server, and waits until it is active. By default, the server has the image of `lab-2` and no network.
   * @returns its id.
   */
  create(name: string, parts: object): Promise<string>;
  /** Deletes a server, and does not wait until it is gone. */
  remove(id: string): Promise<void>;
  /** Creates an image; an ISO image if `properties` have no `disk_format`. @returns its id. */
  createImage(name: string, properties: object, content: Buffer): Promise<string>;
  /** Changes a property of an image. */
  setImageProperty(id: string, name: string, value: string): Promise<void>;
  /** Creates a volume of 1 GiB, and waits until it is available. @returns its id. */
  createVolume(name: string): Promise<string>;
}

/** Opens a session as the owner of the lab's servers. The caller closes `session`. */
export function openOwner(): LabOwner {
  const session = createSession(labCloud(), { timeoutMs: 120_000 });
  const headers = { 'openstack-api-version': 'compute 2.93' };
  const get = async (path: string): Promise<Record<string, unknown>> => {
    const { text } = await session.request({ method: 'GET', path, headers });
    return JSON.parse(text) as Record<string, unknown>; // Nova answers with objects
  };
  const post = async (path: string, body: object): Promise<unknown> => {
    const { status, text } = await session.request({ method: 'POST', path, body, headers });
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
  const servers = async (): Promise<readonly LabServer[]> => {
    const { servers: all } = (await get('/servers/detail')) as { readonly servers: Record<string, unknown>[] }; // Nova sends this object.
    return all.map((server) => ({
      ...(server as unknown as Pick<LabServer, 'id' | 'name' | 'image'>), // Nova sends these members of a server.
      vmState: String(server['OS-EXT-STS:vm_state']),
      task: server['OS-EXT-STS:task_state'] as string | null, // Nova documents a text or null.
    }));
  };
  const find = async (name: string): Promise<LabServer> => {
    const found = (await servers()).find((server) => server.name === name || server.id === name);
    if (found === undefined) throw new Error(`the lab has no server ${name}`);
    return found;
  };
  const untilSettled = async (name: string, vmState: string): Promise<void> => {
    let last: LabServer | undefined;
    await waitFor(
      async () => {
        last = await find(name);
        return last.task === null && last.vmState === vmState ? true : undefined;
      },
      () => `server ${name} is not ${vmState}: ${JSON.stringify(last)}`,
    );
  };
  return {
    session,
    servers,
    server: find,
    act: async (name, action, vmState) => {
      if (action !== undefined) await post(`/servers/${(await find(name)).id}/action`, action);
      await untilSettled(name, vmState);
    },
    create: async (name, parts) => {
      const { image } = await find('lab-2');
      const flavors = (await get('/flavors')) as { readonly flavors: { readonly id: string }[] }; // Nova sends this object.
      const body = {
        server: { name, imageRef: image.id, flavorRef: flavors.flavors[0]?.id, networks: 'none', ...parts },
      };
      const { server } = (await post('/servers', body)) as { readonly server: { readonly id: string } }; // Nova sends this object.
      await untilSettled(server.id, 'active');
      return server.id;
    },
    createImage: async (name, properties, content) => {
      const body = { name, disk_format: 'iso', container_format: 'bare', ...properties };
      const { text } = await session.request({ method: 'POST', service: 'image', path: '/v2/images', body });
      const { id } = JSON.parse(text) as { readonly id: string }; // Glance sends this object.
      const { signal } = new AbortController();
      const file = { body: Readable.from([content]), signal };
      await session.upload({ service: 'image', path: `/v2/images/${id}/file`, ...file });
      return id;
    },
    setImageProperty: async (id, name, value) => {
      const request = { service: 'image', method: 'PATCH', path: `/v2/images/${id}` } as const;
      const type = { 'content-type': 'application/openstack-images-v2.1-json-patch' };
      const body = [{ op: 'replace', path: `/${name}`, value }];
      const { status, text } = await session.request({ ...request, body, headers: type });
      if (status !== 200) throw new Error(`changing the image ${id}: ${status} ${text}`);
    },
    createVolume: async (name) => {
      const { text } = await session.request({
        method: 'POST',
        service: 'volume',
        path: '/volumes',
        body: { volume: { size: 1, name } },
      });
      const { volume } = JSON.parse(text) as { readonly volume: { readonly id: string } }; // Cinder sends this object.
      const read = () => session.request({ method: 'GET', service: 'volume', path: `/volumes/${volume.id}` });
      await waitFor(
        async () => ((await read()).text.includes('"status": "available"') ? true : undefined),
        () => `the volume ${name} is not available`,
      );
      return volume.id;
    },
    remove: async (id) => {
      await post(`/servers/${id}/action`, { forceDelete: null });
    },
  };
}
