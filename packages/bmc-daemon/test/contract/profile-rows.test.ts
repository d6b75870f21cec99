import { describe, expect, it } from '@jest/globals';
import type { Crawled } from './crawler.js';
import { faultsOfRow, type ProfileRow } from './profile-rows.js';

describe('the check of profiles', () => {
  const body = {
    '@odata.type': '#Sample.v1_9_2.Sample',
    Boot: {
      Target: 'Pxe',
      Mode: null,
      '@Redfish.WriteableProperties': ['Target'],
      'Target@Redfish.AllowableValues': ['Pxe'],
    },
    Sensors: [{ Context: 'CPU' }, { Context: 'Intake', Name: 'x' }],
    Empty: [],
    Link: { '@odata.id': '/sample' },
    Actions: { '#Sample.Do': { target: '/', 'What@Redfish.AllowableValues': ['this'] } },
  };
  const sampleService = (allow: string): ReadonlyMap<string, Crawled> =>
    new Map([['/sample', { path: '/sample', status: 200, headers: { allow }, body }]]);

  it.each<[ProfileRow, string]>([
    [{ type: 'Other' }, 'there is no Other'],
    [{ type: 'Sample', below: '/other/' }, 'there is no Sample below /other/'],
    [{ type: 'Sample', since: '1.10.0' }, '/sample: 1.9.2 is too old'],
    [{ type: 'Sample', creates: true }, '/sample: takes no POST'],
    [{ type: 'Sample', at: 'Boot/Bogus' }, '/sample: Boot/Bogus is not there'],
    [{ type: 'Sample', at: 'Bogus/Bogus' }, '/sample: Bogus/Bogus is not there'],
    [{ type: 'Sample', at: 'Sensors/Name' }, '/sample: Sensors/Name is not there'],
    [{ type: 'Sample', at: 'Boot/Bogus', onlyWithParent: true }, '/sample: Boot/Bogus is not there'],
    [{ type: 'Sample', at: 'Boot/Mode', writable: true }, '/sample: Boot/Mode cannot be written'],
    [{ type: 'Sample', at: 'Boot/Target', supports: ['Pxe', 'Cd'] }, '/sample: Target does not offer Cd'],
    [{ type: 'Sample', at: 'Boot/Target', anyOf: ['Cd'] }, '/sample: Target is "Pxe", not one of: Cd'],
    [{ type: 'Sample', at: 'Sensors/Context', allOf: ['CPU', 'Fan'] }, '/sample: no Sensors/Context is Fan'],
    [{ type: 'Sample', at: 'Sensors', atLeast: 3 }, '/sample: Sensors has less than 3'],
    [{ type: 'Sample', at: 'Link', linksTo: 'Other' }, '/sample: Link leads to the type Sample, not Other'],
    [{ type: 'Sample', action: 'Undo' }, '/sample: has no Undo'],
    [{ type: 'Sample', action: 'Do', parameters: { How: [] } }, '/sample: Do has no list for How'],
    [{ type: 'Sample', action: 'Do', parameters: { What: ['that'] } }, '/sample: Do does not take What that'],
  ])('finds what is missing for %j', (row, fault) => {
    expect(faultsOfRow(row, sampleService('GET, HEAD, PATCH'))).toEqual([fault]);
  });

  it('accepts what exists, and what is optional', () => {
    const rows: readonly ProfileRow[] = [
      { type: 'Sample', since: '1.9.0', at: 'Boot/Target', writable: true, supports: ['Pxe'], anyOf: ['Pxe', 'Cd'] },
      { type: 'Sample', at: 'Empty/Name' },
      { type: 'Sample', at: 'Boot/Mode' },
      { type: 'Sample', at: 'Bogus/Bogus', optional: true },
      { type: 'Sample', at: 'Bogus/Bogus', onlyWithParent: true },
      { type: 'Other', optional: true },
      { type: 'Sample', at: 'Link', linksTo: 'Sample', action: 'Do', parameters: { What: ['this'] } },
    ];
    expect(rows.flatMap((row) => faultsOfRow(row, sampleService('GET, HEAD, PATCH')))).toEqual([]);
  });

  it('finds a writable property of a resource that does not allow PATCH', () => {
    const written: ProfileRow = { type: 'Sample', at: 'Boot/Target', writable: true };
    expect(faultsOfRow(written, sampleService('GET, HEAD'))).toEqual(['/sample: Boot/Target cannot be written']);
  });
});
