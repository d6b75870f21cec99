/** Opens connections through ssh to sockets and ports that the host of a URI can reach. */
import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import { clientError } from '../errors.js';
import type { LibvirtUri } from '../uri.js';
import { sshTunnelCommand, type TunnelTarget } from './ssh-command.js';

/**
 * Opens a connection with the ssh client and the parameters of a URI.
 * @param target the path of a unix socket, or a host and a port as the remote host sees them.
 * @returns a stream with the bytes of both directions. The stream ends when ssh ends, also if ssh fails;
 *   the messages of ssh are dropped. If ssh cannot be started, the stream has the error NOT_CONNECTED.
 *   To end ssh, destroy the stream.
 */
export function openSshTunnel(uri: LibvirtUri, target: TunnelTarget): Duplex {
  const { program, args } = sshTunnelCommand(uri, target);
  // In its own session, ssh has no terminal to ask for a password.
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
  child.once('error', (cause) => {
    const why = `parameter "command": ${program} cannot be started: ${cause.message}`;
    stream.destroy(clientError('NOT_CONNECTED', `connecting to ${uri.text}: ${why}`, { cause }));
  });
  stream.once('close', () => child.kill('SIGKILL'));
  return stream;
}
