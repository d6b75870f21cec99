/** Sample addresses of machines in memory, as if a DHCP server of the host had leased them. */
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { NetworkFacts } from '../guest-network.js';

/** Returns the facts about the connected interfaces of a machine; none if it is off. */
export function sampleFacts({ name, state, interfaces }: CompleteSnapshot): NetworkFacts {
  if (state === 'shutoff') return new Map();
  return new Map(
    interfaces
      .filter(({ linkUp }) => linkUp)
      .map(({ mac }) => {
        // The MAC address ends with the number of the machine (2 bytes) and a0 + the number of the
        // interface.
        const [high = 0, low = 0, index = 0] = mac
          .split(':')
          .slice(3)
          .map((byte) => Number.parseInt(byte, 16));
        const address = `10.${high}.${low}.${(index - 0xa0 + 10) & 0xff}`;
        return [
          mac,
          {
            ipv4: [{ address, prefix: 8, origin: 'dhcp' }],
            ipv6: [],
            hostName: name,
            domainName: 'example.org',
            speedMbps: null,
          },
        ];
      }),
  );
}
