/** The certificates of the service, with their facts. The web certificate can be replaced, and has signing requests. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { formatTime } from '../../../ui/format.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { serviceNow } from '../../redfish/wire.js';
import { Badge, EmptyState } from '../../../ui/states.js';
import { Loaded } from '../../loaded.js';
import { may } from '../../redfish/session.js';
import { useResource } from '../../resource.js';
import { certificatesTexts as texts } from '../../../texts/index.js';
import { ReplaceDialog, RequestDialog } from './request-dialog.js';

/** A CertificateLocations of Redfish: links to all certificates. */
interface Locations {
  readonly Links?: { readonly Certificates?: readonly { readonly '@odata.id': string }[] };
}

/** The subject or the issuer of a certificate. */
interface CertificateName {
  readonly CommonName?: string | null;
  readonly Organization?: string | null;
  readonly AlternativeNames?: readonly string[];
}

/** A Certificate of Redfish. */
interface Certificate {
  readonly CertificateUsageTypes?: readonly string[];
  readonly Subject?: CertificateName;
  readonly Issuer?: CertificateName;
  readonly ValidNotBefore: string;
  readonly ValidNotAfter: string;
  readonly SerialNumber?: string;
  readonly Fingerprint?: string;
}

const DAY_MS = 86_400_000;
/** The page warns this number of days before a certificate expires. */
const WARN_DAYS = 30;

const isWebCertificate = (uri: string): boolean => uri.includes('/NetworkProtocol/HTTPS/');

/** The page Certificates: a card for each certificate of the service. */
export default function CertificatesPage() {
  const resource = useResource<Locations>('/redfish/v1/CertificateService/CertificateLocations');
  return (
    <>
      <PageHeader title={texts.title} />
      <Loaded resource={resource}>
        {({ Links: { Certificates: links = [] } = {} }) =>
          links.length === 0 ? (
            <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>
          ) : (
            <div class="stack">
              {urisOf(links).map((uri) => (
                <CertificateCard key={uri} uri={uri} />
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

/** Returns the URIs of the certificates to show. All managers have the same web certificate, so it is shown once. */
function urisOf(links: readonly { readonly '@odata.id': string }[]): readonly string[] {
  const uris = links.map((link) => link['@odata.id']);
  const web = uris.find(isWebCertificate);
  return uris.filter((uri) => uri === web || !isWebCertificate(uri));
}

function CertificateCard({ uri }: { readonly uri: string }) {
  const resource = useResource<Certificate>(uri);
  return (
    <Loaded resource={resource}>
      {(body) => <CertificateSection {...{ uri, body }} onChange={resource.reload} />}
    </Loaded>
  );
}

/** The certificate with its dialogs. */
function CertificateSection({
  uri,
  body,
  onChange,
}: {
  readonly uri: string;
  readonly body: Certificate;
  readonly onChange: () => Promise<void>;
}) {
  const dialog = useSignal<'replace' | 'request' | null>(null);
  const isWeb = body.CertificateUsageTypes?.includes('Web') === true;
  const close = (): void => {
    dialog.value = null;
  };
  return (
    <section class="card stack" aria-label={isWeb ? texts.web : texts.other}>
      <div class="row">
        <h2 class="grow">{isWeb ? texts.web : texts.other}</h2>
        <Validity end={body.ValidNotAfter} />
      </div>
      <Facts certificate={body} />
      {isWeb && may('ConfigureManager') ? (
        <div class="row">
          <Button onClick={() => (dialog.value = 'replace')}>{texts.replace}</Button>
          <Button onClick={() => (dialog.value = 'request')}>{texts.request}</Button>
        </div>
      ) : null}
      {dialog.value === 'replace' ? <ReplaceDialog uri={uri} onSaved={onChange} onClose={close} /> : null}
      {dialog.value === 'request' ? <RequestDialog uri={uri} onClose={close} /> : null}
    </section>
  );
}

/** How long a certificate is still valid. */
function Validity({ end }: { readonly end: string }) {
  const days = Math.floor((Date.parse(end) - serviceNow()) / DAY_MS);
  if (days < 0) return <Badge kind="bad">{texts.expired}</Badge>;
  return days < WARN_DAYS ? (
    <Badge kind="warn">{texts.ending(days)}</Badge>
  ) : (
    <Badge kind="good">{texts.valid(days)}</Badge>
  );
}

function Facts({ certificate }: { readonly certificate: Certificate }) {
  const { Subject, Issuer, ValidNotBefore, ValidNotAfter, SerialNumber, Fingerprint } = certificate;
  const nameOf = (name: CertificateName | undefined): string =>
    [name?.CommonName, name?.Organization].filter((part) => part !== undefined && part !== null).join(', ');
  const facts: readonly (readonly [string, string])[] = [
    [texts.subject, nameOf(Subject)],
    [texts.names, Subject?.AlternativeNames?.join(', ') ?? ''],
    [texts.issuer, nameOf(Issuer)],
    [texts.begins, formatTime(ValidNotBefore)],
    [texts.ends, formatTime(ValidNotAfter)],
    [texts.serial, SerialNumber ?? ''],
    [texts.fingerprint, Fingerprint ?? ''],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === '' ? '–' : value}</dd>
        </div>
      ))}
    </dl>
  );
}
