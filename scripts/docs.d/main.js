/**
 * Checks the pages, then runs the commands of each page in new namespaces. `node main.js [--check]
 * [--as SCRIPT] [PAGE]…`, as root, in the repository. With `--check`, this script runs no commands and needs no
 * root. With `--as`, it also runs the blocks with the comment `run by: SCRIPT`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkForm, checkLinks, checkMarks, checkNames, checkSamples } from './checks.js';
import { FIXTURES, WITH_SYSTEMD } from './fixtures.js';
import { allPages, isRun, readPage } from './pages.js';

/**
 * Commands change /etc and /var/lib, so each page has a layer above the host's folders, a new /run
 * and a new loopback.
 */
const PLACE = `
set -e
mount -t tmpfs none "$3"
for at in /etc /var/lib /root /opt /usr/local; do
  name=\${at//\\//-}
  mkdir "$3/upper$name" "$3/work$name"
  mount -t overlay none -o "lowerdir=$at,upperdir=$3/upper$name,workdir=$3/work$name" "$at"
done
mount -t tmpfs none /run
mkdir /run/lock
rm -rf /var/lib/rackless /var/lib/bmc-daemon
ip link set lo up
exec "\${@:5}" node "$1"/scripts/docs.d/page.js "\${@:1:4}"
`;

const needsSshd = ({ fixtures }) => fixtures.includes('kvm-hosts');
const runs = (block) => isRun(block, options.as);
const known = new Map();
function cachedPage(path) {
  if (!known.has(path)) known.set(path, readPage(path));
  return known.get(path);
}

/** Returns the beginning of a command that runs a page at the same time as a systemd without units of the host. */
const systemdBeside = (work) => ['scripts/docs.d/systemd.sh', work, ''];

/**
 * Runs the commands of a page.
 * @returns whether all commands succeed.
 */
async function runPage(page) {
  const work = mkdtempSync('/tmp/rackless-docs.');
  try {
    // --kill-child ends all processes of the page.
    const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const beside = page.fixtures.some((name) => WITH_SYSTEMD.includes(name)) ? systemdBeside(work) : [];
    const words = ['bash', '-c', PLACE, 'page', process.cwd(), page.path, work, options.as, ...beside];
    // The commands of the page end when this process ends, also if it is killed.
    const place = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...words], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [status] = await once(place, 'exit');
    return status === 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const { values: options, positionals } = parseArgs({
  options: { check: { type: 'boolean', default: false }, as: { type: 'string', default: '' } },
  allowPositionals: true,
});
const paths = positionals.length > 0 ? positionals : allPages();
const pages = paths.map(cachedPage);
const faults = pages.flatMap((page) => [
  ...checkForm(page),
  ...checkMarks(page),
  ...checkNames(page),
  ...checkLinks(page, cachedPage),
  ...checkSamples(page),
  ...page.fixtures.filter((name) => !(name in FIXTURES)).map((name) => `${page.path}: unknown fixture '${name}'`),
]);
for (const fault of faults) console.log(fault);
let failed = faults.length;

if (options.check) process.exit(failed === 0 ? 0 : 1);

for (const page of pages) {
  const blocks = page.blocks.filter(runs).length;
  if (blocks === 0) continue;
  if (needsSshd(page) && !existsSync('/usr/sbin/sshd')) {
    console.log(`SKIP ${page.path}: needs openssh-server`);
    continue;
  }
  const start = Date.now();
  const right = await runPage(page);
  if (!right) failed += 1;
  console.log(
    `${right ? 'PASS' : 'FAIL'} ${page.path}: ${blocks} blocks in ${((Date.now() - start) / 1000).toFixed(1)} s`,
  );
}

const skipped = pages.flatMap((page) =>
  page.blocks.filter((block) => block.notRun !== undefined).map((block) => ({ at: join(page.path), block })),
);
for (const { at, block } of skipped) console.log(`not run ${at}:${block.line}: ${block.notRun.replace(/\s+/g, ' ')}`);
const elsewhere = pages.flatMap((page) =>
  page.blocks.filter((block) => !runs(block) && (block.runBy !== undefined || block.name !== '')),
);
const ran = pages.flatMap((page) => page.blocks.filter(runs)).length;
console.log(`${ran} blocks run, ${elsewhere.length} run by other scripts, ${skipped.length} not run; ${failed} faults`);
process.exitCode = failed === 0 ? 0 : 1;
