/** The tab Storage: the disks and volumes of a machine. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { formatBytes } from '../../../../ui/format.js';
import { EmptyState } from '../../../../ui/states.js';
import { Table } from '../../../../ui/table/table.js';
import { isExpanded, send } from '../../../redfish/client.js';
import { may } from '../../../redfish/session.js';
import { completeTask } from '../../../redfish/tasks.js';
import { storageTexts as texts } from '../../../../texts/index.js';
import { Loaded } from '../../../loaded.js';
import { useMembersOf, type Link, type Members } from '../members.js';
import type { TabProps } from '../tab.js';
import { driveColumns, volumeColumns, type Drive, type Volume } from './columns.js';
import { VolumeDialog } from './volume-dialog.js';

/** One bus of a machine, with all that is below it. */
interface Storage {
  readonly Id: string;
  readonly Name: string;
  readonly Drives: readonly Drive[];
  readonly Volumes?: Members<Volume> & Link;
}

/** The tab Storage: a card for each bus. */
export default function StorageTab({ machine }: TabProps) {
  const storages = useMembersOf<Storage>(machine, 'Storage', 3);
  return (
    <Loaded resource={storages}>
      {({ Members }) =>
        Members.length === 0 ? (
          <EmptyState title={texts.none} />
        ) : (
          <div class="stack">
            {Members.map((storage) => (
              <StorageCard key={storage.Id} storage={storage} onChange={storages.reload} />
            ))}
          </div>
        )
      }
    </Loaded>
  );
}

function StorageCard({ storage, onChange }: { readonly storage: Storage; readonly onChange: () => Promise<void> }) {
  const isCreating = useSignal(false);
  const asked = useSignal<Volume | null>(null);
  const { Name: name, Drives: drives, Volumes: volumes } = storage;
  const mayChange = may('ConfigureComponents');
  const deleted = asked.value;
  const columns = volumeColumns(mayChange, (volume) => {
    asked.value = volume;
  });
  return (
    <section class="card stack" aria-label={name}>
      <header class="row">
        <h2 class="grow">{name}</h2>
        {mayChange && volumes !== undefined ? (
          <Button
            onClick={() => {
              isCreating.value = true;
            }}
          >
            {texts.create}
          </Button>
        ) : null}
      </header>
      <h3>{texts.drives}</h3>
      <Table
        label={`${name}: ${texts.drives}`}
        columns={driveColumns}
        rows={drives.filter(isExpanded)}
        keyOf={({ Id }) => Id}
      />
      <h3>{texts.volumes}</h3>
      <Table
        label={`${name}: ${texts.volumes}`}
        columns={columns}
        rows={(volumes?.Members ?? []).filter(isExpanded)}
        keyOf={({ Id }) => Id}
      />
      {isCreating.value && volumes !== undefined ? (
        <VolumeDialog
          path={volumes['@odata.id']}
          onCreated={onChange}
          onClose={() => {
            isCreating.value = false;
          }}
        />
      ) : null}
      {deleted === null ? null : (
        <ConfirmDialog
          title={texts.removeQuestion(deleted.Name)}
          lost={texts.removeLost(formatBytes(deleted.CapacityBytes ?? 0))}
          typed={deleted.Name}
          confirmLabel={texts.remove}
          onConfirm={async () => {
            await completeTask(await send('DELETE', deleted['@odata.id']), () => undefined);
            await onChange();
          }}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </section>
  );
}
