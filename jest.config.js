/**
 * One jest for all packages. Suites under `test/` that need libvirtd or QEMU are ordinary tests: `scripts/test` installs what
 * they need, and RACKLESS_REQUIRE_ALL=1 (set in CI) turns a missing part from a skip into a failure.
 */
const project = (name) => ({
  displayName: name,
  rootDir: `packages/${name}`,
  testMatch: ['<rootDir>/src/**/*.test.ts', '<rootDir>/test/**/*.test.ts'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  moduleNameMapper: {
    '^@rackless/daemon/(.*)\\.js$': '<rootDir>/../daemon/src/$1.ts',
    '^@rackless/libvirt$': '<rootDir>/../libvirt/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
});

export default {
  projects: [
    project('daemon'),
    project('libvirt'),
    project('bmc-daemon'),
    project('model-proxy'),
    project('racklessctl'),
  ],
  // For two cores. The third worker uses the time in which tests wait for guests and for time limits.
  maxWorkers: 3,
  // Only with --coverage.
  collectCoverageFrom: ['packages/*/src/**/*.ts', '!**/*.test.ts'],
  coverageDirectory: '.cache/coverage',
  coverageProvider: 'v8',
  coverageReporters: ['text-summary', 'html', 'json-summary'],
  // Only for a test that hangs. Four suites at the same time make a test of 20 s take over 300 s.
  testTimeout: 900_000,
};
