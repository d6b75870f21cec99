/**
 * Writes API.md from the exports of src/index.ts and their doc comments. `node api-page.js --check` writes nothing and fails when
 * the page is not what it would write.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-api';

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));
const entry = join(root, 'src', 'index.ts');

/** Text of a comment on one line per paragraph, `{@link X}` as code. */
const plain = (comment) =>
  (ts.getTextOfJSDocComment(comment) ?? '')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .replaceAll(/\s*\n\s*(?=- )/g, '\n')
        .replaceAll(/\s*\n(?!- )\s*/g, ' ')
        .trim(),
    );

/** What a doc comment says: paragraphs, and its tags as sentences. `@see` is for readers of the code. */
function docOf(node) {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter((part) => ts.isJSDoc(part));
  if (comment === undefined) return { paragraphs: [], tags: [] };
  const tags = (comment.tags ?? []).flatMap((tag) => {
    const words = plain(tag.comment).join(' ');
    if (ts.isJSDocParameterTag(tag)) return [`\`${tag.name.getText()}\`: ${words}`];
    if (ts.isJSDocThrowsTag(tag)) return [`Throws ${words}`];
    if (ts.isJSDocReturnTag(tag)) return [`Returns ${words}`];
    return [];
  });
  return { paragraphs: plain(comment.comment).filter(Boolean), tags };
}

const sentencesOf = (node) => {
  const { paragraphs, tags } = docOf(node);
  return [...paragraphs, ...tags].join(' ');
};

/** How a member is called or read, without its body. */
function signatureOf(member) {
  if (ts.isGetAccessor(member)) return `readonly ${member.name.getText()}: ${member.type.getText()}`;
  const end = member.body === undefined ? member.end : member.body.getStart();
  return member
    .getSourceFile()
    .text.slice(member.getStart(), end)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([(<[]) | (?=[)>\]])/g, '$1')
    .replace(/,\)/, ')')
    .replace(/^export function /, '')
    .replace(/^(static )?(async |override )?/, '$1')
    .replace(/[;{\s]+$/, '');
}

function isPublic(member) {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  if ((ts.getCombinedModifierFlags(member) & hidden) !== 0 || ts.isConstructorDeclaration(member)) return false;
  // Parts that other parts of this package call, and overrides of what Node documents.
  if (/^For the connection:/.test(docOf(member).paragraphs[0] ?? '') || /^_/.test(member.name?.getText() ?? ''))
    return false;
  return member.name !== undefined && !ts.isPrivateIdentifier(member.name);
}

/** Code may hold backticks itself: a template literal type. */
const code = (text) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);

const entryOf = (node) => {
  const words = sentencesOf(node);
  return `- ${code(signatureOf(node))}${words === '' ? '' : `\\\n  ${words}`}`;
};

function classSection(name, node) {
  const members = node.members.filter(isPublic).map(entryOf);
  return [`### ${name}`, ...docOf(node).paragraphs, members.join('\n')].filter(Boolean).join('\n\n');
}

function enumerationLine(checker, name, node) {
  const values = checker
    .getPropertiesOfType(checker.getTypeAtLocation(node))
    .map((property) => `\`${property.name}\` ${checker.typeToString(checker.getTypeOfSymbol(property))}`);
  // The comment belongs to the statement, two levels up.
  return [`- **${name}**`, sentencesOf(node.parent.parent), values.join(', ')].filter(Boolean).join('\\\n  ');
}

/** Types are shown with the comments of their members: those are the documentation. */
const typeSection = (name, node) =>
  [`### ${name}`, ...docOf(node).paragraphs, `\`\`\`ts\n${node.getText().replace(/^export /, '')}\n\`\`\``].join(
    '\n\n',
  );

/** The whole page. */
export function renderApiPage() {
  const program = ts.createProgram([entry], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    // Only names, comments and the literals of enumerations are read: nothing of JavaScript's or Node's own types, which take
    // most of the time to load.
    noLib: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
  const exports = checker.getExportsOfModule(module).sort((a, b) => a.name.localeCompare(b.name, 'en'));
  const classes = [];
  const functions = [];
  const enumerations = [];
  const types = [];
  for (const exported of exports) {
    const { name } = exported;
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const [node] = symbol.declarations ?? [];
    if (node === undefined) throw new Error(`the export ${name} has no declaration`);
    if (ts.isClassDeclaration(node)) classes.push(classSection(name, node));
    else if (ts.isFunctionDeclaration(node)) functions.push(entryOf(node));
    else if (ts.isVariableDeclaration(node)) enumerations.push(enumerationLine(checker, name, node));
    else types.push(typeSection(name, node));
  }
  return `# API of @rackless/libvirt

<!-- Written by scripts/api-page.js from the doc comments in src: change those, then \`npm run generate\`. -->

What it is for and how it behaves: [README](README.md). Names are libvirt's without \`vir\`; what a call means is in
[libvirt's reference](https://libvirt.org/html/index.html). Every call takes \`CallOptions\` last and rejects with a \`LibvirtError\`.

## Classes

${classes.join('\n\n')}

## Functions

${functions.join('\n')}

## Enumerations

Objects of numbers; flags combine with \`|\`. What a daemon sends has the type \`number\`, since a newer one may send values that are
not listed.

${enumerations.join('\n')}

## Types

${types.join('\n\n')}
`;
}

if (process.argv[1] === self) {
  const page = join(root, 'API.md');
  if (!process.argv.includes('--check')) await writeFile(page, renderApiPage());
  else if ((await readFile(page, 'utf8').catch(() => '')) !== renderApiPage()) {
    console.error('packages/libvirt/API.md is not what scripts/api-page.js writes: npm run generate');
    process.exitCode = 1;
  }
}
