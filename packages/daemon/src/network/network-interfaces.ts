/** Lists the network interfaces of this host. */
import { networkInterfaces } from 'node:os';

/** The addresses of each interface, by its name, as `os.networkInterfaces` returns them. */
export type NetworkInterfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the interfaces; empty in a sandbox that forbids netlink (systemd's
 * RestrictAddressFamilies). Never throws.
 * @param read replaces `os.networkInterfaces` in tests.
 */
export function listInterfaces(read: () => NetworkInterfaces = networkInterfaces): NetworkInterfaces {
  try {
    return read();
  } catch {
    // Callers can work without the list.
    return {};
  }
}
