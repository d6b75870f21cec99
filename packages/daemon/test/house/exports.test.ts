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
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.js', '*.mjs'], {
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
const isProduct = (file: string): boolean => /^packages\/[\w-]+\/src\//.test(file) && !file.endsWith('.test.ts');

/** Returns the source file of an import; undefined: another package. */
function targetOf(file: string, specifier: string): string | undefined {
  if (specifier === '@rackless/libvirt') return 'packages/libvirt/src/index.ts';
  const own = /^@rackless\/([\w-]+)\/(.*)$/.exec(specifier);
  const path = own === null ? join(dirname(file), specifier) : `packages/${own[1] ?? ''}/src/${own[2] ?? ''}`;
  if (own === null && !specifier.startsWith('.')) return undefined;
  // Scripts import the built files.
  return normalize(path)
    .replace(/\.js$/, '.ts')
    .replace(/^(packages\/[\w-]+)\/dist\//, '$1/src/');
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

/** Names that files import, as `file#name`; `file#*`: all names. */
const imported = new Set<string>();
for (const [file, source] of sources) {
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined)) {
      const target = targetOf(file, (node.moduleSpecifier as ts.StringLiteral).text); // the grammar allows only a text
      const clause = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
      if (clause !== undefined && (ts.isNamedImports(clause) || ts.isNamedExports(clause)))
        for (const { name, propertyName } of clause.elements) imported.add(`${target}#${(propertyName ?? name).text}`);
      else imported.add(`${target}#*`);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier !== undefined && ts.isStringLiteral(specifier)) imported.add(`${targetOf(file, specifier.text)}#*`);
    } else if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    )
      imported.add(`${targetOf(file, node.argument.literal.text)}#*`);
    ts.forEachChild(node, visit);
  };
  visit(source);
}

const exported = [...sources]
  .filter(([file]) => isProduct(file))
  .flatMap(([file, source]) => exportsOf(source).map(({ name, node }) => ({ file, name, node })));

/** TypeScript writes these types into the declaration of another export, and needs their names (TS4023). */
const namedInDeclarations = new Set([
  'packages/bmc-daemon/src/redfish/resource.ts#ResourceDefinition',
  'packages/bmc-daemon/src/resources/virtual-media/configured-drive.ts#ConfiguredVirtualMedia',
]);

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
});
