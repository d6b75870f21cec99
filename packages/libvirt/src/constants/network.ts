/**
 * Network enumerations with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-network.html
 */

/** Filters of a list of networks; 0: all. @see virConnectListAllNetworksFlags */
export const ConnectListAllNetworksFlags = {
  INACTIVE: 1,
  ACTIVE: 2,
  PERSISTENT: 4,
  TRANSIENT: 8,
  AUTOSTART: 16,
  NO_AUTOSTART: 32,
} as const;

/** INACTIVE: the persistent definition of a running network. @see virNetworkXMLFlags */
export const NetworkXmlFlags = { INACTIVE: 1 } as const;
