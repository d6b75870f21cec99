import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PrivateLibvirtd } from './libvirtd.js';

const run = promisify(execFile);

/** A private ssh server on loopback, which runs commands beside a private libvirtd. */
export interface PrivateSshd {
  readonly port: number;
  /** Private key that the server accepts. */
  readonly keyfile: string;
  /** File with the host key of the server, for the port `port` and the ports of `trust`. */
  readonly knownHosts: string;
  readonly dir: string;
  /** Adds another port, such as that of a relay, to `knownHosts`. */
  trust(port: number): Promise<void>;
  /** Returns the number of open connections. */
  connections(): number;
  /** Closes all connections and removes `dir`. */
  stop(): Promise<void>;
}

/**
 * Starts an ssh server. Its sessions see the files of the libvirtd, so virt-ssh-helper and nc find
 * the socket at its usual place. Needs root.
 * @param setup shell commands that each session runs first.
 */
export async function startSshd(daemon: PrivateLibvirtd, setup = ''): Promise<PrivateSshd> {
  const dir = await mkdtemp(join(tmpdir(), 'rackless-sshd-'));
  const at = (name: string): string => join(dir, name);
  for (const name of ['host_key', 'key']) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  await copyFile(at('key.pub'), at('authorized_keys'));
  // sshd needs this folder for its processes without privileges. Debian's service creates it.
  await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  await writeFile(at('session'), `#!/bin/sh\n${setup}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n`, { mode: 0o755 });
  await writeFile(
    at('sshd_config'),
    [
      `HostKey ${at('host_key')}`,
      `AuthorizedKeysFile ${at('authorized_keys')}`,
      `ForceCommand ${at('session')}`,
      'PermitRootLogin yes',
      // A client without an accepted key may use a password. Tests expect that our client fails and does not ask its
      // user for one.
      'PasswordAuthentication yes',
      'StrictModes no',
      'UsePAM no',
      '',
    ].join('\n'),
  );
  const sessions = new Map<Socket, ChildProcess>();
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    // In inetd mode, sshd serves the given socket.
    const child = spawn(
      'nsenter',
      ['--mount', '--root', '--target', String(daemon.pid), '/usr/sbin/sshd', '-i', '-e', '-f', at('sshd_config')],
      { stdio: [socket, socket, 'ignore'] },
    );
    sessions.set(socket, child);
    socket.on('error', () => undefined);
    child.once('exit', () => {
      socket.destroy();
      sessions.delete(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server has an address of this form.
  const { port } = server.address() as AddressInfo;
  const hostKey = (await readFile(at('host_key.pub'), 'utf8')).split(' ').slice(0, 2).join(' ');
  const trust = (other: number): Promise<void> =>
    writeFile(at('known_hosts'), `[127.0.0.1]:${other} ${hostKey}\n`, { flag: 'a' });
  await trust(port);
  return {
    port,
    keyfile: at('key'),
    knownHosts: at('known_hosts'),
    dir,
    trust,
    connections: () => sessions.size,
    stop: async () => {
      const ended = [...sessions.values()].map((child) => new Promise((resolve) => child.once('exit', resolve)));
      for (const child of sessions.values()) child.kill('SIGKILL');
      await Promise.all([...ended, new Promise((resolve) => server.close(resolve))]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}
