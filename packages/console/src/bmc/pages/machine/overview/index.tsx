/** The first tab of a machine: its state, its hardware, its addresses, and the settings that have no tab. */
import { Notice } from '../../../../ui/states.js';
import { formatTime } from '../../../../ui/format.js';
import { bootText } from '../../../machine-view.js';
import { useResource } from '../../../resource.js';
import { machinesTexts, machineTexts as texts } from '../../../../texts/index.js';
import { FactCard } from '../facts.js';
import { Loaded } from '../../../loaded.js';
import type { Link } from '../members.js';
import type { TabProps } from '../tab.js';
import { NetworkCard } from './network-card.js';
import { SettingsForm, type Settings } from './settings-form.js';

interface Condition {
  readonly Message: string;
  readonly Severity: string;
  readonly Resolution?: string;
  readonly Timestamp?: string;
}

interface System extends Settings {
  readonly UUID: string;
  readonly Manufacturer?: string | null;
  readonly Model?: string | null;
  readonly SubModel?: string | null;
  readonly SerialNumber?: string | null;
  readonly BiosVersion?: string | null;
  readonly ProcessorSummary?: { readonly Model?: string | null };
  readonly EthernetInterfaces?: Link;
  readonly Status?: { readonly Conditions?: readonly Condition[] };
}

/** The tab Overview. */
export default function OverviewTab({ machine }: TabProps) {
  const resource = useResource<System>(machine['@odata.id']);
  const { columns, gib } = machinesTexts;
  const memory = machine.MemorySummary?.TotalSystemMemoryGiB;
  return (
    <Loaded resource={resource}>
      {(body) => (
        <div class="stack">
          <Conditions all={body.Status?.Conditions ?? []} />
          <div class="tab-grid even">
            <FactCard
              title={texts.hardware}
              facts={[
                [columns.boot, bootText(machine.Boot)],
                [texts.processors, machine.ProcessorSummary?.Count],
                [texts.processorModel, body.ProcessorSummary?.Model],
                [texts.memory, typeof memory === 'number' ? gib(memory) : null],
                [texts.firmwareVersion, body.BiosVersion],
              ]}
            />
            <FactCard
              title={texts.identity}
              facts={[
                [texts.vendor, body.Manufacturer],
                [texts.model, body.Model],
                [texts.machineType, body.SubModel],
                [texts.serial, body.SerialNumber],
                [texts.uuid, <code>{body.UUID}</code>, { isLong: true }],
              ]}
            />
            {body.EthernetInterfaces === undefined ? null : <NetworkCard link={body.EthernetInterfaces} />}
            <SettingsForm resource={resource} body={body} />
          </div>
        </div>
      )}
    </Loaded>
  );
}

/** The problems of the machine, with what to do about them. */
function Conditions({ all }: { readonly all: readonly Condition[] }) {
  return (
    <>
      {all.map(({ Message, Severity, Resolution, Timestamp }) => (
        <Notice key={Message} kind={Severity === 'Critical' ? 'bad' : 'warn'}>
          <p>{Message}</p>
          {Resolution === undefined ? null : <p>{Resolution}</p>}
          {Timestamp === undefined ? null : <small>{texts.since(formatTime(Timestamp))}</small>}
        </Notice>
      ))}
    </>
  );
}
