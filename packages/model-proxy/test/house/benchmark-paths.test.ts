import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { outsidePath } from '../../bench/outside.js';

const environment = { ...process.env };

describe('the path of a program that a variable names', () => {
  beforeEach(() => {
    // `npm run … -w PACKAGE` in the repository's root sets this variable.
    process.env['INIT_CWD'] = '/repository';
    delete process.env['RACKLESS_LITELLM'];
  });

  afterEach(() => {
    process.env = { ...environment };
  });

  it('is resolved from the folder in which the user called npm if it is relative', () => {
    process.env['RACKLESS_LITELLM'] = '../venv/bin/litellm';
    expect(outsidePath('RACKLESS_LITELLM')).toBe('/venv/bin/litellm');
  });

  it('stays the same if it is absolute', () => {
    process.env['RACKLESS_LITELLM'] = '/opt/bin/litellm';
    expect(outsidePath('RACKLESS_LITELLM')).toBe('/opt/bin/litellm');
  });

  it('is resolved from the working directory if it is relative and npm does not run', () => {
    delete process.env['INIT_CWD'];
    process.env['RACKLESS_LITELLM'] = 'litellm';
    expect(outsidePath('RACKLESS_LITELLM')).toBe(`${process.cwd()}/litellm`);
  });

  it('is undefined if the variable is missing or empty', () => {
    expect(outsidePath('RACKLESS_LITELLM')).toBeUndefined();
    process.env['RACKLESS_LITELLM'] = '';
    expect(outsidePath('RACKLESS_LITELLM')).toBeUndefined();
  });
});
