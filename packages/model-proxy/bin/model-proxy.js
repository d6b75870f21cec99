#!/usr/bin/env node
import { existsSync } from 'node:fs';

if (!existsSync(new URL('../dist/cli.js', import.meta.url))) {
  console.error('model-proxy is not built yet: run "npm run build" first, or start it with scripts/start proxy.');
  process.exit(1);
}
const { main } = await import('../dist/cli.js');
// Not process.exit: what is still being written would be lost. Whatever else is open then must not hold the process, though.
process.exitCode = await main(process.argv);
setTimeout(() => process.exit(), 1000).unref();
