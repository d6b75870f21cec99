import { describe, expect, it } from '@jest/globals';
import { annotate } from './annotate.js';

const status = { State: 'Enabled', Health: 'OK', HealthRollup: 'OK' };
const resource = {
  Status: status,
  MemorySummary: { Status: status },
  Redundancy: [{ Status: status }],
  ServiceEntryPointUUID: 'b9a1b5a0-0000-0000-0000-000000000001',
  Absent: undefined,
};
const both = { ...status, HealthRollUp: 'OK' };
const copyright = expect.stringContaining('DMTF') as unknown;

describe('annotate', () => {
  it('returns a body without deprecated properties unchanged in strict mode', () => {
    expect(annotate(resource, 'Manager', { strict: true })).toBe(resource);
  });

  it('removes only deprecated properties in strict mode', () => {
    const members = { IndicatorLED: 'Lit', LocationIndicatorActive: true, Name: 'x' };
    const drive = { ...members, '@Redfish.WriteableProperties': ['IndicatorLED', 'LocationIndicatorActive'] };
    expect(annotate(drive, 'Drive', { strict: true })).toEqual({
      LocationIndicatorActive: true,
      Name: 'x',
      '@Redfish.WriteableProperties': ['LocationIndicatorActive'],
    });
    expect(annotate(members, 'ComputerSystem', { strict: true })).toBe(members);
    const summaries = {
      MemorySummary: { Status: status, TotalSystemMemoryGiB: 1 },
      ProcessorSummary: null,
      Status: status,
    };
    expect(annotate(summaries, 'ComputerSystem', { strict: true })).toEqual({
      MemorySummary: { TotalSystemMemoryGiB: 1 },
      ProcessorSummary: null,
      Status: status,
    });
  });

  it('replaces links to deprecated URIs in strict mode, but not the @odata.id of a resource at such a URI', () => {
    const currentUri = (uri: string): string => uri.replace('/old', '/new');
    const linkTo = (uri: string) => ({ '@odata.id': uri });
    const linking = (uri: string) => ({
      Drives: [linkTo(uri), linkTo('/x')],
      Links: { Drive: linkTo(uri) },
      Name: '/old',
      Note: null,
    });
    const old = { '@odata.id': '/old', ...linking('/old') };
    expect(annotate(old, 'Storage', { strict: true, currentUri })).toEqual({ ...old, ...linking('/new') });
    expect(annotate(linking('/old'), 'Storage', { strict: true, currentUri })).toEqual(linking('/new'));
    expect(annotate(old, 'Storage', { strict: false, currentUri })).toEqual({
      ...old,
      '@Redfish.Copyright': copyright,
    });
  });

  it('adds Copyright, and HealthRollUp in every Status, without strict mode', () => {
    expect(annotate(resource, 'ComputerSystem', { strict: false })).toEqual({
      ...resource,
      Status: both,
      MemorySummary: { Status: both },
      Redundancy: [{ Status: both }],
      '@Redfish.Copyright': copyright,
    });
  });

  it("sets a Manager's ServiceEntryPointUUID to null without strict mode", () => {
    expect(annotate(resource, 'Manager', { strict: false })['ServiceEntryPointUUID']).toBeNull();
    expect(annotate({ Name: 'x' }, 'Chassis', { strict: false })).toEqual({
      Name: 'x',
      '@Redfish.Copyright': copyright,
    });
  });

  it('adds Severity to the messages of a registry without strict mode', () => {
    const registry = { Language: 'en', Messages: { Success: { Message: 'Done.', MessageSeverity: 'OK' } } };
    expect(annotate(registry, 'MessageRegistryFile', { strict: false })).toEqual({
      Language: 'en',
      Messages: { Success: { Message: 'Done.', MessageSeverity: 'OK', Severity: 'OK' } },
      '@Redfish.Copyright': copyright,
    });
    expect(annotate(registry, 'MessageRegistryFile', { strict: true })).toBe(registry);
    const link = { Registry: 'Base.1.22' };
    expect(annotate(link, 'MessageRegistryFile', { strict: false })).toEqual({
      ...link,
      '@Redfish.Copyright': copyright,
    });
  });
});
