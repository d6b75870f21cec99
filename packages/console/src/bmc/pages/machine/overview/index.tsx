/** The first tab of a machine: what the machine is. */
import { ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { bootText } from '../../../machine-view.js';
import { useResource } from '../../../resource.js';
import { machineTexts } from '../../../texts/en/machine.js';
import { machinesTexts } from '../../../texts/en/machines.js';
import type { TabProps } from '../tab.js';

interface System {
  readonly UUID: string;
  readonly Manufacturer?: string | null;
  readonly Model?: string | null;
  readonly SerialNumber?: string | null;
}

/** The tab. */
export default function OverviewTab({ machine }: TabProps) {
  const { body, error, reload } = useResource<System>(machine['@odata.id']);
  if (error !== null) return <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  if (body === null) return <Loading />;
  const { columns } = machinesTexts;
  const facts: readonly (readonly [string, string | number | null | undefined])[] = [
    [columns.boot, bootText(machine.Boot)],
    [columns.processors, machine.ProcessorSummary?.Count],
    [columns.memory, machinesTexts.gib(machine.MemorySummary?.TotalSystemMemoryGiB ?? 0)],
    [machineTexts.vendor, body.Manufacturer],
    [machineTexts.model, body.Model],
    [machineTexts.serial, body.SerialNumber],
    [machineTexts.uuid, body.UUID],
  ];
  return (
    <dl class="card facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}
