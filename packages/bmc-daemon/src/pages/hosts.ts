/** Renders the table of the hosts on the page of the machines. */
import { Html, html } from '@rackless/daemon/text/html.js';
import type { HostSnapshot } from '../drivers/hosts-control.js';
import { sizeText } from '../findings/size-text.js';

/** Returns the table. Keeps the order of the hosts. */
export function hostTable(hosts: readonly HostSnapshot[]): Html {
  return html`<div class="scroll" role="region" aria-label="Hosts" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Host</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Machines on</th>
          <th scope="col" class="number">CPU load</th>
          <th scope="col" class="number">Memory in use</th>
          <th scope="col">Software</th>
          <th scope="col">Redfish</th>
        </tr>
      </thead>
      <tbody>
        ${hosts.map(renderRow)}
      </tbody>
    </table>
  </div>`;
}

function renderRow({ name, uri, reachable, reason, since, facts }: HostSnapshot): Html {
  const link = html`<a href="/redfish/v1/Chassis/${name}" aria-label="Chassis of ${name}">Chassis</a>`;
  const nameCell = html`<th scope="row">${name}<small>${uri}</small></th>`;
  if (!reachable || facts === null) {
    return html`<tr>
      ${nameCell}
      <td colspan="5">
        <span class="power other">does not answer</span>
        <small>since ${since.toISOString().slice(0, 19)}Z: ${reason ?? 'no reason'}</small>
      </td>
      <td class="links">${link}</td>
    </tr>`;
  }
  const { hypervisor, libvirtVersion, memoryBytes, freeMemoryBytes, processors, cpuLoad, machines } = facts;
  const used = freeMemoryBytes === null ? '' : `${sizeText(memoryBytes - freeMemoryBytes)} of `;
  return html`<tr>
    ${nameCell}
    <td><span class="power on">answers</span></td>
    <td class="number">${machines.running} of ${machines.total}</td>
    <td class="number">${percentText(cpuLoad)} <small>${cpuText(processors.threads)}</small></td>
    <td class="number">${used}${sizeText(memoryBytes)}</td>
    <td class="software">
      ${hypervisor.name} ${hypervisor.version}<small class="line">libvirt ${libvirtVersion}</small>
    </td>
    <td class="links">${link}</td>
  </tr>`;
}

const percentText = (share: number | null): string => (share === null ? '' : `${Math.round(share * 100)} %`);

const cpuText = (count: number): string => (count === 1 ? '1 CPU' : `${count} CPUs`);
