/**
 * Bundles both consoles into `dist/assets/<name>/`: `index.html`, and scripts and style sheets whose names contain a
 * hash of their content. Each file also gets a Brotli and a gzip variant.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
/** The daemon of each console, and a link for browsers without JavaScript. */
const consoles = {
  bmc: { daemon: 'bmc-daemon', plain: '<a href="/ui/plain">A table without JavaScript</a>' },
  gateway: { daemon: 'model-proxy', plain: '<a href="/">The page of the proxy</a> shows how to send a request.' },
};

/** Returns a style sheet that imports all style sheets of a console, `theme.css` first. */
function styles(name) {
  const files = ['ui', name]
    .flatMap((folder) =>
      readdirSync(join(root, 'src', folder), { recursive: true }).map((file) => `./src/${folder}/${file}`),
    )
    .filter((file) => file.endsWith('.css'))
    .sort((a, b) => Number(b.endsWith('/theme.css')) - Number(a.endsWith('/theme.css')) || (a < b ? -1 : 1));
  return files.map((file) => `@import ${JSON.stringify(file)};`).join('\n');
}

/**
 * Returns the page. It has no inline script and no inline style. The style sheet hides "The console has not loaded yet"
 * for the first seconds.
 */
function page({ title, start, script, imports, style, icon, plain }) {
  // Without these links, the browser finds the imports only after it has loaded the script.
  const preloads = imports.map((file) => `\n    <link rel="modulepreload" href="/ui/assets/${file}" />`).join('');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <script src="/ui/assets/${start}"></script>
    <link rel="icon" href="/ui/assets/${icon}" type="image/svg+xml" />
    <link rel="stylesheet" href="/ui/assets/${style}" />${preloads}
    <script type="module" src="/ui/assets/${script}"></script>
  </head>
  <body>
    <div id="app">
      <p class="state late" role="status">The console has not loaded yet. <a href="">Load it again</a></p>
    </div>
    <noscript><p>This console needs JavaScript. ${plain}</p></noscript>
  </body>
</html>
`;
}

/** Returns the scripts that a script imports before it runs, also indirectly. */
function importsOf(script, outputs) {
  const found = new Set();
  const add = (path) => {
    for (const { path: next, kind } of outputs[path].imports) {
      if (kind !== 'import-statement' || found.has(next)) continue;
      found.add(next);
      add(next);
    }
  };
  add(Object.keys(outputs).find((path) => basename(path) === script));
  return [...found].map((path) => basename(path)).sort();
}

/** Returns the license texts of all packages that the bundle contains. */
function licenses(inputs) {
  const packages = new Set(
    Object.keys(inputs).flatMap((input) => /node_modules\/(@[^/]+\/[^/]+|[^/]+)\//.exec(input)?.[1] ?? []),
  );
  return [...packages].sort().map((name) => {
    const folder = join(root, '../../node_modules', name);
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${file === undefined ? 'see its package' : readFileSync(join(folder, file), 'utf8')}`;
  });
}

async function bundle(name) {
  const folder = join(root, 'dist/assets', name);
  const common = {
    bundle: true,
    minify: true,
    metafile: true,
    write: false,
    absWorkingDir: root,
    outdir: folder,
    target: ['chrome110', 'firefox115', 'safari16'],
    legalComments: 'none',
    loader: { '.svg': 'file' },
    assetNames: '[name]-[hash]',
  };
  const [code, style] = await Promise.all([
    build({
      ...common,
      entryPoints: { main: `src/${name}/main.tsx`, start: 'src/ui/frame/start.ts', icon: 'src/ui/icon.svg' },
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      format: 'esm',
      splitting: true,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      loader: { '.svg': 'copy' },
    }),
    build({
      ...common,
      stdin: { contents: styles(name), loader: 'css', resolveDir: root, sourcefile: 'style.css' },
      entryNames: 'style-[hash]',
    }),
  ]);
  const outputs = [...code.outputFiles, ...style.outputFiles];
  const files = new Map(outputs.map(({ path, contents }) => [basename(path), contents]));
  const named = (pattern) => [...files.keys()].find((file) => pattern.test(file)) ?? '';
  const { daemon, plain } = consoles[name];
  const title = `Rackless ${daemon}`;
  const script = named(/^main-/);
  const imports = importsOf(script, code.metafile.outputs);
  files.set(
    'index.html',
    Buffer.from(
      page({ title, start: named(/^start-/), script, imports, style: named(/^style-/), icon: named(/^icon-/), plain }),
    ),
  );
  files.set('licenses.txt', Buffer.from(licenses(code.metafile.inputs).join('\n\n')));
  write(folder, files);
}

/** Writes the changed files with their variants, and removes the files of earlier builds. */
function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  const known = new Set([...files.keys()].flatMap((file) => [file, `${file}.br`, `${file}.gz`]));
  const present = new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))]));
  for (const file of present.keys()) if (!known.has(file)) rmSync(join(folder, file));
  for (const [file, content] of files) {
    const isComplete = present.has(`${file}.gz`);
    if (isComplete && present.get(file)?.equals(content)) continue;
    const level = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } };
    writeFileSync(join(folder, file), content);
    writeFileSync(join(folder, `${file}.br`), brotliCompressSync(content, level));
    writeFileSync(join(folder, `${file}.gz`), gzipSync(content, { level: 9 }));
  }
}

await Promise.all(Object.keys(consoles).map(bundle));
