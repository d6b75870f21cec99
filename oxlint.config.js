import { existsSync, readdirSync } from 'node:fs';

const sources = new URL('packages/bmc-daemon/src/', import.meta.url);
/**
 * The features of bmc-daemon. Only features.ts imports these folders, and none imports another one.
 */
const features = readdirSync(sources).filter((folder) => existsSync(new URL(`${folder}/feature.ts`, sources)));

/**
 * Import layers (docs/internals/architecture.md): a file may import its own layer and the layers
 * below it, never one above. Listed from top to bottom; each entry is a path prefix below the
 * package's `src/`. If several entries match a file, the longest one decides its layer.
 */
const layers = {
  daemon: [
    ['process/'],
    ['network/'],
    ['shared-store/'],
    ['log/'],
    ['files/', 'http/', 'metrics/', 'text/', 'yaml/'],
    ['deadline.ts', 'error-code.ts', 'version.ts'],
  ],
  libvirt: [
    ['index.ts'],
    ['objects/'],
    ['link/'],
    ['connection.ts'],
    ['connection-options.ts'],
    ['transport/', 'stream-slot.ts', 'stream.ts', 'stream-end.ts', 'keepalive.ts', 'pending-calls.ts', 'outbox.ts'],
    ['uri.ts', 'uri-parameters.ts', 'caller.ts'],
    ['protocol/'],
    ['codec.ts'],
    ['xdr.ts', 'errors.ts', 'enums.ts', 'abort.ts', 'clock.ts', 'listeners.ts', 'read-file.ts', 'constants/'],
  ],
  // The two consoles do not import each other (`consoleRules`).
  console: [
    ['bmc/main.tsx', 'gateway/main.tsx', 'server/'],
    ['bmc/app.tsx', 'gateway/app.tsx'],
    ['bmc/pages.ts', 'gateway/pages.ts'],
    ['bmc/pages/', 'gateway/pages/'],
    ['bmc/', 'gateway/'],
    ['bmc/redfish/', 'gateway/api/'],
    ['ui/'],
    ['texts/'],
  ],
  'bmc-daemon': [
    ['cli.ts', 'cli/'],
    ['daemon.ts', 'doctor/'],
    [
      'app.ts',
      'core-services.ts',
      'host-metrics.ts',
      'machine-scope.ts',
      'metrics.ts',
      'open-app.ts',
      'opened-features.ts',
      'pages/',
      'web-socket-metrics.ts',
    ],
    ['features.ts'],
    features.map((folder) => `${folder}/feature.ts`),
    ['feature.ts'],
    ['config/', 'hypervisors/', 'reload.ts', 'service-uuid.ts', 'start-error.ts'],
    features.map((folder) => `${folder}/resources/`).filter((folder) => existsSync(new URL(folder, sources))),
    ['resources/'],
    features.map((folder) => `${folder}/`),
    ['offers/'],
    ['redfish/'],
    ['drivers/'],
    ['media/', 'password-file/'],
    [
      'findings/',
      'host/',
      'name-uuid.ts',
      'replicas/',
      'state-file.ts',
      'storage-error.ts',
      'stored-uuid.ts',
      'version.ts',
    ],
  ],
  'model-proxy': [
    ['cli.ts', 'cli/'],
    ['workers/'],
    ['proxy.ts'],
    ['reload.ts'],
    [
      'app.ts',
      'dispatch.ts',
      'upgrade.ts',
      'health-checks/',
      'management/',
      'pages/',
      'telemetry/',
      'webhooks/',
      'pass-through/',
      'config/',
    ],
    ['request-record.ts'],
    ['auth/', 'exchange/'],
    ['routing/'],
    ['store/'],
    ['upstream/'],
    ['settings.ts'],
    ['providers/'],
    ['endpoints/', 'sse/'],
    ['json/'],
    [
      'chunk-limit.ts',
      'deployment-metrics.ts',
      'errors/',
      'in-flight.ts',
      'metrics-snapshot.ts',
      'metrics.ts',
      'request-report.ts',
      'request-span.ts',
      'secret-names.ts',
      'series.ts',
      'trace.ts',
      'version.ts',
      'webassembly/',
    ],
  ],
  racklessctl: [
    ['cli.ts', 'cli/'],
    ['commands/'],
    ['enrollment/'],
    ['machines/'],
    ['redfish/'],
    ['contexts/'],
    ['output/'],
    ['failure.ts', 'version.ts'],
  ],
};

/** Layers of the folder `drivers/libvirt` of bmc-daemon, in the form of `layers`. Paths start in the folder. */
const libvirtLayers = [
  ['libvirt-driver.ts', 'diagnosis/', 'host-list.ts'],
  ['libvirt-parts.ts'],
  ['libvirt-driver-options.ts', 'change/', 'console.ts', 'display.ts', 'lab/', 'power/'],
  ['media/', 'volumes/'],
  ['boot/', 'read/'],
  ['firmware/'],
  ['machine/'],
  ['firmware-catalog.ts', 'guest-capabilities.ts', 'host-capabilities.ts', 'host-files.ts', 'xml/'],
  ['access-hint.ts', 'connection-fault.ts', 'connection-uri.ts', 'failure.ts'],
];

/** Layers of the folder `drivers/nova` of bmc-daemon, in the form of `libvirtLayers`. */
const novaLayers = [
  ['nova-driver.ts', 'diagnosis.ts'],
  ['media/'],
  ['image/'],
  ['server-lookup.ts'],
  ['power-control.ts', 'remote-consoles.ts', 'serial/', 'server-reader.ts', 'server-statistics.ts'],
  ['failure.ts', 'port-reader.ts'],
  ['inventory/'],
  ['compute/'],
  ['http/'],
  ['cloud/'],
];

/** The folders of bmc-daemon that have their own layers. */
const drivers = { libvirt: libvirtLayers, nova: novaLayers };

// The lint would not check the imports of a file that has no layer. So this loop rejects such files, and layers
// that name a missing file.
for (const [name, levels] of [
  ...Object.entries(layers).map(([name, levels]) => [`${name}/src`, levels]),
  ...Object.entries(drivers).map(([name, levels]) => [`bmc-daemon/src/drivers/${name}`, levels]),
]) {
  const folder = new URL(`packages/${name}/`, import.meta.url);
  const present = readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((path) => !path.endsWith('.test.ts'));
  const listed = levels.flat();
  const faults = [
    ...present
      .filter((path) => !listed.some((entry) => entry === path || entry.startsWith(path)))
      .map((path) => `${path} is in no layer`),
    ...listed
      .filter((path) => !existsSync(new URL(path, folder)))
      .map((path) => `${path} is in a layer and does not exist`),
  ];
  if (faults.length > 0) throw new Error(`import layers of packages/${name}: ${faults.join('; ')}`);
}

const downwardsOnly = 'Imports go downwards only: docs/internals/architecture.md.';
const tests = '**/*.test.{ts,tsx}';
/**
 * No function has more than 80 lines and no file more than 300, comments and empty lines included.
 * Tests have no limit.
 */
const MAX_FUNCTION_LINES = 80;
const MAX_FILE_LINES = 300;

/**
 * Functions above the limit, by file, with the reason. Do not add to this list: split the function.
 */
const longFunctions = {
  'packages/model-proxy/src/config/documentation.ts': 'the text of one page, in order',
  'packages/model-proxy/src/json/plain-run-vectors.ts': 'instructions of one WebAssembly function, in order',
  'packages/model-proxy/src/json/scanner.ts': 'one state machine; a call for each character costs a third of its speed',
};

/** Files above the limit, with the reason. Do not add to this list: split the file. */
const longFiles = {
  'packages/libvirt/src/objects/domain.ts':
    'one class of the API: a method of a few lines for each function of libvirt',
  'packages/libvirt/src/objects/hypervisor.ts':
    'one class of the API: a method of a few lines for each function of libvirt',
  'packages/model-proxy/src/json/scanner.ts': 'the function above, and the methods that share its private fields',
};

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\\?\.tsx?$/, '');

/** Returns a regular expression for each path of a layer. It matches this path in the specifier of an import. */
function targetsOf(paths) {
  return paths.map((path) => (path.endsWith('/') ? escape(path) : `${escape(path.replace(/\.tsx?$/, ''))}\\.js$`));
}

/** Returns the pattern that keeps a file of bmc-daemon from importing a feature, except the file's own feature. */
function isolation(path) {
  if (path === 'features.ts') return [];
  const others = features.filter((folder) => !path.startsWith(`${folder}/`)).join('|');
  const message = 'A feature can be removed, so only features.ts imports it: docs/internals/architecture.md.';
  return [{ regex: `^(\\./|(\\.\\./)+)(${others})/`, message }];
}

/**
 * Returns the rules for the layers of a folder. A second rule for a file replaces the first, so `ruleWith` adds the
 * patterns that it gets to those of the first rule.
 */
function innerLayers(folder, levels, ruleWith) {
  return levels.flatMap((paths, level) => {
    const above = targetsOf(levels.slice(0, level).flat()).join('|');
    return paths.map((path) => {
      // A folder has at most one level of folders below it; a file of `folder` itself imports with
      // `./`.
      const start = path.endsWith('/') ? '(\\.\\./){1,2}' : '\\./';
      const patterns = above === '' ? [] : [{ regex: `^${start}(${above})`, message: downwardsOnly }];
      return { files: [`${folder}${path}${path.endsWith('/') ? '**/*.ts' : ''}`], ...ruleWith(patterns) };
    });
  });
}

function layerRules(name) {
  const levels = layers[name];
  return levels.flatMap((paths, level) => {
    const above = levels.slice(0, level).flat();
    if (above.length === 0) return [];
    // A relative import reaches an upper layer by its name at the start of the path below src/.
    const targets = targetsOf(above);
    const rules = (speaksLibvirt, inner = [], path = '') => ({
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(\\./|(\\.\\./)+)(${targets.join('|')})`,
              message: downwardsOnly,
            },
            ...inner,
            ...(name === 'bmc-daemon' ? isolation(path) : []),
            ...(speaksLibvirt
              ? []
              : [{ regex: '^@rackless/libvirt', message: 'Only drivers/libvirt speaks libvirt.' }]),
          ],
        },
      ],
    });
    const filesOf = (path) => `packages/${name}/src/${path}${path.endsWith('/') ? '**/*.{ts,tsx}' : ''}`;
    return paths.flatMap((path) => {
      const files = filesOf(path);
      const longer = levels.flat().filter((entry) => path.endsWith('/') && entry !== path && entry.startsWith(path));
      const excludeFiles = [tests, ...longer.map(filesOf)];
      const folderOf = (driver) => `packages/${name}/src/drivers/${driver}/`;
      const layered = Object.keys(drivers).map((driver) => `${folderOf(driver)}**/*.ts`);
      if (name !== 'bmc-daemon') return [{ files: [files], excludeFiles, rules: rules(true) }];
      return [
        { files: [files], excludeFiles: [...excludeFiles, ...layered], rules: rules(false, [], path) },
        ...(path === 'drivers/'
          ? Object.entries(drivers).flatMap(([driver, driverLevels]) =>
              innerLayers(folderOf(driver), driverLevels, (patterns) => ({
                excludeFiles: [tests],
                rules: rules(driver === 'libvirt', patterns, path),
              })),
            )
          : []),
      ];
    });
  });
}

/**
 * The rules about size and circular imports. A circle of types couples files as much as one of
 * values.
 */
const structureRules = [
  {
    files: [
      'packages/*/src/**/*.{ts,tsx}',
      'packages/*/bench/**/*.ts',
      'packages/*/scripts/**/*.js',
      'packages/*/sample-upstream/**/*.ts',
      'scripts/**/*.js',
    ],
    excludeFiles: [tests],
    rules: {
      'max-lines-per-function': ['error', { max: MAX_FUNCTION_LINES }],
      'max-lines': ['error', { max: MAX_FILE_LINES }],
      'import/no-cycle': ['error', { ignoreTypes: false }],
    },
  },
  { files: Object.keys(longFunctions), rules: { 'max-lines-per-function': 'off' } },
  { files: Object.keys(longFiles), rules: { 'max-lines': 'off' } },
];

/**
 * Rules of typescript-eslint's `strictTypeChecked` and `stylisticTypeChecked`, in addition to the
 * category `correctness`.
 */
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
  plugins: ['typescript', 'import'],
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  categories: { correctness: 'error' },
  rules: { ...errors(recommended), 'no-empty': ['error', { allowEmptyCatch: false }] },
  overrides: [
    {
      files: ['**/*.{ts,tsx}'],
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
        // The category `correctness` has this rule, but typescript-eslint's `strictTypeChecked` does not.
        'typescript/require-array-sort-compare': 'off',
      },
    },
    {
      files: ['**/*.js', '**/*.mjs'],
      env: { es2023: true, node: true },
      // JavaScript files have no types. `no-undef` finds unknown names instead; the other rule needs types.
      rules: { 'no-undef': 'error', 'typescript/restrict-template-expressions': 'off' },
    },
    ...structureRules,
    ...layerRules('daemon'),
    ...layerRules('libvirt'),
    ...layerRules('console'),
    ...layerRules('bmc-daemon'),
    ...layerRules('model-proxy'),
    ...layerRules('racklessctl'),
  ],
};
