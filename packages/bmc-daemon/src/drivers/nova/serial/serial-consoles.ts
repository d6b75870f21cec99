/**
 * Serial consoles of servers. Nova gives a URL with a token for each connection. Only a request for
 * such a URL shows whether a server has a serial console.
 */
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConsoleControl } from '../../console-control.js';
import { DriverError } from '../../driver-error.js';
import type { OperationOptions } from '../../operation-options.js';
import type { DomainState, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { CloudTls } from '../cloud/cloud-settings.js';
import type { ComputeApi } from '../compute/compute-api.js';
import { serialConsole } from '../compute/remote-console.js';
import type { ServerList } from '../compute/server-list.js';
import { Rest } from '../http/rest.js';
import { connectToProxy, isProxyThere, proxyTimes, type ProxyTimes } from './console-proxy.js';

/** Serial consoles of a cloud. All ids are UUIDs. */
interface SerialConsoles extends Pick<ConsoleControl, 'open'> {
  /** Returns whether a client can open the console, as far as is known: the server has one, and its proxy answers. */
  isAvailable(id: string): boolean;
  /**
   * Finds out in the background whether the console is available. If the server is known to have a console, checks
   * only the proxy. Otherwise requests a URL that no client uses, and that expires.
   */
  probe(server: Pick<SystemSnapshot, 'uuid' | 'state'>): void;
}

/** Dependencies of {@link createSerialConsoles}. */
interface SerialConsolesOptions {
  readonly api: Pick<ComputeApi, 'openConsole'>;
  readonly list: Pick<ServerList, 'onChange'>;
  /** Reads the current state of a server from Nova; undefined if there is none. */
  readonly stateOf: (id: string) => Promise<DomainState | undefined>;
  readonly tls: CloudTls;
  /** Default: {@link proxyTimes}. */
  readonly times?: ProxyTimes;
}

/** The result of the last probe of a server's console. */
interface Known {
  /** Address of the proxy, without the token; undefined: the server has no console, or a probe has no result yet. */
  readonly proxy: URL | undefined;
  /** Without `proxy`: no probe begins before this time, in milliseconds of `performance.now()`. */
  readonly probeAt: number;
}

/** Time after which the driver asks again for a server without a console. */
const ABSENT_MS = 3_600_000;
/**
 * Time between two checks of a proxy. Also the time between two probes, while no server is known to
 * have a console.
 */
const CHECK_MS = 60_000;
/**
 * The rest after a probe is this many times its duration. A probe takes Nova much longer than a read of a server,
 * so a client that reads or restarts a thousand servers must not cause a thousand probes at once.
 */
const REST_PER_PROBE = 10;
/** Maximum number of proxies whose state is cached. A cloud usually has one for each cell. */
const MAX_PROXIES = 100;

/** The states of a server without a serial port. */
const off: ReadonlySet<DomainState> = new Set(['shutoff', 'crashed', 'nostate']);

/** Creates the access to the consoles. Makes no request before its first use. */
export function createSerialConsoles(options: SerialConsolesOptions): SerialConsoles {
  const { api, list, stateOf, tls, times = proxyTimes } = options;
  const servers = new Map<string, Known>();
  const proxies = createProxies(tls, times);
  let nextProbeAt = -Infinity;
  list.onChange(({ kind, uuid }) => {
    // A server has no serial port if its host enabled serial consoles after the server was created. A hard reboot
    // adds the port, so the driver then asks again.
    const isNew = kind === 'started' || kind === 'rebooted';
    if (kind === 'undefined' || (isNew && servers.get(uuid)?.proxy === undefined)) servers.delete(uuid);
  });

  /** Requests a URL. @throws {DriverError} unsupported, if there is no console; consoleNotReady; consoleUnreachable. */
  const accessTo = async (id: string, doing: string): Promise<URL> => {
    const answer = await api.openConsole(id, serialConsole);
    if (!('status' in answer)) {
      const url = new URL(answer.url);
      if (!url.protocol.startsWith('ws'))
        throw new DriverError('consoleUnreachable', `${doing}: Nova's URL is not that of a WebSocket`);
      const proxy = new URL(url);
      proxy.search = '';
      servers.set(id, { proxy, probeAt: Infinity });
      return url;
    }
    // 404 and 409: the server changes at this moment.
    if (![400, 403, 501].includes(answer.status))
      throw new DriverError('consoleNotReady', `${doing}: Nova answers ${answer.reason}`);
    const now = performance.now();
    servers.set(id, { proxy: undefined, probeAt: now + ABSENT_MS });
    if (![...servers.values()].some(({ proxy }) => proxy !== undefined)) nextProbeAt = now + CHECK_MS;
    throw new DriverError('unsupported', `${doing}: Nova answers ${answer.reason}`);
  };
  const probeLater = createProbeQueue(async (id) => proxies.check(await accessTo(id, 'probing')));
  return {
    isAvailable: (id) => {
      const proxy = servers.get(id)?.proxy;
      return proxy !== undefined && proxies.isThere(proxy);
    },
    probe: ({ uuid, state }) => {
      const known = servers.get(uuid);
      if (known?.proxy !== undefined) {
        void proxies.check(known.proxy);
        return;
      }
      const now = performance.now();
      if (state !== 'running' || now < Math.max(known?.probeAt ?? -Infinity, nextProbeAt)) return;
      servers.set(uuid, { proxy: undefined, probeAt: now + CHECK_MS });
      probeLater(uuid);
    },
    open: async (id, { signal }: OperationOptions = {}): Promise<Duplex> => {
      const doing = `connecting to the console of server ${id}`;
      const state = await stateOf(id);
      if (state === undefined) throw new DriverError('notFound', `${doing}: no such server`);
      // Nova gives a URL even for a server that is off, and the connection then ends at once.
      if (off.has(state)) throw new DriverError('conflict', `${doing}: it is off`);
      const url = await accessTo(id, doing);
      try {
        const stream = await connectToProxy(url, doing, { tls, times, signal });
        proxies.record(url, true);
        return stream;
      } catch (error) {
        if (signal?.aborted !== true) proxies.record(url, false);
        throw error;
      }
    },
  };
}

/** Returns a function that probes a server after those that wait. Failures have no effect. */
function createProbeQueue(probe: (id: string) => Promise<void>): (id: string) => void {
  const rest = new Rest(REST_PER_PROBE);
  const waiting = new Set<string>();
  let isProbing = false;
  const probeAll = async (): Promise<void> => {
    isProbing = true;
    for (const id of waiting) {
      waiting.delete(id);
      // Readers of the server do not need the answer. A client that opens the console gets the failure.
      await rest.after(() => probe(id)).catch(() => undefined);
      if (waiting.size > 0) await delay(rest.ms, undefined, { ref: false });
    }
    isProbing = false;
  };
  return (id) => {
    waiting.add(id);
    if (!isProbing) void probeAll();
  };
}

/** Caches whether proxies answer. */
function createProxies(tls: CloudTls, { connectMs }: ProxyTimes) {
  const states = new Map<string, { readonly isThere: boolean; readonly checkedAt: number }>();
  const keyOf = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;
  const record = (url: URL, isThere: boolean): void => {
    const key = keyOf(url);
    if (states.size >= MAX_PROXIES && !states.has(key)) states.clear();
    states.set(key, { isThere, checkedAt: performance.now() });
  };
  return {
    record,
    isThere: (url: URL): boolean => states.get(keyOf(url))?.isThere === true,
    /** Checks a proxy, unless a check has begun or a result has come within {@link CHECK_MS}. */
    check: async (url: URL): Promise<void> => {
      const known = states.get(keyOf(url));
      if (known !== undefined && performance.now() - known.checkedAt < CHECK_MS) return;
      record(url, known?.isThere === true);
      record(url, await isProxyThere(url, tls, connectMs));
    },
  };
}
