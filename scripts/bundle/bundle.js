/**
 * Bundles the compiled code of each command into a few files, `packages/<name>/dist/bundle/`. Node
 * then finds and reads a few files at the start, not hundreds. All other packages that a command imports stay
 * outside of the bundle.
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

const packages = join(import.meta.dirname, '../../packages');
/** The files of each package that start a process. */
const commands = {
  'bmc-daemon': ['cli.js'],
  'model-proxy': ['cli.js', 'workers/worker-entry.js'],
  racklessctl: ['cli.js'],
};

/** Does not bundle other packages, also not those of this repository: the bundle imports them. */
const otherPackages = {
  name: 'other-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path, external: true },
    );
  },
};

/**
 * Replaces `import.meta.url` in a file by the URL of that file, because the bundle is in another
 * folder. Exception: `new URL('FILE', import.meta.url)` for an entry stays, because the bundle's folder has the
 * bundled entry.
 */
const ownUrls = (bundle, entries) => ({
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8');
      if (!code.includes('import.meta')) return undefined;
      const own = `new URL(${JSON.stringify(relative(bundle, path))}, import.meta.url)`;
      const contents = code.replace(/(new URL\('([^']+)', )?import\.meta\.url/g, (found, before = '', file = '') =>
        entries.includes(file) ? found : `${before}${own}`,
      );
      if (/import\.meta\.(?!url)/.test(code)) throw new Error(`${path}: the bundle supports only import.meta.url`);
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
  },
});

for (const [name, files] of Object.entries(commands)) {
  const dist = join(packages, name, 'dist');
  const bundle = join(dist, 'bundle');
  // Keeps the old chunks, whose names contain hashes: a running daemon may still import them.
  await build({
    entryPoints: files.map((file) => join(dist, file)),
    outdir: bundle,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [
      ownUrls(
        bundle,
        files.map((file) => basename(file)),
      ),
      otherPackages,
    ],
  });
  copyFileSync(join(import.meta.dirname, 'start.js'), join(bundle, 'start.js'));
}
