import { readdirSync } from 'node:fs';
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/**
 * Import floors (docs/architecture.md): a file may import its own floor and the floors below it, never one above.
 * Listed from top to bottom; each entry is a path prefix below the package's `src/`.
 */
const floors = {
  daemon: [
    ['signals.ts'],
    ['listener.ts', 'start-report.ts', 'systemd-notify.ts'],
    ['log.ts', 'tls.ts'],
    ['log-line.ts'],
    ['redact.ts'],
    ['replace-file.ts'],
    [
      'declined-upgrade.ts',
      'exit-code.ts',
      'html.ts',
      'journal.ts',
      'loopback.ts',
      'mask-url.ts',
      'nearest-name.ts',
      'pipelined-requests.ts',
      'text-file.ts',
      'version.ts',
    ],
  ],
  libvirt: [
    ['index.ts'],
    ['hypervisor.ts', 'domain.ts', 'storage-pool.ts', 'storage-volume.ts', 'network.ts', 'interface.ts', 'events.ts'],
    ['event-iterator.ts', 'hypervisor-options.ts'],
    ['link.ts'],
    ['work-queue.ts', 'link-hooks.ts', 'link-events.ts', 'link-streams.ts', 'handshake.ts'],
    ['standing-connection.ts'],
    ['connection.ts'],
    ['transport/', 'stream-slot.ts', 'stream.ts', 'keepalive.ts', 'pending-calls.ts', 'outbox.ts'],
    ['uri.ts', 'caller.ts'],
    ['protocol/'],
    ['xdr.ts', 'errors.ts', 'enums.ts', 'abort.ts', 'clock.ts', 'listeners.ts', 'constants/'],
  ],
  'bmc-daemon': [
    ['cli.ts', 'cli/'],
    ['daemon.ts'],
    [
      'app.ts',
      'configured-driver.ts',
      'fake-notifications.ts',
      'fake-systems.ts',
      'console-services.ts',
      'console-ssh.ts',
      'event-services.ts',
      'machine-scope.ts',
      'manager-network-service.ts',
      'reload.ts',
      'service-uuid.ts',
      'tls-certificate.ts',
      'pages/',
      'config/',
    ],
    ['resources/'],
    ['redfish/', 'auth/', 'console/', 'events/', 'telemetry/', 'manager-network/'],
    ['drivers/'],
    ['media/', 'certificates/', 'ssdp/'],
    [
      'host-addresses.ts',
      'host-network.ts',
      'ip-network.ts',
      'metrics.ts',
      'name-lookup.ts',
      'state-file.ts',
      'storage-error.ts',
      'version.ts',
    ],
  ],
  'model-proxy': [
    ['cli.ts', 'cli/'],
    ['proxy.ts'],
    ['app.ts', 'pages/', 'pass-through/', 'config/'],
    ['request-record.ts'],
    ['auth/', 'endpoints/'],
    ['routing/'],
    ['upstream/'],
    ['settings.ts'],
    ['providers/'],
    ['json/'],
    ['errors.ts', 'in-flight.ts', 'metrics.ts', 'secret-names.ts', 'trace.ts', 'version.ts', 'webassembly/'],
  ],
};

// A file that stands on no floor is a file whose imports nobody checks.
for (const [name, levels] of Object.entries(floors)) {
  const present = readdirSync(new URL(`packages/${name}/src/`, import.meta.url), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((path) => !path.endsWith('.test.ts'));
  const listed = levels.flat();
  const faults = [
    ...present.filter((path) => !listed.includes(path)).map((path) => `${path} is on no floor`),
    ...listed.filter((path) => !present.includes(path)).map((path) => `${path} is on a floor and does not exist`),
  ];
  if (faults.length > 0) throw new Error(`import floors of packages/${name}: ${faults.join('; ')}`);
}

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\\?\.ts$/, '');

function floorRules(name) {
  const levels = floors[name];
  return levels.flatMap((paths, level) => {
    const above = levels.slice(0, level).flat();
    if (above.length === 0) return [];
    // A relative import reaches an upper floor by its name at the start of the path below src/.
    const targets = above.map((path) =>
      path.endsWith('/') ? escape(path) : `${escape(path.replace(/\.ts$/, ''))}\\.js$`,
    );
    const rules = (speaksLibvirt) => ({
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(\\./|(\\.\\./)+)(${targets.join('|')})`,
              message: 'Imports go downwards only: docs/architecture.md.',
            },
            ...(speaksLibvirt
              ? []
              : [{ regex: '^@rackless/libvirt', message: 'Only drivers/libvirt speaks libvirt.' }]),
          ],
        },
      ],
    });
    return paths.flatMap((path) => {
      const files = `packages/${name}/src/${path}${path.endsWith('/') ? '**/*.ts' : ''}`;
      const driver = `packages/${name}/src/drivers/libvirt/**/*.ts`;
      const tests = '**/*.test.ts';
      if (name !== 'bmc-daemon') return [{ files: [files], ignores: [tests], rules: rules(true) }];
      return [
        { files: [files], ignores: [tests, driver], rules: rules(false) },
        ...(path === 'drivers/' ? [{ files: [driver], ignores: [tests], rules: rules(true) }] : []),
      ];
    });
  });
}

export default tseslint.config(
  { ignores: ['**/dist/', '**/dist-types/', '**/node_modules/', '**/.cache/', 'coverage/'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['packages/*/tsconfig.src.json', 'packages/*/tsconfig.test.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/unified-signatures': 'off',
      'no-empty': ['error', { allowEmptyCatch: false }],
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.test.ts', '**/test/**/*.ts'], rules: { '@typescript-eslint/no-floating-promises': 'error' } },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
      },
    },
  },
  ...floorRules('daemon'),
  ...floorRules('libvirt'),
  ...floorRules('bmc-daemon'),
  ...floorRules('model-proxy'),
);
