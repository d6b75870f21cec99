/**
 * Compares model-proxy with the real LiteLLM: one upstream behind both, the same configuration, the
 * same requests. Prints each difference that compare.d/known.js does not explain, and ends with status
 * 1 if there is any.
 *
 * `RACKLESS_LITELLM=/path/of/litellm node compare-with-litellm.js [--all]`. Install LiteLLM outside
 * of the repository, for example in a venv: `pip install 'litellm[proxy]'`. `--all` prints the
 * explained differences too.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cases, models } from './compare.d/cases.js';
import { startGateways } from './compare.d/gateways.js';
import { reasonOf } from './compare.d/known.js';
import { differences, observe } from './compare.d/observe.js';
import { startUpstream } from './compare.d/upstream.js';

const litellm = process.env['RACKLESS_LITELLM'];
if (litellm === undefined) {
  process.stderr.write('RACKLESS_LITELLM must name the executable of LiteLLM\n');
  process.exit(2);
}
const showsAll = process.argv.includes('--all');
const write = (text) => process.stdout.write(`${text}\n`);
const shown = (value) => (value === undefined ? '-' : JSON.stringify(value).slice(0, 300));

const folder = mkdtempSync(path.join(tmpdir(), 'rackless-compare-'));
const upstream = await startUpstream();
let unexplained = 0;
let explained = 0;
try {
  const gateways = await startGateways(litellm, folder, models, upstream.port);
  try {
    const [theirs, ours] = gateways;
    let before = [{}, {}];
    for (const [name, request] of cases) {
      const observed = [];
      for (const [index, gateway] of [theirs, ours].entries()) {
        const sent = typeof request === 'function' ? request(before[index]) : request;
        observed.push(await observe(gateway, upstream, sent));
      }
      before = observed.map(({ body }) => body);
      const found = differences(...observed);
      for (const { at, left, right } of found) {
        const reason = reasonOf(name, { at, left, right });
        if (reason === undefined) unexplained += 1;
        else explained += 1;
        if (reason !== undefined && !showsAll) continue;
        write(`${name}: ${at}\n  LiteLLM      ${shown(left)}\n  model-proxy  ${shown(right)}`);
        if (reason !== undefined) write(`  ${reason}`);
      }
    }
  } finally {
    await Promise.all(gateways.map(({ stop }) => stop()));
  }
} finally {
  upstream.close();
  rmSync(folder, { recursive: true });
}
write(`${cases.length} requests: ${unexplained} unexplained differences, ${explained} explained`);
process.exitCode = unexplained === 0 ? 0 : 1;
