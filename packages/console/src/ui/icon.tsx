/** Line icons of 16 × 16 units. */

const PATHS: Readonly<Record<string, string>> = {
  machines: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
  hosts: 'M3 2h10v12H3zM5.5 5h5M5.5 7.5h5M8 11.5h.01',
  accounts: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 14c.4-2.6 2.4-4 5-4s4.6 1.4 5 4',
  sessions: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
  certificates: 'M3 2h10v8H3zM6 10v4l2-1 2 1v-4M5.5 5h5',
  events: 'M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2',
  tasks: 'M2.5 4l1 1 2-2M2.5 9l1 1 2-2M8 4h6M8 9h6M8 13h6M2.5 13h2',
  settings: 'M2 4h7M13 4h1M9 2.5v3M2 8h2M8 8h6M6 6.5v3M2 12h6M12 12h2M10 10.5v3',
  logs: 'M3 2h7l3 3v9H3zM5.5 7h5M5.5 9.5h5M5.5 12h3',
  keys: 'M6 10a3 3 0 1 1 2.5-1.4L14 14M11.5 11.5l-1 1',
  models: 'M8 1.8l5.5 3v6.4L8 14.200l-5.500-3V4.800zM2.500 4.800L8 8l5.500-3.200M8 8v6.200',
  spend: 'M2 14h12M3.500 14V9M6.500 14V5M9.500 14V7M12.500 14V2.500',
  chat: 'M2 3h12v8H7l-3 3v-3H2zM5 6h6M5 8.500h4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3',
  screen: 'M2 3h12v8H2zM6 14h4M8 11v3',
  serial: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8 10h3',
  power: 'M8 2v6M4.5 4.200a5 5 0 1 0 7 0',
};

/** An icon. Screen readers skip it, so a text beside it or an `aria-label` has the meaning. */
export function Icon({ name }: { readonly name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name] ?? ''}
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
