/**
 * A host and a client on one link, each in a network namespace. A daemon on this host sets real addresses, and
 * the client uses them. The network of the computer that runs the tests does not change.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describeUnless } from '../../../libvirt/test/harness/installed.js';

const execute = promisify(execFile);

/** Address of the host. */
export const HOST = '192.0.2.1';
/** Address of the client. */
export const CLIENT = '192.0.2.200';
/** The interface of the host. */
export const DEVICE = 'bmc0';

/** An answer to the client. */
export interface Answer {
  readonly status: number;
  /** Undefined if the body is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly text: string;
}

/** Options of a request. `args` are further arguments of curl. */
export interface AskOptions {
  readonly method?: string;
  readonly body?: object;
  /** The header Host. */
  readonly host?: string;
  readonly args?: readonly string[];
}

/** The host and the client. */
export interface NetworkLab {
  /** The start of a command line that runs on the host. */
  readonly onHost: readonly string[];
  /**
   * Sends a request from the client with curl.
   * @throws {Error} if there is no answer within 30 s.
   */
  ask(url: string, options?: AskOptions): Promise<Answer>;
  /**
   * Returns the addresses of the host's interface with their prefixes, sorted, without link-local
   * addresses.
   */
  addresses(): Promise<readonly string[]>;
  /** Returns the host's routes in the format of `ip route`. */
  routes(): Promise<string>;
  /** Runs `ip` on the host or on the client, and returns its output. @throws {Error} if the command fails. */
  ip(where: 'host' | 'client', ...args: readonly string[]): Promise<string>;
  /**
   * Starts a Node program in the client's namespace, and waits until it prints its first line. The program ends
   * with the lab.
   */
  runForClient(program: string): Promise<void>;
  close(): Promise<void>;
}

async function mayHaveNamespaces(): Promise<boolean> {
  const name = `bmc-probe-${process.pid}`;
  try {
    await execute('ip', ['netns', 'add', name]);
    await execute('ip', ['netns', 'delete', name]);
    await execute('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
}

const reasonToSkip = (await mayHaveNamespaces()) ? undefined : 'no network namespaces, iproute2 or curl here';

/** Declares a suite that is skipped without network namespaces, iproute2 or curl. */
export function describeNetwork(title: string, suite: () => void): void {
  describeUnless(reasonToSkip, title, suite);
}

let count = 0;

/** Creates both namespaces and the link between them. The caller closes the lab. */
export async function openNetworkLab(): Promise<NetworkLab> {
  count += 1;
  const [host, client] = [`bmc-host-${process.pid}-${count}`, `bmc-client-${process.pid}-${count}`];
  const inNamespace = (name: string): readonly string[] => ['netns', 'exec', name];
  const run = async (name: string, ...command: readonly string[]): Promise<string> =>
    (await execute('ip', [...inNamespace(name), ...command])).stdout;
  const children: ChildProcess[] = [];
  const lab: NetworkLab = {
    onHost: ['ip', ...inNamespace(host)],
    async ask(url, { method = 'GET', body, host: name, args = [] } = {}) {
      const common = ['--silent', '--show-error', '--max-time', '30', '--write-out', '\n%{http_code}'];
      const data = ['--header', 'Content-Type: application/json', '--data', JSON.stringify(body)];
      const text = await run(
        client,
        ...['curl', ...common, '--request', method],
        ...(body === undefined ? [] : data),
        ...(name === undefined ? [] : ['--header', `Host: ${name}`]),
        ...args,
        url,
      );
      const end = text.lastIndexOf('\n');
      const content = text.slice(0, end);
      const isJson = content.startsWith('{');
      return {
        status: Number(text.slice(end + 1)),
        text: content,
        body: isJson ? (JSON.parse(content) as Readonly<Record<string, unknown>>) : undefined,
      };
    },
    async addresses() {
      const listed = JSON.parse(await run(host, 'ip', '-json', 'address', 'show', 'dev', DEVICE)) as readonly {
        readonly addr_info: readonly { readonly local: string; readonly prefixlen: number }[];
      }[]; // iproute2 writes this JSON
      return listed
        .flatMap(({ addr_info: all }) => all.map(({ local, prefixlen }) => `${local}/${prefixlen}`))
        .filter((address) => !address.startsWith('fe80:'))
        .sort();
    },
    routes: () => run(host, 'ip', 'route', 'show'),
    ip: (where, ...args) => run(where === 'host' ? host : client, 'ip', ...args),
    async runForClient(program) {
      const child = spawn('ip', [...inNamespace(client), process.execPath, '--eval', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      await once(child.stdout, 'data');
    },
    async close() {
      for (const child of children) {
        child.kill('SIGKILL');
        await once(child, 'close');
      }
      // Deleting a namespace deletes its end of the link. The kernel then deletes the other end.
      for (const name of [host, client]) await execute('ip', ['netns', 'delete', name]);
    },
  };
  for (const name of [host, client]) {
    await execute('ip', ['netns', 'add', name]);
    await run(name, 'ip', 'link', 'set', 'lo', 'up');
  }
  await run(host, 'ip', 'link', 'add', DEVICE, 'type', 'veth', 'peer', 'name', 'client0', 'netns', client);
  await run(host, 'ip', 'address', 'add', `${HOST}/24`, 'dev', DEVICE);
  await run(client, 'ip', 'address', 'add', `${CLIENT}/24`, 'dev', 'client0');
  await run(host, 'ip', 'link', 'set', DEVICE, 'up');
  await run(client, 'ip', 'link', 'set', 'client0', 'up');
  return lab;
}
