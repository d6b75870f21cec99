import { describe, expect, it } from '@jest/globals';
import { RedfishError } from '../messages/errors.js';
import { parseQuery } from './parse.js';

/**
 * Returns the parsed query with a text in place of the filter, and without the member `parameters`; or the status and
 * the messages of the error.
 */
const parsed = (query: string, own: readonly string[] = []) => {
  try {
    const asked = Object.entries(parseQuery(query, own) ?? {}).filter(([name]) => name !== 'parameters');
    return Object.fromEntries(asked.map(([name, value]) => [name, typeof value === 'function' ? 'a filter' : value]));
  } catch (error) {
    if (!(error instanceof RedfishError)) throw error;
    return [error.status, ...error.messages.map(({ key, args }) => [key, ...args].join(' '))];
  }
};
/** Selects a property with all its members. */
const wholeProperty = new Map();

describe('a query', () => {
  it.each(['', 'x=1', 'excerpt', '&&', 'Only=1'])('has no effect with %j', (query) => {
    expect(parseQuery(query)).toBeUndefined();
  });

  it('is parsed with all its parameters', () => {
    expect(
      parsed('$expand=.($levels=2)&$select=Name,Status/Health&$top=3&%24skip=1&$filter=Id+eq+%271%27&x=y'),
    ).toEqual({
      only: false,
      expand: { scope: '.', levels: 2 },
      select: new Map([
        ['Name', wholeProperty],
        ['Status', new Map([['Health', wholeProperty]])],
      ]),
      top: 3,
      skip: 1,
      filter: 'a filter',
    });
    expect(parsed('only')).toEqual({ only: true });
    expect(parsed('$expand=~')).toEqual({ only: false, expand: { scope: '~', levels: 1 } });
    expect(parsed('$select=Status/Health,Status,Status/State')).toEqual({
      only: false,
      select: new Map([['Status', wholeProperty]]),
    });
  });

  it('is rejected with 501 for unsupported protocol parameters, and the error reports only these', () => {
    expect(parsed('$fake=1&x=2&$other&$top=x&$fake')).toEqual([
      501,
      'QueryParameterUnsupported $fake',
      'QueryParameterUnsupported $other',
    ]);
  });

  it('is parsed without the parameters that the resource reads itself', () => {
    expect(parsed('$filter=EventFormatType eq Event', ['$filter'])).toEqual({});
    expect(parsed('$sse=1', ['$sse'])).toEqual({});
  });

  it.each([
    ['$top=x', 'QueryParameterValueTypeError x $top'],
    ['$top=', 'QueryParameterValueTypeError  $top'],
    ['$skip=-1', 'QueryParameterOutOfRange -1 $skip 0 to 2147483647'],
    ['$skip=99999999999', 'QueryParameterOutOfRange 99999999999 $skip 0 to 2147483647'],
    ['only=foo', 'QueryParameterValueError only'],
    ['$expand=', 'QueryParameterValueFormatError  $expand'],
    ['$expand=Members', 'QueryParameterValueFormatError Members $expand'],
    ['$expand=.($levels=x)', 'QueryParameterValueTypeError x $levels'],
    ['$expand=.($levels=0)', 'QueryParameterOutOfRange 0 $levels 1 to 6'],
    ['$expand=.($levels=7)', 'QueryParameterOutOfRange 7 $levels 1 to 6'],
    ['$select=', 'QueryParameterValueFormatError  $select'],
    ['$select=a,,b', 'QueryParameterValueFormatError a,,b $select'],
    ['$select=a b', 'QueryParameterValueFormatError a b $select'],
    [`$select=${'a/'.repeat(20)}b`, `QueryParameterValueFormatError ${'a/'.repeat(20)}b $select`],
    ['$filter=', 'QueryParameterValueFormatError  $filter'],
    ['$filter=Name', 'QueryParameterValueFormatError Name $filter'],
    ['$top=1&$top=2', 'QueryCombinationInvalid'],
    ['only&$expand=.', 'QueryCombinationInvalid'],
  ])('is rejected if it is %s', (query, fault) => {
    expect(parsed(query)).toEqual([400, fault]);
  });

  it('has all its faults reported at once', () => {
    expect(parsed('$top=x&$skip=-1&only=1')).toEqual([
      400,
      'QueryCombinationInvalid',
      'QueryParameterOutOfRange -1 $skip 0 to 2147483647',
      'QueryParameterValueTypeError x $top',
      'QueryParameterValueError only',
    ]);
  });
});
