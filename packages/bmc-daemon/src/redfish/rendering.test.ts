import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createRenderer } from './rendering.js';
import { resourceDefiner } from './resource.js';

const options = { allow: 'GET', isServed: () => true, strict: false };
const view = { services: {}, scope: null };

interface Machine {
  readonly hasTag: boolean;
}

/** A resource whose PATCH depends on the entity, and how often its schema was made. */
function patchable(shape: { readonly shape?: (machine: Machine) => string }) {
  const made = { schemas: 0 };
  const resource = resourceDefiner<object>()({
    entity: 'ComputerSystem',
    odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
    uri: '/redfish/v1/Systems/{systemId}',
    load: (): Machine => ({ hasTag: true }),
    render: () => ({ Boot: { Target: 'Cd' }, Status: { HealthRollup: 'OK' } }),
    patch: {
      body: (machine: Machine) => {
        made.schemas += 1;
        const boot = { Boot: z.strictObject({ Target: z.string() }).optional() };
        return z.strictObject(machine.hasTag ? { ...boot, AssetTag: z.string().optional() } : boot);
      },
      ...shape,
      apply: () => undefined,
    },
  });
  const renderer = createRenderer(resource, options);
  const render = (hasTag: boolean) => renderer.body({ hasTag }, { systemId: '1' }, view);
  return { made, render };
}

describe('rendering', () => {
  it('makes the schema of a PATCH once for each shape of the resource', () => {
    const { made, render } = patchable({ shape: ({ hasTag }) => String(hasTag) });
    const target = { Target: 'Cd', '@Redfish.WriteableProperties': ['Target'] };
    for (let times = 0; times < 3; times += 1) {
      expect(render(true)).toMatchObject({ Boot: target, '@Redfish.WriteableProperties': ['AssetTag'] });
      expect(render(false)).not.toHaveProperty(['@Redfish.WriteableProperties']);
      expect(render(false)).toMatchObject({ Boot: target });
    }
    expect(made.schemas).toBe(2);
  });

  it('makes the schema each time where the resource names no shape', () => {
    const { made, render } = patchable({});
    expect(render(true)).toHaveProperty(['@Redfish.WriteableProperties'], ['AssetTag']);
    expect(render(false)).not.toHaveProperty(['@Redfish.WriteableProperties']);
    expect(made.schemas).toBe(2);
  });
});
