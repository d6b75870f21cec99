/** The dialog that creates a subscription. */
import { useSignal } from '@preact/signals';
import { Checkbox, SelectField, TextField } from '../../../ui/field.js';
import { showToast } from '../../../ui/frame/toast.js';
import { FormDialog } from '../../form-dialog.js';
import { post } from '../../redfish/client.js';
import { subscriptionsTexts as texts } from '../../../texts/index.js';

/** The URI of the subscriptions. */
export const SUBSCRIPTIONS = '/redfish/v1/EventService/Subscriptions';

/** Properties of `SubscriptionDialog`. */
interface SubscriptionDialogProps {
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}

/** The dialog that creates an event subscription. */
export function SubscriptionDialog({ onSaved, onClose }: SubscriptionDialogProps) {
  const body = useSignal({
    Destination: '',
    Protocol: 'Redfish',
    Context: '',
    EventFormatType: 'Event',
    DeliveryRetryPolicy: 'RetryForever',
    VerifyCertificate: false,
  });
  const set = (changed: Partial<typeof body.value>): void => {
    body.value = { ...body.value, ...changed };
  };
  const send = async (): Promise<void> => {
    await post(SUBSCRIPTIONS, body.value);
    showToast('good', texts.created);
    await onSaved();
  };
  return (
    <FormDialog
      title={texts.create}
      sendLabel={texts.save}
      properties={Object.keys(body.value)}
      onSend={send}
      onClose={onClose}
    >
      {(faultOf) => (
        <>
          <TextField
            label={texts.destination}
            hint={texts.destinationHint}
            type="url"
            value={body.value.Destination}
            onValue={(Destination) => set({ Destination })}
            error={faultOf('Destination')}
            isRequired
          />
          <TextField
            label={texts.context}
            hint={texts.contextHint}
            value={body.value.Context}
            onValue={(Context) => set({ Context })}
            error={faultOf('Context')}
          />
          <SelectField
            label={texts.format}
            value={body.value.EventFormatType}
            onValue={(EventFormatType) => set({ EventFormatType })}
            options={Object.entries(texts.formats)}
            error={faultOf('EventFormatType')}
          />
          <SelectField
            label={texts.policy}
            value={body.value.DeliveryRetryPolicy}
            onValue={(DeliveryRetryPolicy) => set({ DeliveryRetryPolicy })}
            options={Object.entries(texts.policies)}
            error={faultOf('DeliveryRetryPolicy')}
          />
          <Checkbox
            label={texts.verify}
            isChecked={body.value.VerifyCertificate}
            onChange={(VerifyCertificate) => set({ VerifyCertificate })}
          />
        </>
      )}
    </FormDialog>
  );
}
