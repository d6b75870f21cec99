/** How often the service measures a machine. */
import { Select } from '../../../../ui/field.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { messageOf } from '../../../../ui/states.js';
import { patch } from '../../../redfish/client.js';
import { may } from '../../../redfish/session.js';
import { useResource } from '../../../resource.js';
import { telemetryTexts as texts } from '../../../../texts/index.js';

/** A MetricReportDefinition of Redfish. */
interface Definition {
  readonly Schedule?: { readonly RecurrenceInterval?: string };
}

/**
 * A select for the interval. It shows the interval as text to a role that may not change it, and nothing if the
 * service has no interval for the machine.
 */
export function Interval({ machine }: { readonly machine: string }) {
  const uri = `/redfish/v1/TelemetryService/MetricReportDefinitions/${encodeURIComponent(machine)}`;
  const { body, etag, reload } = useResource<Definition>(uri);
  const interval = body?.Schedule?.RecurrenceInterval;
  if (interval === undefined) return null;
  const label = texts.intervals[interval] ?? texts.otherInterval(interval);
  if (!may('ConfigureManager')) return <span>{label}</span>;
  const change = (value: string): void => {
    patch(uri, { Schedule: { RecurrenceInterval: value } }, etag).then(reload, (error: unknown) => {
      showToast('bad', messageOf(error));
      void reload();
    });
  };
  return (
    <Select
      aria-label={texts.interval}
      value={interval}
      onValue={change}
      options={Object.entries({ [interval]: label, ...texts.intervals })}
    />
  );
}
