/** The dialog that creates a volume. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { Dialog } from '../../../../ui/dialog.js';
import { SelectField, TextField } from '../../../../ui/field.js';
import { ErrorState, messageOf } from '../../../../ui/states.js';
import { useSubmit } from '../../../../ui/submit.js';
import { storageTexts as texts, uiTexts as common } from '../../../../texts/index.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { post } from '../../../redfish/client.js';
import { completeTask } from '../../../redfish/tasks.js';

const GIB = 2 ** 30;

/** Properties of `VolumeDialog`. */
interface VolumeDialogProps {
  /** The collection of volumes. */
  readonly path: string;
  readonly onCreated: () => Promise<void>;
  readonly onClose: () => void;
}

/** The dialog. It keeps its input if the service rejects the volume. */
export function VolumeDialog({ path, onCreated, onClose }: VolumeDialogProps) {
  const size = useSignal('10');
  const provisioning = useSignal('Thin');
  const name = useSignal('');
  const create = async (): Promise<void> => {
    const volume = {
      CapacityBytes: Math.round(Number(size.value) * GIB),
      ProvisioningPolicy: provisioning.value,
      ...(name.value === '' ? {} : { Name: name.value }),
    };
    await completeTask(await post(path, volume), () => undefined);
    await onCreated();
    showToast('good', texts.created);
  };
  const { failure, isBusy, submit } = useSubmit(create, { title: texts.create, onDone: onClose });
  return (
    <Dialog title={texts.create} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="quiet">{texts.createHint}</p>
        <TextField
          label={texts.sizeGib}
          type="number"
          min="0.001"
          step="any"
          isRequired
          value={size.value}
          onValue={(value) => {
            size.value = value;
          }}
        />
        <SelectField
          label={texts.provisioning}
          value={provisioning.value}
          options={[
            ['Thin', texts.thin],
            ['Fixed', texts.fixed],
          ]}
          onValue={(value) => {
            provisioning.value = value;
          }}
        />
        <TextField
          label={texts.volumeName}
          value={name.value}
          maxLength={255}
          onValue={(value) => {
            name.value = value;
          }}
        />
        {failure.value === null ? null : <ErrorState message={messageOf(failure.value)} />}
        <div class="actions">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button kind="primary" type="submit" isBusy={isBusy.value}>
            {texts.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
