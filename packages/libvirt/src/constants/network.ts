/**
 * Network enumerations with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-network.html
 */

/** Filters of a network list; 0 lists all. @see virConnectListAllNetworksFlags */
export const ConnectListAllNetworksFlags = {
  INACTIVE: 1,
  ACTIVE: 2,
  PERSISTENT: 4,
  TRANSIENT: 8,
  AUTOSTART: 16,
  NO_AUTOSTART: 32,
} as const;

/** INACTIVE gives the persistent definition of a network that runs. @see virNetworkXMLFlags */
export const NetworkXmlFlags = { INACTIVE: 1 } as const;
