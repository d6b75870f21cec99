/** The bar with the actions for the selected machines. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { drives } from '../../../redfish/drives.js';
import type { Machine } from '../../../redfish/machines.js';
import { may } from '../../../redfish/session.js';
import { bulkTexts as texts } from '../../../../texts/index.js';
import { BulkDialog } from './bulk-dialog.js';
import { job } from './job.js';
import { offeredActions, planOf, type BulkAction, type Plan } from './plan.js';

/** Properties of `BulkBar`. */
interface BulkBarProps {
  /** The selected machines that the list shows. Actions change no machine that the filters hide. */
  readonly chosen: readonly Machine[];
  /** The number of selected machines that the filters hide. */
  readonly hidden: number;
  readonly onClear: () => void;
}

/** The bar. The plan of a dialog does not change while the dialog is open, whatever the events report. */
export function BulkBar({ chosen, hidden, onClear }: BulkBarProps) {
  const isBusy = job.value?.isRunning === true;
  const asked = useSignal<{ readonly action: BulkAction; readonly plan: Plan } | null>(null);
  return (
    <>
      {chosen.length === 0 && hidden === 0 ? null : (
        <section class="bulk-bar" aria-label={texts.bar}>
          <p role="status">
            <strong>{texts.selected(chosen.length)}</strong>
            {hidden === 0 ? null : <small> {texts.hidden(hidden)}</small>}
            {isBusy ? <small> {texts.busy}</small> : null}
          </p>
          <Button kind="quiet" aria-label={texts.clear} title={texts.clear} onClick={onClear}>
            <span aria-hidden="true">✕</span>
          </Button>
          <div class="row">
            {offeredActions(chosen, may).map((action) => (
              <Button
                key={action}
                disabled={isBusy}
                kind={action === 'On' ? 'primary' : action === 'ForceOff' ? 'danger' : 'plain'}
                onClick={() => {
                  asked.value = { action, plan: planOf(action, chosen, drives.value) };
                }}
              >
                {texts.verbs[action]}
              </Button>
            ))}
          </div>
        </section>
      )}
      {asked.value === null ? null : (
        <BulkDialog
          {...asked.value}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </>
  );
}
