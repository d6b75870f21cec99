import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createRenderer } from '../rendering.js';
import { resourceDefiner } from '../resource.js';
import { allowedStringsOf } from './schema-shape.js';

describe('the allowed strings of a schema', () => {
  it('are the strings of an enum or a literal inside any wrappers; other schemas have none', () => {
    expect(allowedStringsOf(z.enum(['On', 'Off']))).toEqual(['On', 'Off']);
    expect(allowedStringsOf(z.enum(['On']).nullable().optional())).toEqual(['On']);
    expect(allowedStringsOf(z.enum(['On']).default('On'))).toEqual(['On']);
    expect(allowedStringsOf(z.enum(['On']).transform((word) => word.length))).toEqual(['On']);
    expect(allowedStringsOf(z.literal('On').optional())).toEqual(['On']);
    for (const schema of [z.string(), z.boolean(), z.literal(1), z.array(z.enum(['On'])), undefined]) {
      expect(allowedStringsOf(schema)).toEqual([]);
    }
  });

  it('are listed for each parameter of an action (possibly an empty list), unless the resource gives the list', () => {
    const body = z.strictObject({
      ResetType: z.enum(['On', 'ForceOff']),
      Image: z.string(),
      Mode: z.enum(['a', 'b']).optional(),
    });
    const resource = resourceDefiner<object>()({
      entity: 'ComputerSystem',
      odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
      uri: '/redfish/v1/Systems/{systemId}',
      load: () => ({}),
      render: () => ({}),
      actions: {
        '#ComputerSystem.Reset': {
          body,
          parameters: () => ({ 'Mode@Redfish.AllowableValues': ['a'] }),
          run: () => undefined,
        },
      },
    });
    const renderer = createRenderer(resource, { allow: 'GET', isServed: () => true, strict: true });
    expect(renderer.body({}, { systemId: '1' }, { services: {}, scope: null })['Actions']).toEqual({
      '#ComputerSystem.Reset': {
        target: '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset',
        'ResetType@Redfish.AllowableValues': ['On', 'ForceOff'],
        'Image@Redfish.AllowableValues': [],
        'Mode@Redfish.AllowableValues': ['a'],
      },
    });
  });
});
