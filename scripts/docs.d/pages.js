/** Reads the pages: their fixtures, blocks, headings and links. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import markdown from 'prettier/plugins/markdown';

/**
 * Words after a block's language with a meaning for docs-commands. Any other word is the name by which another
 * script finds the block.
 */
const MODES = ['service', 'paste'];

function markdownFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(folder, entry.name));
}

/** Returns the paths of all pages, README.md first. */
export function allPages() {
  const packages = readdirSync('packages').map((name) => join('packages', name));
  const docs = readdirSync('docs', { recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', 'CONTRIBUTING.md', ...docs.sort(), ...packages.flatMap(markdownFiles).sort()];
}

/** Returns the visible text of a heading. */
function textOf(node) {
  return node.value ?? (node.children ?? []).map(textOf).join('');
}

/** Returns GitHub's anchor for a heading. */
function anchorOf(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Keys of marks: comments `<!-- KEY: VALUE -->` with a meaning for docs-commands, for a page or for a block. */
const PAGE_MARK = 'commands';
const BLOCK_MARKS = ['not run', 'run by'];

/** Returns the value of the comment `<!-- KEY: VALUE -->` in a node, or undefined. */
function commentIn(node, key) {
  if (node?.type !== 'html') return undefined;
  return new RegExp(`^<!-- ${key}: (\\S(?:(?!-->)[^])*?) -->$`).exec(node.value)?.[1];
}

/**
 * Returns why a comment is wrong, or undefined: a comment before a block is no mark, or a mark for a block is not
 * before a block. Without this check, a misspelled mark has no effect, and the block below it runs.
 */
function markFault(node, next) {
  if (!node.value.startsWith('<!--')) return undefined;
  const key = [PAGE_MARK, ...BLOCK_MARKS].find((known) => commentIn(node, known) !== undefined);
  const beforeBlock = next?.type === 'code';
  if (key === undefined && beforeBlock) return 'is no known mark (see scripts/docs-commands --help)';
  if (BLOCK_MARKS.includes(key) && !beforeBlock) return 'is not directly before a block';
  return undefined;
}

function blockOf(node, before, heading, lines) {
  const [mode] = (node.meta ?? '').split(' ');
  return {
    line: node.position.start.line,
    fenced: lines[node.position.start.line - 1].trimStart().startsWith('```'),
    language: node.lang ?? '',
    mode: MODES.includes(mode) ? mode : '',
    name: MODES.includes(mode) ? '' : mode,
    text: node.value,
    heading,
    notRun: commentIn(before, 'not run'),
    runBy: commentIn(before, 'run by'),
  };
}

/**
 * Reads the page at `path`. `fixtures`: names of the fixtures that its commands need. `links`: each with its line.
 * `wrongMarks`: wrong comments, each with its line, text and reason.
 */
export function readPage(path) {
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  const page = { path, fixtures: [], blocks: [], anchors: new Set(), links: [], wrongMarks: [] };
  let heading = '';
  const visit = (node, before, next) => {
    const line = node.position.start.line;
    if (node.type === 'heading') {
      heading = textOf(node);
      const anchor = anchorOf(heading);
      let unique = anchor;
      for (let count = 1; page.anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
      page.anchors.add(unique);
    }
    if (node.type === 'code') page.blocks.push(blockOf(node, before, heading, lines));
    if (node.type === 'link' || node.type === 'image' || node.type === 'definition')
      page.links.push({ line, url: node.url });
    if (node.type === 'html') {
      const reason = markFault(node, next);
      if (reason !== undefined) page.wrongMarks.push({ line, text: node.value, reason });
      page.fixtures.push(...(commentIn(node, 'commands')?.split(' ') ?? []));
      for (const [, id] of node.value.matchAll(/ (?:id|name)="([^"]+)"/g)) page.anchors.add(id);
    }
    (node.children ?? []).forEach((child, index, all) => visit(child, all[index - 1], all[index + 1]));
  };
  visit(markdown.parsers.markdown.parse(text, {}), undefined);
  return page;
}

/**
 * Returns whether a run executes the block.
 * @param script the script that started the run. Blocks with the comment `run by: SCRIPT` run only for this script.
 */
export function isRun(block, script) {
  const isElsewhere = block.runBy !== undefined && block.runBy !== script;
  if (block.notRun !== undefined || isElsewhere || block.name !== '') return false;
  return ['sh', 'console', 'js'].includes(block.language);
}
