import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { resourceDefiner } from './resource.js';

interface Services {
  readonly machines: ReadonlyMap<string, { readonly name: string; readonly on: boolean }>;
}
const defineResource = resourceDefiner<Services>();
const request = {
  params: { systemId: 'a' },
  services: { machines: new Map([['a', { name: 'alpha', on: true }]]) },
  requester: {
    user: null,
    session: null,
    privileges: new Set<never>(),
    address: '127.0.0.1',
    requestId: '1',
    signal: new AbortController().signal,
  },
};

describe('defineResource', () => {
  // The compiler checks the main point: it infers the types of params, entity and bodies from the literal.
  const written: string[] = [];
  const system = defineResource({
    entity: 'ComputerSystem',
    odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
    uri: '/redfish/v1/Systems/{systemId}',
    load: ({ params, services }) => ({ ...services.machines.get(params.systemId), id: params.systemId }),
    render: (entity, { self }) => ({ Id: entity.id, Name: entity.name, '@odata.id': self }),
    patch: {
      body: z.strictObject({ AssetTag: z.string() }),
      apply: (entity, body) => {
        const tag: string = body.AssetTag;
        written.push(`${entity.id} ${tag}`);
        return undefined;
      },
    },
    actions: {
      '#ComputerSystem.Reset': {
        body: z.strictObject({ ResetType: z.enum(['On', 'ForceOff']) }),
        available: (entity) => entity.on === true,
        run: (entity, body) => {
          const kind: 'On' | 'ForceOff' = body.ResetType;
          written.push(`${entity.id} ${kind}`);
          return { task: { monitor: '/m', task: '/t' } };
        },
      },
    },
  });

  it('returns a resource of the common type that behaves like the literal', async () => {
    const entity = await system.load(request);
    expect(
      system.render(entity, { self: '/x', params: request.params, services: request.services, isServed: () => true }),
    ).toEqual({
      Id: 'a',
      Name: 'alpha',
      '@odata.id': '/x',
    });
    const body = system.patch?.body;
    if (body === undefined || typeof body === 'function') throw new Error('a schema expected');
    await system.patch?.apply(entity, body.parse({ AssetTag: 'rack 1' }), request);
    const reset = system.actions?.['#ComputerSystem.Reset'];
    expect(await reset?.run(entity, reset.body.parse({ ResetType: 'On' }), request)).toEqual({
      task: { monitor: '/m', task: '/t' },
    });
    expect(reset?.available?.(entity, request.services)).toBe(true);
    expect(written).toEqual(['a rack 1', 'a On']);
  });

  it('rejects a parameter that the URI template lacks, at compile time', () => {
    const resource = defineResource({
      entity: 'Chassis',
      odataType: '#Chassis.v1_28_0.Chassis',
      uri: '/redfish/v1/Chassis/{chassisId}',
      load: ({ params }) => ({ id: params.chassisId }),
      // @ts-expect-error the template says chassisId
      canonicalParams: (entity) => ({ systemId: entity.id }),
      render: () => ({}),
    });
    expect(resource.uri).toBe('/redfish/v1/Chassis/{chassisId}');
  });
});
