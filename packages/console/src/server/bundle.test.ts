import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const assets = join(import.meta.dirname, '../../dist/assets');

/** Returns the files of a console with an ending, by their names without hashes. */
function files(console: string, ending: string): ReadonlyMap<string, Buffer> {
  const folder = join(assets, console);
  return new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith(ending))
      .map((file) => [file.replace(/-[A-Z0-9]{8}\./, '.'), readFileSync(join(folder, file))]),
  );
}

/** Returns the scripts that the page loads before any tab or page is opened. */
function startScripts(console: string): ReadonlySet<string> {
  const folder = join(assets, console);
  const [first = ''] = readdirSync(folder).filter((file) => /^main-.*\.js$/.test(file));
  const found = new Set<string>();
  const waiting = [first];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const code = readFileSync(join(folder, file), 'utf8');
    // Imports inside of a function, `import("./x.js")`, load on demand.
    waiting.push(...Array.from(code.matchAll(/(?:from|import)"\.\/([^"]+)"/g), ([, name = '']) => name));
  }
  return found;
}

describe.each([
  ['bmc', 350 * 1024],
  ['gateway', 60 * 1024],
] as const)('the bundle of %s', (console, limit) => {
  it('is below its limit in compressed bytes, with everything that loads on demand', () => {
    const size = [...files(console, '.gz').values()].reduce((sum, { length }) => sum + length, 0);
    expect(size).toBeGreaterThan(10_000);
    expect(size).toBeLessThan(limit);
  });

  it('starts with less than 40 KiB of compressed scripts, which contain neither the screen nor the terminal', () => {
    const scripts = [...startScripts(console)];
    const size = scripts.reduce((sum, file) => sum + readFileSync(join(assets, console, `${file}.gz`)).length, 0);
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.filter((file) => /^(screen|serial)-/.test(file))).toEqual([]);
    expect(size).toBeLessThan(40 * 1024);
  });

  it('has no lookbehind, which stops a script in Safari before 16.4', () => {
    const folder = join(assets, console);
    const scripts = readdirSync(folder).filter((file) => file.endsWith('.js'));
    expect(scripts.filter((file) => /\(\?<[=!]/.test(readFileSync(join(folder, file), 'utf8')))).toEqual([]);
  });

  it('has no inline script, no inline style, and no address of another host', () => {
    const page = files(console, 'index.html').get('index.html')?.toString() ?? '';
    expect(page).toMatch(/<script type="module" src="\/ui\/assets\/main-[A-Z0-9]+\.js"><\/script>/);
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son[a-z]+=|\sstyle=|javascript:/);
    expect(page).not.toMatch(/(?:src|href)="(?!\/ui\/|\/"|")/);
  });
});
