/** Switches machines on and off at a fixed rate, and watches one of them in the page. */
import { Agent, request } from 'node:http';
import type { Page } from 'playwright-core';
import { fetchOnce } from '../measured-daemon.js';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** Interval between two switches of the watched machine. */
const WATCHED_EVERY_MS = 1000;

/** Adds the time and the new power state to `window.shown` whenever the state in the first row changes. */
const WATCH = `
  window.shown = [];
  const cell = () => document.querySelector('tbody tr:not(.spacer) td .badge')?.textContent ?? '';
  let last = cell();
  new MutationObserver(() => {
    const now = cell();
    if (now !== last) shown.push([Date.now(), now]);
    last = now;
  }).observe(document.querySelector('tbody'), { subtree: true, childList: true, characterData: true });`;

/** Options of the storm. */
interface StormOptions {
  /** Actions a second. */
  readonly rate: number;
  readonly seconds: number;
}

/** The result of a storm. */
interface Storm {
  /** Number of successful actions. */
  readonly actions: number;
  /**
   * The time from the answer of each action on the watched machine until the page shows its result; Infinity:
   * the page did not show it.
   */
  readonly rowDelaysMs: readonly number[];
}

function reset(url: string, ResetType: 'On' | 'ForceOff'): Promise<boolean> {
  const body = JSON.stringify({ ResetType });
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  return new Promise((resolve) => {
    request(`${url}/Actions/ComputerSystem.Reset`, { agent, method: 'POST', headers }, (response) =>
      response.resume().on('end', () => resolve(response.statusCode === 204 || response.statusCode === 200)),
    )
      .on('error', () => resolve(false))
      .end(body);
  });
}

/**
 * Runs the storm. The page must show the list in the order of the names: the storm watches `node-1` in the first
 * row.
 */
export async function switchMachines(page: Page, url: string, { rate, seconds }: StormOptions): Promise<Storm> {
  const { body } = await fetchOnce(`${url}/redfish/v1/Systems?$expand=.&$select=Members/Name`);
  const members = (
    JSON.parse(body) as { readonly Members: readonly { readonly '@odata.id': string; readonly Name: string }[] }
  ).Members; // the daemon under test sends this object
  const watched = members.find(({ Name }) => Name === 'node-1');
  const others = members.filter((member) => member !== watched).map((member) => url + member['@odata.id']);
  await page.evaluate(WATCH);
  const switched: { readonly at: number; readonly text: string }[] = [];
  const states = new Map<string, boolean>();
  let actions = 0;
  const toggle = async (uri: string): Promise<boolean> => {
    const isOn = !(states.get(uri) ?? false);
    states.set(uri, isOn);
    if (await reset(uri, isOn ? 'On' : 'ForceOff')) actions += 1;
    return isOn;
  };
  const begin = performance.now();
  let next = 0;
  let watchedAt = 0;
  const running: Promise<unknown>[] = [];
  for (let sent = 0; performance.now() - begin < seconds * 1000;) {
    const elapsed = performance.now() - begin;
    for (; sent < (elapsed / 1000) * rate; sent += 1) {
      running.push(toggle(others[next % others.length] ?? ''));
      next += 1;
    }
    if (elapsed - watchedAt > WATCHED_EVERY_MS) {
      watchedAt = elapsed;
      running.push(
        toggle(url + (watched?.['@odata.id'] ?? '')).then((isOn) =>
          switched.push({ at: Date.now(), text: isOn ? 'On' : 'Off' }),
        ),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(running);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const shown = await page.evaluate<readonly (readonly [number, string])[]>('shown');
  const rowDelaysMs = switched.map(({ at, text }) => {
    // The event can arrive before the answer to the action.
    const seen = shown.find(([time, state]) => time > at - WATCHED_EVERY_MS / 2 && state === text);
    return seen === undefined ? Infinity : Math.max(0, seen[0] - at);
  });
  return { actions, rowDelaysMs };
}
