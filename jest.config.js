/**
 * One jest for all packages. Suites under `test/` that need libvirtd or QEMU are ordinary tests: `scripts/test`
 * installs what they need, and RACKLESS_REQUIRE_ALL=1 (set in CI) turns a missing part from a skip into a failure.
 */
const project = (name) => ({
  displayName: name,
  rootDir: `packages/${name}`,
  testMatch: ['<rootDir>/src/**/*.test.{ts,tsx}', '<rootDir>/test/**/*.test.ts'],
  testEnvironment: '<rootDir>/../../scripts/jest-environment.js',
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic', importSource: 'preact' } },
        },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: {
    '^@rackless/daemon/(.*)\\.js$': '<rootDir>/../daemon/src/$1.ts',
    '^@rackless/console/(.*)\\.js$': '<rootDir>/../console/src/server/$1.ts',
    '^@rackless/libvirt$': '<rootDir>/../libvirt/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
});

export default {
  projects: [
    project('daemon'),
    project('libvirt'),
    project('console'),
    project('bmc-daemon'),
    project('model-proxy'),
    project('racklessctl'),
  ],
  // Three workers suit two cores: the third one runs while tests of the others wait for guests or time limits.
  maxWorkers: 3,
  // jest uses the coverage options only with --coverage.
  collectCoverageFrom: ['packages/*/src/**/*.{ts,tsx}', '!**/*.test.{ts,tsx}'],
  coverageDirectory: '.cache/coverage',
  coverageProvider: 'v8',
  coverageReporters: ['text-summary', 'html', 'json-summary'],
  // Long, so that it ends only tests that hang: with four suites at the same time, a test of 20 s takes over 300 s.
  testTimeout: 900_000,
};
