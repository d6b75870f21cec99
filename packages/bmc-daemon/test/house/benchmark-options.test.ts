import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFlags } from '../../bench/harness/benchmark.js';

const { argv } = process;
const folder = process.env['INIT_CWD'];

describe('the options of a benchmark', () => {
  beforeEach(() => {
    // npm sets this variable to the folder in which the user called it, for example the repository's root.
    process.env['INIT_CWD'] = '/repository';
  });

  afterEach(() => {
    process.argv = argv;
    if (folder === undefined) delete process.env['INIT_CWD'];
    else process.env['INIT_CWD'] = folder;
  });

  function read(...options: readonly string[]) {
    process.argv = ['node', 'benchmark.js', ...options];
    return readFlags({ clouds: '', browser: '/usr/bin/chromium', rate: 50 }, ['clouds', 'browser']);
  }

  it('resolve a relative path from the folder in which the user called npm', () => {
    expect(read('--clouds', '.cache/clouds.yaml', '--rate', '7')).toEqual({
      clouds: '/repository/.cache/clouds.yaml',
      browser: '/usr/bin/chromium',
      rate: 7,
    });
  });

  it('leave an absolute path and a missing option as they are', () => {
    expect(read('--browser', '/opt/chrome').clouds).toBe('');
    expect(read('--browser', '/opt/chrome').browser).toBe('/opt/chrome');
  });

  it('resolve a relative path from the working directory without npm', () => {
    delete process.env['INIT_CWD'];
    expect(read('--clouds', 'clouds.yaml').clouds).toBe(`${process.cwd()}/clouds.yaml`);
  });
});
