/** The tab with the virtual drives of a machine. */
import { EmptyState } from '../../../../ui/states.js';
import { Loaded } from '../../../loaded.js';
import type { Drive } from '../../../redfish/machine-facts.js';
import { useResource } from '../../../resource.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { DriveCard } from './drive-card.js';

/** The tab Media. */
export default function MediaTab({ machine }: TabProps) {
  const path = `${machine['@odata.id']}/VirtualMedia?$expand=.($levels=1)`;
  const resource = useResource<{ readonly Members: readonly Drive[] }>(path);
  return (
    <Loaded resource={resource}>
      {({ Members }) =>
        Members.length === 0 ? (
          <EmptyState title={mediaTexts.none}>{mediaTexts.noneHint}</EmptyState>
        ) : (
          <div class="tab-grid">
            {Members.map((drive) => (
              <DriveCard key={drive.Id} drive={drive} onChange={resource.reload} />
            ))}
          </div>
        )
      }
    </Loaded>
  );
}
