#!/usr/bin/env node
// A Node that is too old stops at the first import or at newer syntax, with an error that does not name the cause.
// So this file checks the version before it imports anything, and Node 10 can parse this file. A test compares the
// minimum version below with package.json.
const [major, minor] = process.versions.node.split('.').map(Number);
// EX_CONFIG of sysexits.h: systemd does not restart the unit after this exit code.
const unusable = 78;

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`bmc-daemon needs Node 20.19 or newer. This is Node ${process.versions.node} (${process.execPath}).
In a clone of the repository: run scripts/start setup, then use bin/bmc-daemon there.`);
  process.exitCode = unusable;
} else {
  import('../dist/bundle/start.js').catch(unbundled).then(run, explain);
}

// Without `npm run build`, there is no bundle, so this function imports the file of the compiler.
function unbundled(error) {
  if (!isMissing(error, '/dist/bundle/start.js')) throw error;
  return import('../dist/cli.js');
}

async function run(cli) {
  // process.exit would lose output that is still being written.
  process.exitCode = await cli.main(process.argv);
  // The command has ended, so handles that are still open must not keep the process alive.
  setTimeout(() => process.exit(), 1000).unref();
}

function explain(error) {
  if (!isMissing(error, '/dist/cli.js')) throw error;
  console.error('bmc-daemon is not built. Run scripts/start setup.');
  process.exitCode = unusable;
}

function isMissing(error, file) {
  return error.code === 'ERR_MODULE_NOT_FOUND' && String(error.url).endsWith(file);
}
