import { expect, it } from '@jest/globals';
import { concerns, isAtOrBelow } from './concerns.js';

const accounts = '/redfish/v1/AccountService/Accounts';

it.each([
  [`${accounts}/ann`, true],
  [accounts, true],
  [`${accounts}/ann/Keys/1`, true],
  [`${accounts}/anna`, false],
  [`${accounts}/an`, false],
  ['/redfish/v1/Systems', false],
  [undefined, false],
])('concerns says whether an event of %s concerns the account ann: %s', (origin, expected) => {
  expect(concerns(`${accounts}/ann`, origin)).toBe(expected);
});

it('isAtOrBelow accepts only a collection itself and what is below it', () => {
  const changed = [accounts, `${accounts}/ann`, '/redfish/v1/AccountService', '/redfish/v1/AccountService/AccountsOld'];
  expect(changed.map((uri) => isAtOrBelow(uri, accounts))).toEqual([true, true, false, false]);
});
