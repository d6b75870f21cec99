/**
 * Tests the shapes of PATCH bodies. A shape is a name for the set of properties that a PATCH accepts.
 * The service computes `@Redfish.WriteableProperties` once for each shape, so the shapes must be
 * correct.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { writeableOf } from '../../src/redfish/body/writeable.js';
import { resources } from '../../src/features.js';
import { testServices } from '../support/services.js';

const dependent = resources.filter(({ patch }) => typeof patch?.body === 'function');

describe('a resource whose PATCH depends on the entity', () => {
  const driver = new FakeDriver();
  beforeAll(() => driver.start());
  afterAll(() => driver.close());

  it('declares its shape', () => {
    expect(dependent.length).toBeGreaterThan(0);
    expect(dependent.filter(({ patch }) => patch?.shape === undefined).map(({ uri }) => uri)).toEqual([]);
  });

  const services = testServices(driver);

  it('has different shapes for machines that accept different properties', async () => {
    const system = dependent.find(({ entity }) => entity === 'ComputerSystem');
    const machines = await Promise.all((await driver.listSystems()).map(({ uuid }) => driver.getSystem(uuid)));
    const variants = machines.flatMap((machine) => [
      machine,
      { ...machine, autostart: undefined },
      { ...machine, boot: undefined },
    ]);
    const byShape = new Map<string, unknown>();
    for (const machine of variants) {
      const patch = system?.patch;
      const shape = patch?.shape?.(machine, services);
      if (typeof patch?.body !== 'function' || shape === undefined) throw new Error('a PATCH without a shape');
      const writeable = writeableOf(patch.body(machine, services));
      expect(writeable).toEqual(byShape.get(shape) ?? writeable);
      byShape.set(shape, writeable);
    }
    expect(byShape.size).toBe(3);
  });
});
