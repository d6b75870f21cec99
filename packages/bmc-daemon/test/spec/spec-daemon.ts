/**
 * The service under test of the contract suites, on a real socket, with machines in memory and with
 * QEMU guests of a private libvirtd. Each test gets a new service with two machines. The tests use the
 * first one, which is untouched: off, UEFI, two CPUs, 2 GiB, one virtio disk, one network interface,
 * an empty drive.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import type { BootChoice } from '../../src/drivers/rules/boot-override.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { publishWrites } from '../../src/events/publishers/published-writes.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { createTaskStore } from '../../src/redfish/tasks/task-store.js';
import { currentUri } from '../../src/resources/current-uri.js';
import { resources } from '../../src/features.js';
import type { ResourceSettings } from '../../src/resources/services.js';
import { accessWithAccount, testServices } from '../support/services.js';
import { backends, type Backend, type BackendMachine } from './backends.js';
import { listen, startImageServer, type ImageServer, type Listening } from './image-server.js';
import { crawl, getter, linksOf, messageIds, objectAt, request, type Answer, type Body } from './spec-client.js';

export type { Answer, Body } from './spec-client.js';

/** Settings of a service under test. `strict` is EMULATOR_DMTF_STRICT. */
export interface SpecSettings extends Partial<ResourceSettings> {
  readonly strict?: boolean;
  /**
   * Time until an action becomes a task. Default 120,000: longer than any action that nothing
   * delays.
   */
  readonly waitMs?: number;
}

/** A running service and its first machine. */
export interface SpecDaemon extends BackendMachine {
  readonly url: string;
  /** UUIDs of all machines. */
  readonly uuids: readonly string[];
  /** An existing image: `…/disc.iso`. */
  readonly imageUrl: string;
  /**
   * Returns the URL of another image: `other.iso` exists; `secret.iso` needs the account `user` with
   * the password `pass word`; `slow.iso` and `slow-gone.iso` wait for {@link releaseSlowImage}, and
   * `slow-gone.iso` then gets a 404. All other names are missing.
   */
  image(name: string): string;
  /** Waits for a request for a slow image, and answers it. @throws {Error} after two minutes without one. */
  releaseSlowImage(): Promise<void>;
  /** Returns the lines of the service's log so far. */
  logged(): readonly string[];
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Returns the body of a GET. Fails if the status is not 200. */
  get(path: string): Promise<Body>;
  /** Returns the bodies of a collection's members. */
  members(path: string): Promise<readonly Body[]>;
  /** Returns all bodies that are reachable from the service root, including itself, by path. */
  crawl(): Promise<ReadonlyMap<string, Body>>;
  /** POSTs a reset. Fails if the answer is not an empty 204. */
  reset(type: string): Promise<void>;
  /** POSTs an InsertMedia to a drive (default: `Cd`). Fails if the answer is not an empty 204. */
  insert(drive?: string): Promise<void>;
  /** Returns the boot device of the last start of the machine; undefined if it is off. */
  startedFrom(): Promise<BootChoice | undefined>;
  /** Returns all bodies by path, with EMULATOR_DMTF_STRICT = True. */
  crawlStrict(): Promise<ReadonlyMap<string, Body>>;
  objectAt(body: Body, name: string): Body;
  /** Returns the keys of the messages in an answer, such as `PropertyUnknown`. */
  messageIds(answer: Answer): readonly string[];
}

/** Declares a suite for each kind of host: with machines in memory, and with QEMU guests. */
export function describeSpec(
  title: string,
  suite: (daemon: () => SpecDaemon) => void,
  settings: SpecSettings = {},
): void {
  describe.each(backends().map((backend) => [backend.name, backend] as const))(`${title}, on %s`, (_name, backend) => {
    let images: ImageServer;
    let running: RunningDaemon | undefined;
    beforeAll(async () => {
      await backend.open();
      images = await startImageServer();
    });
    afterAll(async () => {
      await images.stop();
      await backend.close();
    });
    beforeEach(async () => {
      running = await startDaemon(backend, images, settings);
    });
    afterEach(async () => {
      await running?.stop();
      running = undefined;
    });
    suite(() => {
      if (running === undefined) throw new Error('using the service outside of a test');
      return running.daemon;
    });
  });
}

/** Starts a service on a driver of the test. `stop` also closes the driver. */
export async function serveDriver(
  driver: HypervisorDriver,
): Promise<{ readonly get: (path: string) => Promise<Body>; readonly stop: () => Promise<void> }> {
  const { url, stop } = await serve(driver, {});
  return {
    get: getter(url),
    stop: async () => {
      await stop();
      await driver.close();
    },
  };
}

interface RunningDaemon {
  readonly daemon: SpecDaemon;
  readonly stop: () => Promise<void>;
}

async function startDaemon(backend: Backend, images: ImageServer, settings: SpecSettings): Promise<RunningDaemon> {
  const host = await backend.prepare();
  await host.driver.start();
  const { url, logged, stop } = await serve(host.driver, settings);
  const imageUrl = images.at('disc.iso');
  const call = (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer> => request(`${url}${path}`, method, body, headers);
  const get = getter(url);
  const post = async (path: string, body: Body): Promise<void> => {
    const answer = await call('POST', path, body);
    expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status: 204, body: undefined });
  };
  const { uuid } = host.machine;
  return {
    daemon: {
      ...host.machine,
      url,
      uuids: host.uuids,
      imageUrl,
      image: (name) => images.at(name),
      releaseSlowImage: async () => {
        // The image can be released only after a request for it. The request may be late, because an insert may
        // first create a pool.
        for (let turn = 0; !images.isHeld(); turn += 1) {
          if (turn === 6_000) throw new Error('no request for the slow image within 120 s');
          await sleep(20);
        }
        images.release();
      },
      logged,
      call,
      get,
      members: async (path) => Promise.all(linksOf(await get(path)).map((link) => get(link))),
      crawl: () => crawl(get),
      reset: (type) => post(`/redfish/v1/Systems/${uuid}/Actions/ComputerSystem.Reset`, { ResetType: type }),
      insert: (drive = 'Cd') =>
        post(`/redfish/v1/Managers/${uuid}/VirtualMedia/${drive}/Actions/VirtualMedia.InsertMedia`, {
          Image: imageUrl,
          Inserted: true,
        }),
      crawlStrict: async () => {
        const other = await serve(host.driver, { ...settings, strict: true });
        try {
          return await crawl(getter(other.url));
        } finally {
          await other.stop();
        }
      },
      startedFrom: () => host.startedFrom(),
      objectAt,
      messageIds: ({ body }) => messageIds(body ?? {}),
    },
    stop: async () => {
      await stop();
      images.release();
      await host.driver.close();
      await host.dispose();
    },
  };
}

/** Starts the service as daemon.ts does, without the configuration file. */
async function serve(
  driver: HypervisorDriver,
  settings: SpecSettings,
): Promise<Listening & { readonly logged: () => readonly string[] }> {
  const lines: string[] = [];
  const log = createTestLog({
    level: 'info',
    format: 'text',
    write: (text) => lines.push(...text.split('\n').slice(0, -1)),
  });
  const tasks = createTaskStore({ limit: 100, now: () => new Date() });
  const folder = mkdtempSync(join(tmpdir(), 'rackless-spec-'));
  const services = testServices(driver, {
    log,
    access: accessWithAccount(join(folder, 'users')),
    operations: {
      tasks,
      waitMs: settings.waitMs ?? 120_000,
      onTaskFailed: (failure, name) => log.error(`${name} failed`, { error: failure }),
    },
    settings,
  });
  const pipeline = createPipeline({
    resources,
    services,
    authenticate: withoutLogin,
    strict: settings.strict ?? false,
    currentUri: (uri) => currentUri(uri, services.settings),
    onChange: publishWrites(services.events),
  });
  let requests = 0;
  const listening = await listen((incoming, response) => {
    requests += 1;
    void pipeline(incoming, response, String(requests)).then((outcome) => {
      if (outcome.error !== undefined) log.error('request failed', { error: outcome.error });
    });
  });
  return {
    ...listening,
    logged: () => {
      log.flush();
      return lines;
    },
    stop: async () => {
      await listening.stop();
      rmSync(folder, { recursive: true });
      // Writes buffered lines now. Otherwise, they would be written after the end of the test.
      log.flush();
    },
  };
}
