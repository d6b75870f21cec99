/**
 * Opens the store in the folder of the first argument. Counts the calls that open or change a file, and sends
 * itself SIGKILL before the call with the number in the second argument.
 */
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const [folder, last] = process.argv.slice(2);
let calls = 0;
const count = () => {
  calls += 1;
  if (calls === Number(last)) process.kill(process.pid, 'SIGKILL');
};
const watch = (owner, names) => {
  for (const name of names) {
    const original = owner[name];
    owner[name] = function (...args) {
      count();
      return Reflect.apply(original, this, args);
    };
  }
};
const handle = await fsPromises.open(process.execPath);
watch(Object.getPrototypeOf(handle), ['write', 'writev', 'writeFile', 'truncate', 'datasync', 'sync']);
await handle.close();
watch(fsPromises, ['open', 'rename', 'rm', 'link', 'unlink', 'truncate', 'writeFile', 'copyFile']);
watch(fs, ['renameSync', 'rmSync', 'linkSync', 'unlinkSync', 'truncateSync', 'writeFileSync', 'copyFileSync']);
syncBuiltinESMExports();

const { openEmbeddedStore } = await import(
  new URL('../../dist/store/embedded/embedded-store.js', import.meta.url).href
);
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const store = await openEmbeddedStore({ folder, log, keepDays: null });
await store.close();
