/**
 * The exports of all packages. Each has a docstring, and each is imported somewhere: an export that
 * nothing imports looks like an interface that must not change.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript-api';

const root = join(import.meta.dirname, '../../../..');
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.tsx', '*.js', '*.mjs'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const sources = new Map(
  files.map((file) => [
    file,
    ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true),
  ]),
);
const isProduct = (file: string): boolean => /^packages\/[\w-]+\/src\//.test(file) && !/\.test\.tsx?$/.test(file);

/** Returns the source file of an import; undefined: a package that is not in this repository. */
function targetOf(file: string, specifier: string): string | undefined {
  if (specifier === '@rackless/libvirt') return 'packages/libvirt/src/index.ts';
  const own = /^@rackless\/([\w-]+)\/(.*)$/.exec(specifier);
  const folder = own?.[1] === 'console' ? 'console/src/server' : `${own?.[1] ?? ''}/src`;
  const path = own === null ? join(dirname(file), specifier) : `packages/${folder}/${own[2] ?? ''}`;
  if (own === null && !specifier.startsWith('.')) return undefined;
  // Scripts import the built files.
  const target = normalize(path)
    .replace(/\.js$/, '.ts')
    .replace(/^(packages\/[\w-]+)\/dist\//, '$1/src/');
  return existsSync(join(root, `${target}x`)) ? `${target}x` : target;
}

/** An export, with its name and its declaration. */
interface Exported {
  readonly name: string;
  readonly node: ts.Node;
}

function exportsOf(source: ts.SourceFile): Exported[] {
  return source.statements.flatMap((statement): Exported[] => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (isExported !== true) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => ({ name: name.getText(), node: statement }));
    const { name } = statement as ts.Statement & { readonly name?: ts.Identifier }; // declarations have names
    return name === undefined ? [] : [{ name: name.text, node: statement }];
  });
}

/** Returns whether a file is a test or a helper of tests. */
const isTest = (file: string): boolean => /\.test\.tsx?$/.test(file) || /^packages\/[\w-]+\/test\//.test(file);

/** Names that files import, as `file#name`; `file#*`: all names. */
const imported = new Set<string>();
/** Names that files other than tests import, in the form of {@link imported}. */
const importedOutsideTests = new Set<string>();
for (const [file, source] of sources) {
  const add = (key: string): void => {
    imported.add(key);
    if (!isTest(file)) importedOutsideTests.add(key);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined)) {
      const target = targetOf(file, (node.moduleSpecifier as ts.StringLiteral).text); // the grammar allows only a text
      const clause = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
      if (clause !== undefined && (ts.isNamedImports(clause) || ts.isNamedExports(clause)))
        for (const { name, propertyName } of clause.elements) add(`${target}#${(propertyName ?? name).text}`);
      else add(`${target}#*`);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier !== undefined && ts.isStringLiteral(specifier)) add(`${targetOf(file, specifier.text)}#*`);
    } else if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    )
      add(`${targetOf(file, node.argument.literal.text)}#*`);
    ts.forEachChild(node, visit);
  };
  visit(source);
}

const exported = [...sources]
  .filter(([file]) => isProduct(file))
  .flatMap(([file, source]) => exportsOf(source).map(({ name, node }) => ({ file, name, node })));

/**
 * Types that are exported although no file imports them. TypeScript writes them into the declaration of
 * another export, and needs their names (TS4023).
 */
const namedInDeclarations = new Set([
  'packages/bmc-daemon/src/redfish/resource.ts#ResourceDefinition',
  'packages/bmc-daemon/src/resources/virtual-media/configured-drive.ts#ConfiguredVirtualMedia',
]);

/**
 * Exports that only tests import, with the reason why a test needs them. A type is not listed if
 * another export of its file names it: it is part of that signature.
 */
const forTests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the pure core of a function that reads the clock, a file or a socket': {
    'packages/bmc-daemon/src/resources/managers/manager.ts': 'renderIdentity',
    'packages/bmc-daemon/src/resources/systems/memory.ts': 'memoryModules',
    'packages/bmc-daemon/src/resources/update/update-service.ts': 'nextVersion',
    'packages/bmc-daemon/src/service-uuid.ts': 'serviceUuid',
    'packages/bmc-daemon/src/telemetry/telemetry.ts': 'createTelemetry',
    'packages/bmc-daemon/src/drivers/libvirt/media/drive-hotplug.ts': 'retryWhileGuestClosesTray',
    'packages/bmc-daemon/src/drivers/libvirt/xml/escape.ts': 'decodeText',
    'packages/model-proxy/src/exchange/stalled-uploads.ts': 'watchUploads',
    'packages/model-proxy/src/trace.ts': 'curlLine',
  },
  'a limit or a start value, so that tests do not repeat it': {
    'packages/bmc-daemon/src/auth/access-state.ts': 'initialAccessState',
    'packages/bmc-daemon/src/drivers/rules/boot-override.ts': 'noOverride',
    'packages/bmc-daemon/src/redfish/body/body.ts': 'maximumBodyBytes',
    'packages/bmc-daemon/src/redfish/query/expand.ts': 'maximumResources maximumBytes',
    'packages/model-proxy/src/json/scanner.ts': 'MAX_MEMBERS',
    'packages/model-proxy/src/upstream/connection/connection-life.ts': 'CONNECTION_LIMITS',
  },
  'a property of the implementation that no answer shows': {
    'packages/bmc-daemon/src/auth/login.ts': 'decoyOfCost',
    'packages/bmc-daemon/src/auth/session-token.ts': 'looksRandom',
    'packages/bmc-daemon/src/redfish/privileges.ts': 'hasPrivilegeRow',
    'packages/bmc-daemon/src/drivers/libvirt/firmware/variable-store.ts': 'variableNames',
  },
  'a part of a small library that others extend: the XDR types of RFC 4506': {
    'packages/libvirt/src/codec.ts': 'opaque fixedOpaque',
  },
};
const listed = Object.values(forTests).flatMap((files) =>
  Object.entries(files).flatMap(([file, names]) => names.split(' ').map((name) => `${file}: ${name}`)),
);

/** Returns whether an export is a type, and another export of the same file contains its name. */
function isPartOfSignature({ file, name, node }: Exported & { readonly file: string }): boolean {
  if (!ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node)) return false;
  const word = new RegExp(`\\b${name}\\b`);
  return exported.some((other) => other.file === file && other.name !== name && word.test(other.node.getText()));
}

describe('an export', () => {
  it('has a docstring', () => {
    const without = exported.filter(({ node }) => ts.getJSDocCommentsAndTags(node).length === 0);
    expect(without.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
  });

  it('is imported by another file', () => {
    const unused = exported.filter(({ file, name }) => {
      const key = `${file}#${name}`;
      return !imported.has(key) && !imported.has(`${file}#*`) && !namedInDeclarations.has(key);
    });
    expect(unused.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
  });

  it('is listed with a reason if only tests import it, and else not listed', () => {
    const onlyByTests = exported.filter((each) => {
      const key = `${each.file}#${each.name}`;
      const isUsed = importedOutsideTests.has(key) || importedOutsideTests.has(`${each.file}#*`);
      return !isUsed && !namedInDeclarations.has(key) && !isPartOfSignature(each);
    });
    expect(onlyByTests.map(({ file, name }) => `${file}: ${name}`).sort()).toEqual([...listed].sort());
  });
});
