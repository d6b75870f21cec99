import { expect, it } from '@jest/globals';
import { fileNameOf } from './file-name.js';

it('fileNameOf keeps a UUID, and replaces dots, slashes and spaces, so that no name leads to another folder', () => {
  const uuid = '0e1a7d1c-3f2b-4c5d-8e9f-000000000001';
  expect([fileNameOf(uuid), fileNameOf('../a b')]).toEqual([uuid, '___a_b']);
});
