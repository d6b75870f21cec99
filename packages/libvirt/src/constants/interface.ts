/**
 * Enumerations of host interfaces with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-interface.html
 */

/** INACTIVE: the configuration instead of the current state. @see virInterfaceXMLFlags */
export const InterfaceXmlFlags = { INACTIVE: 1 } as const;
