/**
 * Measures the list of machines of the web console in Chromium: the first paint, filters, and a storm of events.
 *
 *     npm run bench:list -w @rackless/bmc-daemon [-- --machines N] [--rate N] [--seconds N] [--browser PATH]
 *
 * `--rate` is the number of actions a second. Needs `npm run build` first. Exits 1 if it misses a goal, or if the
 * page shows a wrong number of running machines after the storm. The machines exist only in memory. A client
 * switches them on and off. Each action causes at least one event.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core';
import { quantile } from '../fleet/latency.js';
import { streamPower } from '../fleet/event-stream.js';
import { inFolder, readFlags, report } from '../harness/benchmark.js';
import { cpuMs, fetchOnce, startMeasured, type MeasuredDaemon } from '../measured-daemon.js';
import { mainThreadTime, type ThreadTime } from '../process-use.js';
import { switchMachines } from './event-storm.js';

const flags = readFlags({ machines: 2000, rate: 200, seconds: 60, browser: '/usr/bin/chromium' }, ['browser']);

/** Maximum times in milliseconds. `rowMs`: from the answer of an action to the change of its row. */
const goals = { paintMs: 1500, filterMs: 50, rowMs: 1000 };

/** Observes the page from its start: long tasks, frames, and the first row. */
const OBSERVER = `
  window.bench = { tasks: [], frames: [], firstRow: null };
  new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) bench.tasks.push(duration); })
    .observe({ type: 'longtask', buffered: true });
  const frame = (now) => {
    bench.frames.push(now);
    if (bench.firstRow === null && document.querySelector('tbody th a') !== null) bench.firstRow = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);`;

/** Types a text into the search, and returns the time until the next frame is painted. */
const FILTER = `(text) => new Promise((resolve) => {
  const input = document.querySelector('input[type=search]');
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text);
  const begin = performance.now();
  input.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now() - begin);
    channel.port2.postMessage(null);
  });
})`;

interface Observed {
  readonly tasks: readonly number[];
  readonly frames: readonly number[];
  readonly firstRow: number | null;
}

/** A page with a search and one line of text: the least that a key press can cost in this browser. */
const BARE = `<input type="search"><p></p><script>
  document.querySelector('input').oninput = ({ target }) => { document.querySelector('p').textContent = target.value; };
</script>`;

/** Returns a function that reads the time of the main thread of the only page. */
async function pageThread(browser: Browser): Promise<() => ThreadTime> {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
  // Chromium also has a renderer without work, for the next page. So the one with the most CPU time is the page's.
  const [renderer] = processInfo.filter(({ type }) => type === 'renderer').sort((a, b) => b.cpuTime - a.cpuTime);
  const pid = renderer?.id ?? NaN;
  return () => mainThreadTime(pid);
}

/** Reads the observations so far. */
const observed = (page: Page): Promise<Observed> => page.evaluate<Observed>('bench');
const forget = (page: Page): Promise<void> => page.evaluate('bench.tasks = []; bench.frames = []; undefined');

/** Returns the memory of the page after a garbage collection. */
async function heapMiB(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? NaN) / 1_048_576;
}

async function measureStart(page: Page, url: string): Promise<boolean> {
  await page.goto(`${url}/ui/`);
  await page.getByText(`${flags.machines.toLocaleString('en')} machines`).waitFor();
  const allMs = await page.evaluate<number>('performance.now()');
  const paintMs = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
  );
  const { firstRow } = await observed(page);
  console.log(`start of the page with ${flags.machines} machines`);
  const met = [
    report('first paint', paintMs, ' ms', goals.paintMs),
    report('first row', firstRow ?? NaN, ' ms', goals.paintMs),
  ];
  report('all machines', allMs, ' ms');
  return met.every(Boolean);
}

/** The times of key presses in milliseconds. */
interface KeyTimes {
  /** Until the frame is painted. */
  readonly wallMs: readonly number[];
  /** Without the time in which the main thread waited for a CPU. */
  readonly ownMs: readonly number[];
  /** CPU time of the main thread for each key. */
  readonly cpuMs: number;
}

async function pressKeys(page: Page, thread: () => ThreadTime): Promise<KeyTimes> {
  const wallMs: number[] = [];
  const ownMs: number[] = [];
  const before = thread();
  for (let round = 0; round < 20; round += 1) {
    for (const text of ['n', 'no', 'node-1', `node-${round * 7}`, '']) {
      const { waitMs } = thread();
      const timeMs = await page.evaluate<number>(`(${FILTER})(${JSON.stringify(text)})`);
      wallMs.push(timeMs);
      ownMs.push(Math.max(0, timeMs - (thread().waitMs - waitMs)));
    }
  }
  return { wallMs, ownMs, cpuMs: (thread().cpuMs - before.cpuMs) / wallMs.length };
}

/** Measures key presses in a page that does almost nothing. */
async function measureBare(browser: Browser): Promise<KeyTimes> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.setContent(BARE);
  const times = await pressKeys(page, await pageThread(browser));
  await page.close();
  return times;
}

/**
 * Measures key presses in the search of the list. The times include the wait for the next frame, as in the bare
 * page.
 */
async function measureFilters(page: Page, thread: () => ThreadTime, bare: KeyTimes): Promise<boolean> {
  const list = await pressKeys(page, thread);
  console.log('time of a key in the search until the frame is painted; in parentheses: the same in a bare page');
  const both = (what: string, value: (times: KeyTimes) => number, goal?: number): boolean =>
    report(`${what} (${value(bare).toFixed(2)})`, value(list), ' ms', goal);
  both('CPU time of the main thread for each key', (times) => times.cpuMs);
  both('p50', ({ wallMs }) => quantile(wallMs, 0.5));
  both('p95', ({ wallMs }) => quantile(wallMs, 0.95));
  return both('p95 without waits for a CPU', ({ ownMs }) => quantile(ownMs, 0.95), goals.filterMs);
}

interface Measured {
  readonly page: Page;
  readonly devtools: CDPSession;
  readonly thread: () => ThreadTime;
  readonly daemon: MeasuredDaemon;
}

async function measureStorm({ page, devtools, thread, daemon }: Measured): Promise<boolean> {
  const before = await heapMiB(devtools);
  const threadBefore = thread();
  await forget(page);
  const stream = await streamPower(daemon.url);
  const cpuBefore = await cpuMs(daemon.pid);
  const { actions, rowDelaysMs } = await switchMachines(page, daemon.url, {
    rate: flags.rate,
    seconds: flags.seconds,
  });
  const daemonCpu = (await cpuMs(daemon.pid)) - cpuBefore;
  const { tasks, frames } = await observed(page);
  stream.close();
  const events = [...stream.changes.values()].reduce((sum, changes) => sum + changes.length, 0);
  const after = await heapMiB(devtools);
  const { cpuMs: pageCpu, waitMs } = thread();
  const gaps = frames.slice(1).map((time, index) => time - (frames[index] ?? time));
  console.log(`${flags.seconds} s with ${(actions / flags.seconds).toFixed(0)} actions a second`);
  report('power events a second', events / flags.seconds, '');
  report('frames a second', frames.length / flags.seconds, '');
  report('time between two frames, p99', quantile(gaps, 0.99), ' ms');
  report('time between two frames, maximum', Math.max(...gaps), ' ms');
  report('long tasks (above 50 ms)', tasks.length, '');
  report('longest task', Math.max(0, ...tasks), ' ms');
  report('CPU time of the main thread, in cores', (pageCpu - threadBefore.cpuMs) / 1000 / flags.seconds, '');
  report(
    'share of the time in which the main thread waits for a CPU',
    (waitMs - threadBefore.waitMs) / 1000 / flags.seconds,
    '',
  );
  report('CPU time of the daemon, in cores, including the actions', daemonCpu / 1000 / flags.seconds, '');
  report('memory of the page before', before, ' MiB');
  report('memory of the page after', after, ' MiB');
  report('time from the answer to an action until its row shows it, p50', quantile(rowDelaysMs, 0.5), ' ms');
  report('time from the answer to an action until its row shows it, maximum', Math.max(...rowDelaysMs), ' ms');
  return report(
    'time from the answer to an action until its row shows it, p95',
    quantile(rowDelaysMs, 0.95),
    ' ms',
    goals.rowMs,
  );
}

/**
 * Compares the page with the service 3 s after the storm. Returns the difference in the number of machines that
 * are on.
 */
async function differenceInOn(page: Page, url: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const { body } = await fetchOnce(
    `${url}/redfish/v1/Systems?$filter=PowerState eq 'On'&$top=1`.replaceAll(' ', '%20'),
  );
  const on = Number(/"Members@odata.count":(\d+)/.exec(body)?.[1]);
  const summary = await page.locator('.summary').innerText();
  const shown = Number((/([\d,]+) on/.exec(summary)?.[1] ?? '').replaceAll(',', ''));
  console.log('3 s after the storm');
  report('difference in the number of machines that are on', Math.abs(on - shown), '', 0);
  return Math.abs(on - shown);
}

process.exitCode = await inFolder(async (folder) => {
  const lab = join(folder, 'lab.yaml');
  await writeFile(lab, `machines:\n- {name: "node-{n}", count: ${flags.machines}}\n`);
  const lines = `EMULATOR_FAKE_DRIVER = True\nEMULATOR_FAKE_MACHINES = '${lab}'\nEMULATOR_CONSOLE_LOG = False\n`;
  const daemon = await startMeasured(folder, { arguments: [], lines });
  const browser = await chromium.launch({ executablePath: flags.browser, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const bare = await measureBare(browser);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(OBSERVER);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    const met = [await measureStart(page, daemon.url)];
    const thread = await pageThread(browser);
    met.push(await measureFilters(page, thread, bare));
    met.push(await measureStorm({ page, devtools, thread, daemon }));
    met.push((await differenceInOn(page, daemon.url)) === 0);
    return met.every(Boolean) ? 0 : 1;
  } finally {
    await browser.close();
    await daemon.stop();
  }
});
