/**
 * Sends the same reset to many machines at once, in its own process, so that it does not delay the
 * GETs of the benchmark. Reads the URLs of the resets from standard input, one in a line.
 *
 *     node storm-client.js RESET_TYPE CONNECTIONS
 *
 * Prints a JSON object: the number of answers by status (0: no answer), and the seconds that the storm took.
 */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

const [resetType = 'On', connections = '2000'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) });
const body = JSON.stringify({ ResetType: resetType });
const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };

/** Sends a POST. @returns the status. */
function post(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('error', reject).on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end(body);
  });
}

const urls = (await text(process.stdin)).split('\n').filter(Boolean);
const started = performance.now();
const statuses = new Map<number, number>();
await Promise.all(
  urls.map(async (url) => {
    const status = await post(url).catch(() => 0);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }),
);
const seconds = (performance.now() - started) / 1000;
agent.destroy();
process.stdout.write(JSON.stringify({ statuses: Object.fromEntries(statuses), seconds }));
