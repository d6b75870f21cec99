import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createRenderer } from './rendering.js';
import { resourceDefiner } from './resource.js';

const options = { allow: 'GET', isServed: () => true, strict: false };
const view = { services: {}, scope: null };

interface Machine {
  readonly hasTag: boolean;
}

/**
 * Creates a resource whose PATCH depends on the entity.
 * @param shape the resource's function `shape`, if any. It returns the same text for entities with the same PATCH.
 * @returns `render`, which renders the resource, and `made` with the number of schemas that were created for it.
 */
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

describe('the renderer of a resource', () => {
  it('returns the same answer until the entity or a volatile property changes; a volatile one keeps the ETag', () => {
    let clock = '12:00:00';
    const resource = resourceDefiner<object>()({
      entity: 'Manager',
      odataType: '#Manager.v1_24_0.Manager',
      uri: '/redfish/v1/Managers/{managerId}',
      load: () => ({ name: '' }),
      render: ({ name }) => ({ Name: name }),
      volatile: () => ({ DateTime: clock, LastResetTime: '11:00:00' }),
    });
    const renderer = createRenderer(resource, options);
    const entity = { name: 'one' };
    const answerOf = (machine: typeof entity) => renderer.answer(machine, { managerId: '1' }, view);
    const first = answerOf(entity);
    expect(answerOf(entity)).toBe(first);
    clock = '12:00:01';
    const next = answerOf(entity);
    expect(JSON.parse(next.body ?? '')).toMatchObject({ Name: 'one', DateTime: clock, LastResetTime: '11:00:00' });
    expect(answerOf(entity)).toBe(next);
    expect(JSON.parse(answerOf({ name: 'two' }).body ?? '')).toMatchObject({ Name: 'two', DateTime: clock });
    // The clock is volatile, so it does not change the ETag.
    const etagIn = ({ headers }: typeof next) => headers[headers.indexOf('ETag') + 1];
    expect(etagIn(next)).toBe(etagIn(first));
  });

  it('renders an entity once for all reads at the same URI, and volatile properties for each read', () => {
    const times = { rendered: 0, read: 0 };
    const resource = resourceDefiner<object>()({
      entity: 'Manager',
      odataType: '#Manager.v1_24_0.Manager',
      uri: '/redfish/v1/Managers/{managerId}',
      load: () => ({}),
      render: () => ({ Id: String((times.rendered += 1)) }),
      volatile: () => ({ DateTime: String((times.read += 1)) }),
    });
    const renderer = createRenderer(resource, options);
    const entity = {};
    const [params, other] = [{ managerId: '1' }, { managerId: '2' }];
    const first = renderer.body(entity, params, view);
    const second = renderer.body(entity, params, view);
    expect([first['Id'], second['Id'], first['DateTime'] === second['DateTime']]).toEqual(['1', '1', false]);
    expect(renderer.etag(entity, params, view)).toBe(renderer.etag(entity, params, view));
    expect(JSON.parse(renderer.answer(entity, params, view).body ?? '')).toMatchObject({ Id: '1' });
    expect(times.rendered).toBe(1);
    expect(renderer.body(entity, other, view)['Id']).toBe('2');
    expect(renderer.body({}, params, view)['Id']).toBe('3');
  });

  it('creates the schema of a PATCH once for each shape of the resource', () => {
    const { made, render } = patchable({ shape: ({ hasTag }) => String(hasTag) });
    const target = { Target: 'Cd', '@Redfish.WriteableProperties': ['Target'] };
    for (let times = 0; times < 3; times += 1) {
      expect(render(true)).toMatchObject({ Boot: target, '@Redfish.WriteableProperties': ['AssetTag'] });
      expect(render(false)).not.toHaveProperty(['@Redfish.WriteableProperties']);
      expect(render(false)).toMatchObject({ Boot: target });
    }
    expect(made.schemas).toBe(2);
  });

  it('creates the schema every time if the resource has no shape', () => {
    const { made, render } = patchable({});
    expect(render(true)).toHaveProperty(['@Redfish.WriteableProperties'], ['AssetTag']);
    expect(render(false)).not.toHaveProperty(['@Redfish.WriteableProperties']);
    expect(made.schemas).toBe(2);
  });
});
