/**
 * Generates API.md from the exports of src/index.ts and their doc comments. `node api-page.js
 * --check` only checks that the page is up to date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-api';

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));
const entry = join(root, 'src', 'index.ts');

/** Returns the paragraphs of a comment, each on one line, with `{@link X}` as code. */
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

/** Returns the paragraphs of a doc comment, and its tags as sentences. Ignores `@see`. */
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

/** Returns the signature of a member. */
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
  // Excludes internal members, and overrides of Node's methods.
  if (/^For the connection:/.test(docOf(member).paragraphs[0] ?? '') || /^_/.test(member.name?.getText() ?? ''))
    return false;
  return member.name !== undefined && !ts.isPrivateIdentifier(member.name);
}

/** Formats code. A template literal type contains backticks. */
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
  // The comment is attached to the statement, two levels up.
  return [`- **${name}**`, sentencesOf(node.parent.parent), values.join(', ')].filter(Boolean).join('\\\n  ');
}

/** Renders a type with its source, because the comments of its properties are the documentation. */
const typeSection = (name, node) =>
  [`### ${name}`, ...docOf(node).paragraphs, `\`\`\`ts\n${node.getText().replace(/^export /, '')}\n\`\`\``].join(
    '\n\n',
  );

/** Maximum length of a line of prose. */
const MAX_LINE_LENGTH = 100;

/** Wraps the prose of a page. Leaves code blocks, tables, headings and comments unchanged. */
function wrapped(page) {
  let isCode = false;
  const wrapLine = (line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode || /^(\||#|<!--|```)/.test(line) || line.length <= MAX_LINE_LENGTH) return line;
    const [indent] = /^ */.exec(line);
    const next = /^ *- /.test(line) ? `${indent}  ` : indent;
    const lines = [indent];
    for (const word of line.trim().split(' ')) {
      const last = lines.at(-1);
      if (last.trim() !== '' && last.length + word.length >= MAX_LINE_LENGTH) lines.push(`${next}${word}`);
      else lines[lines.length - 1] = last.trim() === '' ? `${last}${word}` : `${last} ${word}`;
    }
    return lines.join('\n');
  };
  return page.split('\n').map(wrapLine).join('\n');
}

/** Returns the page as Markdown. */
export function renderApiPage() {
  const program = ts.createProgram([entry], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    // The page needs no types of JavaScript or Node, and they are slow to load.
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
  return wrapped(`# API of @rackless/libvirt

<!-- Written by scripts/api-page.js from the doc comments in src: change those, then \`npm run generate\`. -->

Read the [README](README.md) first. Names are those of libvirt without \`vir\`.
[libvirt's reference](https://libvirt.org/html/index.html) explains each call. Every call accepts
\`CallOptions\` as its last argument. If a call fails, it rejects with a \`LibvirtError\`.

## Classes

${classes.join('\n\n')}

## Functions

${functions.join('\n')}

## Enumerations

Combine flags with \`|\`. Results have the type \`number\`, because a newer libvirtd may send values
that are not listed here.

${enumerations.join('\n')}

## Types

${types.join('\n\n')}
`);
}

if (process.argv[1] === self) {
  const page = join(root, 'API.md');
  if (!process.argv.includes('--check')) await writeFile(page, renderApiPage());
  else if ((await readFile(page, 'utf8').catch(() => '')) !== renderApiPage()) {
    console.error('packages/libvirt/API.md is out of date: run npm run generate');
    process.exitCode = 1;
  }
}
