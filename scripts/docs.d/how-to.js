/**
 * Follows the recipes of docs/internals/how-to/ as a reader would, each in its own copy of the
 * repository: makes the changes, runs the commands of the page, and checks format and lint. Fails
 * if the changed files are not exactly the files that the page names.
 *
 * `node how-to.js [--keep FOLDER] [RECIPE]...`: see scripts/how-to, which first installs missing parts.
 *
 * `node how-to.js --check` changes nothing. It only compares the pages with the repository: the files that
 * a page names, the places that the page changes, and the number of files. `--pages FOLDER` reads other pages.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { applyStep, readRecipe } from './recipe.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Links the installed packages into a copy. The links `@rackless/…` of the copy lead to the packages of the copy. */
function linkModules(copy, folder) {
  const source = join(root, folder, 'node_modules');
  if (!existsSync(source)) return;
  const target = join(copy, folder, 'node_modules');
  mkdirSync(target);
  for (const name of readdirSync(source)) {
    if (name === '@rackless')
      cpSync(join(source, name), join(target, name), { recursive: true, verbatimSymlinks: true });
    else symlinkSync(join(source, name), join(target, name));
  }
}

/** Copies the files that git knows, and the build, so that the compiler has little to do. */
function copyRepository(copy) {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files.filter((name) => existsSync(join(root, name)))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file), { preserveTimestamps: true });
  }
  for (const name of readdirSync(join(root, 'packages')).map((folder) => join('packages', folder))) {
    linkModules(copy, name);
    for (const built of ['dist', 'dist-types'].filter((folder) => existsSync(join(root, name, folder)))) {
      cpSync(join(root, name, built), join(copy, name, built), { recursive: true, preserveTimestamps: true });
    }
  }
  linkModules(copy, '.');
  // With this index, git can list afterwards which files have changed.
  const git = (...words) => execFileSync('git', words, { cwd: copy, stdio: 'ignore' });
  git('init');
  git('add', '--all');
}

/** Runs a command in the copy. Throws with its output if it fails. */
function run(copy, command, ...words) {
  const { status, stdout, stderr } = spawnSync(command, words, {
    cwd: copy,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}:\n${stdout}${stderr}`);
  return stdout;
}

function followRecipe(name, copy) {
  const { steps, commands } = readRecipe(readFileSync(join(pages, `${name}.md`), 'utf8'));
  copyRepository(copy);
  for (const step of steps.filter(({ kind }) => kind !== 'generated')) {
    const file = join(copy, step.path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, applyStep(step, step.kind === 'new' ? undefined : readFileSync(file, 'utf8')));
  }
  for (const command of commands) run(copy, 'bash', '-euc', command);
  const changed = run(copy, 'git', 'ls-files', '--modified', '--others', '--exclude-standard')
    .split('\n')
    .filter(Boolean);
  const named = [...new Set(steps.map(({ path }) => path))];
  if (changed.sort().join() !== named.sort().join())
    throw new Error(`the page names ${named.join(', ')}; changed: ${changed.join(', ')}`);
  const code = changed.filter((path) => path.endsWith('.ts'));
  run(copy, 'npx', 'prettier', '--check', '--log-level', 'warn', ...code);
  run(copy, 'npx', 'oxlint', '-c', 'oxlint.config.js', ...code);
  return changed.length;
}

/** Returns the faults of a page, without following it. */
function checkRecipe(name) {
  const page = readFileSync(join(pages, `${name}.md`), 'utf8');
  const { stated, steps } = readRecipe(page);
  const isThere = (path) => existsSync(join(root, path));
  const created = steps.filter(({ kind }) => kind === 'new').map(({ path }) => path);
  const isCreated = (path) => created.some((own) => own === path || own.startsWith(`${path}/`));
  const named = [...page.matchAll(/(?<![\w./-])((?:packages|docs|scripts)\/[\w./-]*\w)/g)].map(([, path]) => path);
  const files = new Set(steps.map(({ path }) => path)).size;
  return [
    ...(files === stated ? [] : [`says ${stated} files, but changes ${files}`]),
    ...named.filter((path) => !isThere(path) && !isCreated(path)).map((path) => `there is no ${path}`),
    ...created.filter(isThere).map((path) => `${path} is not new`),
    ...steps.filter(({ kind, path }) => kind === undefined && isThere(path)).flatMap(editFaults),
  ].map((fault) => `${name}: ${fault}`);
}

function editFaults(step) {
  const present = readFileSync(join(root, step.path), 'utf8');
  try {
    return applyStep(step, present) === present ? [`does not say what changes in ${step.path}`] : [];
  } catch (error) {
    return [error.message];
  }
}

/** Follows recipes, each in its own copy, up to the first fault. @returns a list with this fault; empty: no fault. */
function followRecipes(names, keep) {
  if (keep !== undefined) mkdirSync(keep, { recursive: true });
  const work = keep ?? mkdtempSync(join(tmpdir(), 'rackless-how-to-'));
  try {
    for (const name of names) {
      console.log(`${name}: ${followRecipe(name, join(work, name))} files changed, all checks pass`);
    }
    return [];
  } catch (error) {
    return [error.message];
  } finally {
    if (keep === undefined) rmSync(work, { recursive: true });
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: 'boolean', default: false },
    keep: { type: 'string' },
    pages: { type: 'string', default: join(root, 'docs/internals/how-to') },
  },
});
const { pages } = values;
const all = readdirSync(pages).map((file) => file.replace(/\.md$/, ''));
const chosen = positionals.length === 0 ? all : positionals;
const faults = values.check ? chosen.flatMap(checkRecipe) : followRecipes(chosen, values.keep);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
