/** The columns of disks and volumes. */
import { Button } from '../../../../ui/button.js';
import { formatBytes } from '../../../../ui/format.js';
import type { Column } from '../../../../ui/table/columns.js';
import { HealthBadge } from '../../../machine-view.js';
import type { Machine } from '../../../redfish/machines.js';
import { storageTexts as texts } from '../../../../texts/index.js';

interface Unit {
  readonly '@odata.id': string;
  readonly Id: string;
  readonly Name: string;
  readonly CapacityBytes?: number | null;
  readonly Status?: Machine['Status'];
}

/** A disk of a machine. */
export interface Drive extends Unit {
  readonly SerialNumber?: string | null;
}

/** A volume of a machine. */
export type Volume = Unit;

const name: Column<Unit> = { id: 'name', title: texts.name, render: ({ Name }) => Name, isRowHeader: true };
const id: Column<Unit> = { id: 'id', title: texts.id, render: ({ Id }) => <code>{Id}</code>, class: 'wide' };
const size: Column<Unit> = {
  id: 'size',
  title: texts.size,
  render: ({ CapacityBytes: bytes = null }) => (bytes === null ? texts.unknown : formatBytes(bytes)),
  class: 'number',
};
const state: Column<Unit> = {
  id: 'state',
  title: texts.state,
  render: ({ Status }) => <HealthBadge status={Status} />,
};

/** The columns of disks. */
export const driveColumns: readonly Column<Drive>[] = [
  name,
  id,
  size,
  { id: 'serial', title: texts.serial, render: ({ SerialNumber }) => SerialNumber ?? texts.unknown, class: 'wide' },
  state,
];

/** Returns the columns of volumes. @param mayDelete whether each row gets a button that calls `onDelete`. */
export function volumeColumns(mayDelete: boolean, onDelete: (volume: Volume) => void): readonly Column<Volume>[] {
  if (!mayDelete) return [name, id, size, state];
  const actions: Column<Volume> = {
    id: 'actions',
    title: texts.actions,
    render: (volume) => (
      <Button kind="quiet" aria-label={texts.removeLabel(volume.Name)} onClick={() => onDelete(volume)}>
        {texts.remove}
      </Button>
    ),
  };
  return [name, id, size, state, actions];
}
