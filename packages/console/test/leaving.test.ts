/**
 * Tests in Chromium that the web console asks before a user leaves a page with unsaved work, and that a step back in
 * the history closes an open dialog.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page, Route } from 'playwright-core';
import { logIn, machineRow as row, startBmc, type Bmc } from './harness/bmc.js';
import { browserFixture } from './harness/browser.js';
import { dialogFaults } from './harness/dialog.js';

const { open } = browserFixture();
let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
});
afterAll(() => bmc.stop());

const openList = async (): Promise<{ page: Page; faults: readonly string[] }> => {
  const opened = await open(`${bmc.address}/ui/`);
  await logIn(opened.page, 'admin');
  await row(opened.page, 'node-1').waitFor();
  return opened;
};
const questionOf = (page: Page): Locator => page.getByRole('dialog', { name: 'Leave this page?' });
const pathOf = (page: Page): string => new URL(page.url()).pathname;

/** Opens the settings of node-1 through the list, and types an asset tag. */
const typeTag = async (page: Page): Promise<Locator> => {
  await row(page, 'node-1').getByRole('link').click();
  const tag = page.getByLabel('Asset tag');
  await tag.fill('rack-7');
  return tag;
};

/** Starts all machines. The requests wait until the test calls the returned function. */
const startSlowly = async (page: Page): Promise<() => Promise<void>> => {
  const held: Route[] = [];
  await page.route('**/Actions/ComputerSystem.Reset', (route) => {
    held.push(route);
  });
  await page.getByRole('checkbox', { name: 'Select all rows' }).check();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Continue in the background' }).click();
  return async () => {
    await page.unroute('**/Actions/ComputerSystem.Reset');
    for (const route of held.splice(0)) await route.continue();
  };
};

describe('a step back in the history', () => {
  it('closes an open dialog, and leaves the page with the next step', async () => {
    const { page, faults } = await openList();
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await page.waitForFunction(() => location.pathname === '/ui/accounts');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    expect([pathOf(page), faults]).toEqual(['/ui/accounts', []]);
    await page.context().close();
  });

  it('does not leave a page or lose its input while the login dialog of an ended session is open', async () => {
    const { page } = await openList();
    const tag = await typeTag(page);
    const { Members } = (await (await bmc.ask('GET', '/redfish/v1/SessionService/Sessions')).json()) as {
      readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
    };
    for (const member of Members) await bmc.ask('DELETE', member['@odata.id']);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByText('Your session has ended').waitFor();
    const path = pathOf(page);
    await page.goBack();
    await page.waitForFunction((wanted) => location.pathname === wanted, path);
    await logIn(page, 'admin');
    await page.getByText('Live').waitFor();
    expect(await tag.inputValue()).toBe('rack-7');
    await page.context().close();
  });
});

describe('changes that are not saved', () => {
  it.each([
    ['a link', (page: Page) => page.getByRole('link', { name: 'Boot', exact: true }).click()],
    ['a step back', (page: Page) => page.goBack()],
    ['a logout', (page: Page) => page.getByRole('button', { name: 'Log out' }).click()],
  ])('stay if the user answers the question with Stay, and are lost with Leave: %s', async (title, leave) => {
    expect(await setTag('')).toBe(200);
    const { page, faults } = await openList();
    const tag = await typeTag(page);
    const path = pathOf(page);
    await leave(page);
    await questionOf(page).getByText('The changes that you have not saved').waitFor();
    expect(title === 'a link' ? await dialogFaults(page, 'dialog-leave') : []).toEqual([]);
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    await page.waitForFunction((wanted) => location.pathname === wanted, path);
    expect(await tag.inputValue()).toBe('rack-7');
    await leave(page);
    await questionOf(page).getByRole('button', { name: 'Leave' }).click();
    await tag.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.context().close();
  });

  it('close the open question when their save succeeds, and stay if the save fails and the user answers Stay', async () => {
    expect(await setTag('')).toBe(200);
    const { page, faults } = await openList();
    const tag = await typeTag(page);
    const machine = pathOf(page);
    const held: Route[] = [];
    await page.route('**/redfish/v1/Systems/*', (route) => {
      if (route.request().method() === 'PATCH') held.push(route);
      else void route.continue();
    });
    /** Saves, and leaves while the request waits. Returns the request. */
    const saveAndLeave = async (): Promise<Route> => {
      const sent = page.waitForRequest((request) => request.method() === 'PATCH');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await sent;
      await page.getByRole('link', { name: 'Boot', exact: true }).click();
      await questionOf(page).getByText('The changes that you have not saved').waitFor();
      const [route] = held.splice(0);
      if (route === undefined) throw new Error('the page has sent no PATCH');
      return route;
    };
    await (await saveAndLeave()).fulfill({ status: 503 });
    await page.getByRole('alert').getByText('503').waitFor();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    expect([await tag.inputValue(), pathOf(page)]).toEqual(['rack-7', machine]);

    await (await saveAndLeave()).continue();
    await questionOf(page).waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Boot order' }).waitFor();
    expect([pathOf(page), faults]).toEqual([`${machine}/boot`, []]);
    await page.context().close();
  });

  it('stay without a question when only the query of the address changes', async () => {
    expect(await setTag('')).toBe(200);
    const { page, faults } = await openList();
    const tag = await typeTag(page);
    await page.evaluate(() => {
      const link = document.createElement('a');
      link.href = `${location.pathname}?part=2`;
      document.querySelector('main')?.append(link);
      link.click();
    });
    await page.waitForFunction(() => location.search === '?part=2');
    await page.goBack();
    await page.waitForFunction(() => location.search === '');
    expect([await questionOf(page).count(), await tag.inputValue()]).toEqual([0, 'rack-7']);
    // If the step back leads to another page, the console still asks.
    await page.goBack();
    await questionOf(page).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

describe('the address of an image that is not inserted', () => {
  it('stays after the answer Stay, also if the user has switched to a file, and causes no question if it is empty', async () => {
    const { page, faults } = await openList();
    await row(page, 'node-1').getByRole('link').click();
    await page.getByRole('link', { name: 'Media', exact: true }).click();
    const card = page.getByRole('region', { name: 'Virtual CD' });
    const url = card.getByLabel('URL of the image');
    const away = (): Promise<void> => page.getByRole('link', { name: 'Boot', exact: true }).click();
    const lost = questionOf(page).getByText('The address or the login of an image that you have not inserted');
    await url.fill('http://192.0.2.1/typed.iso');
    await away();
    await lost.waitFor();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    expect(await url.inputValue()).toBe('http://192.0.2.1/typed.iso');

    const source = card.getByLabel('Image', { exact: true });
    await source.selectOption('From this computer');
    await url.waitFor({ state: 'hidden' });
    await away();
    await lost.waitFor();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    await source.selectOption('From a server');
    expect(await url.inputValue()).toBe('http://192.0.2.1/typed.iso');

    // A typed password causes the question, too. After the user removes it, the console does not ask.
    await url.fill('');
    await card.getByLabel('Password').fill('secret');
    await away();
    await lost.waitFor();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    await card.getByLabel('Password').fill('');
    await away();
    await page.getByRole('region', { name: 'Boot order' }).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

describe('a running action on many machines', () => {
  it('continues after the answer Stay to the question of a reload, a logout or "Try again" for a failed script', async () => {
    const { page } = await openList();
    const release = await startSlowly(page);
    page.removeAllListeners('dialog');
    const asked = page.waitForEvent('dialog');
    const reload = page.evaluate(() => setTimeout(() => window.location.reload()));
    const native = await asked;
    expect(native.type()).toBe('beforeunload');
    await native.dismiss();
    await reload;
    await page.getByRole('button', { name: 'Log out' }).click();
    await questionOf(page).getByText('The rest of the running action').waitFor();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    await page.route('**/assets/hosts-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Hosts' }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    await questionOf(page).getByRole('button', { name: 'Stay' }).click();
    await page.getByRole('link', { name: 'Machines' }).click();
    await release();
    await page.getByRole('button', { name: /Start: (\d+) of \1/ }).waitFor();
    // Without a running action, the console does not ask.
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('dialog', { name: 'Log in' }).waitFor();
    await page.context().close();
  });
});

/** Stores the asset tag of node-1. Returns the status of the answer. */
async function setTag(AssetTag: string): Promise<number> {
  const { Members } = (await (await bmc.ask('GET', '/redfish/v1/Systems?$expand=.($levels=1)')).json()) as {
    readonly Members: readonly { readonly '@odata.id': string; readonly Name: string }[]; // a collection
  };
  const path = Members.find(({ Name }) => Name === 'node-1')?.['@odata.id'] ?? '';
  return (await bmc.ask('PATCH', path, { AssetTag })).status;
}
