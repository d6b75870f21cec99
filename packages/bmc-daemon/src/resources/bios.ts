/** The firmware settings of a machine. None can be changed yet, so there are no attributes. */
import { defineResource } from './services.js';

/** `BIOS` is how sushy-tools spells it, and how old clients have it in their bookmarks. */
export const bios = defineResource({
  entity: 'Bios',
  odataType: '#Bios.v1_2_3.Bios',
  uri: '/redfish/v1/Systems/{systemId}/Bios',
  aliases: ['/redfish/v1/Systems/{systemId}/BIOS'],
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ boot }) => ({
    Id: 'Bios',
    Name: 'BIOS Configuration',
    Description: boot.firmware === 'efi' ? 'UEFI firmware' : 'Legacy BIOS firmware',
    Attributes: {},
  }),
});
