import { existsSync, readdirSync } from 'node:fs';

/**
 * Import floors (docs/internals/architecture.md): a file may import its own floor and the floors below it, never one above.
 * Listed from top to bottom; each entry is a path prefix below the package's `src/`. The longest entry counts.
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
      'error-code.ts',
      'escape-reg-exp.ts',
      'exit-code.ts',
      'html.ts',
      'http/',
      'ip-networks.ts',
      'journal.ts',
      'loopback.ts',
      'mask-url.ts',
      'nearest-name.ts',
      'text-file.ts',
      'version.ts',
    ],
  ],
  libvirt: [
    ['index.ts'],
    ['objects/'],
    ['link/'],
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
      'console-services.ts',
      'console-ssh.ts',
      'event-services.ts',
      'machine-scope.ts',
      'manager-network-service.ts',
      'reload.ts',
      'service-uuid.ts',
      'start-error.ts',
      'tls-certificate.ts',
      'hypervisors/',
      'pages/',
      'config/',
    ],
    ['resources/index.ts'],
    [
      'auth/resources/',
      'certificates/resources/',
      'console/resources/',
      'events/resources/',
      'manager-network/resources/',
      'telemetry/resources/',
    ],
    ['resources/'],
    ['redfish/', 'auth/', 'console/', 'events/', 'telemetry/', 'manager-network/'],
    ['drivers/'],
    ['media/', 'certificates/', 'ssdp/', 'password-file/'],
    ['host/', 'metrics.ts', 'state-file.ts', 'state-lock.ts', 'storage-error.ts', 'version.ts'],
  ],
  'model-proxy': [
    ['cli.ts', 'cli/'],
    ['proxy.ts'],
    ['app.ts', 'pages/', 'pass-through/', 'config/'],
    ['request-record.ts'],
    ['auth/', 'exchange/'],
    ['routing/'],
    ['upstream/'],
    ['settings.ts'],
    ['providers/'],
    ['endpoints/'],
    ['json/'],
    [
      'chunk-limit.ts',
      'errors.ts',
      'in-flight.ts',
      'metrics.ts',
      'secret-names.ts',
      'trace.ts',
      'version.ts',
      'webassembly/',
    ],
  ],
};

/** Floors of the folder `drivers/libvirt` of bmc-daemon, in the same form. */
const libvirtFloors = [
  ['libvirt-driver.ts'],
  ['libvirt-driver-options.ts', 'change/', 'console.ts', 'power/'],
  ['media/', 'volumes/'],
  ['boot/', 'read/'],
  ['firmware/'],
  ['machine/'],
  ['firmware-catalogue.ts', 'xml/'],
  ['access-hint.ts', 'connection-uri.ts', 'failure.ts'],
];

// The lint does not check the imports of a file that has no floor.
for (const [name, levels] of [
  ...Object.entries(floors).map(([name, levels]) => [`${name}/src`, levels]),
  ['bmc-daemon/src/drivers/libvirt', libvirtFloors],
]) {
  const folder = new URL(`packages/${name}/`, import.meta.url);
  const present = readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((path) => !path.endsWith('.test.ts'));
  const listed = levels.flat();
  const faults = [
    ...present.filter((path) => !listed.includes(path)).map((path) => `${path} is on no floor`),
    ...listed
      .filter((path) => !existsSync(new URL(path, folder)))
      .map((path) => `${path} is on a floor and does not exist`),
  ];
  if (faults.length > 0) throw new Error(`import floors of packages/${name}: ${faults.join('; ')}`);
}

const downwardsOnly = 'Imports go downwards only: docs/internals/architecture.md.';
const tests = '**/*.test.ts';
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\\?\.ts$/, '');

/** Expressions for the paths of a floor, as they end the specifier of an import. */
function targetsOf(paths) {
  return paths.map((path) => (path.endsWith('/') ? escape(path) : `${escape(path.replace(/\.ts$/, ''))}\\.js$`));
}

/** The floors of a folder. A second rule for a file replaces the first, so `ruleWith` adds these patterns to its own. */
function innerFloors(folder, levels, ruleWith) {
  return levels.flatMap((paths, level) => {
    const above = targetsOf(levels.slice(0, level).flat()).join('|');
    return paths.map((path) => {
      // A folder has at most one level of folders below it; a file of `folder` itself imports with `./`.
      const start = path.endsWith('/') ? '(\\.\\./){1,2}' : '\\./';
      const patterns = above === '' ? [] : [{ regex: `^${start}(${above})`, message: downwardsOnly }];
      return { files: [`${folder}${path}${path.endsWith('/') ? '**/*.ts' : ''}`], ...ruleWith(patterns) };
    });
  });
}

function floorRules(name) {
  const levels = floors[name];
  return levels.flatMap((paths, level) => {
    const above = levels.slice(0, level).flat();
    if (above.length === 0) return [];
    // A relative import reaches an upper floor by its name at the start of the path below src/.
    const targets = targetsOf(above);
    const rules = (speaksLibvirt, inner = []) => ({
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(\\./|(\\.\\./)+)(${targets.join('|')})`,
              message: downwardsOnly,
            },
            ...inner,
            ...(speaksLibvirt
              ? []
              : [{ regex: '^@rackless/libvirt', message: 'Only drivers/libvirt speaks libvirt.' }]),
          ],
        },
      ],
    });
    const filesOf = (path) => `packages/${name}/src/${path}${path.endsWith('/') ? '**/*.ts' : ''}`;
    return paths.flatMap((path) => {
      const files = filesOf(path);
      const longer = levels.flat().filter((entry) => path.endsWith('/') && entry !== path && entry.startsWith(path));
      const excludeFiles = [tests, ...longer.map(filesOf)];
      const driver = `packages/${name}/src/drivers/libvirt/`;
      if (name !== 'bmc-daemon') return [{ files: [files], excludeFiles, rules: rules(true) }];
      return [
        { files: [files], excludeFiles: [...excludeFiles, `${driver}**/*.ts`], rules: rules(false) },
        ...(path === 'drivers/'
          ? innerFloors(driver, libvirtFloors, (patterns) => ({ excludeFiles: [tests], rules: rules(true, patterns) }))
          : []),
      ];
    });
  });
}

/** Rules of typescript-eslint's `strictTypeChecked` and `stylisticTypeChecked`, in addition to the category `correctness`. */
const strict = `
  adjacent-overload-signatures array-type ban-ts-comment ban-tslint-comment class-literal-property-style
  consistent-generic-constructors consistent-indexed-object-style consistent-type-assertions consistent-type-definitions
  dot-notation no-confusing-non-null-assertion no-deprecated no-dynamic-delete no-empty-object-type no-explicit-any
  no-extraneous-class no-generated-empty-object-type no-inferrable-types no-invalid-void-type no-misused-promises
  no-mixed-enums no-namespace no-non-null-asserted-nullish-coalescing no-non-null-assertion no-require-imports
  no-unnecessary-boolean-literal-compare no-unnecessary-condition no-unnecessary-template-expression
  no-unnecessary-type-arguments no-unnecessary-type-assertion no-unnecessary-type-constraint
  no-unnecessary-type-conversion no-unnecessary-type-parameters no-unsafe-argument no-unsafe-assignment no-unsafe-call
 no-unsafe-enum-comparison no-unsafe-function-type no-unsafe-member-access no-unsafe-return
  non-nullable-type-assertion-style only-throw-error prefer-find prefer-for-of prefer-function-type prefer-includes
  prefer-literal-enum-member prefer-nullish-coalescing prefer-optional-chain prefer-promise-reject-errors
  prefer-reduce-type-parameter prefer-regexp-exec prefer-return-this-type prefer-string-starts-ends-with
  related-getter-setter-pairs require-await use-unknown-in-catch-callback-variable`;

/** ESLint's recommended rules for all files, in addition to the category `correctness`. */
const recommended = `
  eqeqeq no-array-constructor no-case-declarations no-empty-function no-fallthrough no-prototype-builtins no-redeclare
  no-regex-spaces no-unexpected-multiline no-useless-assignment no-useless-constructor no-var prefer-const
  prefer-rest-params prefer-spread preserve-caught-error`;

const errors = (names, prefix = '') =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [prefix + name, 'error']),
  );

export default {
  ignorePatterns: ['**/dist/', '**/dist-types/', '**/node_modules/', '**/.cache/', 'coverage/'],
  plugins: ['typescript'],
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  categories: { correctness: 'error' },
  rules: { ...errors(recommended), 'no-empty': ['error', { allowEmptyCatch: false }] },
  overrides: [
    {
      files: ['**/*.ts'],
      rules: {
        ...errors(strict, 'typescript/'),
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/restrict-plus-operands': [
          'error',
          {
            allowAny: false,
            allowBoolean: false,
            allowNullish: false,
            allowNumberAndString: false,
            allowRegExp: false,
          },
        ],
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        // TypeScript's types cover this rule, as in typescript-eslint.
        'typescript/require-array-sort-compare': 'off',
      },
    },
    {
      files: ['**/*.js', '**/*.mjs'],
      env: { es2023: true, node: true },
      // Without types, these rules cannot decide.
      rules: { 'no-undef': 'error', 'typescript/restrict-template-expressions': 'off' },
    },
    ...floorRules('daemon'),
    ...floorRules('libvirt'),
    ...floorRules('bmc-daemon'),
    ...floorRules('model-proxy'),
  ],
};
