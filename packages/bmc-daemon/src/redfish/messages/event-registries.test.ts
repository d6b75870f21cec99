import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { EventTemplate } from './event-message.js';
import { resourceEventRegistry, resourceEventTable } from './resource-event-registry.js';
import { taskEventRegistry, taskEventTable } from './task-event-registry.js';

const schemas = process.env['RACKLESS_REDFISH_SCHEMAS'];
const registry = z.object({
  RegistryPrefix: z.string(),
  RegistryVersion: z.string(),
  Messages: z.record(
    z.string(),
    z.object({ MessageSeverity: z.string(), NumberOfArgs: z.number(), ParamTypes: z.array(z.string()).optional() }),
  ),
});

const tables: readonly [string, string, Readonly<Record<string, EventTemplate>>][] = [
  ['ResourceEvent.1.4.3.json', resourceEventRegistry, resourceEventTable],
  ['TaskEvent.1.0.5.json', taskEventRegistry, taskEventTable],
];

describe.each(tables)('the messages of %s', (file, prefix, table) => {
  (schemas === undefined ? it.skip : it)("have the registry's keys, severities and arguments", () => {
    const { RegistryPrefix, RegistryVersion, Messages } = registry.parse(
      JSON.parse(readFileSync(join(schemas ?? '', 'registries', file), 'utf8')),
    );
    expect(`${RegistryPrefix}.${RegistryVersion.replace(/\.\d+$/, '')}`).toBe(prefix);
    for (const [key, { severity, args }] of Object.entries(table)) {
      const { MessageSeverity, NumberOfArgs, ParamTypes = [] } = Messages[key] ?? {};
      expect([key, MessageSeverity, NumberOfArgs, ParamTypes]).toEqual([key, severity, args.length, args]);
    }
  });

  it('have each of their arguments once in the text, in order', () => {
    for (const [key, { args, text }] of Object.entries(table)) {
      expect([key, text.match(/%\d/g) ?? []]).toEqual([key, args.map((_type, index) => `%${index + 1}`)]);
    }
  });
});
