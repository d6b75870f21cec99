/** The columns of network interfaces. */
import { Badge } from '../../../../ui/states.js';
import type { Column } from '../../../../ui/table/columns.js';
import { networkTexts as texts } from '../../../../texts/index.js';
import { prefixOf } from './prefix.js';

interface Address {
  readonly Address?: string | null;
  readonly SubnetMask?: string | null;
  readonly PrefixLength?: number | null;
  readonly AddressOrigin?: string | null;
}

/** An interface (EthernetInterface). */
export interface NetworkInterface {
  readonly Id: string;
  readonly Description?: string;
  readonly MACAddress?: string | null;
  readonly LinkStatus?: string | null;
  readonly HostName?: string | null;
  readonly FQDN?: string | null;
  readonly IPv4Addresses?: readonly Address[];
  readonly IPv6Addresses?: readonly Address[];
}

/** The columns of a table of network interfaces. */
export const interfaceColumns: readonly Column<NetworkInterface>[] = [
  { id: 'mac', title: texts.mac, render: ({ MACAddress, Id }) => <code>{MACAddress ?? Id}</code>, isRowHeader: true },
  {
    id: 'addresses',
    title: texts.addresses,
    class: 'addresses',
    render: ({ IPv4Addresses = [], IPv6Addresses = [] }) => <Addresses all={[...IPv4Addresses, ...IPv6Addresses]} />,
  },
  { id: 'network', title: texts.description, render: ({ Description = texts.unknown }) => Description, class: 'wide' },
  {
    id: 'link',
    title: texts.link,
    render: ({ LinkStatus: status }) => (
      <Badge kind={status === 'LinkUp' ? 'good' : 'neutral'}>{texts.links[status ?? ''] ?? texts.unknown}</Badge>
    ),
  },
  {
    id: 'host',
    title: texts.hostName,
    render: ({ HostName, FQDN }) => FQDN ?? HostName ?? texts.unknown,
    class: 'wide',
  },
];

function Addresses({ all }: { readonly all: readonly Address[] }) {
  if (all.length === 0) return <span class="quiet">{texts.noAddress}</span>;
  return (
    <ul class="plain-list">
      {all.map(({ Address: address = '', SubnetMask: mask, PrefixLength: length, AddressOrigin: origin }) => {
        const prefix = length ?? prefixOf(mask ?? '');
        return (
          <li key={address}>
            <code>{prefix === null ? address : `${address ?? ''}/${prefix}`}</code>{' '}
            <small>{texts.origins[origin ?? ''] ?? origin}</small>
          </li>
        );
      })}
    </ul>
  );
}
