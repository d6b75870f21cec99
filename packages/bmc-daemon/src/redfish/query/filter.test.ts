import { describe, expect, it } from '@jest/globals';
import { FilterSyntaxError, parseFilter } from './filter.js';

const member = {
  '@odata.id': '/redfish/v1/Systems/a',
  Name: "Bob's",
  Count: 4,
  Load: 0.5,
  On: true,
  Nothing: null,
  Created: '2026-11-20T12:00:00+02:00',
  Status: { Health: 'OK', Inner: { Deep: 1 } },
  List: ['OK'],
};
const memberPasses = (text: string) => parseFilter(text)(member);

describe('$filter', () => {
  it.each([
    "Name eq 'Bob''s'",
    "'Bob''s' eq Name",
    "Name ne 'x'",
    'Count gt 3',
    'Count ge 4',
    'Count lt 5',
    'Count le 4.0',
    '5 gt Count',
    'Load lt 1e0',
    'Load gt -1',
    'On eq true',
    'On ne false',
    'Nothing eq null',
    'Missing eq null',
    "Missing ne 'x'",
    'Status/Missing/Deeper eq null',
    "Status/Health eq 'OK'",
    'Status/Inner/Deep eq 1',
    "@odata.id eq '/redfish/v1/Systems/a'",
    "Name gt 'Alice'",
    "Created eq '2026-11-20T10:00:00Z'",
    "Created lt '2026-11-20T10:00:00.001Z'",
    "List ne 'OK'",
    "Count eq 1 or Name eq 'x' or On eq true",
    'Count eq 4 and On eq true',
    'Count eq 1 and On eq false or Load eq 0.5',
    'Load eq 0.5 or Count eq 1 and On eq false',
    '(Load eq 0.5 or Count eq 1) and On eq true',
    'not (Count eq 1)',
    'not not (Count eq 4)',
    'not (Count eq 1) and not (Count eq 2)',
    '  (  (Count eq 4)  )  ',
    "(Count eq 4)and(Name eq 'Bob''s')",
  ])('matches %s', (text) => {
    expect(memberPasses(text)).toBe(true);
  });

  it.each([
    "Name eq 'bob''s'",
    "Count eq '4'",
    "Count gt '3'",
    'Name gt 3',
    'Count lt 4',
    'Missing gt 1',
    'Missing le 1',
    'Nothing ge null',
    'Nothing le null',
    'On gt false',
    "List eq 'OK'",
    'Status eq null',
    'constructor ne null',
    'Count eq 1 and (On eq true or Load eq 0.5)',
    '(Load eq 0.5 or Count eq 1) and On eq false',
    'not (Count eq 4)',
  ])('does not match %s', (text) => {
    expect(memberPasses(text)).toBe(false);
  });

  it.each([
    '',
    'Name',
    'Name eq',
    'Name eq Other',
    '1 eq 1',
    "Name = 'x'",
    "Name eq 'x",
    'Name eq "x"',
    "Name eq 'x' and",
    "Name eq 'x' Count eq 1",
    "(Name eq 'x'",
    "Name eq 'x')",
    'not Name',
    "not Name eq 'x'",
    'Name xx 1',
    'Status//Health eq 1',
    'Count eq 1x',
    'contains(Name, 1)',
    'eq eq eq',
    '; drop',
  ])('is rejected if it is invalid: %s', (text) => {
    expect(() => parseFilter(text)).toThrow(FilterSyntaxError);
  });

  it('is rejected if brackets or `not` are nested too deeply, because they could exhaust the stack', () => {
    for (const text of ['('.repeat(8000), 'not '.repeat(4000), `${'('.repeat(60)}Count eq 4${')'.repeat(60)}`]) {
      expect(() => parseFilter(text)).toThrow(FilterSyntaxError);
    }
    expect(memberPasses(`${'('.repeat(40)}Count eq 4${')'.repeat(40)}`)).toBe(true);
    expect(memberPasses(Array.from({ length: 800 }, () => 'Count eq 4').join(' and '))).toBe(true);
  });
});
