/**
 * Enumerations of host interfaces with libvirt's names and values.
 * @see https://libvirt.org/html/libvirt-libvirt-interface.html
 */

/** INACTIVE gives the configuration in place of the present state. @see virInterfaceXMLFlags */
export const InterfaceXmlFlags = { INACTIVE: 1 } as const;
