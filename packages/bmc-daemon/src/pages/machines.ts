/** Renders the HTML page with the machines and their state. It works without scripts and images. */
import { Html, html } from '@rackless/daemon/text/html.js';
import type { HostSnapshot } from '../drivers/hosts-control.js';
import type { BootSnapshot } from '../drivers/snapshot/boot-snapshot.js';
import type { SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import { sizeText } from '../findings/size-text.js';
import { hostTable } from './hosts.js';

/** A machine and its current state; `system` is null if it could not be read. */
export interface MachineRow {
  readonly uuid: string;
  readonly name: string;
  /** Absent if the driver does not know it. */
  readonly host?: string;
  readonly system: SystemSnapshot | null;
}

/** The contents of the page. */
interface MachinesPage {
  /** The hypervisor and its address, such as `libvirt qemu:///system`. */
  readonly hypervisor: string;
  readonly version: string;
  readonly machines: readonly MachineRow[];
  /** Empty if the driver does not know its hosts. */
  readonly hosts: readonly HostSnapshot[];
}

/** Renders the page. Keeps the order of the machines and of the hosts. */
export function renderMachines({ hypervisor, version, machines, hosts }: MachinesPage): string {
  const on = machines.filter(({ system }) => system !== null && system.state !== 'shutoff').length;
  return renderPage(
    'Machines',
    html`<header>
        <h1>Machines</h1>
        <p>
          ${machines.length === 1 ? '1 machine' : `${machines.length} machines`}, ${on} on, at
          <code>${hypervisor}</code>
        </p>
      </header>
      ${hosts.length === 0 ? '' : hostTable(hosts)}
      ${machines.length === 0 ? empty : renderTable(machines, hosts.length > 1)}
      <footer>
        bmc-daemon ${version} · <a href="/redfish/v1">Redfish service root</a> · <a href="/healthz">health</a> ·
        <a href="/metrics">metrics</a>
      </footer>`,
  );
}

/** Renders the page while the host does not answer. `reason` is written for people. */
export function renderUnavailable({
  hypervisor,
  reason,
}: {
  readonly hypervisor: string;
  readonly reason: string;
}): string {
  return renderPage(
    'Host not answering',
    html`<header>
        <h1>Host not answering</h1>
        <p><code>${hypervisor}</code> does not answer. The machines will be back on this page when it does.</p>
        <p class="quiet">${reason}</p>
      </header>
      <footer><a href="/">Look again</a> · <a href="/healthz">health</a></footer>`,
  );
}

const empty = html`<p class="empty">
  This service has no machines. After you create a machine on a host or in the cloud of this service, load this page
  again. If the machine is still missing, <code>EMULATOR_ALLOWED_INSTANCES</code> or <code>EMULATOR_OS_FILTER</code> may
  exclude it.
</p>`;

function renderTable(machines: readonly MachineRow[], showsHost: boolean): Html {
  return html`<div class="scroll" role="region" aria-label="Machines" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          ${showsHost ? html`<th scope="col">Host</th>` : ''}
          <th scope="col">Power</th>
          <th scope="col" class="number">Memory</th>
          <th scope="col" class="number">vCPUs</th>
          <th scope="col">Boot</th>
          <th scope="col">Media</th>
          <th scope="col">Redfish</th>
        </tr>
      </thead>
      <tbody>
        ${machines.map((machine) => renderRow(machine, showsHost))}
      </tbody>
    </table>
  </div>`;
}

function renderRow({ uuid, name, host, system }: MachineRow, showsHost: boolean): Html {
  const links = html`<a href="/redfish/v1/Systems/${uuid}" aria-label="System of ${name}">System</a>
    <a href="/redfish/v1/Managers/${uuid}" aria-label="Manager of ${name}">Manager</a>`;
  const hostCell = showsHost ? html`<td>${system?.host ?? host ?? ''}</td>` : '';
  const nameCell = html`<th scope="row">${name}<small>${uuid}</small></th>
    ${hostCell}`;
  if (system === null) {
    return html`<tr>
      ${nameCell}
      <td colspan="5" class="quiet">state could not be read</td>
      <td class="links">${links}</td>
    </tr>`;
  }
  return html`<tr>
    ${nameCell}
    <td>${renderPower(system)}</td>
    <td class="number">${system.memoryKiB === undefined ? '' : sizeText(system.memoryKiB * 1024)}</td>
    <td class="number">${system.processors?.count ?? ''}</td>
    <td>${system.boot === undefined ? '' : renderBoot(system.boot)}</td>
    <td class="media">${renderMedia(system)}</td>
    <td class="links">${links}</td>
  </tr>`;
}

function renderPower({ state }: SystemSnapshot): Html {
  if (state === 'shutoff') return html`<span class="power off">Off</span>`;
  if (state === 'running' || state === 'blocked') return html`<span class="power on">On</span>`;
  return html`<span class="power other">${state}</span>`;
}

const targets: Readonly<Record<BootSnapshot['target'], string>> = {
  network: 'network',
  cdrom: 'CD',
  hd: 'disk',
  fd: 'floppy',
  usb: 'USB',
  none: '–',
  http: 'HTTP',
  path: 'a chosen device',
  next: 'a chosen device',
};

function renderBoot({ enabled, target, firmware }: BootSnapshot): Html {
  const times = { once: ', once', continuous: '', disabled: '' }[enabled];
  const order = enabled === 'disabled' ? 'usual order' : `${targets[target]}${times}`;
  if (firmware === null) return html`${order}`;
  return html`${order} <small>${firmware === 'efi' ? 'UEFI' : 'BIOS'}</small>`;
}

function renderMedia(system: SystemSnapshot): Html {
  const names = (system.media ?? []).filter(({ inserted }) => inserted).map(({ imageName }) => imageName ?? 'an image');
  return names.length === 0 ? html`<span class="quiet">empty</span>` : html`${names.join(', ')}`;
}

function renderPage(title: string, content: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · bmc-daemon</title>
        <style>
          ${style}
        </style>
      </head>
      <body>
        <main>${content}</main>
      </body>
    </html> `.text;
}

const style = new Html(`
:root {
  color-scheme: light dark; --ink: #1c2330; --quiet: #667085; --line: #e3e7ee; --paper: #f6f7f9; --card: #fff;
  --link: #1d5fd1; --on: #12805c; --other: #b25e09;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ef; --quiet: #98a2b3; --line: #2a3140; --paper: #11151c; --card: #181e28;
    --link: #7fb0ff; --on: #4cc38a; --other: #f0a95b;
  }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem; }
h1 { margin: 0; font-size: 1.6rem; letter-spacing: -0.01em; }
header p { margin: 0.25rem 0 0; color: var(--quiet); }
code { font: 0.9em ui-monospace, monospace; }
.scroll {
  overflow-x: auto; margin: 1.5rem 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.65rem 1rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { color: var(--quiet); font-size: 0.78rem; font-weight: 600; white-space: nowrap; }
/*
 * Names may have a hundred letters without a space. Without a minimum width, a phone would break a
 * UUID into single letters.
 */
tbody th, .media { min-width: 11rem; overflow-wrap: anywhere; }
tbody th { font-weight: 600; }
.media { min-width: 7rem; }
.links, .software { white-space: nowrap; }
tbody th small { display: block; font: 0.75rem ui-monospace, monospace; }
small.line { display: block; }
small, .quiet { color: var(--quiet); font-weight: 400; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.power { white-space: nowrap; }
.power::before {
  content: ""; display: inline-block; width: 0.55em; height: 0.55em; margin-right: 0.5em;
  border-radius: 50%; border: 1.5px solid var(--quiet);
}
.power.on::before { background: var(--on); border-color: var(--on); }
.power.off { color: var(--quiet); }
.power.other::before { background: var(--other); border-color: var(--other); }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
td a + a { margin-left: 0.6rem; }
.empty {
  margin: 1.5rem 0; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  color: var(--quiet);
}
footer { color: var(--quiet); font-size: 0.85rem; }
`);
