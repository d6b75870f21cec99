/** Boot options: the devices that a machine can boot from. */
import { z } from 'zod';
import type { BootOptionSnapshot } from '../../drivers/snapshot/firmware-snapshot.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { readSystem, type SystemWith } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { reference } from '../reference.js';
import { defineResource } from '../services.js';
import { notUpdatedMessage } from './boot-change.js';
import { bootReference, bootSource } from './boot-reference.js';

const body = z.strictObject({ BootOptionEnabled: z.boolean().optional() });
const readOnlyBody = z.strictObject({});

const bootOptionCollection = machineCollection({
  memberType: 'BootOption',
  name: 'Boot Option Collection',
  uri: '/redfish/v1/Systems/{systemId}/BootOptions',
  details: ['boot'],
  ids: ({ boot }) => boot.options.map(bootReference),
});

const bootOption = defineResource({
  entity: 'BootOption',
  odataType: '#BootOption.v1_0_6.BootOption',
  uri: '/redfish/v1/Systems/{systemId}/BootOptions/{optionId}',
  load: async ({ params, services }): Promise<{ system: SystemWith<'boot'>; option: BootOptionSnapshot }> => {
    const system = await readSystem(params.systemId, 'BootOptions', services, 'boot');
    const option = system.boot.options.find((candidate) => bootReference(candidate) === params.optionId);
    if (option === undefined) throw redfishError('ResourceNotFound', 'BootOption', params.optionId);
    return { system, option };
  },
  canonicalParams: ({ system, option }) => ({ systemId: system.uuid, optionId: bootReference(option) }),
  render: ({ system, option }) => {
    const id = bootReference(option);
    const nic = option.kind === 'network' && (system.interfaces ?? []).some(({ mac }) => mac === option.name);
    const related = nic ? [reference(`/redfish/v1/Systems/${system.uuid}/EthernetInterfaces/${option.name}`)] : [];
    return {
      Id: id,
      Name: `Boot Option ${id}`,
      BootOptionReference: id,
      DisplayName: displayName(option),
      ...(option.kind === null ? {} : { Alias: bootSource[option.kind] }),
      BootOptionEnabled: system.boot.order.includes(option.key),
      ...(option.path === null ? {} : { UefiDevicePath: option.path }),
      RelatedItem: related,
      'RelatedItem@odata.count': related.length,
    };
  },
  patch: {
    body: (_entity, { driver }): z.ZodType<z.infer<typeof body>> =>
      driver.changeable.has('bootOrder') ? body : readOnlyBody,
    shape: () => 'any',
    properties: { bootOrder: 'BootOptionEnabled' },
    apply: async ({ system, option }, { BootOptionEnabled: wanted }, { services }) => {
      const { order } = system.boot;
      if (wanted === undefined || wanted === order.includes(option.key)) return undefined;
      if (services.settings.ignoreBootDevice) return { messages: [notUpdatedMessage('BootOptionEnabled')] };
      const changed = wanted ? [...order, option.key] : order.filter((key) => key !== option.key);
      if (changed.length === 0) {
        // If no boot option is enabled, the hypervisor boots from a disk. So a client cannot disable the last
        // enabled option.
        const fault = withPointers(
          message('PropertyValueIncorrect', 'BootOptionEnabled', 'false'),
          '#/BootOptionEnabled',
        );
        throw new RedfishError(400, [withDetail(fault, 'This is the only enabled boot option.')]);
      }
      await services.driver.change(system.uuid, { bootOrder: changed }, { basis: system });
      return undefined;
    },
  },
});

function displayName({ kind, name }: BootOptionSnapshot): string {
  switch (kind) {
    case 'network':
      return `Network boot from ${name}`;
    case 'cdrom':
      return `CD drive ${name}`;
    case 'fd':
      return `Floppy drive ${name}`;
    case 'usb':
      return `USB disk ${name}`;
    case 'hd':
      return `Disk ${name}`;
    case null:
      return `Device ${name}`;
  }
}

/**
 * The collection of boot options and its members.
 * @see DSP2046, BootOption; https://libvirt.org/formatdomain.html#operating-system-booting
 */
export const bootOptionResources = [bootOptionCollection, bootOption];
