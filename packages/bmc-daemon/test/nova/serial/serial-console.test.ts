/**
 * Tests serial consoles with a proxy of Nova that stalls, drops connections or is down. serial-lab.ts uses a real
 * Nova.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WebSocketServer, type WebSocket } from 'ws';
import { createConsoleHub, type ConsoleHub, type ConsoleSeat } from '../../../src/console/console-hub.js';
import { uncheckedPace } from '../../../src/console/console-silence.js';
import type { HypervisorDriver } from '../../../src/drivers/driver.js';
import { connectToProxy, isProxyThere, type ProxyTimes } from '../../../src/drivers/nova/serial/console-proxy.js';
import { createNovaDriver } from '../../../src/drivers/nova/nova-driver.js';
import { createSerialConsoles } from '../../../src/drivers/nova/serial/serial-consoles.js';
import { createTestLog } from '../../../../daemon/test/support/log.js';
import { waitFor } from '../../daemon/process.js';
import { mediaSettings, sendJson, settingsFor, whenRead } from '../../support/cloud-server.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';

const cloud = servedCloud();
const id = idOf(1);
const system = `/redfish/v1/Systems/${id}`;
const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });

/** A fake of Nova's console proxy, and its connections. */
interface Proxy {
  readonly url: string;
  /** The tokens of the connections so far. */
  readonly tokens: string[];
  /** The open connections. */
  readonly clients: Set<WebSocket>;
  /** Called for each connection. Default: nothing. */
  onClient: (client: WebSocket) => void;
  close(): Promise<void>;
}

async function startProxy(port = 0): Promise<Proxy> {
  const server = new WebSocketServer({ port, host: '127.0.0.1' });
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // The address of a TCP server is an object.
  const proxy: Proxy = {
    url: `ws://127.0.0.1:${address.port}/`,
    tokens: [],
    clients: server.clients,
    onClient: () => undefined,
    close: async () => {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('connection', (client, request) => {
    proxy.tokens.push(request.url?.replace('/?token=', '') ?? '');
    proxy.onClient(client);
  });
  return proxy;
}

let proxy: Proxy;
beforeEach(async () => {
  proxy = await startProxy();
});
afterEach(async () => {
  await proxy.close();
});

/** Lets Nova offer serial consoles at `proxy`. @returns a function with the number of requests for them so far. */
function offerConsoles(): () => number {
  let count = 0;
  cloud.answer((request, response, path) => {
    if (!path.endsWith('/remote-consoles')) return false;
    whenRead(request, (text) => {
      if (!text.includes('"serial"')) {
        sendJson(response, 400, { badRequest: { message: 'Unavailable console type.' } });
        return;
      }
      count += 1;
      const url = `${proxy.url}?token=t${count}`;
      sendJson(response, 200, { remote_console: { protocol: 'serial', type: 'serial', url } });
    });
    return true;
  });
  return () => count;
}

describe('a viewer of a server', () => {
  let driver: HypervisorDriver;
  let hub: ConsoleHub;
  /** The output that the viewer got. */
  let seen: string[];
  let seat: ConsoleSeat;
  afterEach(async () => {
    hub.close();
    await driver.close();
  });

  /**
   * Starts the driver and the hub that connects viewers to consoles.
   * @param retryMs the pause after a failed attempt.
   * @param silence when the hub checks a silent console. Default: only after a change of the machine.
   */
  const start = async (retryMs = 20, silence = uncheckedPace): Promise<void> => {
    const settings = { cloud: settingsFor(cloud.api.url), filter: {}, timeoutMs: 120_000, media: mediaSettings, log };
    driver = createNovaDriver(settings);
    await driver.start();
    const { console: control } = driver;
    if (control === undefined) throw new Error('the driver has no consoles');
    hub = createConsoleHub({
      driver: { onChange: (listener) => driver.onChange(listener), console: control },
      log,
      retryMs,
      silence,
    });
  };
  const openViewer = (): void => {
    seen = [];
    seat = hub.seat(id, {
      name: 'olga',
      data: (bytes) => seen.push(bytes.toString()),
      state: (state, why) => seen.push(`${state}: ${why}`),
      keyboard: () => undefined,
    });
  };
  const untilSeen = async (text: string, count = 1): Promise<void> => {
    await waitFor(
      () => (seen.filter((line) => line === text).length >= count ? true : undefined),
      () => `the viewer has not seen ${text}, but ${JSON.stringify(seen)}`,
    );
  };

  it('shares one connection with other viewers, and sees the output after a reconnect with a new token', async () => {
    cloud.servers.put(1);
    const requests = offerConsoles();
    proxy.onClient = (client) => {
      client.send(Buffer.from('hello'));
      client.on('message', (bytes: Buffer) => client.send(`echo ${bytes.toString()}`));
    };
    await start();
    await driver.getSystem(id);
    openViewer();
    await untilSeen('hello');
    const other = hub.attach(id, { data: () => undefined, state: () => undefined });
    seat.write(Buffer.from('abc'));
    await untilSeen('echo abc');
    for (const client of proxy.clients) client.terminate();
    await untilSeen('hello', 2);
    expect(new Set(proxy.tokens).size).toBe(2);
    // The driver also probed the console: this needs a request to Nova, but no WebSocket to the proxy.
    expect([proxy.tokens.length, requests()]).toEqual([2, 3]);
    other.detach();
    seat.detach();
    await waitFor(
      () => (proxy.clients.size === 0 ? true : undefined),
      () => 'the connection stays open without a viewer',
    );
  });

  it('sees that the server is off without a request for a console, and sees the output after a start', async () => {
    cloud.servers.put(1, off);
    const requests = offerConsoles();
    await start();
    openViewer();
    await untilSeen('closed: the machine is off');
    expect(requests()).toBe(0);
    cloud.servers.put(1);
    proxy.onClient = (client) => client.send('booting');
    await driver.getSystem(id);
    await untilSeen('booting');
    cloud.servers.put(1, off);
    for (const client of proxy.clients) client.close(1000, 'Target closed');
    await untilSeen('closed: the machine is off', 2);
    expect(seen.slice(1)).toEqual(['open: connected', 'booting', 'closed: the machine is off']);
  });

  it('sees that a proxy drops each connection; the daemon pauses after two attempts', async () => {
    cloud.servers.put(1);
    const requests = offerConsoles();
    proxy.onClient = (client) => client.close(1000, 'Target closed');
    await start(3_600_000);
    openViewer();
    await untilSeen('closed: its console closes as soon as it is open');
    expect([requests(), proxy.tokens.length]).toEqual([2, 2]);
  });

  it("sees that the proxy is down, and the server's output as soon as the proxy runs again", async () => {
    cloud.servers.put(1);
    offerConsoles();
    const { port } = new URL(proxy.url);
    await proxy.close();
    await start();
    openViewer();
    await untilSeen('closed: the connection to the proxy of its console failed');
    proxy = await startProxy(Number(port));
    proxy.onClient = (client) => client.send('here');
    await untilSeen('here');
  });

  it.each([
    [400, 'Unavailable console type serial.'],
    [403, 'Policy does not allow it.'],
    [501, 'Not implemented.'],
  ])('sees that there is no serial port if Nova answers %i', async (status, message) => {
    cloud.servers.put(1);
    cloud.answer((_request, response, path) => {
      if (!path.endsWith('/remote-consoles')) return false;
      sendJson(response, status, { error: { message } });
      return true;
    });
    await start();
    openViewer();
    await untilSeen('absent: it has no serial port for clients');
  });

  it.each([
    [404, 'Instance could not be found.'],
    [409, 'Instance is not ready.'],
  ])("sees that the server restarts while Nova answers %i, and then the server's output", async (status, message) => {
    cloud.servers.put(1);
    offerConsoles();
    proxy.onClient = (client) => client.send('booting');
    let isRestarting = true;
    cloud.answer((_request, response, path) => {
      if (!isRestarting || !path.endsWith('/remote-consoles')) return false;
      sendJson(response, status, { error: { message } });
      return true;
    });
    await start();
    openViewer();
    await untilSeen('closed: the machine is starting or stopping');
    isRestarting = false;
    await untilSeen('booting');
    expect(seen).toEqual(['closed: the machine is starting or stopping', 'open: connected', 'booting']);
  });

  it('sees the output of a restarted server even if the proxy lost the server but still replies to pings', async () => {
    cloud.servers.put(1);
    offerConsoles();
    await start(20, { ...uncheckedPace, afterChangeMs: 10, noticeMs: 0 });
    openViewer();
    await untilSeen('open: connected');
    proxy.onClient = (client) => client.send('booting');
    for (const task of ['reboot_started_hard', null]) {
      cloud.servers.put(1, { 'OS-EXT-STS:task_state': task });
      await waitFor(
        async () => ((await driver.getSystem(id)).starting === (task === null ? undefined : true) ? true : undefined),
        () => `the driver does not show the task ${task}`,
      );
    }
    await untilSeen('booting');
    expect(proxy.tokens).toHaveLength(2);
  });

  it('cannot send a break', async () => {
    cloud.servers.put(1);
    offerConsoles();
    await start();
    openViewer();
    await untilSeen('open: connected');
    await expect(seat.sendBreak()).rejects.toMatchObject({ name: 'DriverError', kind: 'unsupported' });
  });
});

describe('the Redfish service', () => {
  const ssh = { consoleSsh: { port: 2222, maxConsoles: 64 } };

  it('shows SSH after a successful probe of the console, and not anymore after a failed connection', async () => {
    cloud.servers.put(1);
    const requests = offerConsoles();
    const served = await cloud.serve({ services: ssh });
    expect((await served.get(system))['SerialConsole']).toBeUndefined();
    const shown = await waitFor(
      async () => (await served.get(system))['SerialConsole'],
      () => 'the server shows no console',
    );
    expect(shown).toMatchObject({ SSH: { ServiceEnabled: true, Port: 2222, ConsoleEntryCommand: 'server-1' } });
    expect(await served.get(`/redfish/v1/Managers/${id}`)).toMatchObject({
      SerialConsole: { ConnectTypesSupported: ['SSH'] },
    });
    expect([requests(), proxy.tokens]).toEqual([1, []]);
    await proxy.close();
    const { console: control } = served.driver;
    await expect(control?.open(id)).rejects.toMatchObject({ kind: 'consoleUnreachable' });
    expect((await served.get(system))['SerialConsole']).toBeUndefined();
  });

  it('shows no SSH if the proxy does not answer, and probes only once for several reads', async () => {
    cloud.servers.put(1);
    cloud.servers.put(2);
    const requests = offerConsoles();
    await proxy.close();
    const served = await cloud.serve({ services: ssh });
    await served.get(system);
    await waitFor(
      () => (requests() === 1 ? true : undefined),
      () => 'the console was not probed',
    );
    expect((await served.get(system))['SerialConsole']).toBeUndefined();
    expect(await served.get(`${system}/LogServices/ConsoleLog`)).toMatchObject({ Id: 'ConsoleLog' });
    expect(requests()).toBe(1);
  });

  it('probes the console of one server at a time, because a probe is expensive for Nova', async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const consoles = createSerialConsoles({
      api: {
        openConsole: (uuid) =>
          new Promise((resolve) => {
            asked.push(uuid);
            answers.push(() => resolve({ url: `${proxy.url}?token=t`, protocol: 'serial', type: 'serial' }));
          }),
      },
      list: { onChange: () => () => undefined },
      stateOf: () => Promise.resolve('running'),
      tls: { verify: true },
    });
    for (let index = 1; index <= 1000; index += 1) consoles.probe({ uuid: idOf(index), state: 'running' });
    expect(asked).toEqual([idOf(1)]);
    answers[0]?.();
    await waitFor(
      () => (asked.length > 1 ? true : undefined),
      () => 'no second server was probed',
    );
    expect([asked, consoles.isAvailable(idOf(1))]).toEqual([[idOf(1), idOf(2)], true]);
  });
});

describe('a connection to a proxy', () => {
  const tls = { verify: true };
  const long: ProxyTimes = { connectMs: 120_000, pingMs: 120_000 };
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
  });
  /** Starts a server that accepts connections and never answers. */
  const silentServer = async (): Promise<URL> => {
    server = createServer((socket) => void socket.on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
    return new URL(`ws://127.0.0.1:${port}/?token=secret`);
  };
  const connect = (url: URL, times: ProxyTimes, signal?: AbortSignal): Promise<Duplex> =>
    connectToProxy(url, 'connecting', { tls, times, signal });

  it('fails after its time limit if the proxy does not answer, and the error has no token', async () => {
    const url = await silentServer();
    const failure = await connect(url, { ...long, connectMs: 20 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'consoleUnreachable' });
    const { message, cause } = failure as Error;
    const reason = 'Opening handshake has timed out';
    expect(message).toBe(`connecting: the connection to the proxy of Nova's serial consoles failed: ${reason}`);
    expect(`${message} ${String(cause)}`).not.toContain('secret');
    expect(await isProxyThere(url, tls, 20)).toBe(false);
  });

  it('fails if its caller aborts it while the proxy does not answer', async () => {
    const aborting = new AbortController();
    const attempt = connect(await silentServer(), long, aborting.signal);
    aborting.abort();
    await expect(attempt).rejects.toMatchObject({ kind: 'consoleUnreachable' });
  });

  it('ends if the proxy does not answer pings anymore', async () => {
    proxy.onClient = (client) => client.pause();
    const stream = await connect(new URL(proxy.url), { ...long, pingMs: 10 });
    await new Promise((resolve) => void stream.resume().once('close', resolve));
  });

  it('ends if the proxy sends a message of more than 1 MiB', async () => {
    const stream = await connect(new URL(proxy.url), long);
    const closed = new Promise((resolve) => void stream.resume().once('close', resolve));
    for (const client of proxy.clients) client.send(Buffer.alloc(1024 * 1024 + 1));
    await closed;
  });
});
