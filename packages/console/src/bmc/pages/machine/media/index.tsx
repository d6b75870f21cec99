/** The tab with the virtual drives of a machine. */
import { EmptyState, ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import type { Drive } from '../../../redfish/machine-facts.js';
import { useResource } from '../../../resource.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { DriveCard } from './drive-card.js';

/** The tab. */
export default function MediaTab({ machine }: TabProps) {
  const path = `${machine['@odata.id']}/VirtualMedia?$expand=.($levels=1)`;
  const { body, error, reload } = useResource<{ readonly Members: readonly Drive[] }>(path);
  if (error !== null) return <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  if (body === null) return <Loading />;
  if (body.Members.length === 0) return <EmptyState title={mediaTexts.none}>{mediaTexts.noneHint}</EmptyState>;
  return (
    <div class="tab-grid">
      {body.Members.map((drive) => (
        <DriveCard key={drive.Id} drive={drive} onChange={reload} />
      ))}
    </div>
  );
}
