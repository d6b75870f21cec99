/** The network interfaces of a machine with their addresses, in short. The tab Network has the details. */
import { messageOf } from '../../../../ui/states.js';
import { machineTexts, networkTexts as texts, uiTexts } from '../../../../texts/index.js';
import { FactCard } from '../facts.js';
import { useExpanded, type Link } from '../members.js';
import type { NetworkInterface } from '../network/columns.js';

/** The card. @param link the collection of the interfaces. */
export function NetworkCard({ link }: { readonly link: Link }) {
  const { body, error } = useExpanded<NetworkInterface>(link['@odata.id']);
  const title = machineTexts.tab.network;
  if (body === null || body.Members.length === 0) {
    const reason = body !== null ? texts.none : error !== null ? messageOf(error) : uiTexts.loading;
    return <FactCard title={title} facts={[[texts.addresses, reason]]} />;
  }
  return (
    <FactCard
      title={title}
      facts={body.Members.map((each) => [each.MACAddress ?? each.Id, <Addresses key={each.Id} of={each} />])}
    />
  );
}

function Addresses({ of: { IPv4Addresses = [], IPv6Addresses = [] } }: { readonly of: NetworkInterface }) {
  const all = [...IPv4Addresses, ...IPv6Addresses].flatMap(({ Address: address }) => address ?? []);
  if (all.length === 0) return <span class="quiet">{texts.noAddress}</span>;
  return (
    <ul class="plain-list">
      {all.map((address) => (
        <li key={address}>
          <code>{address}</code>
        </li>
      ))}
    </ul>
  );
}
