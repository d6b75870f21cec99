/** The console of bmc-daemon over a slow or broken network: it sends a form once, keeps input, and loads at last. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { machineRow as row, startBmc, type Bmc } from './harness/bmc.js';
import { accessibilityFaults, browserFixture } from './harness/browser.js';

const { open } = browserFixture();
let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc({ args: ['--fake'] });
});
afterAll(() => bmc.stop());

const SUBSCRIPTIONS = '/redfish/v1/EventService/Subscriptions';
const unavailable = (route: Route): Promise<void> =>
  route.fulfill({
    status: 503,
    json: { error: { '@Message.ExtendedInfo': [{ Message: 'The host does not answer.', Resolution: 'Wait.' }] } },
  });

/** Opens a page of the console. From then on, it is behind a modem: 400 ms to each answer, and 50 kB/s. */
async function openSlowly(path: string): Promise<Page> {
  const { page } = await open(`${bmc.address}/ui/${path}`);
  const client = await page.context().newCDPSession(page);
  const limits = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000, offline: false };
  await client.send('Network.emulateNetworkConditions', limits);
  return page;
}

/**
 * Holds the requests of a method to paths that begin with `path`. The returned function waits for the first of them,
 * and lets `answer` answer all that have arrived.
 */
async function hold(
  page: Page,
  path: string,
  method: string,
): Promise<(answer: (route: Route) => Promise<void>) => Promise<void>> {
  const held: Route[] = [];
  let arrived = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  await page.route(
    (url) => url.pathname.startsWith(path),
    async (route) => {
      if (route.request().method() !== method) return route.continue();
      held.push(route);
      arrived();
    },
  );
  return async (answer) => {
    await first;
    for (const route of held.splice(0)) await answer(route);
  };
}

const [first, second] = ['http://192.0.2.1/first', 'http://192.0.2.1/second'];

/** Opens the list of two subscriptions, and deletes the first one. The request waits until `release` answers it. */
async function deleteFirst(): Promise<{ page: Page; release: Awaited<ReturnType<typeof hold>> }> {
  const { Members } = (await (await bmc.ask('GET', SUBSCRIPTIONS)).json()) as {
    readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
  };
  for (const member of Members) await bmc.ask('DELETE', member['@odata.id']);
  for (const Destination of [first, second]) await bmc.ask('POST', SUBSCRIPTIONS, { Destination, Protocol: 'Redfish' });
  const { page } = await open(`${bmc.address}/ui/subscriptions`);
  const release = await hold(page, `${SUBSCRIPTIONS}/`, 'DELETE');
  await page.getByRole('button', { name: `Delete the subscription of ${first}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('button[aria-busy=true]').waitFor();
  return { page, release };
}

describe('a form', () => {
  it('is sent once, even if the user clicks twice and presses Enter twice', async () => {
    const page = await openSlowly('subscriptions');
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') sent += 1;
    });
    await page.getByRole('button', { name: 'New subscription' }).click();
    const dialog = page.getByRole('dialog');
    const release = await hold(page, SUBSCRIPTIONS, 'POST');
    await dialog.getByLabel('Destination URL').fill('http://192.0.2.1/once');
    await dialog.getByRole('button', { name: 'Subscribe' }).dblclick();
    await dialog.getByLabel('Destination URL').press('Enter');
    await dialog.getByLabel('Destination URL').press('Enter');
    await release((route) => route.continue());
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: 'http://192.0.2.1/once' }).waitFor();
    expect(sent).toBe(1);
    await page.context().close();
  });

  it('reports a failure even after the user has closed it', async () => {
    const { page, release } = await deleteFirst();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await release(unavailable);
    await page.getByRole('log').getByText('has failed: The host does not answer. Wait.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
  });

  it('does not close another form, which the user opened before its answer arrived', async () => {
    const { page, release } = await deleteFirst();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: `Delete the subscription of ${second}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(second).waitFor();
    const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await release((route) => route.continue());
    await (await answered).finished();
    await page.getByRole('rowheader', { name: first }).waitFor({ state: 'detached' });
    expect(await dialog.isVisible()).toBe(true);
    await page.context().close();
  });
});

describe("a part of a machine's page", () => {
  const openTab = async (tab: string): Promise<Page> => {
    const { page } = await open(`${bmc.address}/ui/`);
    await row(page, 'node-1').getByRole('link').click();
    await page.getByRole('link', { name: tab, exact: true }).click();
    return page;
  };
  /** Makes the reads of the machine fail, and causes a read. Returns a function that ends the failures. */
  const breakReadings = async (page: Page): Promise<() => Promise<void>> => {
    const id = /systems\/([^/]+)/.exec(page.url())?.[1] ?? '';
    const isReading = (url: URL): boolean => url.pathname.startsWith(`/redfish/v1/Systems/${id}`);
    await page.route(isReading, (route) =>
      route.request().method() === 'GET' ? unavailable(route) : route.continue(),
    );
    await bmc.ask('PATCH', `/redfish/v1/Systems/${id}`, { AssetTag: `changed ${Date.now()}` });
    await page.getByRole('alert').getByText('The host does not answer.').waitFor();
    return () => page.unroute(isReading);
  };

  it('keeps what the user types while reads of the machine fail: the virtual media', async () => {
    const page = await openTab('Media');
    const url = page.getByRole('region', { name: 'Virtual CD' }).getByLabel('URL of the image');
    await url.fill('http://192.0.2.1/typed.iso');
    const repair = await breakReadings(page);
    expect(await url.inputValue()).toBe('http://192.0.2.1/typed.iso');
    await repair();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    expect(await url.inputValue()).toBe('http://192.0.2.1/typed.iso');
    await page.context().close();
  });

  it('keeps its terminal while reads of the machine fail: the serial console', async () => {
    const page = await openTab('Serial');
    await page.locator('.xterm').waitFor();
    await page.locator('.serial-screen').evaluate((element) => Object.assign(element, { isFirst: true }));
    await breakReadings(page);
    expect(await page.locator('.serial-screen').evaluate((element) => 'isFirst' in element)).toBe(true);
    await page.context().close();
  });

  it('says that it is loading: the network', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    let answer: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/EthernetInterfaces?*', async (route) => {
      await held;
      await route.continue();
    });
    await row(page, 'node-1').getByRole('link').click();
    const card = page.getByRole('region', { name: 'Network' });
    await card.getByText('Loading').waitFor();
    answer?.();
    await card.getByText('Loading').waitFor({ state: 'detached' });
    await page.context().close();
  });
});

describe('a page', () => {
  it.each([
    ['nothing', 'There is no such page'],
    ['systems/nothing', 'This machine does not exist'],
  ])('has a heading and a title even at a wrong address: %p', async (path, heading) => {
    const { page, faults } = await open(`${bmc.address}/ui/${path}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.waitForFunction((wanted) => document.title.startsWith(wanted), heading);
    expect([await accessibilityFaults(page), faults]).toEqual([[], []]);
    await page.context().close();
  });

  it.each(['main-*.js', 'chunk-*.js', 'style-*.css', 'start-*.js'])(
    'starts by itself after the network changed while it loaded its files: %s',
    async (files) => {
      const { page, faults } = await open('about:blank');
      let count = 0;
      await page.route(`**/assets/${files}`, (route) => {
        count += 1;
        // Chromium aborts requests with this error, for example when the computer gets another address.
        return count <= 2 ? route.abort('addressunreachable') : route.continue();
      });
      await page.goto(`${bmc.address}/ui/`);
      await row(page, 'node-1').waitFor();
      await page.waitForFunction(() => document.styleSheets.length === 1);
      await page.waitForFunction(() => sessionStorage.length === 0);
      expect(faults).toEqual([]);
      await page.context().close();
    },
  );

  it('says that it has not loaded yet while its files do not load, and loads with "Load it again"', async () => {
    const { page } = await open('about:blank');
    const scripts = /\/ui\/assets\/(?!start-).*js$/;
    await page.route(scripts, (route) => route.abort());
    // The page also loads by itself as soon as this request is answered: it must not do so during the test.
    await page.route('**/ui/', (route) => (route.request().method() === 'HEAD' ? route.abort() : route.continue()));
    await page.goto(`${bmc.address}/ui/`);
    await page.getByText('The console has not loaded yet').waitFor();
    expect(await accessibilityFaults(page, ['color-contrast', 'link-name'])).toEqual([]);
    await page.unroute(scripts);
    await page.getByRole('link', { name: 'Load it again' }).click();
    await row(page, 'node-1').waitFor();
    await page.context().close();
  });

  it('does not say that it has not loaded yet in a browser without JavaScript', async () => {
    const { page } = await open('about:blank');
    const context = await page.context().browser()?.newContext({ javaScriptEnabled: false });
    const plain = await context?.newPage();
    await plain?.goto(`${bmc.address}/ui/`);
    const late = plain?.getByText('The console has not loaded yet');
    await late?.waitFor({ state: 'attached' });
    // An element that is only invisible would have a place.
    expect(await late?.boundingBox()).toBeNull();
    await context?.close();
    await page.context().close();
  });

  it('loads again with "Try again" after a script of it got 404, but only when the service answers', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await page.getByText('Live').waitFor();
    await page.route('**/assets/hosts-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Hosts' }).click();
    await page.getByText('This page cannot be shown').waitFor();
    // While the service does not answer at all, the console stays.
    await page.route('**/ui/', (route) => route.abort());
    await page.evaluate(() => Object.assign(window, { isSamePage: true }));
    const refused = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/ui/'));
    await page.getByRole('button', { name: 'Try again' }).click();
    await refused;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true);
    await page.unroute('**/ui/');
    // The page that the service sends now has other scripts.
    const reloaded = page.waitForEvent('framenavigated');
    await page.getByRole('button', { name: 'Try again' }).click();
    await reloaded;
    await page.unrouteAll();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Hosts' }).waitFor();
    await page.context().close();
  });

  it('asks before it closes while it sends a file', async () => {
    const { page } = await open(`${bmc.address}/ui/`);
    await row(page, 'node-1').getByRole('link').click();
    await page.getByRole('link', { name: 'Media', exact: true }).click();
    await page.route('**/Uploads/*', (route) => (route.request().method() === 'PATCH' ? undefined : route.continue()));
    const card = page.getByRole('region', { name: 'Virtual CD' });
    await card.getByLabel('Image', { exact: true }).selectOption('From this computer');
    const buffer = Buffer.alloc(1_048_576);
    await card
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.iso', mimeType: 'application/octet-stream', buffer });
    await card.getByRole('button', { name: 'Send and insert' }).click();
    await card.getByRole('button', { name: 'Cancel the upload' }).waitFor();
    page.removeAllListeners('dialog');
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.accept();
    await page.context().close();
  });
});
