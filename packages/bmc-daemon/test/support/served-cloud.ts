/**
 * Serves the resources of a cloud that the test controls, for faults and hostile answers.
 * test/nova/lab.test.ts uses a real cloud.
 */
import { afterEach, beforeEach } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import type { LogLine } from '../daemon/process.js';
import { fetchedConsoleLogs } from '../../src/console/log/fetched-console-logs.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { createNovaDriver } from '../../src/drivers/nova/nova-driver.js';
import { mediaSettings, settingsFor, startCloudServer, type CloudServer, type NovaHandler } from './cloud-server.js';
import { listServers, type ListedServers } from './listed-servers.js';
import { serveResources, type Served } from './served-resources.js';
import type { TestServices } from './services.js';

/** The cloud of the running test. */
export interface ServedCloud {
  /** The HTTP server of all services of the cloud. */
  readonly api: CloudServer;
  readonly servers: ListedServers;
  /** Warnings and errors in the log. */
  readonly logged: readonly LogLine[];
  /** Returns the requests to a service by the beginning of its path, such as `/volumev3`. */
  requestsTo(path: string): readonly string[];
  /**
   * Lets `handler` answer requests to Nova. The list of servers answers the requests for which
   * `handler` returns false.
   */
  answer(handler: (...request: Parameters<NovaHandler>) => boolean): void;
  /**
   * Serves the resources. Each call starts one more daemon. The cloud must have its servers and
   * services already.
   * @param options.media replaces settings of virtual media.
   * @param options.timeoutMs time limit of a request to the cloud. Default: two minutes.
   * @param options.services replaces services of the daemon.
   */
  serve(options?: ServeOptions): Promise<Served & { readonly driver: HypervisorDriver }>;
}

interface ServeOptions {
  readonly media?: Partial<typeof mediaSettings>;
  readonly timeoutMs?: number;
  readonly services?: TestServices;
}

/** Declares a cloud for each test of a file. */
export function servedCloud(): ServedCloud {
  let api: CloudServer;
  let servers: ListedServers;
  let served: Served[] = [];
  let logged: LogLine[] = [];
  beforeEach(async () => {
    logged = [];
    api = await startCloudServer();
    servers = listServers(api);
  });
  afterEach(async () => {
    for (const one of served) await one.close();
    served = [];
    await api.close();
  });
  return {
    get api() {
      return api;
    },
    get servers() {
      return servers;
    },
    get logged() {
      return logged;
    },
    requestsTo: (path) => api.requests.filter((line) => line.includes(` ${path}`)),
    answer: (handler) => {
      const { nova } = api;
      api.nova = (...request) => {
        if (!handler(...request)) nova(...request);
      };
    },
    serve: async ({ media = {}, timeoutMs = 120_000, services = {} } = {}) => {
      const write = (lines: string): void => {
        for (const line of lines.split('\n')) if (line !== '') logged.push(JSON.parse(line) as LogLine); // the log writes objects
      };
      const log = createTestLog({ level: 'warn', format: 'json', write });
      const driver = createNovaDriver({
        cloud: settingsFor(api.url),
        filter: {},
        architecture: 'x86_64',
        timeoutMs,
        media: { ...mediaSettings, ...media },
        log,
      });
      await driver.start();
      const consoleLogs = driver.logs === undefined ? null : fetchedConsoleLogs(driver.logs);
      const one = await serveResources(driver, { consoleSsh: null, consoleLogs, ...services });
      served.push(one);
      return { ...one, driver };
    },
  };
}
