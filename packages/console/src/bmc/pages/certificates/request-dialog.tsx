/** The dialogs that generate a signing request, and that replace the certificate. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { copyText } from '../../../ui/copy.js';
import { Dialog } from '../../../ui/dialog.js';
import { saveFile } from '../../../ui/download.js';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import { showToast } from '../../../ui/frame/toast.js';
import { FormDialog, type FaultOf } from '../../form-dialog.js';
import { post } from '../../redfish/client.js';
import { certificatesTexts as texts, uiTexts as common } from '../../../texts/index.js';

const ACTIONS = '/redfish/v1/CertificateService/Actions/CertificateService';

/** Properties of both dialogs. */
interface CertificateDialogProps {
  /** The URI of the certificate. */
  readonly uri: string;
  readonly onClose: () => void;
}

/** Asks for a certificate in PEM, and replaces the present one with it. */
export function ReplaceDialog({
  uri,
  onSaved,
  onClose,
}: CertificateDialogProps & { readonly onSaved: () => Promise<void> }) {
  const pem = useSignal('');
  const send = async (): Promise<void> => {
    await post(`${ACTIONS}.ReplaceCertificate`, {
      CertificateUri: { '@odata.id': uri },
      CertificateType: pem.value.split('-----BEGIN CERTIFICATE-----').length > 2 ? 'PEMchain' : 'PEM',
      CertificateString: pem.value,
    });
    showToast('good', texts.replaced);
    await onSaved();
  };
  return (
    <FormDialog
      title={texts.replaceTitle}
      sendLabel={texts.replace}
      properties={['CertificateString']}
      isWide
      onSend={send}
      onClose={onClose}
    >
      {(faultOf) => (
        <TextAreaField
          label={texts.pem}
          hint={texts.pemHint}
          value={pem.value}
          onValue={(value) => (pem.value = value)}
          error={faultOf('CertificateString')}
          isRequired
          rows={10}
          spellcheck={false}
        />
      )}
    </FormDialog>
  );
}

/** The fields of a signing request before the user changes them. Empty fields are not sent. */
const noFields = {
  CommonName: '',
  AlternativeNames: '',
  Organization: '',
  OrganizationalUnit: '',
  City: '',
  State: '',
  Country: '',
  KeyPairAlgorithm: 'TPM_ALG_ECDSA',
};
type Fields = typeof noFields;

/** Asks for the names and the key algorithm of a signing request, then shows the request. */
export function RequestDialog({ uri, onClose }: CertificateDialogProps) {
  const fields = useSignal(noFields);
  const csr = useSignal<string | null>(null);
  const set = (changed: Partial<Fields>): void => {
    fields.value = { ...fields.value, ...changed };
  };
  const send = async (): Promise<void> => {
    const { AlternativeNames: names, ...others } = fields.value;
    const { body } = await post<{ readonly CSRString: string }>(`${ACTIONS}.GenerateCSR`, {
      CertificateCollection: { '@odata.id': uri.replace(/\/[^/]+$/, '') },
      ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== '')),
      ...(names.trim() === '' ? {} : { AlternativeNames: names.split(/[\s,]+/).filter((name) => name !== '') }),
    });
    csr.value = body.CSRString;
  };
  const { value: text } = csr;
  if (text !== null) {
    return (
      <Dialog title={texts.csr} isWide onClose={onClose}>
        <TextAreaField label={texts.csr} value={text} onValue={() => undefined} readOnly rows={12} />
        <div class="actions">
          <Button onClick={() => void copyText(text)}>{common.copy}</Button>
          <Button onClick={() => saveFile('request.csr', new Blob([text], { type: 'application/x-pem-file' }))}>
            {texts.save}
          </Button>
          <Button kind="primary" autofocus onClick={onClose}>
            {common.close}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={texts.request}
      sendLabel={texts.generate}
      properties={Object.keys(noFields)}
      isWide
      onSend={send}
      onClose={() => {
        // The form also calls this after a success. The dialog then stays, to show the request.
        if (csr.peek() === null) onClose();
      }}
    >
      {(faultOf) => <RequestFields fields={fields.value} set={set} faultOf={faultOf} />}
    </FormDialog>
  );
}

const optional = [
  ['Organization', texts.organization],
  ['OrganizationalUnit', texts.unit],
  ['City', texts.city],
  ['State', texts.region],
  ['Country', texts.country],
] as const;

function RequestFields({
  fields,
  set,
  faultOf,
}: {
  readonly fields: Fields;
  readonly set: (changed: Partial<Fields>) => void;
  readonly faultOf: FaultOf;
}) {
  return (
    <>
      <p>{texts.requestHint}</p>
      <TextField
        label={texts.commonName}
        hint={texts.commonNameHint}
        value={fields.CommonName}
        onValue={(CommonName) => set({ CommonName })}
        error={faultOf('CommonName')}
        isRequired
      />
      <TextField
        label={texts.alternativeNames}
        hint={texts.alternativeNamesHint}
        value={fields.AlternativeNames}
        onValue={(AlternativeNames) => set({ AlternativeNames })}
        error={faultOf('AlternativeNames')}
      />
      <div class="columns">
        {optional.map(([property, label]) => (
          <TextField
            key={property}
            label={label}
            value={fields[property]}
            onValue={(value) => set({ [property]: value })}
            error={faultOf(property)}
          />
        ))}
        <SelectField
          label={texts.algorithm}
          value={fields.KeyPairAlgorithm}
          onValue={(KeyPairAlgorithm) => set({ KeyPairAlgorithm })}
          options={Object.entries(texts.algorithms)}
          error={faultOf('KeyPairAlgorithm')}
        />
      </div>
    </>
  );
}
