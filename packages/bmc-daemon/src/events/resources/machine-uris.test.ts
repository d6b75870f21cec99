import { expect, it } from '@jest/globals';
import { testServices } from '../../../test/support/services.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { message } from '../../redfish/messages/messages.js';
import { withUuids } from './machine-uris.js';

const names = ["o'brien", 'o', 'a b'];
const machines = sampleMachines(3).map((machine, index) => ({ ...machine, name: names[index] ?? '' }));

it.each([
  ["OriginResource eq '/redfish/v1/Systems/o''brien'", "OriginResource eq '/redfish/v1/Systems/1'"],
  ["OriginResource eq '/redfish/v1/Systems/o%27brien/Bios'", "OriginResource eq '/redfish/v1/Systems/1/Bios'"],
  ["OriginResource eq '/redfish/v1/Managers/o'", "OriginResource eq '/redfish/v1/Managers/2'"],
  ["OriginResource eq '/redfish/v1/Systems/p''q'", "OriginResource eq '/redfish/v1/Systems/p''q'"],
  ['/redfish/v1/Systems/a%20b', '/redfish/v1/Systems/3'],
])('withUuids replaces the names of machines in %s', async (text, expected) => {
  const services = testServices(new FakeDriver({ machines }));
  const [found = ''] = await withUuids([text], message('QueryParameterValueError', '$filter'), services);
  const shown = machines.reduce((result, { uuid }, index) => result.replace(uuid, String(index + 1)), found);
  expect(shown).toBe(expected);
});
