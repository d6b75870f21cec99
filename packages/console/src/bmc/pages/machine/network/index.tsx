/** The tab Network: the interfaces of a machine and of its management controller, with their addresses. */
import { Button } from '../../../../ui/button.js';
import { EmptyState } from '../../../../ui/states.js';
import { Table } from '../../../../ui/table/table.js';
import { networkTexts as texts } from '../../../../texts/index.js';
import { Loaded } from '../../../loaded.js';
import { useMembersOf, type Link } from '../members.js';
import type { TabProps } from '../tab.js';
import { interfaceColumns, type NetworkInterface } from './columns.js';

/** The tab Network. */
export default function NetworkTab({ machine }: TabProps) {
  const manager = machine.Links?.ManagedBy?.[0];
  return (
    <div class="stack">
      <Interfaces title={texts.interfaces} hint={texts.addressHint} none={texts.none} owner={machine} />
      {manager === undefined ? null : (
        <Interfaces title={texts.manager} hint={texts.managerHint} none={texts.noManager} owner={manager} />
      )}
    </div>
  );
}

function Interfaces({
  title,
  hint,
  none,
  owner,
}: {
  readonly title: string;
  readonly hint: string;
  /** The text for an owner without interfaces. */
  readonly none: string;
  readonly owner: Link;
}) {
  const interfaces = useMembersOf<NetworkInterface>(owner, 'EthernetInterfaces');
  return (
    <section class="card stack" aria-label={title}>
      <header class="row">
        <h2 class="grow">{title}</h2>
        <Button onClick={() => void interfaces.reload()}>{texts.readAgain}</Button>
      </header>
      <p class="quiet">{hint}</p>
      <Loaded resource={interfaces}>
        {({ Members }) =>
          Members.length === 0 ? (
            <EmptyState title={none} />
          ) : (
            <Table
              label={`${title}: ${texts.addresses}`}
              columns={interfaceColumns}
              rows={Members}
              keyOf={({ Id }) => Id}
            />
          )
        }
      </Loaded>
    </section>
  );
}
