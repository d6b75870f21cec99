/**
 * The session of the web console in Chromium: what keeps it alive, which requests the pages send, and what is lost
 * when it ends.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { logIn, machineRow as row, startBmc, USERS, type Bmc } from './harness/bmc.js';
import { browserFixture, openLateTab, painted } from './harness/browser.js';
import { dialogFaults } from './harness/dialog.js';

const SESSIONS = '/redfish/v1/SessionService/Sessions';

const { open } = browserFixture();
let bmc: Bmc;
beforeAll(async () => {
  bmc = await startBmc({ users: true });
});
afterAll(() => bmc.stop());

const endSessions = async (): Promise<void> => {
  const { Members } = (await (await bmc.ask('GET', SESSIONS)).json()) as {
    readonly Members: readonly { readonly '@odata.id': string }[]; // a collection
  };
  for (const member of Members) await bmc.ask('DELETE', member['@odata.id']);
};
/** Changes the role of olga. */
const setRole = async (RoleId: string): Promise<void> => {
  const { status } = await bmc.ask('PATCH', '/redfish/v1/AccountService/Accounts/olga', { RoleId });
  expect(status).toBe(200);
};
const overview = async (page: Page): Promise<void> => {
  await row(page, 'node-1').getByRole('link').click();
  await page.getByText('Serial number').waitFor();
};

it('the console keeps the session alive while the user types or clicks, even without other requests', async () => {
  const { page, faults } = await open('about:blank');
  await page.clock.install();
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').getByRole('link').click();
  await page.getByRole('link', { name: 'Serial', exact: true }).click();
  await page.getByText('The keyboard is free').waitFor();
  const kept = (): Promise<unknown> =>
    page.waitForRequest((request) => request.method() === 'HEAD' && request.url().includes(`${SESSIONS}/`));
  for (const input of [() => page.keyboard.press('a'), () => page.locator('.serial-screen').click()]) {
    await page.clock.fastForward(11_000);
    await Promise.all([kept(), input()]);
  }
  expect(faults).toEqual([]);
  await page.context().close();
});

it('an open page follows a change of the role', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await overview(page);
  const start = page.locator('.page-header').getByRole('button', { name: 'Start', exact: true });
  await start.waitFor();
  await setRole('ReadOnly');
  await start.waitFor({ state: 'detached' });
  await setRole('Operator');
  await start.waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('an open page without events follows a change of the role without a request of the user', async () => {
  const { page, faults } = await open('about:blank');
  await page.clock.install();
  await page.route('**/EventService/SSE', (route) => route.abort());
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await overview(page);
  const start = page.locator('.page-header').getByRole('button', { name: 'Start', exact: true });
  await start.waitFor();
  await setRole('ReadOnly');
  await page.clock.runFor(16_000);
  await start.waitFor({ state: 'detached' });
  await setRole('Operator');
  expect(faults).toEqual([]);
  await page.context().close();
});

it('an open page without events reads a new role at most twice after many refused requests', async () => {
  const { page, faults } = await open('about:blank');
  await page.route('**/EventService/SSE', (route) => route.abort());
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await overview(page);
  const start = page.locator('.page-header').getByRole('button', { name: 'Start', exact: true });
  await start.waitFor();
  const held: Route[] = [];
  let isHeld = true;
  let reads = 0;
  await page.route('**/AccountService/Accounts/olga', (route) => {
    reads += 1;
    if (isHeld) held.push(route);
    else void route.continue();
  });
  await setRole('ReadOnly');
  for (let count = 1; count <= 4; count += 1) {
    await start.click();
    await page
      .getByText('The account is not allowed to do this')
      .nth(count - 1)
      .waitFor();
  }
  expect(reads).toBe(1);
  isHeld = false;
  for (const route of held) await route.continue();
  await start.waitFor({ state: 'detached' });
  expect(reads).toBeLessThanOrEqual(2);
  await setRole('Operator');
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the service gets no requests of a page without events while its user is away', async () => {
  const { page, faults } = await open('about:blank');
  await page.clock.install();
  await page.route('**/EventService/SSE', (route) => route.abort());
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').waitFor();
  const polled = (): Promise<unknown> => page.waitForResponse((answer) => answer.url().includes('/Systems?'));
  const isWaiting = { value: true };
  const poll = polled().finally(() => (isWaiting.value = false));
  while (isWaiting.value) await page.clock.runFor(1000);
  await poll;
  await page.clock.fastForward(360_000);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.url()));
  await page.clock.runFor(120_000);
  expect(sent).toEqual([]);
  const again = polled();
  await page.keyboard.press('a');
  await page.clock.runFor(16_000);
  await again;
  expect(faults).toEqual([]);
  await page.context().close();
});

it.each([
  ['tasks', '/TaskService/Tasks', 2000],
  ['hosts', '/Chassis', 15_000],
  ['subscriptions', '/EventService/Subscriptions', 10_000],
  ['telemetry', '/MetricReports/', 5000],
  ['console-log', '/ConsoleLog/Entries', 5000],
])('the service gets no repeated requests of the page %s while its user is away', async (name, path, intervalMs) => {
  const { page, faults } = await open('about:blank');
  await page.clock.install();
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').waitFor();
  const isTab = ['telemetry', 'console-log'].includes(name);
  const polled = (): Promise<unknown> => page.waitForRequest((request) => request.url().includes(path));
  const opened = polled();
  if (isTab) await row(page, 'node-1').getByRole('link').click();
  const label = { tasks: 'Tasks', hosts: 'Hosts', subscriptions: 'Subscriptions', telemetry: 'Telemetry' }[name];
  await page.getByRole('link', { name: label ?? 'Console log', exact: true }).click();
  await opened;
  const repeated = page.waitForResponse((answer) => answer.url().includes(path));
  await page.clock.runFor(intervalMs + 1000);
  await repeated;
  await page.clock.fastForward(360_000);
  await painted(page);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.url()));
  await page.clock.runFor(60_000);
  expect(sent).toEqual([]);
  const status = page.getByRole('banner').getByRole('status');
  expect(await status.textContent()).toBe('Paused');
  const again = polled();
  await page.keyboard.press('Shift');
  await again;
  await status.getByText('Live').waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the console still keeps the session alive after the clock of the computer went back by a day', async () => {
  const { page, faults } = await open('about:blank');
  await page.clock.install();
  await page.goto(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').waitFor();
  const kept = page.waitForRequest((request) => request.method() === 'HEAD' && request.url().includes(`${SESSIONS}/`));
  await page.evaluate(() => {
    const { now } = Date;
    Date.now = () => now() - 86_400_000;
  });
  await page.clock.fastForward(11_000);
  await page.keyboard.press('a');
  await kept;
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the dialog after the end of a session asks the same user for the password, and stays open at Escape', async () => {
  const { page } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'admin');
  await overview(page);
  await page.getByLabel('Asset tag').fill('typed before the end');
  await endSessions();
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  for (let count = 0; count < 3; count += 1) await page.keyboard.press('Escape');
  expect(await dialog.getByLabel('User').inputValue()).toBe('admin');
  await dialog.getByLabel('Password').fill(USERS.admin);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  // The request that failed is repeated.
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  const answer = await bmc.ask('GET', `/redfish/v1/Systems/${page.url().split('/').at(-1) ?? ''}`);
  expect(await answer.json()).toMatchObject({ AssetTag: 'typed before the end' });
  await page.context().close();
});

it('another user who logs in after the end of a session gets nothing of the former user', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'admin');
  await overview(page);
  await page.getByLabel('Asset tag').fill('of the administrator');
  await endSessions();
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('User').fill('olga');
  await dialog.getByText('The input of admin is then lost').waitFor();
  await dialog.getByLabel('Password').fill(USERS.olga);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('olga', { exact: true }).waitFor();
  await page.getByText('Serial number').waitFor();
  expect(await page.getByLabel('Asset tag').inputValue()).not.toBe('of the administrator');
  expect(await page.getByText('curl -X PATCH').count()).toBe(0);
  const machine = page.url().split('/').at(-1) ?? '';
  expect(await (await bmc.ask('GET', `/redfish/v1/Systems/${machine}`)).json()).not.toMatchObject({
    AssetTag: 'of the administrator',
  });
  expect(faults).toEqual([]);
  await page.context().close();
});

it('a new tab finds the session, even if the other tab is too busy to answer at once', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').waitFor();
  const { tab, ask } = await openLateTab(page, `${bmc.address}/ui/`);
  const dialog = tab.getByRole('dialog', { name: 'Log in' });
  await dialog.waitFor();
  await ask();
  await dialog.waitFor({ state: 'detached' });
  await row(tab, 'node-1').waitFor();
  await tab.getByText('olga', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the session is still there after a reload that the service did not answer', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'olga');
  await row(page, 'node-1').waitFor();
  await page.route('**/redfish/**', (route) => route.abort());
  await page.reload();
  const again = page.getByRole('button', { name: 'Try again' });
  await again.click();
  await again.waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await again.click();
  await row(page, 'node-1').waitFor();
  await page.getByText('olga', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('a logout asks for a login in all tabs, also in those of another user or of a session that has ended', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'admin');
  await overview(page);
  const tabs = [await page.context().newPage(), await page.context().newPage()] as const;
  for (const tab of tabs) {
    await tab.goto(page.url());
    await tab.getByText('Serial number').waitFor();
  }
  await endSessions();
  const [other, ended] = tabs;
  for (const tab of tabs) {
    await tab.getByLabel('Asset tag').fill('typed');
    await tab.getByRole('button', { name: 'Save' }).click();
    await tab.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  }
  await logIn(other, 'olga');
  await other.getByText('olga', { exact: true }).waitFor();
  await other.getByRole('button', { name: 'Log out' }).click();
  for (const tab of [other, page, ended]) {
    await tab.getByRole('dialog', { name: 'Log in to' }).waitFor();
    expect(await tab.getByText('Serial number').count()).toBe(0);
  }
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the login dialogs fit small windows, work with the keyboard, and have no fault that axe finds', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/`);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User').fill('rick');
  await dialog.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  expect(await dialogFaults(page, 'dialog-login')).toEqual([]);

  await bmc.ask('PATCH', '/redfish/v1/AccountService/Accounts/rick', { PasswordChangeRequired: true });
  await dialog.getByLabel('Password').fill(USERS.rick);
  await page.keyboard.press('Enter');
  const change = page.getByRole('dialog', { name: /password/ });
  const [first, second] = [change.locator('input').first(), change.locator('input').last()];
  await first.fill('Another-word-1');
  await second.fill('Another-word-2');
  await page.keyboard.press('Enter');
  await change.getByRole('alert').waitFor();
  expect(await dialogFaults(page, 'dialog-password-change')).toEqual([]);
  await second.fill('Another-word-1');
  await page.keyboard.press('Enter');
  await row(page, 'node-1').waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('an open dialog keeps its input when the session ends', async () => {
  const { page, faults } = await open(`${bmc.address}/ui/accounts`);
  await logIn(page, 'admin');
  await page.getByRole('button', { name: 'New account' }).click();
  const account = page.getByRole('dialog', { name: 'New account' });
  await account.getByLabel('User name').fill('newton');
  for (const field of await account.locator('input[type=password]').all()) await field.fill('Gravitation-1');
  await endSessions();
  await account.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  expect(await dialogFaults(page, 'dialog-session-ended')).toEqual([]);
  await page.getByRole('dialog', { name: 'Your session has ended' }).getByLabel('Password').fill(USERS.admin);
  await page.keyboard.press('Enter');
  await account.waitFor({ state: 'detached' });
  await page.getByRole('rowheader', { name: 'newton' }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

it('the console does not show the last command to the user who logs in after a logout', async () => {
  const { page } = await open(`${bmc.address}/ui/`);
  await logIn(page, 'admin');
  await overview(page);
  await page.getByLabel('Asset tag').fill(`rack ${Date.now()}`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('curl -X PATCH').waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await logIn(page, 'olga');
  await page.getByText('Serial number').waitFor();
  expect(await page.getByText('curl -X PATCH').count()).toBe(0);
  await page.context().close();
});
