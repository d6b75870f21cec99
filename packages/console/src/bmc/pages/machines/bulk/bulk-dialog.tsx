/** The dialog before an action on several machines: what changes, what is skipped, and what is lost. */
import { useSignal } from '@preact/signals';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { Dialog } from '../../../../ui/dialog.js';
import { Button } from '../../../../ui/button.js';
import { SelectField } from '../../../../ui/field.js';
import { compareNames } from '../../../../ui/table/columns.js';
import { bulkTexts as texts, uiTexts } from '../../../../texts/index.js';
import { bootTargetText } from '../../../machine-view.js';
import type { BootOverride } from '../../../redfish/operations.js';
import type { Machine } from '../../../redfish/machines.js';
import { overrideOf } from '../filter.js';
import { startJob } from './job.js';
import { bootTargets, type BulkAction, type Plan, type Skipped } from './plan.js';

/** Maximum number of machines that the dialog names. It shows only the number of the others. */
const NAMED = 6;

/** Properties of `BulkDialog`. */
interface BulkDialogProps {
  readonly action: BulkAction;
  readonly plan: Plan;
  readonly onClose: () => void;
}

/** Asks for the confirmation of an action, or says that it would change no machine. `JobDialog` shows the results. */
export function BulkDialog({ action, plan, onClose }: BulkDialogProps) {
  const { changed } = plan;
  if (changed.length === 0) {
    return (
      <Dialog title={texts.verbs[action]} onClose={onClose}>
        <p>{texts.nothing}</p>
        <SkippedList skipped={plan.skipped} />
        <div class="actions">
          <Button autofocus onClick={onClose}>
            {uiTexts.close}
          </Button>
        </div>
      </Dialog>
    );
  }
  if (action === 'boot') return <BootDialog plan={plan} onClose={onClose} />;
  return (
    <ConfirmDialog
      title={texts.titles[action](changed.length)}
      lost={texts.lost[action]}
      confirmLabel={texts.verbs[action]}
      onConfirm={() => void startJob(action, plan, null)}
      onClose={onClose}
    >
      <Named machines={changed} />
      <SkippedList skipped={plan.skipped} />
    </ConfirmDialog>
  );
}

/** Asks for the boot override. Machines that do not offer the target are skipped. */
function BootDialog({ plan, onClose }: Omit<BulkDialogProps, 'action'>) {
  const targets = [...new Set(plan.changed.flatMap(bootTargets))];
  const target = useSignal(targets[0] ?? '');
  const enabled = useSignal<'Once' | 'Continuous'>('Once');
  const isOwnOrder = target.value === '';
  const changed = plan.changed.filter((machine) => isOwnOrder || bootTargets(machine).includes(target.value));
  const skipped = [
    ...plan.skipped,
    ...plan.changed
      .filter((machine) => !changed.includes(machine))
      .map((machine) => ({ machine, reason: texts.reasons.notOffered })),
  ];
  const replaced = changed.filter((machine) => overrideOf(machine) !== '').length;
  const wanted: BootOverride = isOwnOrder ? { enabled: 'Disabled' } : { enabled: enabled.value, target: target.value };
  return (
    <ConfirmDialog
      title={texts.titles.boot(changed.length)}
      lost={replaced === 0 ? [] : [texts.replaced(replaced)]}
      confirmLabel={texts.apply}
      onConfirm={() => void startJob('boot', { changed, skipped }, wanted)}
      onClose={onClose}
    >
      <div class="boot-choice">
        <SelectField
          label={texts.bootTarget}
          value={target.value}
          onValue={(value) => {
            target.value = value;
          }}
          options={[...targets.map((each) => [each, bootTargetText(each)] as const), ['', texts.bootOwn]]}
        />
        <SelectField
          label={texts.bootEnabled}
          value={enabled.value}
          disabled={isOwnOrder}
          onValue={(value) => {
            enabled.value = value as 'Once' | 'Continuous'; // the values of the options
          }}
          options={[
            ['Once', texts.bootOnce],
            ['Continuous', texts.bootContinuous],
          ]}
        />
      </div>
      <p class="quiet">{texts.bootHint}</p>
      <Named machines={changed} />
      <SkippedList skipped={skipped} />
    </ConfirmDialog>
  );
}

/** The names of the first machines in natural order, and the number of the others. */
function Named({ machines }: { readonly machines: readonly Machine[] }) {
  const names = machines.map(({ Name }) => Name).sort(compareNames);
  return (
    <p class="named">
      <span class="quiet">{texts.machines}: </span>
      {names.slice(0, NAMED).map((name, index) => (
        <span key={name}>
          {index === 0 ? '' : ', '}
          <strong>{name}</strong>
        </span>
      ))}
      {names.length > NAMED ? ` ${texts.more(names.length - NAMED)}` : null}
    </p>
  );
}

/** The machines that the action skips, by reason. */
function SkippedList({ skipped }: { readonly skipped: readonly Skipped[] }) {
  if (skipped.length === 0) return null;
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  return (
    <p class="quiet named">
      {texts.skipped(skipped.length)}{' '}
      {reasons.length === 1
        ? reasons[0]
        : reasons.map((reason) => `${skipped.filter((each) => each.reason === reason).length} ${reason}`).join(', ')}
    </p>
  );
}
