/** The tab Boot: the boot override and the boot order of a machine. */
import { useResource } from '../../../resource.js';
import { may } from '../../../redfish/session.js';
import { Loaded } from '../../../loaded.js';
import { useExpanded } from '../members.js';
import type { TabProps } from '../tab.js';
import type { BootOption, BootSystem } from './boot-system.js';
import { OrderList } from './order-list.js';
import { OverrideForm } from './override-form.js';

/** The tab Boot. Without the privilege ConfigureComponents, both forms are read-only. */
export default function BootTab({ machine }: TabProps) {
  const resource = useResource<BootSystem>(machine['@odata.id']);
  const options = useExpanded<BootOption>(resource.body?.Boot.BootOptions?.['@odata.id'] ?? null);
  const mayChange = may('ConfigureComponents');
  return (
    <Loaded resource={resource}>
      {(body) => {
        const writeable = mayChange ? (body.Boot['@Redfish.WriteableProperties'] ?? []) : [];
        const known = options.body?.Members ?? [];
        return (
          <div class="tab-grid">
            <OverrideForm resource={resource} body={body} options={known} isReadOnly={writeable.length === 0} />
            {body.Boot.BootOrder === undefined ? null : (
              <OrderList
                resource={resource}
                body={body}
                options={known}
                isReadOnly={!writeable.includes('BootOrder')}
              />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
