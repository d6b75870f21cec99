/** One drive: its image, or the forms that insert one. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { SelectField } from '../../../../ui/field.js';
import { Badge } from '../../../../ui/states.js';
import { ejectImage } from '../../../redfish/drives.js';
import { may } from '../../../redfish/session.js';
import { findUpload, uploads } from '../../../redfish/uploads.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { DriveProps } from './drive.js';
import { FileForm } from './file-form.js';
import { UploadView } from './upload-view.js';
import { UrlForm } from './url-form.js';

/** The card of a drive. */
export function DriveCard({ drive, onChange }: DriveProps) {
  const uri = drive['@odata.id'];
  const [isLocal, setLocal] = useState(false);
  useEffect(() => void findUpload(uri), [uri]);
  const upload = uploads.value.get(uri);
  const isEmpty = drive.Inserted !== true;
  const canUpload = drive.Oem?.Rackless?.UploadURI !== undefined;
  return (
    <section class="card stack" aria-label={drive.Name}>
      <h2>{drive.Name}</h2>
      {isEmpty ? <p class="quiet">{mediaTexts.empty}</p> : <Inserted drive={drive} onChange={onChange} />}
      {upload === undefined ? null : <UploadView drive={drive} upload={upload} onChange={onChange} />}
      {isEmpty && upload === undefined && may('ConfigureManager') ? (
        <>
          {canUpload ? (
            <SelectField
              label={mediaTexts.source}
              value={isLocal ? 'file' : 'url'}
              onValue={(value) => setLocal(value === 'file')}
              options={[
                ['url', mediaTexts.fromServer],
                ['file', mediaTexts.fromFile],
              ]}
            />
          ) : null}
          {isLocal ? <FileForm drive={drive} /> : null}
          <div hidden={isLocal}>
            <UrlForm drive={drive} onChange={onChange} />
          </div>
        </>
      ) : null}
    </section>
  );
}

function Inserted({ drive, onChange }: DriveProps) {
  const [isAsking, setAsking] = useState(false);
  const { Name: name, Image: image, ImageName: imageName, ConnectedVia: via, WriteProtected: isProtected } = drive;
  const shown = imageName ?? image ?? drive.Id;
  const isLocal = via === 'Applet';
  const isOffered = drive.Actions?.['#VirtualMedia.EjectMedia'] !== undefined;
  const eject = async (): Promise<void> => {
    await ejectImage(drive);
    await onChange();
  };
  return (
    <div class="row">
      <span class="grow image">
        <strong>{shown}</strong> <span class="quiet">{isLocal ? mediaTexts.local : image}</span>
      </span>
      <Badge>{isProtected === false ? mediaTexts.writable : mediaTexts.writeProtected}</Badge>
      {isOffered && may('ConfigureManager') ? (
        <Button kind="danger" onClick={() => setAsking(true)}>
          {mediaTexts.eject}
        </Button>
      ) : null}
      {isAsking ? (
        <ConfirmDialog
          title={mediaTexts.ejectTitle(shown, name)}
          lost={isLocal ? [mediaTexts.ejectLost, mediaTexts.uploadLost] : [mediaTexts.ejectLost]}
          confirmLabel={mediaTexts.eject}
          onConfirm={eject}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </div>
  );
}
